//===- BatchStatistics.cpp - Batch norms in training ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static void replaceByStatistics(BatchNormOp op, NodeNames &names) {
  OpBuilder builder(op);
  Value x = op.getX();
  ArrayRef<int64_t> shape = shapeOf(x);
  auto rank = static_cast<int64_t>(shape.size());
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  SmallVector<int64_t> axes, column(rank - 1, 1);
  column[0] = shape[1];
  double count = 1;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != 1) {
      axes.push_back(dim);
      count *= static_cast<double>(shape[dim]);
    }
  std::string name = getName(op).str();

  // The sum leads the group: it has all loops of x.
  SmallVector<int64_t> kept(rank, 1);
  kept[1] = shape[1];
  auto sum = builder.create<ReduceOp>(
      op.getLoc(), RankedTensorType::get(kept, element), x, ReduceKind::Sum,
      axes, /*keepdims=*/true, llvm::APFloat(1.0f));
  setName(sum, names.unique(name + ".sum"));
  std::string part = name + ".statistics";
  auto unique = [&](StringRef base) { return names.unique(base); };
  GradientBuilder b(builder, sum, part, unique);
  b.setFrame(b.operandAccess(0));
  Value mean = b.mul(sum.getResult(), 1 / count);
  Value centred = b.sub(x, mean);
  Value variance = b.mul(b.sum(b.mul(centred, centred), axes), 1 / count);
  Value inverse =
      b.pow(b.add(variance, op.getEpsilon().convertToDouble()), -0.5);
  Value scale = b.mul(b.reshape(op.getScale(), column), inverse);
  Value result = b.add(b.mul(centred, scale), b.reshape(op.getBias(), column));
  names.release(getName(result.getDefiningOp()));
  setName(result.getDefiningOp(), name);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

void soap::nn::useBatchStatistics(func::FuncOp function, NodeNames &names) {
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (auto norm = dyn_cast<BatchNormOp>(&op))
      replaceByStatistics(norm, names);
}
