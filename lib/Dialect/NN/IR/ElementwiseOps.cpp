//===- ElementwiseOps.cpp - Operations per element ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;

PartitionSpec soap::nn::detail::elementwiseSpec(Operation *op) {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  addDimLoops(spec, shape);
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> operandShape = shapeOf(operand);
    size_t missing = shape.size() - operandShape.size();
    ValueAccess access;
    for (auto [i, size] : llvm::enumerate(operandShape))
      access.dims.push_back(size == shape[missing + i]
                                ? DimAccess::identity(missing + i)
                                : DimAccess::whole(1));
    spec.operands.push_back(std::move(access));
  }
  spec.results.push_back(identityAccess(shape.size()));
  return spec;
}

LogicalResult soap::nn::detail::verifyBroadcast(Operation *op) {
  if (failed(verifyElementTypes(op)))
    return failure();
  ArrayRef<int64_t> a = shapeOf(op->getOperand(0)),
                    b = shapeOf(op->getOperand(1));
  size_t rank = std::max(a.size(), b.size());
  Shape shape(rank, 1);
  for (size_t i = 1; i <= rank; ++i) {
    int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1)
      return op->emitOpError()
             << "expected operands that broadcast to one shape, got: "
             << toString(a) << ", " << toString(b)
             << "; sizes must be equal or 1, aligned on the right";
    shape[rank - i] = std::max(x, y);
  }
  return verifyResultShape(op, shape);
}

//===----------------------------------------------------------------------===//
// nn.clip
//===----------------------------------------------------------------------===//

LogicalResult ClipOp::verify() {
  if (getMin().isNaN() || getMax().isNaN())
    return emitOpError() << "expected bounds that are numbers, got NaN; use an "
                            "infinite bound where there is none";
  return success();
}

PartitionSpec ClipOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}
