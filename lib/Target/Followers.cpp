//===- Followers.cpp - Operations per element behind a kernel -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/Followers.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;
using fb::FollowerKind;

bool soap::keepsNaN(FollowerKind kind) {
  switch (kind) {
  case FollowerKind::Add:
  case FollowerKind::Subtract:
  case FollowerKind::Multiply:
    return true;
  case FollowerKind::Relu:
  case FollowerKind::Clip:
  case FollowerKind::Gelu:
  case FollowerKind::GeluTanh:
    return false;
  }
  return false;
}

/// What `op` does to its operand `running`; its other operand by number.
static std::optional<FollowerStep> stepOf(Operation *op, unsigned running) {
  auto binary = [&](FollowerKind kind, bool commutes) {
    return commutes || running == 0
               ? std::optional(FollowerStep{kind, 1 - running})
               : std::nullopt;
  };
  return TypeSwitch<Operation *, std::optional<FollowerStep>>(op)
      .Case([](nn::ReluOp) { return FollowerStep{FollowerKind::Relu, {}}; })
      .Case([](nn::ClipOp clip) {
        return FollowerStep{FollowerKind::Clip,
                            {},
                            clip.getMin().convertToFloat(),
                            clip.getMax().convertToFloat()};
      })
      .Case([](nn::GeluOp gelu) {
        return FollowerStep{gelu.getApproximate() ? FollowerKind::GeluTanh
                                                  : FollowerKind::Gelu,
                            {}};
      })
      .Case([&](nn::AddOp) { return binary(FollowerKind::Add, true); })
      .Case([&](nn::SubOp) { return binary(FollowerKind::Subtract, false); })
      .Case([&](nn::MulOp) { return binary(FollowerKind::Multiply, true); })
      .Default([](Operation *) { return std::nullopt; });
}

/// The operand of `op` that `value` is, if it is one alone.
static std::optional<unsigned> onlyOperand(Operation *op, Value value) {
  std::optional<unsigned> found;
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.get() != value)
      continue;
    if (found)
      return std::nullopt;
    found = operand.getOperandNumber();
  }
  return found;
}

/// Whether `op` rounds f32 to floats of 16 bits.
static bool isRounding(Operation *op) {
  auto cast = dyn_cast<nn::CastOp>(op);
  return cast && getElementTypeOrSelf(cast.getX()).isF32() &&
         nn::isFloatOf16Bits(getElementTypeOrSelf(cast.getResult()));
}

/// Whether `op` widens floats of 16 bits to f32.
static bool isWidening(Operation *op) {
  auto cast = dyn_cast<nn::CastOp>(op);
  return cast && getElementTypeOrSelf(cast.getResult()).isF32() &&
         nn::isFloatOf16Bits(getElementTypeOrSelf(cast.getX()));
}

std::optional<SmallVector<FollowerStep>>
soap::getFollowerSteps(Operation *op, unsigned operand) {
  // The type of the kernel's result says it.
  if (isRounding(op))
    return SmallVector<FollowerStep>();
  auto fused = dyn_cast<nn::FusedOp>(op);
  if (!fused) {
    std::optional<FollowerStep> step = onlyOperand(op, op->getOperand(operand))
                                           ? stepOf(op, operand)
                                           : std::nullopt;
    return step ? std::optional(SmallVector<FollowerStep>{*step})
                : std::nullopt;
  }
  if (!onlyOperand(op, op->getOperand(operand)))
    return std::nullopt;
  SmallVector<FollowerStep> steps;
  llvm::SmallBitVector taken(fused.getInputs().size());
  Value running = fused.getBody().getArgument(operand);
  for (Operation &part : fused.getParts()) {
    std::optional<unsigned> number = onlyOperand(&part, running);
    if (number && isRounding(&part) &&
        part.getNextNode() == part.getBlock()->getTerminator())
      return steps;
    if (!number && isWidening(&part) && part.hasOneUse())
      continue; // Of an operand of a later part.
    std::optional<FollowerStep> step =
        number && running.hasOneUse() ? stepOf(&part, *number) : std::nullopt;
    if (!step)
      return std::nullopt;
    if (step->operand) {
      Value other = part.getOperand(*step->operand);
      if (Operation *made = other.getDefiningOp(); made && isWidening(made))
        other = made->getOperand(0);
      auto argument = dyn_cast<BlockArgument>(other);
      if (!argument || taken.test(argument.getArgNumber()))
        return std::nullopt;
      taken.set(argument.getArgNumber());
      step->operand = argument.getArgNumber();
    }
    steps.push_back(*step);
    running = part.getResult(0);
  }
  return steps;
}
