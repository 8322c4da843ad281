//===- Layout.cpp - Where the tiles of a value lie ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/Needs.h"
#include "soap/Testing/PlantedFault.h"
#include <cassert>
#include <numeric>

using namespace soap;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t Layout::numTiles() const {
  int64_t product = 1;
  for (const auto &points : cuts)
    product *= static_cast<int64_t>(points.size()) - 1;
  return product;
}

Box Layout::tileBox(int64_t tile) const {
  Box box(cuts.size());
  for (size_t d = cuts.size(); d-- != 0;) {
    int64_t count = static_cast<int64_t>(cuts[d].size()) - 1;
    int64_t index = tile % count;
    box[d] = {cuts[d][index], cuts[d][index + 1]};
    tile /= count;
  }
  return box;
}

SmallVector<int64_t, 5> Layout::shape() const {
  SmallVector<int64_t, 5> shape;
  for (const auto &points : cuts)
    shape.push_back(points.back());
  return shape;
}

int64_t Need::numTiles() const {
  int64_t product = 1;
  for (const auto &list : ranges)
    product *= static_cast<int64_t>(list.size());
  return product;
}

Box Need::tileBox(int64_t tile) const {
  Box box(ranges.size());
  for (size_t d = ranges.size(); d-- != 0;) {
    auto count = static_cast<int64_t>(ranges[d].size());
    box[d] = ranges[d][tile % count];
    tile /= count;
  }
  return box;
}

namespace {
/// Maps the numbering of tasks (row-major over loops, copies innermost) to the
/// numbering of a value ([tile][part][copy]): one stride per loop. Indices are
/// walked like an odometer, so that a task costs O(1) on average.
struct TaskNumbering {
  SmallVector<int64_t, 6> strides; ///< Per loop, in entries of the value.
  SmallVector<bool, 6> onlyFirst;  ///< Loops of which only index 0 counts.
  int64_t numEntries = 1;

  explicit TaskNumbering(size_t numLoops)
      : strides(numLoops, 0), onlyFirst(numLoops, false) {}

  /// Appends one more (outer) group of loops; called from the innermost.
  void prepend(size_t loop, int64_t degree) {
    strides[loop] = numEntries;
    numEntries *= degree;
  }

  void fill(const Degrees &degrees, ArrayRef<int32_t> devices,
            llvm::SmallVectorImpl<int32_t> &outDevices,
            llvm::SmallVectorImpl<int32_t> &outTasks) const {
    if (isOrderOfTasks(degrees)) {
      outDevices.assign(devices.begin(), devices.end());
      outTasks.resize_for_overwrite(numEntries);
      std::iota(outTasks.begin(), outTasks.end(), 0);
      return;
    }
    outDevices.assign(numEntries, 0);
    outTasks.assign(numEntries, 0);
    SmallVector<int32_t, 6> index(degrees.loops.size(), 0);
    int64_t entry = 0;
    int32_t skipped = 0; // Loops that stand at an index that does not count.
    for (int64_t task = 0, e = degrees.numTasks(); task != e;) {
      for (int32_t copy = 0; copy != degrees.replicate; ++copy, ++task) {
        if (skipped)
          continue;
        outDevices[entry + copy] = devices[task];
        outTasks[entry + copy] = static_cast<int32_t>(task);
      }
      for (size_t i = index.size(); i-- != 0;) {
        entry += strides[i];
        if (onlyFirst[i] && index[i] == 0 && degrees.loops[i] > 1)
          ++skipped;
        if (++index[i] != degrees.loops[i])
          break;
        entry -= strides[i] * degrees.loops[i];
        if (onlyFirst[i] && degrees.loops[i] > 1)
          --skipped;
        index[i] = 0;
      }
    }
  }

private:
  /// True if entries are numbered as tasks are.
  bool isOrderOfTasks(const Degrees &degrees) const {
    int64_t stride = degrees.replicate;
    for (size_t i = strides.size(); i-- != 0;) {
      if (degrees.loops[i] == 1)
        continue;
      if (strides[i] != stride || onlyFirst[i])
        return false;
      stride *= degrees.loops[i];
    }
    return true;
  }

  template <typename T>
  using SmallVectorImpl = llvm::SmallVectorImpl<T>;
};
} // namespace

Layout soap::makeLayout(const PartitionSpec &spec, unsigned result,
                        const Degrees &degrees, ArrayRef<int32_t> devices,
                        ArrayRef<int64_t> shape) {
  Layout layout;
  makeLayout(spec, result, degrees, devices, shape, layout);
  return layout;
}

void soap::makeLayout(const PartitionSpec &spec, unsigned result,
                      const Degrees &degrees, ArrayRef<int32_t> devices,
                      ArrayRef<int64_t> shape, Layout &layout) {
  assert(result < spec.results.size() && "a result of the operation");
  assert(degrees.loops.size() == spec.loops.size() && "one degree per loop");
  assert(static_cast<int64_t>(devices.size()) == degrees.numTasks() &&
         "one device per task");
  const ValueAccess &access = spec.results[result];
  assert(access.dims.size() == shape.size() && "rank of access and value");
  layout.parts = 1;
  layout.combine = Combine::None;
  TaskNumbering numbering(spec.loops.size());
  numbering.numEntries = layout.copies = degrees.replicate;

  bool same = access.combine == Combine::Same;
  for (size_t i = spec.loops.size(); i-- != 0;)
    if (spec.isReduction(i, result)) {
      numbering.prepend(i, degrees.loops[i]);
      (same ? layout.copies : layout.parts) *= degrees.loops[i];
    }
  if (SOAP_FAULT("replicas-counted") && access.combine == Combine::Sum)
    layout.parts *= std::exchange(layout.copies, 1);
  if (layout.parts > 1)
    layout.combine = access.combine;

  layout.cuts.resize(shape.size());
  for (size_t d = shape.size(); d-- != 0;) {
    const DimAccess &dim = access.dims[d];
    auto &cuts = layout.cuts[d];
    cuts.assign(1, 0);
    if (dim.loop < 0) {
      cuts.push_back(shape[d]);
      continue;
    }
    int32_t degree = degrees.loops[dim.loop];
    for (int32_t i = 0; i != degree; ++i)
      cuts.push_back(
          accessRange(dim, tileRange(spec.loops[dim.loop].extent, degree, i),
                      shape[d])
              .hi);
    numbering.prepend(dim.loop, degree);
  }
  numbering.fill(degrees, devices, layout.devices, layout.tasks);
}

Need soap::needOf(const ValueUse &use, ArrayRef<int64_t> shape) {
  Need need;
  needOf(use, shape, need);
  return need;
}

void soap::needOf(const ValueUse &use, ArrayRef<int64_t> shape, Need &need) {
  const auto &[spec, operand, degrees, devices, regather, isOutput, isStored] =
      use;
  assert(operand < spec.operands.size() && "an operand of the operation");
  assert(degrees.loops.size() == spec.loops.size() && "one degree per loop");
  assert(static_cast<int64_t>(devices.size()) == degrees.numTasks() &&
         "one device per task");
  const ValueAccess &access = spec.operands[operand];
  assert(access.dims.size() == shape.size() && "rank of access and value");
  need.regather = isOutput || (regather && !isStored);
  need.startsRound = isStored && regather && !isOutput;
  TaskNumbering numbering(spec.loops.size());

  SmallVector<bool, 6> used(spec.loops.size(), false);
  for (const DimAccess &dim : access.dims)
    if (dim.loop >= 0)
      used[dim.loop] = true;
  numbering.numEntries = need.copies = degrees.replicate;
  need.parts = 1;
  for (size_t i = spec.loops.size(); i-- != 0;) {
    if (used[i] || (access.unreduced && spec.isReduction(i)))
      continue;
    if (access.firstOnly && spec.isReduction(i)) {
      numbering.onlyFirst[i] = true;
      continue;
    }
    numbering.prepend(i, degrees.loops[i]);
    need.copies *= degrees.loops[i];
  }
  for (size_t i = spec.loops.size(); access.unreduced && i-- != 0;)
    if (spec.isReduction(i)) {
      numbering.prepend(i, degrees.loops[i]);
      need.parts *= degrees.loops[i];
    }

  need.ranges.resize(shape.size());
  for (size_t d = shape.size(); d-- != 0;) {
    const DimAccess &dim = access.dims[d];
    need.ranges[d].clear();
    if (dim.loop < 0) {
      need.ranges[d].push_back(accessRange(dim, {0, 1}, shape[d]));
      continue;
    }
    int32_t degree = degrees.loops[dim.loop];
    for (int32_t i = 0; i != degree; ++i)
      need.ranges[d].push_back(accessRange(
          dim, tileRange(spec.loops[dim.loop].extent, degree, i), shape[d]));
    numbering.prepend(dim.loop, degree);
  }
  numbering.fill(degrees, devices, need.devices, need.tasks);
}
