//===- TrainingPasses.td - Steps of training --------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that make a step of training of a model, and what it updates and keeps.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_TRANSFORMS_TRAININGPASSES_TD
#define SOAP_DIALECT_NN_TRANSFORMS_TRAININGPASSES_TD

include "mlir/Pass/PassBase.td"

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

#endif // SOAP_DIALECT_NN_TRANSFORMS_TRAININGPASSES_TD
