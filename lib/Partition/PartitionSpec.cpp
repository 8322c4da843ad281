//===- PartitionSpec.cpp - How an operation can be split ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/PartitionSpec.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cassert>

using namespace soap;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Ranges and boxes
//===----------------------------------------------------------------------===//

int64_t soap::volume(const Box &box) {
  int64_t product = 1;
  for (Range range : box)
    product *= range.size();
  return product;
}

bool soap::isEmpty(const Box &box) {
  return llvm::any_of(box, [](Range range) { return range.empty(); });
}

Box soap::intersect(const Box &a, const Box &b) {
  assert(a.size() == b.size() && "boxes of different rank");
  Box result(a.size());
  for (size_t d = 0, e = a.size(); d != e; ++d)
    result[d] = intersect(a[d], b[d]);
  return result;
}

Box soap::wholeBox(ArrayRef<int64_t> shape) {
  Box box;
  for (int64_t size : shape)
    box.push_back({0, size});
  return box;
}

SmallVector<int64_t, 5> soap::shapeOf(const Box &box) {
  SmallVector<int64_t, 5> shape;
  for (Range range : box)
    shape.push_back(range.size());
  return shape;
}

std::string soap::toString(const Box &box) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(
      box, os, [&](Range range) { os << range.lo << ':' << range.hi; });
  os << ']';
  return text;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef soap::stringify(LoopKind kind) {
  switch (kind) {
  case LoopKind::Sample:
    return "sample";
  case LoopKind::Attribute:
    return "attribute";
  case LoopKind::Parameter:
    return "parameter";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

int PartitionSpec::findLoop(StringRef name) const {
  for (size_t i = 0, e = loops.size(); i != e; ++i)
    if (loops[i].name == name)
      return static_cast<int>(i);
  return -1;
}

bool PartitionSpec::isReduction(unsigned loop, unsigned result) const {
  return llvm::none_of(results[result].dims, [&](const DimAccess &access) {
    return access.loop == static_cast<int>(loop);
  });
}

SmallVector<LoopKind, 6>
soap::inferLoopKinds(const PartitionSpec &spec,
                     ArrayRef<DimTraits> operandTraits,
                     ArrayRef<SmallVector<int64_t, 5>> operandShapes) {
  assert(operandTraits.size() == spec.operands.size() &&
         operandShapes.size() == spec.operands.size() &&
         "one entry per operand");
  SmallVector<LoopKind, 6> kinds(spec.loops.size(), LoopKind::Attribute);
  for (size_t i = 0, e = spec.operands.size(); i != e; ++i) {
    ArrayRef<DimAccess> dims = spec.operands[i].dims;
    for (size_t d = 0, rank = dims.size(); d != rank; ++d) {
      if (dims[d].loop < 0)
        continue;
      LoopKind &kind = kinds[dims[d].loop];
      if (operandTraits[i].sampleDims >> d & 1)
        kind = LoopKind::Sample;
      else if (operandTraits[i].parameterOnly && operandShapes[i][d] > 1 &&
               kind != LoopKind::Sample)
        kind = LoopKind::Parameter;
    }
  }
  return kinds;
}

DimTraits soap::inferResultTraits(const PartitionSpec &spec, unsigned result,
                                  ArrayRef<LoopKind> kinds,
                                  ArrayRef<DimTraits> operandTraits) {
  DimTraits traits;
  ArrayRef<DimAccess> dims = spec.results[result].dims;
  for (size_t d = 0, rank = dims.size(); d != rank; ++d)
    if (dims[d].loop >= 0 && kinds[dims[d].loop] == LoopKind::Sample)
      traits.sampleDims |= uint32_t(1) << d;
  traits.parameterOnly = !operandTraits.empty() &&
                         llvm::all_of(operandTraits, [](const DimTraits &t) {
                           return t.parameterOnly;
                         });
  return traits;
}

//===----------------------------------------------------------------------===//
// Tasks and tiles
//===----------------------------------------------------------------------===//

Range soap::tileRange(int64_t extent, int64_t count, int64_t index) {
  assert(count > 0 && index >= 0 && index < count && "tile out of range");
  if (SOAP_FAULT("uneven-tile"))
    return {index * (extent / count), (index + 1) * (extent / count)};
  return {index * extent / count, (index + 1) * extent / count};
}

int64_t Degrees::numTiles() const {
  int64_t product = 1;
  for (int32_t degree : loops)
    product *= degree;
  return product;
}

SmallVector<int32_t, 6> soap::taskIndices(const Degrees &degrees,
                                          int64_t task) {
  SmallVector<int32_t, 6> indices(degrees.loops.size());
  task /= degrees.replicate;
  for (size_t i = degrees.loops.size(); i-- != 0;) {
    indices[i] = static_cast<int32_t>(task % degrees.loops[i]);
    task /= degrees.loops[i];
  }
  assert(task == 0 && "task out of range");
  return indices;
}

Tile soap::tileOfTask(const PartitionSpec &spec, const Degrees &degrees,
                      int64_t task) {
  assert(degrees.loops.size() == spec.loops.size() && "one degree per loop");
  SmallVector<int32_t, 6> indices = taskIndices(degrees, task);
  Tile tile;
  for (size_t i = 0, e = spec.loops.size(); i != e; ++i)
    tile.push_back(
        tileRange(spec.loops[i].extent, degrees.loops[i], indices[i]));
  return tile;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Quotient rounded towards minus infinity, for b > 0.
static int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 1)
    return a; // Most windows; a division takes longer than all else.
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

Range soap::unclampedRange(const DimAccess &access, Range units) {
  if (access.loop < 0)
    return {access.lo, access.hi + 1};
  if (units.empty())
    return {0, 0};
  // A negative factor (a slice with a negative step) reads backwards.
  int64_t first = access.mul >= 0 ? units.lo : units.hi - 1;
  int64_t last = access.mul >= 0 ? units.hi - 1 : units.lo;
  return {floorDiv(access.mul * first + access.lo, access.div),
          floorDiv(access.mul * last + access.hi, access.div) + 1};
}

Range soap::accessRange(const DimAccess &access, Range units, int64_t size) {
  Range range = unclampedRange(access, units);
  if (SOAP_FAULT("halo-off-by-one") && access.loop >= 0 &&
      access.hi > access.lo && range.hi < size)
    --range.hi;
  int64_t lo = std::clamp<int64_t>(range.lo, 0, size);
  return {lo, std::clamp<int64_t>(range.hi, lo, size)};
}

Box soap::accessBox(const ValueAccess &access, const Tile &tile,
                    ArrayRef<int64_t> shape) {
  assert(access.dims.size() == shape.size() && "rank of access and value");
  Box box;
  for (size_t d = 0, e = shape.size(); d != e; ++d) {
    const DimAccess &dim = access.dims[d];
    Range units = dim.loop < 0 ? Range{0, 1} : tile[dim.loop];
    box.push_back(accessRange(dim, units, shape[d]));
  }
  return box;
}

Box soap::operandBox(const PartitionSpec &spec, unsigned operand,
                     const Degrees &degrees, int64_t task,
                     ArrayRef<int64_t> shape) {
  if (spec.operands[operand].firstOnly) {
    SmallVector<int32_t, 6> indices = taskIndices(degrees, task);
    for (size_t i = 0, e = indices.size(); i != e; ++i)
      if (indices[i] != 0 && spec.isReduction(i))
        return Box(shape.size());
  }
  return accessBox(spec.operands[operand], tileOfTask(spec, degrees, task),
                   shape);
}

Box soap::resultBox(const PartitionSpec &spec, unsigned result,
                    const Degrees &degrees, int64_t task,
                    ArrayRef<int64_t> shape) {
  return accessBox(spec.results[result], tileOfTask(spec, degrees, task),
                   shape);
}

DimAccess soap::shiftAccess(const DimAccess &access, int64_t tileStart,
                            int64_t boxStart) {
  int64_t shift = -access.div * boxStart;
  if (access.loop >= 0)
    shift += access.mul * tileStart;
  if (SOAP_FAULT("window-origin") && access.hi > access.lo && tileStart > 0)
    ++shift;
  DimAccess shifted = access;
  shifted.lo += shift;
  shifted.hi += shift;
  return shifted;
}

LocalPads soap::localPads(const DimAccess &shifted, int64_t units,
                          int64_t boxSize) {
  Range windows = unclampedRange(shifted, {0, units});
  if (SOAP_FAULT("pads-swapped"))
    return {windows.hi - boxSize, -windows.lo};
  return {-windows.lo, windows.hi - boxSize};
}
