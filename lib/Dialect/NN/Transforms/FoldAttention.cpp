//===- FoldAttention.cpp - Attention that is written out ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks at products whose first factor is a softmax, and from there backwards:
// a mask, factors, and the product that makes the scores. What is in between is
// read by nothing else.
//
//===----------------------------------------------------------------------===//

#include "ParameterExpressions.h"
#include "Shapes.h"
#include "Unread.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include <optional>

namespace soap::nn {
#define GEN_PASS_DEF_FOLDATTENTIONPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap::nn;

namespace {
/// What the scores are made of.
struct Scores {
  MatMulOp product;
  double scale = 1;
  Value mask; ///< Or null.
  bool maskKeeps = false;
  double fill = 0;
};

struct FoldAttentionPass
    : soap::nn::impl::FoldAttentionPassBase<FoldAttentionPass> {
  using FoldAttentionPassBase::FoldAttentionPassBase;
  void runOnOperation() override;
};
} // namespace

/// A product of two tensors of f32 with the same batch dimensions, in full
/// precision and without a bias.
static bool isPlain(MatMulOp product) {
  ArrayRef<int64_t> a = shapeOf(product.getA()), b = shapeOf(product.getB());
  return !product.getBias() && !product.getTf32() && !product.getTransposeA() &&
         product.getType().getElementType().isF32() &&
         rankedTypeOf(product.getA()).getElementType().isF32() &&
         a.size() == b.size() && a.drop_back(2) == b.drop_back(2);
}

/// Goes back from `value`, of the shape of all scores, to their product. Fails
/// where something else is in between, or where another one reads it, too.
static std::optional<Scores> findScores(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse())
    return std::nullopt;
  if (auto product = dyn_cast<MatMulOp>(op)) {
    if (!isPlain(product))
      return std::nullopt;
    Scores scores;
    scores.product = product;
    scores.scale = product.getAlpha().convertToDouble();
    return scores;
  }
  // A mask before a factor would have to be multiplied, too.
  auto unmasked = [&](Value operand) {
    std::optional<Scores> scores;
    if (operand.getType() == value.getType())
      scores = findScores(operand);
    return scores && !scores->mask ? scores : std::nullopt;
  };
  if (isa<MulOp, DivOp>(op)) {
    for (unsigned i : {0, 1}) {
      std::optional<double> factor = numberOf(op->getOperand(1 - i));
      if (!factor || (isa<DivOp>(op) && (i == 1 || *factor == 0)))
        continue;
      std::optional<Scores> scores = unmasked(op->getOperand(i));
      if (scores)
        scores->scale *= isa<MulOp>(op) ? *factor : 1 / *factor;
      return scores;
    }
    return std::nullopt;
  }
  if (isa<AddOp>(op)) {
    for (unsigned i : {0, 1})
      if (std::optional<Scores> scores = unmasked(op->getOperand(i))) {
        scores->mask = op->getOperand(1 - i);
        return scores;
      }
    return std::nullopt;
  }
  if (auto where = dyn_cast<WhereOp>(op)) {
    for (bool keeps : {false, true}) {
      std::optional<double> fill =
          numberOf(keeps ? where.getB() : where.getA());
      std::optional<Scores> scores =
          fill ? unmasked(keeps ? where.getA() : where.getB()) : std::nullopt;
      if (!scores)
        continue;
      scores->mask = where.getCondition();
      scores->maskKeeps = keeps;
      scores->fill = *fill;
      return scores;
    }
  }
  return std::nullopt;
}

static int64_t bytesOf(MatMulOp product) {
  RankedTensorType type = product.getType();
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// The scores of an attention of which `context` is the last product; nothing
/// if it is another one.
static std::optional<Scores> findScores(MatMulOp context) {
  auto softmax = context.getA().getDefiningOp<SoftmaxOp>();
  if (!softmax || !isPlain(context) || context.getTransposeB() ||
      !context.getAlpha().isExactlyValue(1.0) ||
      !softmax.getResult().hasOneUse() || softmax.getLog() ||
      static_cast<int64_t>(softmax.getAxis()) !=
          rankedTypeOf(context).getRank() - 1)
    return std::nullopt;
  std::optional<Scores> scores = findScores(softmax.getX());
  // A mask may broadcast to the scores, not the other way round.
  if (scores && shapeOf(scores->product) != shapeOf(softmax.getX()))
    return std::nullopt;
  return scores;
}

void FoldAttentionPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  SmallVector<MatMulOp> products(function.front().getOps<MatMulOp>());
  for (MatMulOp context : products) {
    std::optional<Scores> scores = findScores(context);
    if (!scores || bytesOf(scores->product) < leastScoreBytes)
      continue;
    OpBuilder builder(context);
    auto attention = builder.create<AttentionOp>(
        context.getLoc(), context.getType(), scores->product.getA(),
        scores->product.getB(), context.getB(), scores->mask,
        /*transposed_keys=*/!scores->product.getTransposeB(), scores->maskKeeps,
        APFloat(static_cast<float>(scores->scale)),
        APFloat(static_cast<float>(scores->fill)), bf16);
    attention->setDiscardableAttrs(context->getDiscardableAttrDictionary());
    context.replaceAllUsesWith(attention.getResult());
    eraseUnread(context);
    ++numFolded;
  }
  soap::nn::leaveLostGroups(function.front());
}
