//===- GraphOps.cpp - Ends of the graph -----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalBox.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static PartitionSpec sourceSpec(Value result) {
  PartitionSpec spec;
  addDimLoops(spec, shapeOf(result));
  spec.results.push_back(identityAccess(shapeOf(result).size()));
  return spec;
}

//===----------------------------------------------------------------------===//
// nn.input
//===----------------------------------------------------------------------===//

LogicalResult InputOp::verify() {
  int64_t rank = shapeOf(getResult()).size();
  for (int64_t dim : getSampleDims())
    if (rank > 0 && (dim < 0 || dim >= rank))
      return emitOpError() << "expected sample dimensions inside of rank "
                           << rank << ", got: " << toString(getSampleDims());
  if (getIndexBound() && static_cast<int64_t>(*getIndexBound()) < 1)
    return emitOpError() << "expected an 'index_bound' of 1 or more, got: "
                         << static_cast<int64_t>(*getIndexBound());
  if (getIndexBound() && !isa<IntegerType>(elementType(getResult())))
    return emitOpError() << "expected integers where there is an "
                            "'index_bound', got: "
                         << elementType(getResult());
  return verifyBox(*this, shapeOf(getResult()));
}

PartitionSpec InputOp::getPartitionSpec() { return sourceSpec(getResult()); }
double InputOp::getFlops(const LocalTile &tile) { return 0; }

void InputOp::setLocalAccess(const LocalTile &tile) {
  if (!isWhole(tile.resultBoxes[0], tile.spec))
    setBox(*this, tile.resultBoxes[0], extentsOf(tile.spec));
}

//===----------------------------------------------------------------------===//
// nn.parameter
//===----------------------------------------------------------------------===//

LogicalResult ParameterOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  Type element = elementType(getResult());
  if (failed(verifyBox(*this, shape)))
    return failure();
  ArrayRef<int64_t> global = getGlobalShape().value_or(shape);
  if (auto file = dyn_cast<FileAttr>(getSource())) {
    int64_t bytes = elementBytes(element);
    for (int64_t size : global)
      bytes *= size;
    if (file.getLength() != bytes)
      return emitOpError() << "expected a source of " << bytes
                           << " bytes for shape " << toString(global) << " of "
                           << element << ", got: " << file.getLength();
  }
  if (auto splat = dyn_cast<SplatAttr>(getSource());
      splat && splat.getValue().getType() != element)
    return emitOpError() << "expected a splat of type " << element
                         << ", got: " << splat.getValue().getType();
  if (isa<RandomAttr>(getSource()) && !isa<FloatType>(element))
    return emitOpError()
           << "expected floating point elements from a random source, got: "
           << element;
  return success();
}

PartitionSpec ParameterOp::getPartitionSpec() {
  return sourceSpec(getResult());
}
double ParameterOp::getFlops(const LocalTile &tile) { return 0; }

void ParameterOp::setLocalAccess(const LocalTile &tile) {
  if (!isWhole(tile.resultBoxes[0], tile.spec))
    setBox(*this, tile.resultBoxes[0], extentsOf(tile.spec));
}

//===----------------------------------------------------------------------===//
// nn.constant
//===----------------------------------------------------------------------===//

PartitionSpec ConstantOp::getPartitionSpec() { return sourceSpec(getResult()); }
double ConstantOp::getFlops(const LocalTile &tile) { return 0; }

/// The elements of `value` in `box`, row-major.
static DenseElementsAttr elementsIn(DenseElementsAttr value, const Box &box) {
  auto type = localType(value.getType(), box);
  if (value.isSplat())
    return value.resizeSplat(type);
  ArrayRef<int64_t> shape = value.getType().getShape();
  auto all = value.getValues<Attribute>();
  SmallVector<Attribute> elements;
  SmallVector<int64_t> index;
  for (Range range : box)
    index.push_back(range.lo);
  for (int64_t i = 0, e = volume(box); i != e; ++i) {
    int64_t linear = 0;
    for (size_t d = 0; d != shape.size(); ++d)
      linear = linear * shape[d] + index[d];
    elements.push_back(all[linear]);
    for (size_t d = shape.size(); d-- != 0;) {
      if (++index[d] != box[d].hi)
        break;
      index[d] = box[d].lo;
    }
  }
  return DenseElementsAttr::get(type, elements);
}

FailureOr<SmallVector<Value>> ConstantOp::buildLocal(OpBuilder &builder,
                                                     ArrayRef<Value> operands,
                                                     const LocalTile &tile) {
  auto value = cast<DenseElementsAttr>(getValue());
  auto clone = cast<ConstantOp>(builder.clone(*getOperation()));
  DenseElementsAttr local = elementsIn(value, tile.resultBoxes[0]);
  clone.setValueAttr(local);
  clone.getResult().setType(cast<RankedTensorType>(local.getType()));
  return SmallVector<Value>{clone.getResult()};
}

//===----------------------------------------------------------------------===//
// nn.output
//===----------------------------------------------------------------------===//

LogicalResult OutputOp::verify() { return verifyBox(*this, shapeOf(getX())); }

PartitionSpec OutputOp::getPartitionSpec() {
  PartitionSpec spec;
  addDimLoops(spec, shapeOf(getX()));
  spec.operands.push_back(identityAccess(shapeOf(getX()).size()));
  return spec;
}
double OutputOp::getFlops(const LocalTile &tile) { return 0; }

void OutputOp::setLocalAccess(const LocalTile &tile) {
  if (!isWhole(tile.operandBoxes[0], tile.spec))
    setBox(*this, tile.operandBoxes[0], extentsOf(tile.spec));
}
