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

def BuildTrainingStepPass
    : Pass<"nn-build-training-step", "::mlir::ModuleOp"> {
  let summary = "Add a loss, gradients, and updates of parameters";
  let description = [{
    Adds a loss of one output of the model and, by reverse-mode differentiation,
    its gradient by every trainable parameter. The loss becomes an output of the
    function, in place of the model's own. With an `optimizer`, every parameter
    gets its value of the next step (`nn.write`); without one, the gradients are
    outputs too: `<parameter>.grad` for each parameter.

    ```mlir
    %y = nn.matmul %x, %w {nn.name = "fc"} : ...
    nn.output %y {nn.name = "scores"} : tensor<8x10xf32>
    // becomes, with loss=softmax-cross-entropy
    %y = nn.matmul %x, %w {nn.name = "fc"} : ...
    %label = nn.input {nn.name = "label"} : tensor<8xi64>
    ...                                       // loss, and its gradient by %y
    %dw = nn.matmul %x, %dy {nn.name = "fc.grad", transpose_a,
            nn.group = #nn.group<"fc", {f = "f", k = "n", n = "k"}>} : ...
    nn.output %loss {nn.name = "loss"} : tensor<f32>
    nn.output %dw {nn.name = "fc.weight.grad"} : tensor<64x10xf32>
    ```

    Gradients of an operation join its group (`#nn.group`), so that a strategy
    decides about all of them at once. Where a value is used several times, its
    gradients are added up.

    Losses, for an output x and a label t, as means over the whole batch:
    - `softmax-cross-entropy`: -log(softmax(x)[t]) along `class-axis`, as ONNX
      SoftmaxCrossEntropyLoss; t has indices of classes (i64) and the shape of x
      without the axis. Labels that are `ignore-index` do not count, neither in
      the sum nor in the mean; `label-smoothing` spreads that share of a label
      over all classes
    - `negative-log-likelihood`: -x[t], likewise
    - `mean-squared-error`: (x - t)^2, t of x's shape and type
    - `binary-cross-entropy`: of the logits x and the probabilities t,
      max(x, 0) - x t + log(1 + exp(-|x|))
    - `output`: x itself, which has one element

    Batch norms take the statistics of the whole batch (the mean and the biased
    variance over all dimensions but the channels). The variance is the mean of
    squares of differences from the mean (`batch-norm-variance=two-pass`), for
    which devices have to reduce the mean first, or from the running mean m as
    it was before the step, less (mean - m)^2 (`shifted`), so that both sums can
    be reduced together. Then it has an error of (mean - m)^2 roundings.

    With `batch-norm=local`, each of `batch-norm-parts` equal parts of the batch
    has its own statistics, in two passes, as on so many devices of other
    frameworks, whatever the strategy is; running statistics get their mean.
    With `batch-norm=frozen` batch norms take those of the model. With an
    optimizer, running statistics become `batch-norm-momentum` times their old
    value and, for the rest, that of the batch: the mean, and the unbiased
    variance (as PyTorch and cuDNN do).

    Statistics are never trained, nor are parameters whose whole name the
    regular expression `freeze` matches, nor what a node of the model makes
    (`nn.constant`) and no operation takes for weights or a bias: masks, first
    states of recurrent layers.

    Optimizers: `sgd` (`nn.sgd`, or with a `momentum` `nn.momentum`), `adam` and
    `adamw` (`nn.adam`). Their state are parameters called `<parameter>.velocity`,
    `.mean` and `.variance`, which start at 0. `nn.schedule` makes the learning
    rate of a step from `lr`, `schedule`, `warmup`, `period` and `factor`. With
    `clip-norm` c > 0, all gradients are multiplied by `min(1, c / (n + 1e-6))`,
    where n is the square root of the sum of squares of all their elements, in
    which each one counts once, however it is split or copied. An update joins
    the group of the first operation that reads the parameter.

    With `loss-scale` s > 0, gradients are those of the loss times a scale, so
    that small ones do not vanish in f16, and are divided by it in the updates
    (Micikevicius et al., "Mixed precision training", 2018). The scale is a
    parameter, `loss.scale`, which starts at s. A step is skipped if the sum of
    squares of all gradients is not finite: no parameter and no state of an
    optimizer changes (running statistics of batch norms do, and so does the
    number of the step), the scale is halved, but not below 1, and the parameter
    `loss.skipped` counts it. After `loss-scale-period` steps in a row that were
    not skipped, which `loss.good` counts, the scale is doubled. The outputs
    `loss_scale` and `skipped_steps` are scale and count behind the step.

    Dropout (`nn.dropout`, which the importer keeps for training) draws another
    mask in every step, from the number of the step, `dropout-seed` and the name
    of the operation. With `dropout=model` every operation has its own ratio;
    `dropout=none` takes them out, and a number is the ratio of all.

    With `accumulate` n > 1, the model is there once per micro-batch, which is
    one of n equal parts of the batch: forward pass, its part of the loss, and
    gradients, one micro-batch after the other, so that values kept for
    gradients are those of one. Operations of the first keep their names and lead
    groups of all; the others are called `conv1#1` and so on. Gradients are added
    up, as those of a parameter that is used several times, before the update.
    The loss is the mean over the whole batch, masks of dropout are those of the
    whole batch, statistics of batch norms are those of a micro-batch. A model
    that ends in its loss (`loss=output`) may sum samples up, and go on with what
    is linear of the sums: a micro-batch computes its share of the loss. Error:
    another operation that does not compute each sample by itself.

    With `evaluation`, the module gets a `module @eval` with the model as it was,
    before the step is made of it: a program over the same parameters, for a model
    that is trained to be used. Its outputs are the model's, its batch norms take
    the running statistics. Parameters that the step writes are marked by
    `nn.state` there, as their value is that of the last step.

    ```mlir
    func.func @main() {...}                   // the step
    module @eval {
      func.func @main() {
        %w = nn.parameter ... {nn.name = "w", nn.state} : tensor<10x64xf32>
        ...
      }
    }
    ```

    A tensor of the model is one parameter, in its shape and under its name,
    however many operations read parts or other shapes of it. Two tensors of one
    shape whose elements are the same ones of a file (as ONNX's Identity makes
    them) may be tied weights, or tensors that were equal when the model was
    exported: they stay apart, unless `tie-weights` matches the names of both.
    The first one is kept.

    Precondition: no strategy was chosen yet, and batch norms are not yet folded.
    Errors: a `tie-weights` that ties nothing; an output or a kind of loss that
    there is not; operations between a parameter and the loss that have no
    gradient (all are listed); nothing to train.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"softmax-cross-entropy\"",
           "What is minimised">,
    Option<"output", "output", "std::string", "\"\"",
           "The output that the loss is of; by default the only one">,
    Option<"label", "label", "std::string", "\"label\"",
           "Name of the input that is added for labels">,
    Option<"classAxis", "class-axis", "int64_t", "1",
           "Dimension of the output that holds classes">,
    Option<"ignoreIndex", "ignore-index", "int64_t",
           "std::numeric_limits<int64_t>::min()",
           "A label that does not count (default: none)">,
    Option<"labelSmoothing", "label-smoothing", "double", "0.0",
           "Share of a label that goes to all classes, in [0, 1)">,
    Option<"batchNorm", "batch-norm", "std::string", "\"global\"",
           "Statistics of batch norms: global (of the whole batch), local (of "
           "each part) or frozen">,
    Option<"batchNormParts", "batch-norm-parts", "int64_t", "1",
           "Equal parts of the batch with batch-norm=local">,
    Option<"batchNormVariance", "batch-norm-variance", "std::string",
           "\"two-pass\"",
           "Variances with batch-norm=global: two-pass or shifted">,
    Option<"freeze", "freeze", "std::string", "\"\"",
           "Regular expression for whole names of parameters that are not "
           "trained">,
    Option<"tieWeights", "tie-weights", "std::string", "\"\"",
           "Regular expression for whole names of parameters that are one if "
           "their elements are the same ones of a file">,
    Option<"batchNormMomentum", "batch-norm-momentum", "double", "0.9",
           "Share of running statistics that a step keeps">,
    Option<"optimizer", "optimizer", "std::string", "\"\"",
           "sgd, adam or adamw; empty: the gradients are outputs">,
    Option<"evaluation", "evaluation", "bool", "false",
           "Keep the model as a program beside the step">,
    Option<"lr", "lr", "double", "0.01", "Learning rate">,
    Option<"schedule", "schedule", "std::string", "\"constant\"",
           "How the learning rate goes on: constant, step, cosine or linear">,
    Option<"warmup", "warmup", "int64_t", "0",
           "Steps over which the learning rate rises from 0">,
    Option<"period", "period", "int64_t", "1",
           "Steps from one factor to the next (step), or until the learning "
           "rate is 0 (cosine, linear)">,
    Option<"factor", "factor", "double", "0.1",
           "What the schedule 'step' multiplies the learning rate by">,
    Option<"momentum", "momentum", "double", "0.0", "Momentum of sgd">,
    Option<"nesterov", "nesterov", "bool", "false", "Nesterov's momentum">,
    Option<"beta1", "beta1", "double", "0.9", "Decay of Adam's mean">,
    Option<"beta2", "beta2", "double", "0.999", "Decay of Adam's variance">,
    Option<"epsilon", "epsilon", "double", "1.0e-8", "Adam's epsilon">,
    Option<"weightDecay", "weight-decay", "double", "0.0", "Weight decay">,
    Option<"decayVectors", "decay-vectors", "bool", "true",
           "Weight decay of parameters of rank 1, as biases and norms have">,
    Option<"clipNorm", "clip-norm", "double", "0.0",
           "Largest norm of all gradients together; 0: any">,
    Option<"lossScale", "loss-scale", "double", "0.0",
           "First scale of the loss; 0: the loss is not scaled">,
    Option<"lossScalePeriod", "loss-scale-period", "int64_t", "2000",
           "Steps with finite gradients after which the scale is doubled">,
    Option<"dropout", "dropout", "std::string", "\"model\"",
           "Ratio of dropout: model (as each operation says), none, or a number "
           "for all">,
    Option<"seed", "dropout-seed", "uint64_t", "0", "Seed of dropout">,
    Option<"accumulate", "accumulate", "int64_t", "1",
           "Micro-batches whose gradients are added up">,
  ];
  let statistics = [
    Statistic<"numParameters", "parameters", "Parameters with a gradient">,
    Statistic<"numGradientOps", "gradient-ops",
              "Operations that the loss and the gradients consist of">
  ];
}

def SparseUpdatesPass : Pass<"nn-sparse-updates", "::mlir::func::FuncOp"> {
  let summary = "Update the slices of a table that a step looked up, alone";
  let description = [{
    The gradient of a look-up is zeros with some slices, as many as were looked
    up, and plain gradient descent without weight decay changes nothing where
    it is zero. So the update is made of the slices:

    ```mlir
    %g = nn.scatter_nd %i, %dy {nn.name = "g", reduction = #nn.reduce_kind<sum>}
    %new = nn.sgd %w, %g, %rate {nn.name = "w.update"}
    // becomes
    %new = nn.sparse_sgd %w, %i, %dy, %rate {nn.name = "w.update"}
    ```

    A gradient that is a sum (several look-ups in one table, a table that is a
    factor of a product as well, micro-batches) is taken apart; what is left of
    it is the gradient of the nn.sgd, and an nn.sparse_sgd follows for each
    look-up. Each is a member of the group of the update and part of it
    (`nn.update`).

    Devices that hold copies of a table exchange the slices of all samples, in
    place of sums of the size of the table; each then makes the same update, in
    the same order: there are no partial sums.

    Stay as they are: updates with weight decay, with a scale of the gradient
    (the norm of which is of the whole, and `--loss-scale`), with momentum and
    of Adam, which change what has no gradient; look-ups with more elements than
    the table; look-ups along another dim than the first, whose gradients are
    transposed.
  }];
  let statistics = [
    Statistic<"numSlices", "slices", "Look-ups whose slices are updated"> ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

def RecomputePass : Pass<"nn-recompute", "::mlir::func::FuncOp"> {
  let summary = "Make values of the forward pass again for the backward pass";
  let description = [{
    A training step keeps what its forward pass makes until the backward pass has
    read it. This pass has the backward pass read copies of some operations, which
    are made again from values that are kept: less memory, for more time.

    `ops` says which: `elementwise`, kinds of operations (`softmax` means
    `nn.softmax`), or regular expressions that match whole names. Only what the
    backward pass reads is made again, and what of the selected operations that
    needs. A reshape of what is made again is made again, too.

    ```mlir
    %1 = nn.gelu %0 {nn.name = "gelu"} : tensor<8x64xf32>
    %2 = nn.matmul %1, %w {nn.name = "fc"} : ...
    ...
    %dw = nn.matmul %1, %dy {nn.name = "fc.grad_1", transpose_a, ...} : ...
    // becomes, with ops=gelu
    %1 = nn.gelu %0 {nn.name = "gelu"} : tensor<8x64xf32>
    %2 = nn.matmul %1, %w {nn.name = "fc"} : ...
    ...
    %3 = nn.gelu %0 {nn.after = "head.grad", nn.name = "gelu.again",
           nn.group = #nn.group<"gelu", {d0 = "d0", d1 = "d1"}>} : tensor<8x64xf32>
    %dw = nn.matmul %3, %dy {nn.name = "fc.grad_1", transpose_a, ...} : ...
    ```

    A copy is in the group of its operation, so that it is split alike, on the
    same devices. All that it reads is there long before, so it says by `nn.after`
    which gradient it waits for: that which the operation that needs it reads.
    Every launch order launches it behind that. So does what gradients need of
    forward values alone (derivatives).

    What keeps running statistics reads the original, and is not made again;
    dropout draws the same mask again.

    Precondition: nn-build-training-step, and no pass behind it. Errors: a
    function without gradients; an entry of `ops` that means no operation.
  }];
  let options = [
    ListOption<"ops", "ops", "std::string",
               "Operations to make again: elementwise, kinds, or regular "
               "expressions for whole names">,
  ];
  let statistics = [
    Statistic<"numCopies", "copies", "Operations that are made again">
  ];
}

def RemoveDropoutPass : Pass<"nn-remove-dropout", "::mlir::func::FuncOp"> {
  let summary = "Take dropout out, for inference";
  let description = [{
    Whoever reads an nn.dropout without the number of a step reads its operand.
    Those of a training step have a number, and stay.

    ```mlir
    %1 = nn.dropout %0 {nn.name = "drop", ratio = 5.0e-01 : f64} : tensor<8x64xf32>
    %2 = nn.relu %1 {nn.name = "relu"} : tensor<8x64xf32>
    // becomes
    %2 = nn.relu %0 {nn.name = "relu"} : tensor<8x64xf32>
    ```
  }];
  let statistics = [
    Statistic<"numRemoved", "removed", "Operations that went">
  ];
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
