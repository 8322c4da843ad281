//===- RandomIndices.cpp - Random look-ups, stores and orders
//--------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

Type Generator::indexType() {
  return random.flip() ? builder.getI64Type() : builder.getI32Type();
}

/// Floats, or integers that the test can name.
Type Generator::numberType() {
  return random.in(0, 3) == 0 ? Type(builder.getI64Type())
                              : builder.getF32Type();
}

/// None half of the time.
ReduceKindAttr Generator::reduction() {
  if (random.flip())
    return {};
  return ReduceKindAttr::get(builder.getContext(),
                             static_cast<ReduceKind>(random.in(0, 3)));
}

/// Indices into `whole` along `axis`: at most as large elsewhere.
List Generator::indicesInto(ArrayRef<int64_t> whole, int64_t axis) {
  List indices(whole);
  for (auto [i, size] : llvm::enumerate(indices))
    if (static_cast<int64_t>(i) == axis)
      size = random.in(1, 6);
    else if (random.in(0, 2) == 0)
      size = random.in(1, size);
  return indices;
}

Operation *Generator::gatherElements(StringRef) {
  List data = shape(1, 3);
  int64_t axis = random.in(0, data.size() - 1);
  List indices = indicesInto(data, axis);
  Type element = numberType();
  Value x = argument(data, element), at = argument(indices, indexType());
  return builder.create<GatherElementsOp>(
      loc, RankedTensorType::get(indices, element), x, at, axis, uint64_t(0),
      IntegerAttr());
}

Operation *Generator::gatherND(StringRef) {
  List batch = shape(0, 1), indexed = shape(1, 2), inner = shape(0, 1),
       outer = shape(0, 2);
  List data = batch, indices = batch, result;
  data.append(indexed);
  data.append(inner);
  indices.append(outer);
  result = indices;
  result.append(inner);
  indices.push_back(indexed.size());
  Type element = numberType();
  Value x = argument(data, element), at = argument(indices, indexType());
  return builder.create<GatherNDOp>(loc, RankedTensorType::get(result, element),
                                    x, at, batch.size(), DenseI64ArrayAttr(),
                                    DenseI64ArrayAttr());
}

Operation *Generator::scatterElements(StringRef) {
  List data = shape(1, 3);
  int64_t axis = random.in(0, data.size() - 1);
  List indices = indicesInto(data, axis);
  Type element = numberType();
  Value at = argument(indices, indexType()),
        updates = argument(indices, element), x;
  if (random.in(0, 2) != 0)
    x = argument(data, element);
  return builder.create<ScatterElementsOp>(
      loc, RankedTensorType::get(data, element), at, updates, x,
      builder.getI64IntegerAttr(axis), reduction(),
      builder.getI64IntegerAttr(0), IntegerAttr());
}

Operation *Generator::scatterND(StringRef) {
  List indexed = shape(1, 2), inner = shape(0, 1), outer = shape(0, 2);
  List data = indexed, indices = outer, updates = outer;
  data.append(inner);
  updates.append(inner);
  indices.push_back(indexed.size());
  Type element = numberType();
  Value at = argument(indices, indexType()),
        values = argument(updates, element), x;
  if (random.in(0, 2) != 0)
    x = argument(data, element);
  return builder.create<ScatterNDOp>(loc, RankedTensorType::get(data, element),
                                     at, values, x, reduction(),
                                     DenseI64ArrayAttr(), DenseI64ArrayAttr());
}

Operation *Generator::arg(StringRef kind) {
  List x = shape(1, 4), result = x;
  int64_t axis = random.in(0, x.size() - 1);
  bool keepdims = random.flip(), last = random.flip();
  if (keepdims)
    result[axis] = 1;
  else
    result.erase(result.begin() + axis);
  auto type = RankedTensorType::get(result, builder.getI64Type());
  Value input = argument(x, numberType());
  if (kind == "nn.arg_max")
    return builder.create<ArgMaxOp>(loc, type, input, axis, keepdims, last);
  return builder.create<ArgMinOp>(loc, type, input, axis, keepdims, last);
}

Operation *Generator::topK(StringRef) {
  List x = shape(1, 4), result = x;
  int64_t axis = random.in(0, x.size() - 1);
  result[axis] = random.in(1, x[axis]);
  Type element = numberType();
  Value input = argument(x, element);
  return builder.create<TopKOp>(
      loc, RankedTensorType::get(result, element),
      RankedTensorType::get(result, builder.getI64Type()), input, axis,
      random.flip());
}

Operation *Generator::cumSum(StringRef) {
  List x = shape(1, 4);
  Value input = argument(x, numberType());
  return builder.create<CumSumOp>(loc, input, random.in(0, x.size() - 1),
                                  random.flip(), random.flip());
}

Operation *Generator::trilu(StringRef) {
  return builder.create<TriluOp>(loc, argument(shape(2, 4), numberType()),
                                 random.in(-4, 4), random.flip());
}

Operation *Generator::oneHot(StringRef) {
  List indices = shape(0, 3), result = indices;
  int64_t axis = random.in(0, indices.size());
  result.insert(result.begin() + axis, random.in(1, 6));
  Type element = numberType();
  Value at = argument(indices, indexType()), values = argument({2}, element);
  return builder.create<OneHotOp>(loc, RankedTensorType::get(result, element),
                                  at, values, axis, uint64_t(0), IntegerAttr());
}
