//===- SOAPAttrs.td - Configurations, boxes, shards --------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_IR_SOAPATTRS_TD
#define SOAP_DIALECT_SOAP_IR_SOAPATTRS_TD

include "soap/Dialect/NN/IR/Vocabulary.td"
include "soap/Dialect/SOAP/IR/SOAPBase.td"

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def SOAP_ConfigAttr : SOAP_Attr<"Config", "config"> {
  let summary = "How an operation is split and where its tasks run";
  let description = [{
    A configuration (Jia et al., "Beyond data and model parallelism", section
    4): the degree of each loop that is split (a loop that is not named has
    degree 1), then one device per task. Tasks are numbered row-major over the
    loops in the order in which the operation declares them, whatever the order
    in which the degrees are written, copies innermost. A device may appear more
    than once.

    `replicate = r` asks for r equal copies of every task. `regather` lists
    operands that are gathered again for this operation instead of sharing what
    another consumer gathered. `a to b` stands for a run of devices. `host` is
    the memory-only device on which inputs and outputs live.

    Example: `#soap.config<{n = 2, f = 2} replicate = 2 on [0 to 7] regather [1]>`

    Constraints:
    - no loop is named twice; degrees and `replicate` are at least 1
    - there is at least one device; devices are not negative
    - operands in `regather` are in ascending order
    - (on an operation) loops are loops of the operation, a degree is not larger
      than the extent of its loop, there is one device per task, and operands in
      `regather` are operands
    - (on an operation) `nn.input` and `nn.output` run on `[host]`, nothing else
      does
    - (where the module has a `soap.topology`) devices are devices of it
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$loops,
                        ArrayRefParameter<"int64_t">:$degrees,
                        "int64_t":$replicate,
                        ArrayRefParameter<"int32_t">:$devices,
                        ArrayRefParameter<"int64_t">:$regather);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The degree of a loop: 1 if it is not named.
    int64_t getDegree(::llvm::StringRef loop) const;
    /// The degrees in the order of the loops of `spec`. Loops that `spec` does
    /// not have are ignored.
    ::soap::Degrees toDegrees(const ::soap::PartitionSpec &spec) const;
    /// Names only the loops whose degree is not 1.
    static ConfigAttr get(::mlir::MLIRContext *context,
                          const ::soap::PartitionSpec &spec,
                          const ::soap::Degrees &degrees,
                          ::llvm::ArrayRef<int32_t> devices,
                          ::llvm::ArrayRef<int64_t> regather = {});
  }];
}

def SOAP_BoxAttr : SOAP_Attr<"Box", "box"> {
  let summary = "Which part of which value a shard holds";
  let description = [{
    The name of the operation that makes the value (`nn.name`), the number of the
    result, and the half-open range of elements in every dimension. A shard of
    a partial value also says which of its parts are summed up in it. With these
    on every result, coverage can be proved on any printed or edited IR.

    Examples:

    ```mlir
    #soap.box<"conv1":0, [0:32, 256:512]>
    #soap.box<"conv1":0, [0:32, 256:512], part 1 of 4>
    #soap.box<"conv1":0, [0:32, 256:512], parts [0, 1] of 4>
    ```

    Constraints:
    - the name is not empty, the result number not negative
    - ranges do not end before they start, nor start below 0
    - parts are in ascending order, each less than the number of parts, and
      fewer than all of them: a shard that holds all parts is complete
  }];
  let parameters = (ins "::mlir::StringAttr":$value, "int64_t":$result,
                        ArrayRefParameter<"int64_t">:$bounds,
                        ArrayRefParameter<"int64_t">:$parts,
                        "int64_t":$numParts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A complete value.
    static BoxAttr get(::mlir::MLIRContext *context, ::llvm::StringRef value,
                       int64_t result, const ::soap::Box &box);
    /// Some parts of a partial value; complete if `parts` is empty.
    static BoxAttr get(::mlir::MLIRContext *context, ::llvm::StringRef value,
                       int64_t result, const ::soap::Box &box,
                       ::llvm::ArrayRef<int64_t> parts, int64_t numParts);
    ::soap::Box getBox() const;
    int64_t getRank() const { return getBounds().size() / 2; }
    bool isPartial() const { return !getParts().empty(); }
    /// True if both are shards of the same value.
    bool isSameValue(BoxAttr other) const {
      return getValue() == other.getValue() &&
             getResult() == other.getResult();
    }
    /// The same value and parts, another range of elements.
    BoxAttr withBox(const ::soap::Box &box) const;
    /// The same value and elements, without parts.
    BoxAttr withoutParts() const;
  }];
}

def SOAP_BoxArrayAttr : TypedArrayAttrBase<SOAP_BoxAttr, "array of boxes">;

def SOAP_RangesAttr : SOAP_Attr<"Ranges", "ranges"> {
  let summary = "A half-open range of elements in every dimension";
  let description = [{
    Example: `#soap.ranges<[0:32, 256:512]>`

    Constraints:
    - ranges do not end before they start, nor start below 0
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$bounds);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static RangesAttr get(::mlir::MLIRContext *context,
                          const ::soap::Box &box);
    ::soap::Box getBox() const;
  }];
}

def SOAP_RangesArrayAttr : TypedArrayAttrBase<SOAP_RangesAttr,
                                              "array of ranges">;

def SOAP_PhaseAttr : VocabularyAttr<SOAP_Dialect, Vocabulary_Phase, "phase">;
def SOAP_CollectiveAlgorithmAttr
    : VocabularyAttr<SOAP_Dialect, Vocabulary_CollectiveAlgorithm, "algorithm">;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def SOAP_ShardType : TypeDef<SOAP_Dialect, "Shard"> {
  let mnemonic = "shard";
  let summary = "A dense piece of a value on a device";
  let description = [{
    A dense row-major tensor in the memory of one device. `partial` says that it
    is one of several parts that have to be joined before anybody reads the
    value. `host` is the memory-only device on which inputs and outputs live.

    Examples:

    ```mlir
    !soap.shard<tensor<32x256xf32>, on 2>
    !soap.shard<tensor<32x256xf32>, on 2, partial = sum>
    !soap.shard<tensor<1x3x224x224xf32>, on host>
    ```

    Constraints:
    - the tensor has a static shape (a dimension may be empty: a member of a
      collective may get nothing)
    - the device is not negative
    - `partial` is one of sum, prod, max, min, and, or
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor, "int32_t":$device,
                        "::soap::Combine":$partial);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$tensor,
                                        "int32_t":$device), [{
      return $_get(tensor.getContext(), tensor, device,
                   ::soap::Combine::None);
    }]>,
    TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$tensor,
                                        "int32_t":$device,
                                        "::soap::Combine":$partial), [{
      return $_get(tensor.getContext(), tensor, device, partial);
    }]>];
  let extraClassDeclaration = [{
    bool isPartial() const { return getPartial() != ::soap::Combine::None; }
    bool isOnHost() const { return getDevice() == kHostDevice; }
    ::llvm::ArrayRef<int64_t> getShape() const { return getTensor().getShape(); }
    ::mlir::Type getElementType() const { return getTensor().getElementType(); }
    /// Size of the dense elements in bytes.
    int64_t getSizeInBytes() const;
  }];
}

#endif // SOAP_DIALECT_SOAP_IR_SOAPATTRS_TD
