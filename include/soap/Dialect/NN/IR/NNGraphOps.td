//===- NNGraphOps.td - Ends of the graph -------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNGRAPHOPS_TD
#define SOAP_DIALECT_NN_IR_NNGRAPHOPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

def NN_InputOp : NN_Op<"input", [
    MemoryEffects<[MemWrite]>,
    DeclareOpInterfaceMethods<PartitionOpInterface,
      ["getPartitionSpec", "setLocalAccess", "getFlops"]>]> {
  let summary = "An input of the model";
  let description = [{
    The value that is fed to the input whose ONNX name is `nn.name`.
    `sample_dims` are the dimensions that index samples of the batch. Integer
    inputs that index a table say in `index_bound` which values are valid:
    [0, index_bound). A tile of an input holds the box of the input that starts
    at `offsets`; `global_shape` is the shape of the whole.

    An input has a side effect, so that it stays even if nobody reads it.

    Loops: `d0 .. dk`; result `(d0, .., dk)`.

    Example:

    ```mlir
    %0 = nn.input {nn.name = "data"} : tensor<1x3x224x224xf32>
    ```
  }];
  let arguments = !con((ins
      DefaultValuedAttr<DenseI64ArrayAttr, "{0}">:$sample_dims,
      OptionalAttr<I64Attr>:$index_bound), boxAttributes);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result), [{
    build($_builder, $_state, result,
          $_builder.getDenseI64ArrayAttr({0}), /*index_bound=*/nullptr,
          /*offsets=*/nullptr, /*global_shape=*/nullptr);
  }]>];
}

def NN_ParameterOp : NN_PureOp<"parameter", [],
    ["setLocalAccess", "getFlops"]> {
  let summary = "A parameter of the model";
  let description = [{
    A value that does not depend on inputs. `source` says where its bytes are or
    how they are made: `#nn.file`, `#nn.splat`, `#nn.random` or `#nn.init`. A
    tile of a parameter holds the box of the source that starts at `offsets`;
    `global_shape` is the shape of the whole source. `tensor` is the name of the
    whole in the model, if the operation is only a part of it. One that reads a
    tensor of the model in another shape has that tensor's shape and name in the
    attribute `nn.view`: `{shape = array<i64: 64>, tensor = "w"}`. What a node of
    the model makes has the attribute `nn.constant`.

    Loops: `d0 .. dk`; result `(d0, .., dk)`.

    Example:

    ```mlir
    %w = nn.parameter {nn.name = "conv1.weight"} : tensor<64x3x3x3xf32>
           from #nn.file<"model.onnx", 1024, 6912>
    ```
  }];
  let arguments = !con((ins NN_SourceAttr:$source), boxAttributes,
                       (ins OptionalAttr<StrAttr>:$tensor));
  let assemblyFormat = "attr-dict `:` type($result) `from` $source";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result,
                                 "::mlir::Attribute":$source), [{
    build($_builder, $_state, result, source, /*offsets=*/nullptr,
          /*global_shape=*/nullptr, /*tensor=*/nullptr);
  }]>];
  let extraClassDeclaration = [{
    /// The name of the model's tensor that this is, or is a part of.
    ::llvm::StringRef getTensorName() {
      return getTensor().value_or(::soap::nn::getName(*this));
    }
  }];
}

/// Tasks have boxes of it.
def NN_DenseElements : AttrConstraint<
    CPred<"::llvm::isa<::mlir::DenseElementsAttr>($_self)">,
    "with dense elements">;

def NN_ConstantOp : NN_PureOp<"constant", [AllTypesMatch<["value", "result"]>],
    ["buildLocal", "getFlops"]> {
  let summary = "A small constant";
  let description = [{
    Elements that the compiler knows: scalars, integers, axes. Weights are
    parameters.

    Constraints:
    - the elements are dense

    Loops: `d0 .. dk`; result `(d0, .., dk)`.

    Example:

    ```mlir
    %0 = nn.constant dense<2.0> : tensor<f32> {nn.name = "two"}
    ```
  }];
  let arguments = (ins ConfinedAttr<ElementsAttr, [NN_DenseElements]>:$value);
  let assemblyFormat = "$value attr-dict";
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
}

def NN_OutputOp : NN_Op<"output", [
    MemoryEffects<[MemWrite]>,
    DeclareOpInterfaceMethods<PartitionOpInterface,
      ["getPartitionSpec", "setLocalAccess", "getFlops"]>]> {
  let summary = "An output of the model";
  let description = [{
    Hands a value out as the output whose ONNX name is `nn.name`. A tile of an
    output holds the box of the output that starts at `offsets`; `global_shape`
    is the shape of the whole.

    Loops: `d0 .. dk`; operand `(d0, .., dk)`.

    Example:

    ```mlir
    nn.output %0 {nn.name = "prob"} : tensor<1x1000xf32>
    ```
  }];
  let arguments = !con((ins NN_Tensor:$x), boxAttributes);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$x), [{
    build($_builder, $_state, x, /*offsets=*/nullptr, /*global_shape=*/nullptr);
  }]>];
}

#endif // SOAP_DIALECT_NN_IR_NNGRAPHOPS_TD
