//===- Passes.td - Passes over nn graphs -------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_TRANSFORMS_PASSES_TD
#define SOAP_DIALECT_NN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"
include "soap/Dialect/NN/Transforms/ProductPasses.td"
include "soap/Dialect/NN/Transforms/TrainingPasses.td"

def FoldConstantsPass : Pass<"nn-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Compute operations whose operands are constants";
  let description = [{
    Replaces element-wise operations, nn.reshape, nn.transpose and nn.slice whose
    operands are all known by their value: `nn.constant`, and `nn.parameter` with
    a `#nn.splat` source. A result that stems from a parameter becomes a
    parameter again, which is possible only where all its elements are equal.
    Parameters and constants that nobody reads go.

    ```mlir
    %0 = nn.constant dense<2.0> : tensor<f32> {nn.name = "a"}
    %1 = nn.sqrt %0 {nn.name = "b"} : tensor<f32>
    // becomes
    %1 = nn.constant dense<1.41421354> : tensor<f32> {nn.name = "b"}
    ```

    Results keep the name of the operation. Does not touch operations with more
    than 65,536 elements that differ, nor weights in files: parameter-only
    expressions are the business of `nn-hoist-init`.
  }];
  let statistics = [
    Statistic<"numFolded", "folded", "Operations that became constants">
  ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

def FoldTransposesPass : Pass<"nn-fold-transposes", "::mlir::func::FuncOp"> {
  let summary = "Let products read what was transposed before them";
  let description = [{
    An operand of nn.matmul that is a transpose of its last two dimensions, and
    of no others, is read as it was before, and `transpose_a` or `transpose_b`
    changes. A transpose that nobody reads any more goes.

    ```mlir
    %0 = nn.transpose %w {nn.name = "t", permutation = array<i64: 1, 0>}
    %1 = nn.matmul %x, %0 {nn.name = "fc"}
    // becomes
    %1 = nn.matmul %x, %w {nn.name = "fc", transpose_b}
    ```

    Exporters write a layer of weights (F, K) so. In a training step, where
    weights change, they would be transposed in every step, and their gradients,
    too.
  }];
  let statistics = [
    Statistic<"numFolded", "folded", "Operands that are read before a transpose">
  ];
}

def FoldGeluPass : Pass<"nn-fold-gelu", "::mlir::func::FuncOp"> {
  let summary = "Make one operation of a GELU that is written out";
  let description = [{
    Models of opsets before 20 write ONNX Gelu as x / 2 * (1 + erf(x / sqrt(2))),
    or x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), in any order.
    What computes one of these becomes nn.gelu, with the name of the operation
    that made the result. Constants may differ from these by a millionth, as
    numbers of f32 do; only tensors of f32 are looked at.

    ```mlir
    %0 = nn.div %x, %sqrt2 {nn.name = "a"}
    %1 = nn.erf %0 {nn.name = "b"}
    %2 = nn.add %1, %one {nn.name = "c"}
    %3 = nn.mul %x, %2 {nn.name = "d"}
    %4 = nn.mul %3, %half {nn.name = "e"}
    // becomes
    %4 = nn.gelu %x {nn.name = "e"}
    ```

    A library applies it behind a product; the parts would be a loop of their
    own. In a training step, its gradient keeps x alone.
  }];
  let statistics = [
    Statistic<"numFolded", "folded", "GELUs that became one operation">
  ];
}

def FoldAttentionPass : Pass<"nn-fold-attention", "::mlir::func::FuncOp"> {
  let summary = "Make one operation of attention that is written out";
  let description = [{
    Scaled dot-product attention is two products with a softmax along the last
    dimension between them (Vaswani et al., 2017, section 3.2.1), and perhaps a
    factor and a mask in front of it. They become nn.attention, with the name of
    the second product:

    ```mlir
    %0 = nn.matmul %q, %k {nn.name = "scores", transpose_b}
    %1 = nn.div %0, %eight {nn.name = "scale"}
    %2 = nn.where %hidden, %low, %1 {nn.name = "mask"}
    %3 = nn.softmax %2 {nn.name = "weights", axis = 3 : i64}
    %4 = nn.matmul %3, %v {nn.name = "context"}
    // becomes
    %4 = nn.attention %q, %k, %v mask %hidden {nn.name = "context",
           scale = 1.250000e-01 : f32, fill = -1.000000e+04 : f32}
    ```

    Factors are numbers that the scores are multiplied with or divided by. A
    mask is added, or chooses between the scores and one number. Nothing else may
    read what is between query and result, so attention stays as it is in a
    training step, whose gradients read the weights. Products are of f32 without a
    bias, and of batches of the same size. A kernel makes the scores of a few rows
    at a time, so that no tensor holds all of them.
  }];
  let options = [
    Option<"leastScoreBytes", "least-score-bytes", "int64_t", "0",
           "Leave attention whose scores have fewer bytes">,
    Option<"bf16", "bf16", "bool", "false",
           "Kernels may round the factors of its products to bf16">
  ];
  let statistics = [
    Statistic<"numFolded", "folded", "Attentions that became one operation">
  ];
}

def UnrollRNNPass : Pass<"nn-unroll-rnn", "::mlir::func::FuncOp"> {
  let summary = "Split recurrent layers along their steps";
  let description = [{
    Splits every nn.lstm, nn.gru and nn.rnn into one operation per `chunk` steps
    (the last one may have fewer), as the publications do that this compiler follows (Jia, Zaharia,
    Aiken, "Beyond data and model parallelism for deep neural networks", 2019,
    section 8.1: 40 steps). A strategy can then place parts of a layer apart, and
    a part of one layer runs beside a later part of the layer before.

    Parts take steps of x, hand on hidden and cell state, read the same weights,
    and are concatenated:

    ```mlir
    %y, %c = nn.lstm %x, %w, %r, %b, %h0, %c0 {nn.name = "lstm1"}  // 5 steps
    // becomes, with chunk=3
    %x0 = nn.slice %x {nn.name = "lstm1.step0-2.x", ...}
    %x1 = nn.slice %x {nn.name = "lstm1.step3-4.x", ...}
    %y0, %c1 = nn.lstm %x0, %w, %r, %b, %h0, %c0 {nn.name = "lstm1.step0-2"}
    %l0 = nn.slice %y0 {nn.name = "lstm1.step0-2.last", ...}       // its last step
    %h1 = nn.reshape %l0 {nn.name = "lstm1.step0-2.state"}
    %y1, %c = nn.lstm %x1, %w, %r, %b, %h1, %c1 {nn.name = "lstm1.step3-4"}
    %y = nn.concat %y0, %y1 {nn.name = "lstm1", axis = 0 : i64}
    ```

    Two directions are split, too: `lstm1.forward.step0-2` and
    `lstm1.reverse.step0-2`, which both read the same steps, with slices of the
    weights for each (`lstm1.forward.bias`; `nn-hoist-init` has them made when
    the model is loaded). `lstm1.step0-2` then is the concatenation of both
    directions. Steps in names count from 0, both ends inclusive; a part of one
    step is `lstm1.step7`.

    Slices of the concatenated states then move up, so that a part of the next
    layer depends on a part of this one alone: through the concatenation, and
    through operations between layers (reshapes, transposes, projections, residual
    additions) whose steps are computed apart. These become operations per part
    (`squeeze1.step0-2`); what else reads them reads the concatenation of the
    parts, which has their name.

    Preconditions: no strategy was chosen yet (a layer with attributes besides
    its name stays, with a remark). Run it after `nn-fold-constants` and before
    `nn-hoist-init`; names of parts are stable, strategies name them.

    Operations then stand along the diagonal: a part of one layer beside an earlier
    part of the next. Devices launch and communicate in block order; layer by
    layer, the third layer would wait for the end of the first.

    Does not touch layers of at most `chunk` steps (a remark says so), nor what
    stands before the first or behind the last recurrent layer: embeddings stay
    whole and are sliced, attention and softmax read the concatenation. Does not
    choose where parts run.
  }];
  let options = [
    Option<"chunk", "chunk", "int64_t", "1", "Steps of a part">,
    Option<"only", "only", "std::string", "\".*\"",
           "Regular expression for the whole name of the layers to split">,
  ];
  let statistics = [
    Statistic<"numUnrolled", "unrolled", "Layers that were split">,
    Statistic<"numParts", "parts", "Recurrent operations that they became">,
    Statistic<"numCut", "cut", "Operations between layers that were split">,
    Statistic<"numKept", "kept", "Layers that stay one operation">
  ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

def FoldBatchNormPass : Pass<"nn-fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Fold batch norms into convolutions and matrix products";
  let description = [{
    In inference a batch norm is a scale and a shift per channel, and so are
    nn.mul and nn.add with a parameter of one element per channel. Where the only
    producer of such an operation is nn.conv, nn.matmul or nn.batch_norm with
    parameters for weights, and nothing else reads what it produces, scale and
    shift move into expressions over these parameters:

    ```mlir
    %1 = nn.conv %x, %w {nn.name = "conv", ...}
    %2 = nn.batch_norm %1, %scale, %bias, %mean, %variance {nn.name = "bn", ...}
    // becomes, with s = scale / sqrt(variance + epsilon)
    %w2 = nn.mul %w, %s
    %b2 = nn.sub %bias, (nn.mul %mean, %s)
    %2 = nn.conv %x, %w2 bias %b2 {nn.name = "conv", ...}
    ```

    `nn-hoist-init` then moves the expressions to `@init`. The producer keeps its
    name. A batch norm without such a producer becomes `x * s + t` when operations
    behind it have been folded into it, an nn.mul and an nn.add of its name.
    Operations with gradients (members and leaders of groups) stay as they are.
  }];
  let statistics = [
    Statistic<"numFolded", "folded", "Operations that were folded into others">,
    Statistic<"numWrittenOut", "written-out",
              "Batch norms that became a product and a sum">
  ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

def HoistInitPass : Pass<"nn-hoist-init", "::mlir::ModuleOp"> {
  let summary = "Move parameter-only expressions to @init";
  let description = [{
    Operations of `@main` that depend on parameters and constants only, not on
    inputs, move to a private function `@init`, which runs once when the model is
    loaded. Results that the rest of `@main` reads become
    `nn.parameter` with source `#nn.init<k>`, right before their first reader;
    k is the number of the result of `@init`.

    ```mlir
    func.func @main() {
      %w = nn.parameter ...
      %w2 = nn.mul %w, %s {nn.name = "w2"}
      %1 = nn.conv %x, %w2 ...
    // becomes
    func.func private @init() -> tensor<64x3x3x3xf32> {
      %w = nn.parameter ...
      %w2 = nn.mul %w, %s {nn.name = "w2"}
      return %w2
    }
    func.func @main() {
      %w2 = nn.parameter {nn.name = "w2"} : tensor<64x3x3x3xf32> from #nn.init<0>
      %1 = nn.conv %x, %w2 ...
    ```

    Precondition: the module has `@main` and, if there is anything to hoist, no
    `@init` yet. Parameters and constants themselves stay (copies of those that
    both functions read). Without parameter-only expressions nothing changes.
  }];
  let statistics = [
    Statistic<"numHoisted", "hoisted", "Operations that moved to @init">
  ];
  let dependentDialects = ["::soap::nn::NNDialect",
                           "::mlir::func::FuncDialect"];
}

def FusePass : Pass<"nn-fuse", "::mlir::func::FuncOp"> {
  let summary = "Make one operation of several per element";
  let description = [{
    Operations each of whose result elements depends on one element of each
    operand, and whose results have one shape, become an `nn.fused` if all but
    the last are read by others of them alone:

    ```mlir
    %1 = nn.mul %x, %s {nn.name = "mul"}
    %2 = nn.add %1, %y {nn.name = "add"}
    %3 = nn.relu %2 {nn.name = "relu"}
    // becomes
    %3 = nn.fused(%x, %s, %y) {nn.name = "relu"} {
      ... the same three operations
    }
    ```

    It has the name of the last one, whose result it makes, and stands where
    this one stood. Search, partitioning and costs see one operation, and one
    kernel passes over memory once.

    In a training step, a reduction in a group takes what it reduces in the same
    way, as an `nn.fused_reduce`. Members of groups become one with members of
    the same group that run along the same loops, and with operations in no
    group, which join it. Where a part leads a group, its members join that of
    the others, or are led by the new operation: a batch norm and its relu share
    one decision from then on.

    Stay as they are: private functions (`@init` runs once); updates of
    parameters; operations that take parts of sums (`nn.parts`); those that
    wait for one (`nn.after`) that the others do not read; operations with
    several results; with `leave-rounding`, a cast of a product's result to the
    type of its factors, which the library of a target makes. With
    `drop-rounding`, in inference, a value of f32 that parts round and widen again
    is what it was: rounding is what storing it costs, and it is not stored. Of
    several products, only the last one's cast becomes a part. What is read elsewhere stays a value. So no operation is split along fewer loops than
    before, and a partial sum is never what a follower is applied to: it is a
    value in front of the operation.

    Precondition: behind all passes that look at single operations, before a
    strategy is chosen.
  }];
  let options = [
    Option<"maxParts", "max-parts", "int64_t", "32",
           "Operations that one takes the place of, at most">,
    Option<"maxOperands", "max-operands", "int64_t", "12",
           "Operands of one, at most">,
    Option<"leaveRounding", "leave-rounding", "bool", "false",
           "Leave casts of a product's result to the type of its factors alone">,
    Option<"dropRounding", "drop-rounding", "bool", "false",
           "Drop casts to 16 bits and back between parts of one operation">
  ];
  let statistics = [
    Statistic<"numMade", "made", "Operations that were made of several">,
    Statistic<"numFused", "fused", "Operations that became parts of others">
  ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

#endif // SOAP_DIALECT_NN_TRANSFORMS_PASSES_TD
