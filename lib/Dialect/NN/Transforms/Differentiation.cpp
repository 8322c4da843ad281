//===- Differentiation.cpp - Gradients of a loss --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Differentiation.h"
#include "soap/Dialect/NN/IR/LaunchedLate.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "nn-build-training-step"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

void Differentiation::followParameters(ArrayRef<ParameterOp> parameters) {
  for (ParameterOp parameter : parameters)
    dependent_.insert(parameter.getResult());
  for (Operation &op : function_.front())
    if (isa<ParameterOp, ConstantOp>(op) ||
        (op.getNumOperands() != 0 &&
         llvm::all_of(op.getOperands(),
                      [&](Value value) { return weights_.contains(value); })))
      weights_.insert(op.result_begin(), op.result_end());
  for (Operation &op : function_.front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value value) { return dependent_.contains(value); }))
      for (Value result : op.getResults())
        if (isFloat(result))
          dependent_.insert(result);
}

LogicalResult Differentiation::checkTypes() {
  for (Operation &op : function_.front())
    for (Value result : op.getResults())
      if (Type type = cast<RankedTensorType>(result.getType()).getElementType();
          dependent_.contains(result) && !type.isF32() && !type.isF64())
        return op.emitOpError("expected f32 or f64 between parameters and the "
                              "loss, got: ")
               << type << "; convert the model";
  return success();
}

void Differentiation::accumulate(Value value, Value gradient) {
  Value &sum = gradients_[value];
  if (!sum) {
    sum = gradient;
    return;
  }
  // The sum runs where the value is made. That of weights runs where the last
  // gradient is made, of parts that are not reduced yet.
  Operation *producer = value.getDefiningOp();
  bool isEnd = isa<ParameterOp, InputOp, ConstantOp>(producer);
  auto unique = [&](StringRef base) { return names_.unique(base); };
  std::string name = (getName(producer) + ".grad.sum").str();
  GradientBuilder b(builder_, isEnd ? nullptr : producer, name, unique);
  if (!isEnd)
    b.setFrame(b.resultAccess(cast<OpResult>(value).getResultNumber()));
  bool followsMaker = weights_.contains(value);
  // Gradients of the slices of a value.
  if (Value both = b.addBeside(sum, gradient, followsMaker))
    sum = both;
  else
    sum = followsMaker ? b.addInPlace(sum, gradient) : b.add(sum, gradient);
}

LogicalResult Differentiation::differentiate(Operation *op) {
  SmallVector<Value> results;
  for (Value result : op->getResults())
    results.push_back(gradients_.lookup(result));
  if (llvm::none_of(results, [](Value value) { return bool(value); }))
    return success();
  llvm::BitVector isNeeded(op->getNumOperands());
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    isNeeded[index] = dependent_.contains(operand);
  if (isNeeded.none())
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable) {
    withoutGradient_.push_back(op);
    return success();
  }
  auto unique = [&](StringRef base) { return names_.unique(base); };
  std::string name = (nn::getName(op) + ".grad").str();
  GradientBuilder b(builder_, op, name, unique);
  LLVM_DEBUG({
    llvm::dbgs() << "gradient of '" << nn::getName(op) << "' by operands";
    for (unsigned index : isNeeded.set_bits())
      llvm::dbgs() << " " << index;
    llvm::dbgs() << "\n";
  });
  Operation *before = builder_.getInsertionPoint()->getPrevNode();
  auto gradients = differentiable.buildGradients(b, results, isNeeded);
  if (failed(gradients))
    return failure();
  // What an operation makes of weights alone does not need the whole gradient.
  if (llvm::all_of(op->getResults(),
                   [&](Value value) { return weights_.contains(value); }))
    for (Operation *made = before->getNextNode();
         made != &*builder_.getInsertionPoint(); made = made->getNextNode())
      b.followMaker(made);
  for (auto [index, operand, gradient] :
       llvm::enumerate(op->getOperands(), *gradients))
    if (gradient && isNeeded[index])
      accumulate(operand, gradient);
  return success();
}

void Differentiation::begin(Value loss, Value scale) {
  auto unique = [&](StringRef base) { return names_.unique(base); };
  GradientBuilder b(builder_, nullptr, "loss.grad", unique);
  Value gradient = b.splat(loss.getType(), 1);
  gradient.getDefiningOp()->setAttr(lossGradientAttrName,
                                    builder_.getUnitAttr());
  gradients_[loss] = scale ? b.mul(gradient, scale) : gradient;
}

LogicalResult Differentiation::run(ArrayRef<Operation *> forward) {
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op)))
      return failure();
  return success();
}

LogicalResult Differentiation::finish() {
  if (withoutGradient_.empty())
    return success();
  std::string list;
  for (Operation *op : llvm::reverse(withoutGradient_))
    list +=
        ("\n  " + op->getName().getStringRef() + " '" + nn::getName(op) + "'")
            .str();
  return emitError(function_.getLoc(),
                   "expected operations that have a gradient between "
                   "parameters and the loss; freeze the parameters before "
                   "them, or take another output; without a gradient:" +
                       list);
}
