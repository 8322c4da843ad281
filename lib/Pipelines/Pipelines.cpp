//===- Pipelines.cpp - Named pipelines ------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Pipelines/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "soap/Conversion/SOAPToSOAPRT/SOAPToSOAPRT.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "soap/Dialect/SOAP/Transforms/Passes.h"
#include "soap/Dialect/SOAPRT/Transforms/Passes.h"
#include "soap/Target/Target.h"
#include "soap/Transforms/Passes.h"

using namespace mlir;
using namespace soap;

void soap::buildNormalizePipeline(OpPassManager &passes,
                                  const NormalizeChoices &choices) {
  passes.addNestedPass<func::FuncOp>(nn::createRemoveDropoutPass());
  passes.addNestedPass<func::FuncOp>(nn::createFoldConstantsPass());
  if (choices.unrollRNN != 0) {
    nn::UnrollRNNPassOptions unroll;
    unroll.chunk = choices.unrollRNN;
    passes.addNestedPass<func::FuncOp>(nn::createUnrollRNNPass(unroll));
    // First states of either direction.
    passes.addNestedPass<func::FuncOp>(nn::createFoldConstantsPass());
  }
  passes.addNestedPass<func::FuncOp>(nn::createFoldTransposesPass());
  if (choices.integerProducts)
    passes.addNestedPass<func::FuncOp>(nn::createIntegerProductsPass());
  passes.addNestedPass<func::FuncOp>(nn::createFoldGeluPass());
  passes.addNestedPass<func::FuncOp>(nn::createFoldBatchNormPass());
  if (choices.separateBias)
    passes.addNestedPass<func::FuncOp>(nn::createSeparateBiasPass());
  if (choices.precision != "f32") {
    if (choices.attentionScoreBytes) {
      nn::FoldAttentionPassOptions attention;
      attention.leastScoreBytes = *choices.attentionScoreBytes;
      attention.bf16 = choices.precision == "bf16";
      passes.addNestedPass<func::FuncOp>(
          nn::createFoldAttentionPass(attention));
    }
    nn::LowerPrecisionPassOptions lower;
    lower.to = choices.precision;
    lower.roundLayers = choices.roundLayers;
    passes.addNestedPass<func::FuncOp>(nn::createLowerPrecisionPass(lower));
    if (choices.rounding != ProductRounding::Never &&
        choices.precision != "tf32") {
      nn::NarrowActivationsPassOptions narrow;
      narrow.followers = choices.rounding == ProductRounding::BehindFollowers;
      passes.addNestedPass<func::FuncOp>(
          nn::createNarrowActivationsPass(narrow));
    }
  }
  if (choices.rowAlignment > 1) {
    nn::ArrangeFactorsPassOptions arrange;
    arrange.alignment = choices.rowAlignment;
    passes.addNestedPass<func::FuncOp>(nn::createArrangeFactorsPass(arrange));
  }
  passes.addNestedPass<func::FuncOp>(nn::createNarrowProductsPass());
  passes.addPass(nn::createHoistInitPass());
}

void soap::buildFusePipeline(OpPassManager &passes, bool attention,
                             ProductRounding rounding) {
  if (attention)
    passes.addNestedPass<func::FuncOp>(nn::createFoldAttentionPass());
  nn::FusePassOptions fuse;
  fuse.leaveRounding = rounding == ProductRounding::SumAlone;
  fuse.dropRounding = rounding == ProductRounding::BehindFollowers;
  passes.addNestedPass<func::FuncOp>(nn::createFusePass(fuse));
}

void soap::buildPartitionPipeline(OpPassManager &passes, StringRef costFile) {
  VerifyStrategyPassOptions verify;
  verify.cost = costFile.str();
  passes.addPass(createVerifyStrategyPass(verify));
  passes.addPass(createPartitionPass());
  passes.addPass(createSchedulePass());
}

static void buildPlanPipeline(OpPassManager &passes) {
  passes.addPass(soaprt::createAssignStreamsPass());
  passes.addPass(soaprt::createPlanMemoryPass());
}

void soap::buildLowerPipeline(OpPassManager &passes, const Target &target,
                              const LowerChoices &choices) {
  passes.addPass(createConvertSOAPToSOAPRTPass(target));
  // Where kernels stay apart, every tensor has a place.
  if (choices.layouts && choices.followers)
    passes.addPass(createJoinReshapesPass());
  if (choices.layouts)
    passes.addPass(createAssignLayoutsPass(target));
  if (choices.followers) {
    passes.addPass(createFuseFollowersPass(target, choices.keepNaN));
    // What a library takes needs no native kernel.
    passes.addPass(createJoinKernelsPass(target));
  }
  buildPlanPipeline(passes);
}

void soap::buildParallelizePipeline(OpPassManager &passes,
                                    const ParallelizeOptions &options) {
  NormalizeChoices choices;
  choices.unrollRNN = options.unrollRNN;
  choices.precision = options.precision;
  buildNormalizePipeline(passes, choices);
  if (options.fuse)
    buildFusePipeline(passes);
  AttachTopologyPassOptions topology;
  topology.devices = options.devices;
  topology.file = options.topology;
  topology.target = options.target;
  passes.addPass(createAttachTopologyPass(topology));
  if (options.strategy == "search") {
    SearchPassOptions search;
    search.proposals = options.proposals;
    search.seed = options.seed;
    search.cost = options.cost;
    passes.addPass(createSearchPass(search));
  } else if (StringRef(options.strategy).ends_with(".json")) {
    ImportStrategyPassOptions import;
    import.file = options.strategy;
    passes.addPass(createImportStrategyPass(import));
  } else {
    InitStrategyPassOptions init;
    init.strategy = options.strategy;
    init.seed = options.seed;
    passes.addPass(createInitStrategyPass(init));
  }
  buildPartitionPipeline(passes, options.cost);
}

void soap::registerPipelines() {
  PassPipelineRegistration<ParallelizeOptions>(
      "soap-parallelize",
      "From an imported model to tasks and communication in launch order",
      buildParallelizePipeline);
  PassPipelineRegistration<LowerOptions>(
      "soap-lower", "From tasks and communication to planned programs",
      [](OpPassManager &passes, const LowerOptions &options) {
        ConvertSOAPToSOAPRTPassOptions convert;
        convert.target = options.target;
        passes.addPass(createConvertSOAPToSOAPRTPass(convert));
        if (options.layouts && options.followers)
          passes.addPass(createJoinReshapesPass());
        if (options.layouts) {
          AssignLayoutsPassOptions layouts;
          layouts.target = options.target;
          passes.addPass(createAssignLayoutsPass(layouts));
        }
        if (options.followers) {
          FuseFollowersPassOptions followers;
          followers.target = options.target;
          passes.addPass(createFuseFollowersPass(followers));
          JoinKernelsPassOptions join;
          join.target = options.target;
          passes.addPass(createJoinKernelsPass(join));
        }
        buildPlanPipeline(passes);
        passes.addPass(soaprt::createVerifyMemoryPass());
      });
}
