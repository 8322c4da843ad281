//===- Dropout.cpp - Dropout in training and inference --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/Support/xxhash.h"

namespace soap::nn {
#define GEN_PASS_DEF_REMOVEDROPOUTPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

unsigned soap::nn::removeDropout(func::FuncOp function) {
  unsigned count = 0;
  for (auto op : llvm::make_early_inc_range(function.getOps<DropoutOp>())) {
    if (op.getStep())
      continue;
    Value value = op.getX();
    // An output does not leave as the input that it came as.
    if (value.getDefiningOp<InputOp>() &&
        llvm::any_of(op->getUsers(), llvm::IsaPred<OutputOp>)) {
      OpBuilder builder(op);
      RankedTensorType type = op.getResult().getType();
      auto copy = builder.create<SliceOp>(
          op.getLoc(), type, value, SmallVector<int64_t>(type.getRank(), 0),
          SmallVector<int64_t>(type.getRank(), 1));
      setName(copy, getName(op));
      value = copy.getResult();
    }
    op.getResult().replaceAllUsesWith(value);
    op.erase();
    ++count;
  }
  return count;
}

/// `ratio` as text; nullopt: "model". Error: what is neither.
static FailureOr<std::optional<double>> parseRatio(Location loc,
                                                   StringRef text) {
  double ratio = 0;
  if (text == "model")
    return std::optional<double>();
  if (text == "none")
    return std::optional(ratio);
  if (text.getAsDouble(ratio) || !(ratio >= 0 && ratio < 1))
    return emitError(loc, "expected dropout=model, none or a ratio of at least "
                          "0 and below 1, got: '" +
                              text + "'");
  return std::optional(ratio);
}

LogicalResult soap::nn::useDropout(func::FuncOp function, Schedules &schedules,
                                   StringRef ratio, uint64_t seed) {
  FailureOr<std::optional<double>> parsed =
      parseRatio(function.getLoc(), ratio);
  if (failed(parsed))
    return failure();
  std::optional<double> wanted = *parsed;
  SmallVector<DropoutOp> ops(function.getOps<DropoutOp>());
  if (wanted.value_or(0) > 0 && ops.empty())
    return emitError(function.getLoc(),
                     "expected a model with Dropout for dropout=" + ratio +
                         ", got one without; export the model for training, or "
                         "leave the ratio out");
  auto builder = OpBuilder::atBlockBegin(&function.front());
  for (DropoutOp op : ops) {
    if (wanted)
      op.setRatio(APFloat(*wanted));
    if (op.getRatio().isZero())
      continue;
    Type element = cast<RankedTensorType>(op.getX().getType()).getElementType();
    if (!element.isF64())
      element = builder.getF32Type();
    op.getStepMutable().assign(schedules.get(builder, element).getNumber());
    // Each operation draws numbers of its own.
    op.setSeed(llvm::xxh3_64bits((Twine(seed) + ":" + getName(op)).str()));
  }
  removeDropout(function);
  return success();
}

namespace {
struct RemoveDropoutPass
    : soap::nn::impl::RemoveDropoutPassBase<RemoveDropoutPass> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      numRemoved += removeDropout(getOperation());
  }
};
} // namespace
