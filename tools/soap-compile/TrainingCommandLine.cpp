//===- TrainingCommandLine.cpp - Options of training ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingCommandLine.h"
#include "../Numbers.h"
#include "soap/Compiler/Options.h"

using namespace soap;

void soap::declareTraining(CLI::App &app, TrainingOptions &how) {
  app.option_defaults()->group(trainingGroup);
  app.add_option("--train", how.optimizer,
                 "Compile a step of training: loss, gradients and updates of "
                 "all parameters. Every step that soap-run runs goes on where "
                 "the one before ended")
      ->check(CLI::IsMember({"sgd", "adam", "adamw"}))
      ->type_name("sgd|adam|adamw");
  app.add_option("--loss", how.loss,
                 "softmax-cross-entropy, negative-log-likelihood, "
                 "mean-squared-error, binary-cross-entropy, or output: the "
                 "loss is what the model gives out")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--loss-input", how.output,
                 "Output of the model that the loss is of (default: the only "
                 "one)")
      ->type_name("OUTPUT");
  app.add_option("--label", how.label, "Name of the input for labels")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--class-axis", how.classAxis,
                 "Dimension of that output that holds classes")
      ->type_name("K")
      ->capture_default_str();
  app.add_option("--ignore-index", how.ignoreIndex,
                 "A label that does not count (default: none)")
      ->type_name("N");
  app.add_option("--label-smoothing", how.labelSmoothing,
                 "Share of a label that goes to all classes")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--freeze", how.freeze,
                 "Parameters that are not trained, by their whole names")
      ->type_name("REGEX");
  app.add_option("--tie-weights", how.tieWeights,
                 "Parameters that are one if their elements are the same ones "
                 "of the model's file, by their whole names")
      ->type_name("REGEX");
  app.add_option("--batch-norm", how.batchNorm,
                 "Statistics of batch norms: global (of the whole batch, on "
                 "all devices), local (of each of --batch-norm-parts) or "
                 "frozen (the model's)")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--batch-norm-parts", how.batchNormParts,
                 "Equal parts of the batch that have statistics of their own "
                 "(default: as many as devices)")
      ->check(wholeNumber<int64_t>(1))
      ->type_name("N");
  app.add_option("--batch-norm-variance", how.batchNormVariance,
                 "How variances of the whole batch are summed up: two-pass "
                 "(squares of differences from the mean) or shifted (from the "
                 "running mean, reduced together with the mean; default: "
                 "two-pass on one device, else shifted)")
      ->check(CLI::IsMember({"two-pass", "shifted"}))
      ->type_name("NAME");
  app.add_option("--batch-norm-momentum", how.batchNormMomentum,
                 "Share of running statistics that a step keeps")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--accumulate", how.accumulate,
                 "Run a step's batch in N micro-batches, whose gradients are "
                 "added up")
      ->check(wholeNumber<int64_t>(1))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--recompute", how.recompute,
                 "Values of the forward pass that are made again for the "
                 "backward pass in place of being kept: none, auto (as far as "
                 "memory requires, cheapest first), or a list of elementwise, "
                 "kinds of operations (softmax, layer_norm, conv, ...) and "
                 "regular expressions over names of operations")
      ->delimiter(',')
      ->type_name("none|auto|OP,...");
  app.add_option("--dropout", how.dropout,
                 "Ratio of Dropout: model (every node has its own), none, or "
                 "a number for all nodes")
      ->type_name("model|none|X")
      ->capture_default_str();
  app.add_option("--dropout-seed", how.dropoutSeed, "Seed of Dropout")
      ->check(wholeNumber<uint64_t>())
      ->type_name("N")
      ->capture_default_str();
}

void soap::declareOptimizer(CLI::App &app, TrainingOptions &how) {
  app.option_defaults()->group(trainingGroup);
  app.add_option("--lr", how.rate, "Learning rate")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--lr-schedule", how.schedule,
                 "How the learning rate goes on: constant, step, cosine, "
                 "linear")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--warmup", how.warmup,
                 "Steps over which the learning rate rises from 0")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--lr-period", how.period,
                 "Steps from one --lr-factor to the next (step), or until the "
                 "learning rate is 0 (cosine, linear); these need one")
      ->type_name("N");
  app.add_option("--lr-factor", how.factor,
                 "What the schedule 'step' multiplies the learning rate by")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--momentum", how.momentum, "Momentum of sgd")
      ->type_name("X")
      ->capture_default_str();
  app.add_flag("--nesterov", how.nesterov, "Nesterov's form of momentum");
  app.add_option("--beta1", how.beta1, "Decay of Adam's mean of gradients")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--beta2", how.beta2, "Decay of Adam's mean of squares")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--epsilon", how.epsilon, "Adam's epsilon")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--weight-decay", how.weightDecay,
                 "Weight decay: of the loss for sgd and adam, of the weights "
                 "for adamw")
      ->type_name("X")
      ->capture_default_str();
  app.add_flag("!--no-vector-decay", how.decayVectors,
               "No weight decay of parameters of rank 1: biases and norms");
  app.add_flag("!--no-sparse-updates", how.sparseUpdates,
               "Make gradients of the size of a table also where plain SGD "
               "changes only the slices that were looked up in it");
  app.add_flag("!--no-eval", how.evaluation,
               "Leave out the program eval: the model itself, with the "
               "parameters that the step writes (soap-run --program=eval)");
  app.add_option("--bucket-bytes", how.bucketBytes,
                 "Reduce gradients of up to N bytes together, with one "
                 "all-reduce or reduce-scatter; 0: each by itself (default: 1 "
                 "to 64 MiB, with which the simulated step is shortest)")
      ->check(wholeNumber<int64_t>(0))
      ->type_name("N");
  app.add_option("--prefetch-bytes", how.prefetchBytes,
                 "Gather sharded parameters (fsdp) again so far ahead of their "
                 "readers that operations in between read up to N bytes of "
                 "parameters; 0: one operation ahead")
      ->check(wholeNumber<int64_t>(0))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--clip-norm", how.clipNorm,
                 "Largest norm of all gradients together (default: any)")
      ->type_name("X");
  app.add_option("--loss-scale", how.lossScale,
                 "First factor of the loss; steps whose gradients are not "
                 "finite are skipped and halve it; 0: none (default: 65536 "
                 "with --precision=f16, else none)")
      ->type_name("S");
  app.add_option("--loss-scale-period", how.lossScalePeriod,
                 "Steps in a row with finite gradients that double it")
      ->check(wholeNumber<int64_t>(1))
      ->type_name("N")
      ->capture_default_str();
}
