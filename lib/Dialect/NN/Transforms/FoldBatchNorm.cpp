//===- FoldBatchNorm.cpp - Fold batch norms into their producers *- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterExpressions.h"
#include "Shapes.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/Support/Debug.h"

namespace soap::nn {
#define GEN_PASS_DEF_FOLDBATCHNORMPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

#define DEBUG_TYPE "nn-fold-batch-norm"

using namespace mlir;
using namespace soap::nn;

static StringRef nameOf(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("nn.name");
  return name ? name.getValue() : "unnamed";
}

namespace {

/// An operation that computes `x * scale + shift` per channel, with values that
/// depend on parameters only.
struct Affine {
  Value x;
  Operation *op = nullptr;
  /// The parameter of nn.mul or nn.add; null for nn.batch_norm.
  Value parameter;
};

class FoldBatchNormPass
    : public soap::nn::impl::FoldBatchNormPassBase<FoldBatchNormPass> {
public:
  void runOnOperation() override;

private:
  std::optional<Affine> matchAffine(Operation *op);
  bool isFoldable(Operation *producer, const Affine &affine);
  std::pair<Value, Value> scaleAndShift(BatchNormOp norm);
  void fold(Operation *producer, const Affine &affine);
  void writeOut(BatchNormOp norm);

  ParameterExpressions *expressions_ = nullptr;
  ExpressionBuilder *build_ = nullptr;
};

} // namespace

/// The dimension of a producer's result that its bias runs along.
static int64_t channelDim(Operation *producer) {
  auto rank = static_cast<int64_t>(shapeOf(producer->getResult(0)).size());
  return isa<MatMulOp>(producer) ? rank - 1 : 1;
}

std::optional<Affine> FoldBatchNormPass::matchAffine(Operation *op) {
  if (auto norm = dyn_cast<BatchNormOp>(op)) {
    for (Value operand : op->getOperands().drop_front())
      if (!expressions_->contains(operand))
        return std::nullopt;
    return Affine{norm.getX(), op, nullptr};
  }
  if (!isa<MulOp, AddOp>(op))
    return std::nullopt;
  bool first = expressions_->contains(op->getOperand(0));
  Value parameter = op->getOperand(first ? 0 : 1);
  Value x = op->getOperand(first ? 1 : 0);
  if (!expressions_->contains(parameter) || expressions_->contains(x) ||
      x.getType() != op->getResult(0).getType())
    return std::nullopt;
  return Affine{x, op, parameter};
}

bool FoldBatchNormPass::isFoldable(Operation *producer, const Affine &affine) {
  if (!isa_and_nonnull<ConvOp, MatMulOp, BatchNormOp>(producer) ||
      multipliesBytes(producer) || !affine.x.hasOneUse())
    return false;
  for (Value operand : producer->getOperands().drop_front())
    if (!expressions_->contains(operand))
      return false;
  ArrayRef<int64_t> result = shapeOf(affine.x);
  int64_t channel = channelDim(producer);
  if (!affine.parameter)
    return channel == 1; // Where batch norms have their channels.
  // One element per channel, aligned on the right; or one at all to multiply.
  ArrayRef<int64_t> shape = shapeOf(affine.parameter);
  auto type = cast<RankedTensorType>(affine.parameter.getType());
  if (type.getNumElements() == 1 && isa<MulOp>(affine.op))
    return true;
  if (type.getNumElements() != result[channel] || shape.size() > result.size())
    return false;
  int64_t position =
      channel - static_cast<int64_t>(result.size() - shape.size());
  return position >= 0 && shape[position] == result[channel];
}

/// What a batch norm multiplies with, and what it adds, per channel.
std::pair<Value, Value> FoldBatchNormPass::scaleAndShift(BatchNormOp norm) {
  std::string name = nameOf(norm).str();
  Type element = getElementTypeOrSelf(norm.getScale());
  Value epsilon = build_->scalar(name + "_epsilon", element,
                                 norm.getEpsilon().convertToDouble());
  Value variance =
      build_->create<AddOp>(name + "_variance", {norm.getVariance(), epsilon});
  Value deviation = build_->create<SqrtOp>(name + "_deviation", variance);
  Value scale =
      build_->create<DivOp>(name + "_scale", {norm.getScale(), deviation});
  Value mean = build_->create<MulOp>(name + "_mean", {norm.getMean(), scale});
  Value shift = build_->create<SubOp>(name + "_shift", {norm.getBias(), mean});
  return {scale, shift};
}

/// Makes a product and a sum of a batch norm.
void FoldBatchNormPass::writeOut(BatchNormOp norm) {
  std::string name = nameOf(norm).str();
  build_->setInsertionPoint(norm);
  auto [scale, shift] = scaleAndShift(norm);
  // Channels are dim 1 of x.
  SmallVector<int64_t> shape(shapeOf(norm.getX()).size() - 1, 1);
  shape[0] = shapeOf(scale)[0];
  scale = build_->reshape(name + "_factor", scale, shape);
  shift = build_->reshape(name + "_term", shift, shape);
  OpBuilder builder(norm);
  auto product =
      builder.create<MulOp>(norm.getLoc(), norm.getType(), norm.getX(), scale);
  product->setAttr("nn.name", build_->uniqueName(name + "_product"));
  auto sum =
      builder.create<AddOp>(norm.getLoc(), norm.getType(), product, shift);
  sum->setDiscardableAttrs(norm->getDiscardableAttrDictionary());
  norm.replaceAllUsesWith(sum.getResult());
  norm.erase();
  ++numWrittenOut;
}

void FoldBatchNormPass::fold(Operation *producer, const Affine &affine) {
  std::string name = nameOf(affine.op).str();
  LLVM_DEBUG(llvm::dbgs() << "'" << name << "' becomes a part of '"
                          << nameOf(producer) << "'\n");
  // Parameters of the later operation are defined only now.
  producer->moveBefore(affine.op);
  build_->setInsertionPoint(producer);
  int64_t channels = shapeOf(affine.x)[channelDim(producer)];

  Value scale, shift; // Of one element per channel, or null.
  if (auto norm = dyn_cast<BatchNormOp>(affine.op)) {
    std::tie(scale, shift) = scaleAndShift(norm);
  } else {
    bool single =
        cast<RankedTensorType>(affine.parameter.getType()).getNumElements() ==
        1;
    int64_t size = single && isa<MulOp>(affine.op) ? 1 : channels;
    Value vector =
        build_->reshape(name + "_vector", affine.parameter, ArrayRef{size});
    (isa<MulOp>(affine.op) ? scale : shift) = vector;
  }

  // Operands 1 (weight or scale) and 2 (bias) of the producer.
  Value weight = producer->getOperand(1);
  Value bias =
      producer->getNumOperands() > 2 ? producer->getOperand(2) : Value();
  if (scale) {
    SmallVector<int64_t> shape = {shapeOf(scale)[0]};
    auto matmul = dyn_cast<MatMulOp>(producer);
    if (isa<ConvOp>(producer))
      shape.append(shapeOf(weight).size() - 1, 1);
    else if (matmul && matmul.getTransposeB())
      shape.push_back(1);
    Value factor = build_->reshape(name + "_factor", scale, shape);
    weight = build_->create<MulOp>(name + "_weight", {weight, factor});
    if (bias)
      bias = build_->create<MulOp>(name + "_scaled_bias", {bias, scale});
  }
  if (shift)
    bias = bias ? build_->create<AddOp>(name + "_bias", {bias, shift}) : shift;
  producer->setOperand(1, weight);
  if (bias && producer->getNumOperands() > 2)
    producer->setOperand(2, bias);
  else if (bias)
    producer->insertOperands(2, bias);
  affine.op->getResult(0).replaceAllUsesWith(affine.x);
  affine.op->erase();
  ++numFolded;
}

void FoldBatchNormPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  ParameterExpressions parameterExpressions(function);
  ExpressionBuilder builder(function, parameterExpressions);
  expressions_ = &parameterExpressions;
  build_ = &builder;
  // Operations with gradients are not folded: the gradients are those of the
  // operation as it is, and training changes its parameters.
  llvm::DenseSet<StringRef> grouped;
  for (Operation &op : function.front())
    if (StringRef leader = getGroupLeader(&op); !leader.empty()) {
      grouped.insert(leader);
      grouped.insert(nameOf(&op));
    }
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    if (grouped.contains(nameOf(&op)))
      continue;
    std::optional<Affine> affine = matchAffine(&op);
    if (!affine)
      continue;
    Operation *producer = affine->x.getDefiningOp();
    if (isFoldable(producer, *affine) && !grouped.contains(nameOf(producer)))
      fold(producer, *affine);
  }
  for (auto norm :
       llvm::make_early_inc_range(function.front().getOps<BatchNormOp>()))
    if (!grouped.contains(nameOf(norm)) && matchAffine(norm))
      writeOut(norm);
}
