//===- NNBase.td - The nn dialect --------------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNBASE_TD
#define SOAP_DIALECT_NN_IR_NNBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "soap/Dialect/NN/IR/PartitionInterface.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::soap::nn";
  let summary = "Operations of neural networks on whole tensors";
  let description = [{
    One operation of a neural network on logical tensors. Names and attributes
    mirror ONNX, normalised: static shapes, explicit pads and result shapes, one
    form per meaning. The dialect is closed under tiling: a tile of an operation
    is the same operation with other attributes.

    The graph lives in `func.func @main() { ... return }`. Its ends are
    operations too: `nn.input`, `nn.parameter`, `nn.constant`, `nn.output`.
    Every operation carries `nn.name`, a string that is unique in its block;
    strategies are keyed by it.

    Every operation implements `PartitionOpInterface`: the loops that may be
    split and what each unit of a loop touches. The tables below write `x` for
    the identity, `x*s+[a,b]` for a window, `[...]` for a whole dimension; loops
    behind `R:` are absent from the result, so that splitting one makes partial
    results. Spatial loops are called `w`, `h w` or `d h w`, by rank.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def NN_IsStaticTensor : CPred<
    "::soap::nn::isStaticTensor($_self)">;

class NN_TensorOf<list<Type> elements, string what> :
    Type<And<[TensorOf<elements>.predicate, NN_IsStaticTensor]>,
         "static ranked tensor of " # what #
         " without empty dimensions, of rank 8 or less, of at most 2^48 elements",
         "::mlir::RankedTensorType">;

/// Element types. An integer without `u` has a sign, i1 is a boolean.
defvar floatTypes = [F16, BF16, F32, F64];
defvar integerTypes = [I8, I16, I32, I64, UI<8>, UI<16>, UI<32>, UI<64>];
/// Those that are only moved and cast.
defvar storageTypes = [F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, I<4>, UI<4>];

def NN_Tensor : NN_TensorOf<floatTypes # integerTypes # storageTypes # [I1],
                            "floats or integers">;
def NN_NumberTensor : NN_TensorOf<floatTypes # integerTypes # [I1],
                                  "floats of 16 bits or more, or integers of 8 "
                                  "or more, or booleans">;
def NN_FloatTensor : NN_TensorOf<floatTypes, "floats">;
def NN_BoolTensor : NN_TensorOf<[I1], "booleans">;
def NN_BitTensor : NN_TensorOf<integerTypes # [I1], "booleans or integers">;
def NN_IndexTensor : NN_TensorOf<[I32, I64], "indices (i32 or i64)">;
def NN_UnsignedTensor : NN_TensorOf<[UI<8>, UI<16>, UI<32>, UI<64>],
                                    "integers without a sign">;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class NN_Op<string mnemonic, list<Trait> traits = []> :
    Op<NN_Dialect, mnemonic, traits>;

/// Each result element depends on one element of each operand, which broadcasts
/// to the result (or, for nn.batch_norm, belongs to its channel).
def NN_PerElement : NativeOpTrait<"PerElement"> {
  let cppNamespace = "::soap::nn";
}

/// Additive in its operands: may take parts of sums (nn.parts).
def NN_Additive : NativeOpTrait<"Additive"> {
  let cppNamespace = "::soap::nn";
}

/// Its kernel writes the one result over the first operand, of the same type,
/// most of which it leaves as it is.
def NN_OverwritesFirst : NativeOpTrait<"OverwritesFirst"> {
  let cppNamespace = "::soap::nn";
}

/// An operation whose only effect is its result.
class NN_PureOp<string mnemonic, list<Trait> traits = [],
                list<string> overrides = []> :
    NN_Op<mnemonic, !listconcat([Pure,
      DeclareOpInterfaceMethods<PartitionOpInterface,
        !listconcat(["getPartitionSpec"], overrides)>], traits)> {
  let results = (outs NN_Tensor:$result);
}

#endif // SOAP_DIALECT_NN_IR_NNBASE_TD
