//===- TrainingStep.cpp - A step of training in place of inference --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/NN/IR/TrainingDescription.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace soap;

/// Of steps whose products are of f16, unless another one was asked for: as
/// PyTorch's GradScaler begins.
static constexpr double firstLossScale = 65536;

/// What whoever evaluates the model has to know of its training, and what is
/// good to know. In IR, so that a model may be compiled in several commands.
static std::string describeTraining(const TrainingOptions &training) {
  llvm::json::Object object{
      {"optimizer", training.optimizer},  {"loss", training.loss},
      {"label", training.label},          {"output", training.output},
      {"class_axis", training.classAxis}, {"learning_rate", training.rate}};
  if (training.ignoreIndex)
    object["ignore_index"] = *training.ignoreIndex;
  return llvm::formatv("{0}", llvm::json::Value(std::move(object)));
}

llvm::Error Compilation::buildTrainingStep(const TrainingOptions &training) {
  nn::BuildTrainingStepPassOptions how;
  how.loss = training.loss;
  how.output = training.output;
  how.label = training.label;
  how.classAxis = training.classAxis;
  if (training.ignoreIndex)
    how.ignoreIndex = *training.ignoreIndex;
  how.labelSmoothing = training.labelSmoothing;
  how.batchNorm = training.batchNorm;
  how.batchNormParts = training.batchNormParts;
  llvm::Expected<int32_t> devices = countDevices();
  if (!devices)
    return devices.takeError();
  if (training.batchNorm == "local" && training.batchNormParts == 0)
    how.batchNormParts = *devices;
  if (!training.batchNormVariance.empty())
    how.batchNormVariance = training.batchNormVariance;
  else if (*devices > 1)
    how.batchNormVariance = "shifted";
  how.batchNormMomentum = training.batchNormMomentum;
  how.freeze = training.freeze;
  how.tieWeights = training.tieWeights;
  how.optimizer = training.optimizer;
  how.lr = training.rate;
  how.schedule = training.schedule;
  how.warmup = training.warmup;
  how.period = training.period;
  how.factor = training.factor;
  how.momentum = training.momentum;
  how.nesterov = training.nesterov;
  how.beta1 = training.beta1;
  how.beta2 = training.beta2;
  how.epsilon = training.epsilon;
  how.weightDecay = training.weightDecay;
  how.decayVectors = training.decayVectors;
  how.clipNorm = training.clipNorm;
  how.lossScale = training.lossScale.value_or(
      options_.precision == "f16" && !training.optimizer.empty()
          ? firstLossScale
          : 0);
  how.lossScalePeriod = training.lossScalePeriod;
  // Gradients alone change nothing that an evaluation could read.
  how.evaluation = training.evaluation && !training.optimizer.empty();
  how.dropout = training.dropout;
  how.seed = training.dropoutSeed;
  how.accumulate = training.accumulate;
  if (llvm::Error error = runPasses(
          [&](OpPassManager &passes) {
            // Gradients are those of the parts.
            if (options_.unrollRNN != 0) {
              nn::UnrollRNNPassOptions unroll;
              unroll.chunk = options_.unrollRNN;
              passes.addNestedPass<func::FuncOp>(
                  nn::createUnrollRNNPass(unroll));
            }
            // Nor is there a gradient of what products read through.
            passes.addNestedPass<func::FuncOp>(nn::createFoldTransposesPass());
            passes.addNestedPass<func::FuncOp>(nn::createFoldGeluPass());
            passes.addPass(nn::createBuildTrainingStepPass(how));
            if (training.sparseUpdates)
              passes.addNestedPass<func::FuncOp>(nn::createSparseUpdatesPass());
          },
          "training step", Kind::BadInput))
    return error;
  auto say = [&](ModuleOp module, StringRef attribute, int64_t bytes) {
    if (module && bytes > 0)
      module.lookupSymbol("main")->setAttr(
          attribute, IntegerAttr::get(IntegerType::get(&context_, 64), bytes));
  };
  say(*module_, soapir::SOAPDialect::getBucketBytesAttrName(),
      training.bucketBytes.value_or(defaultBucketBytes));
  for (ModuleOp program : {*module_, nn::findEvaluation(*module_)})
    say(program, soapir::SOAPDialect::getPrefetchBytesAttrName(),
        training.prefetchBytes);
  (*module_)->setAttr(nn::trainingAttrName,
                      StringAttr::get(&context_, describeTraining(training)));
  if (training.recompute.empty())
    return llvm::Error::success();
  step_ = module_->clone();
  if (recomputesAsNeeded())
    return llvm::Error::success();
  nn::RecomputePassOptions recompute;
  recompute.ops = training.recompute;
  return runPasses(
      [&](OpPassManager &passes) {
        passes.addNestedPass<func::FuncOp>(nn::createRecomputePass(recompute));
      },
      "recompute", Kind::BadInput);
}
