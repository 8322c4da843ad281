//===- NNTrainingOps.td - Updates of parameters ------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Optimizers, and what lasts from one step of training to the next. The C++
// classes have a header of their own, NNTraining.h.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNTRAININGOPS_TD
#define SOAP_DIALECT_NN_IR_NNTRAININGOPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

def NN_TrainedTensor : NN_TensorOf<[F32, F64], "f32 or f64">;
def NN_CountTensor : NN_TensorOf<[I64], "i64">;

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

def NN_WriteOp : NN_Op<"write", [
    NN_PerElement, MemoryEffects<[MemWrite]>, AllTypesMatch<["value", "parameter", "result"]>,
    DeclareOpInterfaceMethods<PartitionOpInterface,
      ["getPartitionSpec", "getFlops", "getBytes"]>]> {
  let summary = "Gives a parameter a new value, for the next step";
  let description = [{
    `parameter` is what an `nn.parameter` makes, and has `value` from the next
    step on. All that reads the parameter in this step reads its old value: the
    write comes after it. The result is the new value.

    A parameter that is written lives where it is written: its configuration
    follows from that of the write.

    Loops: `d0 .. dk`; value, parameter and result `(d0, .., dk)`.

    Example:

    ```mlir
    %1 = nn.write %new, %w {nn.name = "conv1.weight.write"} : tensor<64x3x3x3xf32>
    ```

    Constraints:
    - value, parameter and result have one type
    - `parameter` is made by an `nn.parameter` that is not made by `@init`, and
      that no other operation writes
  }];
  let arguments = (ins NN_Tensor:$value, NN_Tensor:$parameter);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$value `,` $parameter attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_ScheduleOp : NN_PureOp<"schedule", [NN_PerElement], ["getFlops"]> {
  let summary = "The number of the step, and what depends on it alone";
  let description = [{
    Scalars that every device makes for itself: the number n of the step (the
    first one is 1), its learning rate, and Adam's bias corrections
    `1 - beta1^n` and `1 - beta2^n` (Kingma and Ba 2015, algorithm 1). With k =
    n - 1 the learning rate is

        rate * min(1, n / warmup) * decay(max(0, k - warmup))

    and decay(i) is 1 (`constant`), `factor^floor(i / period)` (`step`),
    `(1 + cos(pi * min(1, i / period))) / 2` (`cosine`), or
    `1 - min(1, i / period)` (`linear`). They are computed in f64.

    Without an operand, the number of the steps before is state of the program,
    which starts at 0 and lasts from step to step, as a parameter that is
    written does. In a program, `before` is that state.

    Loops: none.

    Example:

    ```mlir
    %n, %rate, %c1, %c2 = nn.schedule {nn.name = "schedule",
        kind = 2 : i32, rate = 1.0e-01 : f64, warmup = 100, period = 1000}
      : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
    ```

    Constraints:
    - all results are scalars; the last three have one element type
    - `rate`, `factor`, `beta1` and `beta2` are finite; `rate` and `factor` are
      not negative, `beta1` and `beta2` at least 0 and below 1
    - `warmup` is not negative, `period` is 1 or larger
  }];
  let arguments = (ins Optional<NN_CountTensor>:$before,
      NN_ScheduleKind:$kind, F64Attr:$rate,
      DefaultValuedAttr<I64Attr, "0">:$warmup,
      DefaultValuedAttr<I64Attr, "1">:$period,
      DefaultValuedAttr<F64Attr, "0.1">:$factor,
      DefaultValuedAttr<F64Attr, "0.9">:$beta1,
      DefaultValuedAttr<F64Attr, "0.999">:$beta2);
  let results = (outs NN_CountTensor:$number, NN_TrainedTensor:$learning_rate,
      NN_TrainedTensor:$correction1, NN_TrainedTensor:$correction2);
  let assemblyFormat = [{
    ($before^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

def NN_DropoutOp : NN_PureOp<"dropout", [AllTypesMatch<["x", "result"]>],
    ["setLocalAccess", "getFlops"]> {
  let summary = "Elements at random, the others are 0 (ONNX Dropout)";
  let description = [{
    Of `x`, every element is 0 with probability `ratio`, and else multiplied by
    `1 / (1 - ratio)` (Srivastava et al. 2014, in the inverted form). Which ones
    are kept follows from the number of the step, `seed`, and the position of
    the element in the whole value alone, so that every tile of it, on every
    device, draws what the whole draws, and the gradient, which is the same
    operation on the gradient of the result, draws it again: no mask is kept.

    Element i, in row-major order of `global_shape` (of the whole value, x
    without one), is kept if the first word of Philox-4x32 with ten rounds
    (Salmon et al. 2011, section 3.3) is at least `ratio * 2^32`, rounded. The
    counter is i (words 0 and 1, the lower one first) and `step` (words 2 and
    3), the key `seed`. A tile starts at `offsets` of the whole.

    Without `step`, which `nn.schedule` makes, all elements stay as they are:
    that is what a model says, before a training step is built of it.

    Loops: `d0 .. dk`; x and result `(d0, .., dk)`, step `()`.

    Example:

    ```mlir
    %1 = nn.dropout %x, %n {nn.name = "drop", ratio = 5.0e-01 : f64, seed = 7}
      : tensor<8x64xf32>, tensor<i64>
    ```

    Constraints:
    - x and result have one type
    - step is a scalar
    - `ratio` is at least 0 and below 1
    - `offsets` and `global_shape` come together, one entry per dimension, and
      the tile lies inside of `global_shape`
  }];
  let arguments = !con((ins NN_FloatTensor:$x, Optional<NN_CountTensor>:$step,
      F64Attr:$ratio, DefaultValuedAttr<I64Attr, "0">:$seed), boxAttributes);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x (`,` $step^)? attr-dict `:` type($result) (`,` type($step)^)?";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements are dropped whose random word is smaller.
    uint32_t getThreshold();
  }];
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

class NN_UpdateOp<string mnemonic, dag state, dag attributes, dag made> :
    NN_PureOp<mnemonic, [NN_PerElement], ["getFlops"]> {
  let arguments = !con((ins NN_TrainedTensor:$w, NN_TrainedTensor:$gradient),
                       state, (ins Optional<NN_TrainedTensor>:$scale),
                       attributes, (ins
                         DefaultValuedAttr<F64Attr, "0.0">:$weight_decay));
  let results = !con((outs NN_TrainedTensor:$result), made);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = [{
    ::soap::PartitionSpec $cppClass::getPartitionSpec() {
      return ::soap::nn::detail::elementwiseSpec(*this);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::soap::nn::detail::verifyUpdate(*this);
    }
  }];
  let hasVerifier = 1;
}

defvar updateConstraints = [{
    Where `scale` is 0, nothing changes, whatever the gradient is.

    Loops: `d0 .. dk`; w, gradient, state and results `(d0, .., dk)`; scalars
    `()`.

    Constraints:
    - w, gradient, state and results have one type; all other operands are
      scalars of its element type
    - factors are finite
}];

def NN_SGDOp : NN_UpdateOp<"sgd", (ins NN_TrainedTensor:$rate), (ins), (outs)> {
  let summary = "A step of gradient descent";
  let description = [{
    With the gradient g, multiplied by `scale` where there is one: w becomes
    `w - rate * (g + weight_decay * w)`.

    Example:

    ```mlir
    %1 = nn.sgd %w, %g, %rate {nn.name = "fc.weight.sgd"}
      : (tensor<64x32xf32>, tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
    ```
  }] # updateConstraints;
}

def NN_SparseSGDOp : NN_PureOp<"sparse_sgd", [NN_OverwritesFirst],
    ["setLocalAccess", "getFlops", "getBytes"]> {
  let summary = "A step of gradient descent for some slices of a table";
  let description = [{
    `nn.sgd` without weight decay, where the gradient is what `nn.scatter_nd`
    adds up of `slices` at `indices` on zeros: in row-major order of the indices
    each slice of w becomes `w - rate * slice`, and the others stay as they are.
    Nothing else of the size of w is read or made, and w is changed where it
    lies, if nothing reads the old value later.

    Indices, `bases` and `table_sizes` are those of `nn.scatter_nd`, slices its
    updates.

    Loops: `d0 .. dk`; w and result `(d0, .., dk)`, indices
    `([U0], .., [Uj], [K])`, slices `([U0], .., [Uj], dK, .., dk)`, rate `()`.

    Example:

    ```mlir
    %1 = nn.sparse_sgd %w, %i, %g, %rate {nn.name = "embedding.update"}
      : (tensor<1000x64xf32>, tensor<8x1xi64>, tensor<8x64xf32>, tensor<f32>)
      -> tensor<1000x64xf32>
    ```

    Constraints:
    - indices and slices are as for `nn.scatter_nd`
    - w and result have one type, slices its element type; the rate is a scalar
      of that
  }];
  let arguments = (ins NN_TrainedTensor:$w, NN_IndexTensor:$indices,
      NN_TrainedTensor:$slices, NN_TrainedTensor:$rate,
      OptionalAttr<DenseI64ArrayAttr>:$bases,
      OptionalAttr<DenseI64ArrayAttr>:$table_sizes);
  let results = (outs NN_TrainedTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_MomentumOp : NN_UpdateOp<"momentum",
    (ins NN_TrainedTensor:$velocity, NN_TrainedTensor:$rate),
    (ins F64Attr:$momentum, UnitAttr:$nesterov),
    (outs NN_TrainedTensor:$new_velocity)> {
  let summary = "A step of gradient descent with momentum";
  let description = [{
    With the gradient g, multiplied by `scale` where there is one, and `h = g +
    weight_decay * w`: the velocity v becomes `v' = momentum * v + h`, and w
    becomes `w - rate * v'`, or with `nesterov` `w - rate * (h + momentum * v')`.
    This is what PyTorch's SGD computes (Sutskever et al. 2013 with the rate
    outside of the velocity).

    Example:

    ```mlir
    %1, %2 = nn.momentum %w, %g, %v, %rate {nn.name = "fc.weight.momentum",
        momentum = 9.0e-01 : f64}
      : (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<f32>)
      -> (tensor<64x32xf32>, tensor<64x32xf32>)
    ```
  }] # updateConstraints;
}

def NN_AdamOp : NN_UpdateOp<"adam",
    (ins NN_TrainedTensor:$mean, NN_TrainedTensor:$variance,
         NN_TrainedTensor:$rate, NN_TrainedTensor:$correction1,
         NN_TrainedTensor:$correction2),
    (ins DefaultValuedAttr<F64Attr, "0.9">:$beta1,
         DefaultValuedAttr<F64Attr, "0.999">:$beta2,
         DefaultValuedAttr<F64Attr, "1.0e-8">:$epsilon, UnitAttr:$decoupled),
    (outs NN_TrainedTensor:$new_mean, NN_TrainedTensor:$new_variance)> {
  let summary = "A step of Adam or AdamW";
  let description = [{
    Kingma and Ba 2015, algorithm 1, and, with `decoupled`, Loshchilov and Hutter
    2019, algorithm 2. With the gradient g, multiplied by `scale` where there is
    one: without `decoupled`, g grows by `weight_decay * w`; with it, w shrinks
    by `rate * weight_decay * w` first. Then

        m' = beta1 * m + (1 - beta1) * g
        v' = beta2 * v + (1 - beta2) * g * g
        w' = w - rate * (m' / correction1) / (sqrt(v' / correction2) + epsilon)

    `nn.schedule` makes rate and corrections.

    Example:

    ```mlir
    %1:3 = nn.adam %w, %g, %m, %v, %rate, %c1, %c2 {nn.name = "fc.weight.adam"}
      : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>,
         tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
    ```
  }] # updateConstraints;
}

#endif // SOAP_DIALECT_NN_IR_NNTRAININGOPS_TD
