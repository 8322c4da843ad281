//===- CommunicationInterface.td - What moves data ---------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_IR_COMMUNICATIONINTERFACE_TD
#define SOAP_DIALECT_SOAP_IR_COMMUNICATIONINTERFACE_TD

include "mlir/IR/OpBase.td"

def SOAP_ShardOpInterface : OpInterface<"ShardOpInterface"> {
  let cppNamespace = "::soap::soapir";
  let description = [{
    An operation whose results are shards and that says of each of them which
    box of which value it holds (attribute `boxes`, one per result). The
    verifier checks that boxes fit the types: extents, and parts where the type
    is partial.
  }];
  let methods = [
    InterfaceMethod<"One box per result.", "::mlir::ArrayAttr", "getBoxes",
                    (ins)>,
    InterfaceMethod<"The box of result `index`.", "::soap::soapir::BoxAttr",
                    "getBox", (ins "unsigned":$index), [{}], [{
      return ::mlir::cast<::soap::soapir::BoxAttr>($_op.getBoxes()[index]);
    }]>,
  ];
  let verify = [{ return ::soap::soapir::detail::verifyShardOp($_op); }];
}

def SOAP_CommunicationOpInterface : OpInterface<"CommunicationOpInterface"> {
  let cppNamespace = "::soap::soapir";
  let description = [{
    An operation that moves data between devices: one action of the
    communication plan of a value (`soap::Action`), one communication node of
    the task graph, one group of the runtime.
  }];
  let methods = [
    InterfaceMethod<"The kind of the action.", "::soap::ActionKind",
                    "getActionKind", (ins)>,
    InterfaceMethod<"The devices that take part; the members of a collective in "
                    "their order, those of a transfer sorted.",
                    "::llvm::SmallVector<int32_t>", "getGroup", (ins)>,
    InterfaceMethod<"The number of the action in the plan of its value.",
                    "uint64_t", "getAction", (ins)>,
    InterfaceMethod<"When it runs.", "::soap::Phase", "getPhase", (ins)>,
    InterfaceMethod<"True if it runs on the priority streams: a collective that "
                    "does not wait for larger ones.", "bool", "getPriority",
                    (ins), [{}], [{ return false; }]>,
    InterfaceMethod<"What the operation moves, in the form of "
                    "`soap::movements`. The host has the id `host`.",
                    "::llvm::SmallVector<::soap::Movement, 4>", "getMovements",
                    (ins "int32_t":$host), [{}], [{
      return ::soap::soapir::detail::movementsOf($_op, host);
    }]>,
  ];
}

def SOAP_ReductionOpInterface
    : OpInterface<"ReductionOpInterface", [SOAP_CommunicationOpInterface]> {
  let cppNamespace = "::soap::soapir";
  let description = [{
    A collective that joins parts, and that may run together with others, in a
    bucket (soap/Partition/Buckets.h).
  }];
  let methods = [
    InterfaceMethod<"The devices, one per operand and result.",
                    "::llvm::ArrayRef<int32_t>", "getOver", (ins)>,
    InterfaceMethod<"How messages go.", "::soap::CollectiveAlgorithm",
                    "getAlgorithm", (ins)>,
    InterfaceMethod<"The bucket that it is in, or none.",
                    "::std::optional<uint64_t>", "getBucket", (ins)>,
    InterfaceMethod<"The node that the bucket stands behind, or none.",
                    "::std::optional<::llvm::StringRef>", "getBehind", (ins)>,
    InterfaceMethod<"Sets how messages go.", "void", "setAlgorithmAttr",
                    (ins "::soap::soapir::CollectiveAlgorithmAttr":$attr)>,
    InterfaceMethod<"Puts it in a bucket.", "void", "setBucketAttr",
                    (ins "::mlir::IntegerAttr":$attr)>,
    InterfaceMethod<"Sets the node that the bucket stands behind.", "void",
                    "setBehindAttr", (ins "::mlir::StringAttr":$attr)>,
    InterfaceMethod<"Says whether it runs on the priority streams.", "void",
                    "setPriority", (ins "bool":$priority)>,
  ];
  let extraClassDeclaration = [{
    /// True if this and `next`, which follows it, are of one collective.
    bool isJoinedBy(::mlir::Operation *next);
    /// True if this and the operation in front of it are.
    bool joinsPrevious();
    /// Bytes in a chunk of a bucket: of an all-reduce those of its box, of a
    /// reduce-scatter those of its largest result.
    int64_t getChunkBytes();
  }];
}

#endif // SOAP_DIALECT_SOAP_IR_COMMUNICATIONINTERFACE_TD
