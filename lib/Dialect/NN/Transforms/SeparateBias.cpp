//===- SeparateBias.cpp - Biases of convolutions as operations ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inference.h"
#include "ParameterExpressions.h"
#include "Shapes.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/Transforms/Passes.h"

namespace soap::nn {
#define GEN_PASS_DEF_SEPARATEBIASPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// Whether what reads the result is an operation per element of its shape,
/// which nn-fuse makes one with an addition in front.
static bool isReadPerElement(Value result) {
  if (!result.hasOneUse())
    return false;
  Operation *reader = *result.getUsers().begin();
  return reader->hasTrait<PerElement>() && !isa<CastOp>(reader) &&
         reader->getNumResults() == 1 &&
         rankedTypeOf(reader->getResult(0)).getShape() ==
             rankedTypeOf(result).getShape();
}

namespace {
struct SeparateBiasPass
    : soap::nn::impl::SeparateBiasPassBase<SeparateBiasPass> {
  using SeparateBiasPassBase::SeparateBiasPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isInference(function))
      return;
    ParameterExpressions expressions(function);
    ExpressionBuilder build(function, expressions);
    for (auto conv :
         llvm::make_early_inc_range(function.front().getOps<ConvOp>())) {
      Value bias = conv.getBias();
      if (!bias || !expressions.contains(bias) ||
          bias.getType() != rankedTypeOf(bias).clone(
                                getElementTypeOrSelf(conv.getResult())) ||
          !isReadPerElement(conv.getResult()))
        continue;
      SmallVector<int64_t> shape(rankedTypeOf(conv.getResult()).getRank() - 1,
                                 1);
      shape[0] = rankedTypeOf(bias).getDimSize(0);
      std::string name = nn::getName(conv).str();
      build.setInsertionPoint(conv);
      Value channels = build.reshape(name + "_bias", bias, shape);
      OpBuilder builder(conv);
      builder.setInsertionPointAfter(conv);
      auto sum = builder.create<AddOp>(conv.getLoc(), conv.getType(),
                                       conv.getResult(), channels);
      sum->setAttr("nn.name", build.uniqueName(name + ".biased"));
      conv.getResult().replaceAllUsesExcept(sum.getResult(), sum);
      conv.getBiasMutable().clear();
      ++numSeparated;
    }
  }
};
} // namespace
