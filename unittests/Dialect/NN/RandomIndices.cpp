//===- RandomIndices.cpp - Random look-ups, stores and orders
//--------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

Type Generator::indexType() {
  return random.flip() ? builder.getI64Type() : builder.getI32Type();
}

/// None half of the time, where elements are only moved, and where sums are
/// made in a wider type.
ReduceKindAttr Generator::reduction() {
  unsigned width = element.getIntOrFloatBitWidth();
  bool isNumber = width >= (isa<FloatType>(element) ? 16 : 8);
  auto kind = static_cast<ReduceKind>(random.in(0, 3));
  bool isSummed = kind == ReduceKind::Sum || kind == ReduceKind::Prod;
  if (random.flip() || !isNumber ||
      (isSummed && accumulatorType(element) != element))
    return {};
  return ReduceKindAttr::get(builder.getContext(), kind);
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
  Value x = argument(data), at = argument(indices, indexType());
  return builder.create<GatherElementsOp>(loc, type(indices), x, at, axis,
                                          uint64_t(0), IntegerAttr());
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
  Value x = argument(data), at = argument(indices, indexType());
  return builder.create<GatherNDOp>(loc, type(result), x, at, batch.size(),
                                    DenseI64ArrayAttr(), DenseI64ArrayAttr());
}

Operation *Generator::scatterElements(StringRef) {
  List data = shape(1, 3);
  int64_t axis = random.in(0, data.size() - 1);
  List indices = indicesInto(data, axis);
  Value at = argument(indices, indexType()), updates = argument(indices), x;
  if (random.in(0, 2) != 0)
    x = argument(data);
  return builder.create<ScatterElementsOp>(
      loc, type(data), at, updates, x, builder.getI64IntegerAttr(axis),
      reduction(), builder.getI64IntegerAttr(0), IntegerAttr());
}

Operation *Generator::scatterND(StringRef) {
  List indexed = shape(1, 2), inner = shape(0, 1), outer = shape(0, 2);
  List data = indexed, indices = outer, updates = outer;
  data.append(inner);
  updates.append(inner);
  indices.push_back(indexed.size());
  Value at = argument(indices, indexType()), values = argument(updates), x;
  if (random.in(0, 2) != 0)
    x = argument(data);
  return builder.create<ScatterNDOp>(loc, type(data), at, values, x,
                                     reduction(), DenseI64ArrayAttr(),
                                     DenseI64ArrayAttr());
}

Operation *Generator::sparseSGD(StringRef) {
  element = random.flip() ? builder.getF32Type() : builder.getF64Type();
  List indexed = shape(1, 2), inner = shape(0, 1), outer = shape(0, 2);
  List table = indexed, indices = outer, slices = outer;
  table.append(inner);
  slices.append(inner);
  indices.push_back(indexed.size());
  Value w = argument(table), at = argument(indices, indexType());
  Value values = argument(slices), rate = argument({});
  return builder.create<SparseSGDOp>(loc, type(table), w, at, values, rate,
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
  auto places = RankedTensorType::get(result, builder.getI64Type());
  Value input = argument(x);
  if (kind == "nn.arg_max")
    return builder.create<ArgMaxOp>(loc, places, input, axis, keepdims, last);
  return builder.create<ArgMinOp>(loc, places, input, axis, keepdims, last);
}

Operation *Generator::topK(StringRef) {
  List x = shape(1, 4), result = x;
  int64_t axis = random.in(0, x.size() - 1);
  result[axis] = random.in(1, x[axis]);
  Value input = argument(x);
  return builder.create<TopKOp>(
      loc, type(result), RankedTensorType::get(result, builder.getI64Type()),
      input, axis, random.flip());
}

Operation *Generator::cumSum(StringRef) {
  List x = shape(1, 4);
  Value input = argument(x);
  return builder.create<CumSumOp>(loc, input, random.in(0, x.size() - 1),
                                  random.flip(), random.flip());
}

Operation *Generator::trilu(StringRef) {
  return builder.create<TriluOp>(loc, argument(shape(2, 4)), random.in(-4, 4),
                                 random.flip());
}

Operation *Generator::oneHot(StringRef) {
  List indices = shape(0, 3), result = indices;
  int64_t axis = random.in(0, indices.size());
  result.insert(result.begin() + axis, random.in(1, 6));
  Value at = argument(indices, indexType()), values = argument({2});
  return builder.create<OneHotOp>(loc, type(result), at, values, axis,
                                  uint64_t(0), IntegerAttr());
}

/// Few boxes, of which many overlap; some have no area.
Operation *Generator::suppression(StringRef) {
  int64_t images = random.in(1, 5), classes = random.in(1, 5);
  int64_t boxes = random.in(1, 6), most = random.in(1, 6);
  FloatAttr score;
  if (random.flip())
    score = builder.getF32FloatAttr(-0.5f);
  UnitAttr center;
  if (random.flip())
    center = builder.getUnitAttr();
  return builder.create<NonMaxSuppressionOp>(
      loc, RankedTensorType::get({images, classes, most}, builder.getI64Type()),
      argument({images, boxes, 4}), argument({images, classes, boxes}),
      builder.getF32FloatAttr(0.1f * static_cast<float>(random.in(0, 5))),
      score, center);
}
