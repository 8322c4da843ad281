//===- SOAPBase.td - The soap dialect ----------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_IR_SOAPBASE_TD
#define SOAP_DIALECT_SOAP_IR_SOAPBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def SOAP_Dialect : Dialect {
  let name = "soap";
  let cppNamespace = "::soap::soapir";
  let summary = "Placement, tasks and communication";
  let description = [{
    Three things, in the order in which a program meets them:

    - the discardable attribute `soap.config` on `nn` operations: a
      configuration, that is how an operation is split and where its tasks run;
      all configurations together are a strategy;
    - the discardable attribute `soap.follows` on `nn` operations: what the
      library applies behind another operation, which simulations know
      (`soap-mark-followers`);
    - the discardable attribute `soap.group` on `nn` operations in tasks: the
      group that they were in, which simulations know, too;
    - `soap.topology`, the devices that the strategy refers to;
    - tasks, slices, assemblies, transfers and collectives on values of type
      `!soap.shard`, made by `soap-partition`. The device of a value is in its
      type. The order of the block is the launch order.

    Only `soap.transfer` and the collectives move data between devices. One of
    them is one action of the communication plan of a value.
  }];
  let dependentDialects = ["::soap::nn::NNDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributesAndTypes();
    void registerOperations();
    /// The topology of a description (soap.topology), or why it is none. The
    /// last one is kept: passes and verifiers ask for it again and again, and
    /// its routes take a second for a thousand devices.
    ::llvm::Expected<::soap::Topology>
    getTopology(::mlir::DictionaryAttr description);
    /// The discardable attribute that holds an operation's configuration.
    static constexpr ::llvm::StringLiteral getConfigAttrName() {
      return "soap.config";
    }
    /// The discardable attribute of an operation per element that the library
    /// of the target can apply behind the operation that makes one of its
    /// operands: the number of this operand.
    static constexpr ::llvm::StringLiteral getFollowsAttrName() {
      return "soap.follows";
    }
    /// The discardable attribute of an operation in a task that was a member of
    /// a group: the #nn.group that it had as `nn.group`. The leader is an
    /// operation in other tasks; simulations take the kinds of its loops.
    static constexpr ::llvm::StringLiteral getGroupAttrName() {
      return "soap.group";
    }
    /// The discardable attribute of a function that holds the launch order of
    /// its compute nodes, a list of names.
    static constexpr ::llvm::StringLiteral getOrderAttrName() {
      return "soap.order";
    }
    /// The discardable attribute of a function that holds how many bytes of
    /// gradients are reduced together at most. Absent or 0: none are.
    static constexpr ::llvm::StringLiteral getBucketBytesAttrName() {
      return "soap.bucket_bytes";
    }
    /// The discardable attribute of a function that holds how many bytes of
    /// parameters nodes read between the launch of what gathers a parameter
    /// again and the node that reads it. Absent or 0: it is launched one node
    /// before.
    static constexpr ::llvm::StringLiteral getPrefetchBytesAttrName() {
      return "soap.prefetch_bytes";
    }
    /// The discardable attribute of a copy or an action that gathers a
    /// parameter again: the name of the first node that reads what it makes.
    static constexpr ::llvm::StringLiteral getBeforeAttrName() {
      return "soap.before";
    }
    /// With the one above: how many compute nodes before that node it is
    /// launched.
    static constexpr ::llvm::StringLiteral getAheadAttrName() {
      return "soap.ahead";
    }

  private:
    ::std::mutex mutex_;
    ::mlir::DictionaryAttr lastDescription_;
    ::std::shared_ptr<const ::soap::Topology> lastTopology_;

  public:
  }];
}

class SOAP_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<SOAP_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class SOAP_Op<string mnemonic, list<Trait> traits = []>
    : Op<SOAP_Dialect, mnemonic, traits>;

#endif // SOAP_DIALECT_SOAP_IR_SOAPBASE_TD
