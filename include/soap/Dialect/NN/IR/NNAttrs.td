//===- NNAttrs.td - Where parameters come from -------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNATTRS_TD
#define SOAP_DIALECT_NN_IR_NNATTRS_TD

include "soap/Dialect/NN/IR/NNBase.td"

class NN_Attr<string name, string attrMnemonic> : AttrDef<NN_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def NN_FileAttr : NN_Attr<"File", "file"> {
  let summary = "Bytes of a file";
  let description = [{
    `length` bytes from byte `offset` of the file at `path`: the elements of the
    tensor in row-major order, little endian. `path` is absolute or
    relative to the working directory of the compiler. Passes never read the
    bytes.

    Example: `#nn.file<"model.onnx", 1024, 4096>`

    Constraints:
    - `path` is not empty
    - `offset` and `length` are not negative
    - (on `nn.parameter`) `length` is the size of the tensor in bytes
  }];
  let parameters = (ins StringRefParameter<>:$path, "int64_t":$offset,
                        "int64_t":$length);
  let assemblyFormat = "`<` $path `,` $offset `,` $length `>`";
  let genVerifyDecl = 1;
}

def NN_SplatAttr : NN_Attr<"Splat", "splat"> {
  let summary = "One value in all elements";
  let description = [{
    Example: `#nn.splat<1.000000e+00 : f32>`

    Constraints:
    - (on `nn.parameter`) the type of the value is the tensor's element type
  }];
  let parameters = (ins "::mlir::TypedAttr":$value);
  let assemblyFormat = "`<` $value `>`";
}

def NN_Distribution : I32EnumAttr<"Distribution", "distribution of a recipe", [
    I32EnumAttrCase<"Normal", 0, "normal">,
    I32EnumAttrCase<"Uniform", 1, "uniform">]> {
  let cppNamespace = "::soap::nn";
}

def NN_RandomAttr : NN_Attr<"Random", "random"> {
  let summary = "A recipe for seeded random values";
  let description = [{
    Element i is a function of (`seed`, `name`, i) alone, so that any box of the
    tensor can be made without the rest: `normal` with mean `a` and standard
    deviation `b`, or `uniform` in [`a`, `b`]. The exact bits are those of the
    runtime's random recipe.

    Example: `#nn.random<1, "conv1.weight", normal, 0.000000e+00, 2.000000e-02>`

    Constraints:
    - `a` and `b` are finite
    - `b` is not negative (normal) or not less than `a` (uniform)
    - (on `nn.parameter`) the tensor has floating point elements
  }];
  let parameters = (ins "uint64_t":$seed, StringRefParameter<>:$name,
                        EnumParameter<NN_Distribution>:$distribution,
                        APFloatParameter<"">:$a, APFloatParameter<"">:$b);
  let builders = [AttrBuilder<(ins "uint64_t":$seed, "::llvm::StringRef":$name,
                                   "::soap::nn::Distribution":$distribution,
                                   "double":$a, "double":$b), [{
    return $_get($_ctxt, seed, name, distribution, ::llvm::APFloat(a),
                 ::llvm::APFloat(b));
  }]>];
  let assemblyFormat = [{
    `<` $seed `,` $name `,` $distribution `,` custom<Double>($a) `,`
    custom<Double>($b) `>`
  }];
  let genVerifyDecl = 1;
}

def NN_GroupAttr : NN_Attr<"Group", "group"> {
  let summary = "The group of operations that share one decision";
  let description = [{
    On an operation as the attribute `nn.group`: the operation is a member of
    the group that the operation named `leader` leads, as a gradient is of the
    operation that it belongs to. A strategy decides about the leader alone; the
    members follow. `loops` says for the loops of the member, by name, along
    which loops of the leader they run. Without it, a loop runs along the
    leader's loop of the same name. A loop that runs along none is never split,
    nor is a loop of one unit.

    Example: the gradient of the weights of `%y = nn.matmul %x, %w` sums over
    the rows of x, so that its loop k is the loop n of the product:

    ```mlir
    %dw = nn.matmul %x, %dy {nn.name = "fc.b.grad", transpose_a,
            nn.group = #nn.group<"fc", {f = "f", k = "n", n = "k"}>}
        : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>
    ```

    Constraints:
    - `leader` is the name of an operation of the block, which is not a member of
      another group
    - `loops` maps loops of the member to loops of the leader, each of them once
    - inputs, parameters, constants and outputs are in no group
  }];
  let parameters = (ins StringRefParameter<>:$leader,
                        OptionalParameter<"::mlir::DictionaryAttr">:$loops);
  let assemblyFormat = "`<` $leader (`,` $loops^)? `>`";
  let extraClassDeclaration = [{
    /// The leader's loop that the member's loop of this name runs along; empty:
    /// none.
    ::llvm::StringRef getLeaderLoop(::llvm::StringRef loop) const;
  }];
}

def NN_InitAttr : NN_Attr<"Init", "init"> {
  let summary = "A result of @init";
  let description = [{
    Result `index` of the function `@init`, which holds the expressions over
    parameters only and runs once when a model is loaded.

    Example: `#nn.init<0>`

    Constraints:
    - `index` is not negative
  }];
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
  let genVerifyDecl = 1;
}

def NN_SourceAttr : AnyAttrOf<[NN_FileAttr, NN_SplatAttr, NN_RandomAttr,
                               NN_InitAttr],
    "source of a parameter (#nn.file, #nn.splat, #nn.random or #nn.init)">;

def NN_ReduceKind : I32EnumAttr<"ReduceKind", "kind of a reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::soap::nn";
  let genSpecializedAttr = 0;
}

def NN_ReduceKindAttr : EnumAttr<NN_Dialect, NN_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_Predicate : I32EnumAttr<"Predicate", "predicate of a comparison", [
    I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">,
    I32EnumAttrCase<"Lt", 2, "lt">, I32EnumAttrCase<"Le", 3, "le">,
    I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]> {
  let cppNamespace = "::soap::nn";
  let genSpecializedAttr = 0;
}

def NN_PredicateAttr : EnumAttr<NN_Dialect, NN_Predicate, "predicate"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_ResizeMode : I32EnumAttr<"ResizeMode", "interpolation of a resize", [
    I32EnumAttrCase<"Nearest", 0, "nearest">,
    I32EnumAttrCase<"Linear", 1, "linear">,
    I32EnumAttrCase<"Cubic", 2, "cubic">]> {
  let cppNamespace = "::soap::nn";
  let genSpecializedAttr = 0;
}

def NN_ResizeModeAttr : EnumAttr<NN_Dialect, NN_ResizeMode, "resize_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_ActivationKind : I32EnumAttr<"ActivationKind",
    "activation of a recurrent layer", [
    I32EnumAttrCase<"Relu", 0, "relu">, I32EnumAttrCase<"Tanh", 1, "tanh">,
    I32EnumAttrCase<"Sigmoid", 2, "sigmoid">,
    I32EnumAttrCase<"Affine", 3, "affine">,
    I32EnumAttrCase<"LeakyRelu", 4, "leaky_relu">,
    I32EnumAttrCase<"ThresholdedRelu", 5, "thresholded_relu">,
    I32EnumAttrCase<"ScaledTanh", 6, "scaled_tanh">,
    I32EnumAttrCase<"HardSigmoid", 7, "hard_sigmoid">,
    I32EnumAttrCase<"Elu", 8, "elu">,
    I32EnumAttrCase<"Softsign", 9, "softsign">,
    I32EnumAttrCase<"Softplus", 10, "softplus">]> {
  let cppNamespace = "::soap::nn";
}

def NN_ActivationAttr : NN_Attr<"Activation", "activation"> {
  let summary = "An activation of a recurrent layer";
  let description = [{
    One of ONNX's (see its LSTM), with its `alpha` and `beta`; those that have
    no use for them ignore them.

    Example: `#nn.activation<leaky_relu, 1.000000e-02, 0.000000e+00>`

    Constraints:
    - `alpha` and `beta` are finite
  }];
  let parameters = (ins EnumParameter<NN_ActivationKind>:$kind,
                        APFloatParameter<"">:$alpha,
                        APFloatParameter<"">:$beta);
  let builders = [AttrBuilder<(ins "::soap::nn::ActivationKind":$kind,
                                   CArg<"double", "0">:$alpha,
                                   CArg<"double", "0">:$beta), [{
    return $_get($_ctxt, kind, ::llvm::APFloat(alpha), ::llvm::APFloat(beta));
  }]>];
  let assemblyFormat = [{
    `<` $kind `,` custom<Double>($alpha) `,` custom<Double>($beta) `>`
  }];
  let genVerifyDecl = 1;
}

def NN_ActivationArrayAttr :
    TypedArrayAttrBase<NN_ActivationAttr, "activations">;

def NN_ScheduleKind : I32EnumAttr<"ScheduleKind", "how a learning rate decays", [
    I32EnumAttrCase<"Constant", 0, "constant">,
    I32EnumAttrCase<"Step", 1, "step">,
    I32EnumAttrCase<"Cosine", 2, "cosine">,
    I32EnumAttrCase<"Linear", 3, "linear">]> {
  let cppNamespace = "::soap::nn";
}

/// What a local input, parameter, output or dropout adds: the box of the whole
/// value that it holds.
defvar boxAttributes = (ins
    OptionalAttr<DenseI64ArrayAttr>:$offsets,
    OptionalAttr<DenseI64ArrayAttr>:$global_shape);

#endif // SOAP_DIALECT_NN_IR_NNATTRS_TD
