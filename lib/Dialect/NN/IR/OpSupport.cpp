//===- OpSupport.cpp - Shared by the ops of the nn dialect ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

//===----------------------------------------------------------------------===//
// Loops and accesses
//===----------------------------------------------------------------------===//

StringRef soap::nn::dimLoopName(unsigned i) {
  static constexpr StringLiteral names[] = {"d0", "d1", "d2", "d3",
                                            "d4", "d5", "d6", "d7"};
  static_assert(std::size(names) == maxRank);
  return names[i];
}

StringRef soap::nn::batchLoopName(unsigned i) {
  static constexpr StringLiteral names[] = {"b0", "b1", "b2", "b3",
                                            "b4", "b5", "b6", "b7"};
  static_assert(std::size(names) == maxRank);
  return names[i];
}

ArrayRef<StringRef> soap::nn::spatialLoopNames(unsigned rank) {
  static const StringRef names[] = {"d", "h", "w"};
  return ArrayRef(names).take_back(rank);
}

void soap::nn::addDimLoops(PartitionSpec &spec, ArrayRef<int64_t> shape) {
  for (auto [i, size] : llvm::enumerate(shape))
    spec.loops.push_back({dimLoopName(i), size});
}

ValueAccess soap::nn::identityAccess(unsigned rank) {
  ValueAccess access;
  for (unsigned i = 0; i != rank; ++i)
    access.dims.push_back(DimAccess::identity(i));
  return access;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

std::string soap::nn::toString(ArrayRef<int64_t> list) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(list, os);
  os << ']';
  return text;
}

LogicalResult soap::nn::verifyElementTypes(Operation *op) {
  Type expected = elementType(op->getResult(0));
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (elementType(operand) != expected)
      return op->emitOpError()
             << "expected the result's element type " << expected
             << " in operand " << i << ", got: " << elementType(operand);
  return success();
}

LogicalResult soap::nn::verifyResultShape(Operation *op,
                                          ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  if (shape != expected)
    return op->emitOpError()
           << "expected a result of shape " << toString(expected)
           << ", got: " << toString(shape);
  return success();
}

LogicalResult soap::nn::verifyList(Operation *op, StringRef attribute,
                                   ArrayRef<int64_t> list, size_t length,
                                   int64_t minimum) {
  if (list.size() != length)
    return op->emitOpError() << "expected " << length << " entries in '"
                             << attribute << "', got: " << list.size();
  for (int64_t entry : list)
    if (entry < minimum)
      return op->emitOpError()
             << "expected entries of " << minimum << " or more in '"
             << attribute << "', got: " << toString(list);
    else if (entry > maxListEntry)
      return op->emitOpError()
             << "expected entries of at most " << maxListEntry << " in '"
             << attribute << "', got: " << toString(list);
  return success();
}

LogicalResult soap::nn::verifyAxis(Operation *op, int64_t axis, size_t rank) {
  if (axis < 0 || axis >= static_cast<int64_t>(rank))
    return op->emitOpError()
           << "expected an axis in [0, " << rank << "), got: " << axis;
  return success();
}

LogicalResult soap::nn::verifyWindows(Operation *op, const Windows &windows,
                                      size_t spatial) {
  if (failed(verifyList(op, "kernel", windows.kernel, spatial, 1)) ||
      failed(verifyList(op, "strides", windows.strides, spatial, 1)) ||
      failed(verifyList(op, "dilations", windows.dilations, spatial, 1)) ||
      failed(verifyList(op, "pads_lo", windows.padsLo, spatial, 0)) ||
      failed(verifyList(op, "pads_hi", windows.padsHi, spatial, 0)))
    return failure();
  return success();
}

FailureOr<Shape> soap::nn::windowsResultShape(Operation *op,
                                              const Windows &windows,
                                              ArrayRef<int64_t> input) {
  Shape shape;
  for (auto [i, size] : llvm::enumerate(input)) {
    int64_t padded = size + windows.padsLo[i] + windows.padsHi[i];
    if (windows.extent(i) > padded)
      return op->emitOpError()
             << "expected a window of at most " << padded
             << " elements (the padded input) in spatial dimension " << i
             << ", got: " << windows.extent(i);
    shape.push_back((padded - windows.extent(i)) / windows.strides[i] + 1);
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Local operations
//===----------------------------------------------------------------------===//

TilePads soap::nn::localPadsOf(const LocalTile &tile, const Windows &windows) {
  TilePads pads;
  const Box &box = tile.operandBoxes[0];
  ArrayRef<DimAccess> dims = tile.spec.operands[0].dims;
  for (size_t d = 2, e = dims.size(); d != e; ++d) {
    Range units = tile.tile[dims[d].loop];
    DimAccess access = shiftAccess(dims[d], units.lo, box[d].lo);
    access.hi = access.lo + windows.extent(d - 2) - 1;
    LocalPads local = localPads(access, units.size(), box[d].size());
    pads.lo.push_back(local.lo);
    pads.hi.push_back(std::max<int64_t>(0, local.hi));
  }
  return pads;
}

Value soap::nn::createSplat(OpBuilder &builder, Operation *op, StringRef suffix,
                            RankedTensorType type, TypedAttr value) {
  auto constant = builder.create<ConstantOp>(
      op->getLoc(), DenseElementsAttr::get(type, Attribute(value)));
  setName(constant, getName(op) + suffix);
  return constant;
}

//===----------------------------------------------------------------------===//
// Memory traffic
//===----------------------------------------------------------------------===//

double soap::nn::boxBytes(Value value, const Box &box) {
  if (isEmpty(box))
    return 0;
  return static_cast<double>(volume(box)) * elementBytes(elementType(value));
}

double soap::nn::windowBytes(Operation *op, const LocalTile &tile,
                             const Windows &windows) {
  const Box &box = tile.operandBoxes[0];
  double whole = boxBytes(op->getOperand(0), box), read = whole;
  if (whole == 0)
    return detail::boxBytes(op, tile);
  for (auto [i, kernel] : llvm::enumerate(windows.kernel)) {
    int64_t size = box[2 + i].size();
    int64_t units = tile.tile[tile.spec.operands[0].dims[2 + i].loop].size();
    read *= static_cast<double>(std::min(size, units * kernel)) / size;
  }
  return detail::boxBytes(op, tile) - whole + read;
}

//===----------------------------------------------------------------------===//
// Kernel keys
//===----------------------------------------------------------------------===//

/// Attributes that say where a tile lies or what it holds, not what it costs.
static bool isCostNeutral(StringRef attribute) {
  return llvm::is_contained(
      {"pads_lo", "pads_hi", "counted_lo", "counted_hi", "starts", "offsets",
       "global_shape", "source", "value", "base", "table_size", "bases",
       "table_sizes", "diagonal", "reverse", "activations",
       "operandSegmentSizes", "seed", "of_batch"},
      attribute);
}

SmallVector<NamedAttribute, 8> soap::nn::costAttributes(Operation *op) {
  SmallVector<NamedAttribute, 8> attributes;
  for (StringAttr name : op->getName().getAttributeNames())
    if (!isCostNeutral(name))
      if (std::optional<Attribute> value = op->getInherentAttr(name);
          value && *value)
        attributes.emplace_back(name, *value);
  return attributes;
}

/// A search asks for the keys of thousands of tiles. MLIR's printer, which sets
/// up names for all dialects first, takes longer than all else that makes a
/// key; so the types of nearly all tensors are written here, as it does.
static void appendType(llvm::raw_ostream &os, Type type) {
  if (type.isF32())
    os << "f32";
  else if (type.isSignlessInteger())
    os << 'i' << type.getIntOrFloatBitWidth();
  else
    os << type;
}

static void appendShape(llvm::raw_ostream &os, const Box &box, Type type) {
  for (Range range : box)
    os << range.size() << 'x';
  appendType(os, type);
}

void soap::nn::appendAttribute(llvm::raw_ostream &os, Attribute value) {
  if (auto list = dyn_cast<DenseI64ArrayAttr>(value)) {
    llvm::interleave(list.asArrayRef(), os, "x");
    return;
  }
  if (auto kind = dyn_cast<ReduceKindAttr>(value)) {
    os << stringifyReduceKind(kind.getValue());
    return;
  }
  if (isa<UnitAttr>(value)) {
    os << 1;
    return;
  }
  if (auto number = dyn_cast<IntegerAttr>(value);
      number && number.getType().isSignlessInteger(64)) {
    os << number.getInt();
    return;
  }
  value.print(os, /*elideType=*/true);
}

/// The shapes and element types of what a tile reads and makes.
static void appendShapes(llvm::raw_ostream &os, Operation *op,
                         ArrayRef<Box> operandBoxes,
                         ArrayRef<Box> resultBoxes) {
  for (auto [i, box] : llvm::enumerate(operandBoxes))
    if (!isEmpty(box)) {
      os << ' ';
      appendShape(os, box, elementType(op->getOperand(i)));
    }
  os << " ->";
  for (auto [i, box] : llvm::enumerate(resultBoxes)) {
    os << ' ';
    appendShape(os, box, elementType(op->getResult(i)));
  }
}

void soap::nn::appendKernel(llvm::raw_ostream &os, Operation *op,
                            ArrayRef<NamedAttribute> attributes,
                            ArrayRef<Box> operandBoxes,
                            ArrayRef<Box> resultBoxes) {
  os << op->getName().getStringRef();
  for (NamedAttribute attribute : attributes) {
    os << ' ' << attribute.getName().getValue() << '=';
    appendAttribute(os, attribute.getValue());
  }
  appendShapes(os, op, operandBoxes, resultBoxes);
}

void soap::nn::appendKernel(llvm::raw_ostream &os, Operation *op,
                            StringRef parts, ArrayRef<Box> operandBoxes,
                            ArrayRef<Box> resultBoxes) {
  os << op->getName().getStringRef() << ' ' << parts;
  appendShapes(os, op, operandBoxes, resultBoxes);
}
