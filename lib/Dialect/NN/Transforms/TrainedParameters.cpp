//===- TrainedParameters.cpp - What a training step changes ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// A mean or variance of batch norms, and nothing else.
static bool isStatistic(ParameterOp parameter) {
  return !parameter->use_empty() &&
         llvm::all_of(parameter->getUses(), [](OpOperand &use) {
           return isa<BatchNormOp>(use.getOwner()) &&
                  use.getOperandNumber() >= 3;
         });
}

/// Whether an operation takes this operand for weights or a bias, or another
/// shape or a part of it.
static bool isWeight(OpOperand &use) {
  if (isa<ReshapeOp, SliceOp>(use.getOwner()))
    return llvm::any_of(use.getOwner()->getUses(), isWeight);
  unsigned index = use.getOperandNumber();
  Value value = use.get();
  return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
      .Case<ConvOp, ConvBackwardDataOp, MatMulOp>(
          [&](auto) { return index > 0; })
      .Case<BatchNormOp, LayerNormOp>(
          [&](auto) { return index == 1 || index == 2; })
      .Case<LSTMOp, GRUOp, RNNOp>(
          [&](auto) { return index >= 1 && index <= 3; })
      .Case<GatherOp>([&](auto) { return index == 0; })
      .Case<AddOp>([&](auto) {
        return cast<RankedTensorType>(value.getType()).getRank() == 1;
      })
      .Default(false);
}

/// What nodes of the model make is trained only as weights: other such values
/// are masks, or the first states of recurrent layers.
static bool isConstant(ParameterOp parameter) {
  return parameter->hasAttr(constantAttrName) &&
         llvm::none_of(parameter->getUses(), isWeight);
}

FailureOr<llvm::Regex> soap::nn::parseNames(Location loc, StringRef option,
                                            StringRef text) {
  llvm::Regex names(("^(" + text + ")$").str());
  std::string problem;
  if (!names.isValid(problem))
    return emitError(loc, "expected a regular expression for '" + option +
                              "', got: '" + text + "': " + problem);
  return names;
}

FailureOr<SmallVector<ParameterOp>> soap::nn::findTrained(func::FuncOp function,
                                                          StringRef freeze) {
  FailureOr<llvm::Regex> frozen =
      parseNames(function.getLoc(), "freeze", freeze);
  if (failed(frozen))
    return failure();
  SmallVector<ParameterOp> parameters;
  bool hasFrozen = false;
  for (auto parameter : function.getOps<ParameterOp>()) {
    bool isFrozen = !freeze.empty() && frozen->match(parameter.getTensorName());
    hasFrozen |= isFrozen;
    if (isa<FloatType>(parameter.getResult().getType().getElementType()) &&
        !isStatistic(parameter) && !isConstant(parameter) && !isFrozen)
      parameters.push_back(parameter);
  }
  // Numbers of a model are constants, and never trained.
  for (auto constant : function.getOps<ConstantOp>())
    hasFrozen |= !freeze.empty() && frozen->match(getName(constant));
  if (!freeze.empty() && !hasFrozen)
    return emitError(function.getLoc(),
                     "expected 'freeze' to match names of parameters, got: '" +
                         freeze + "', which matches none");
  return parameters;
}
