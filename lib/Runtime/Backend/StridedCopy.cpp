//===- StridedCopy.cpp - The geometry of a copy of a box ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/StridedCopy.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>
#include <cassert>
#include <cstring>

using namespace soap;
using namespace soap::runtime;

StridedCopy StridedCopy::dense(uint64_t bytes) {
  StridedCopy copy;
  copy.run = bytes;
  return copy;
}

void StridedCopy::simplify() {
  assert(fromStrides.size() == extents.size() &&
         toStrides.size() == extents.size() && "a stride per dim and side");
  // From the innermost dim outwards: a dim that continues its inner neighbour
  // (or the run) on both sides joins it.
  Shape e, f, t;
  for (size_t d = extents.size(); d-- > 0;) {
    if (extents[d] == 1)
      continue;
    auto length = static_cast<int64_t>(run);
    if (e.empty() && fromStrides[d] == length &&
        (toStrides[d] == length || SOAP_FAULT("copy-merged"))) {
      run *= static_cast<uint64_t>(extents[d]);
      continue;
    }
    if (!e.empty() && fromStrides[d] == f.back() * e.back() &&
        toStrides[d] == t.back() * e.back()) {
      e.back() *= extents[d];
      continue;
    }
    e.push_back(extents[d]);
    f.push_back(fromStrides[d]);
    t.push_back(toStrides[d]);
  }
  extents.assign(e.rbegin(), e.rend());
  fromStrides.assign(f.rbegin(), f.rend());
  toStrides.assign(t.rbegin(), t.rend());
}

uint64_t StridedCopy::bytes() const {
  uint64_t total = run;
  for (int64_t extent : extents)
    total *= static_cast<uint64_t>(extent);
  return total;
}

/// The innermost loop, with the length of a run as a constant where it is that
/// of an element (transposed and gathered tensors).
template <size_t size>
static void copyRuns(const char *from, char *to, int64_t count,
                     int64_t fromStride, int64_t toStride) {
  for (int64_t i = 0; i != count; ++i)
    std::memcpy(to + i * toStride, from + i * fromStride, size);
}

namespace {
/// Numbers from `begin` on, below `end`.
struct Range {
  int64_t begin, end;
};
} // namespace

/// The numbers below `count` that a part has.
static Range rangeOf(int64_t count, size_t part, size_t parts) {
  auto bound = [&](size_t number) {
    return count * static_cast<int64_t>(number) / static_cast<int64_t>(parts);
  };
  return {bound(part), bound(part + 1)};
}

/// The loop of `dim` and those inside of it, of the first `run` bytes of each
/// run. The loop of `split` runs over `range` alone.
static void copyLoop(const StridedCopy &copy, uint64_t run, size_t dim,
                     size_t split, Range range, const char *from, char *to) {
  if (dim == copy.extents.size()) {
    std::memcpy(to, from, run);
    return;
  }
  int64_t count = copy.extents[dim];
  int64_t fromStride = copy.fromStrides[dim], toStride = copy.toStrides[dim];
  if (dim == split) {
    from += range.begin * fromStride;
    to += range.begin * toStride;
    count = range.end - range.begin;
  }
  if (dim + 1 == copy.extents.size()) {
    switch (run) {
    case 1:
      return copyRuns<1>(from, to, count, fromStride, toStride);
    case 2:
      return copyRuns<2>(from, to, count, fromStride, toStride);
    case 4:
      return copyRuns<4>(from, to, count, fromStride, toStride);
    case 8:
      return copyRuns<8>(from, to, count, fromStride, toStride);
    default:
      for (int64_t i = 0; i != count; ++i)
        std::memcpy(to + i * toStride, from + i * fromStride, run);
      return;
    }
  }
  for (int64_t i = 0; i != count; ++i)
    copyLoop(copy, run, dim + 1, split, range, from + i * fromStride,
             to + i * toStride);
}

void StridedCopy::execute(const char *from, char *to, size_t part,
                          size_t parts) const {
  for (int64_t extent : extents)
    if (extent == 0)
      return;
  from += fromOffset;
  to += toOffset;
  // The outermost loop that has enough for all parts, or else the longest one,
  // if the bytes of a run are not more: in pieces of cache lines, as they lie
  // if the buffers begin so.
  constexpr int64_t line = 64;
  auto most = static_cast<int64_t>(parts);
  auto split = std::find_if(extents.begin(), extents.end(),
                            [&](int64_t extent) { return extent >= most * 4; });
  if (split == extents.end())
    split = std::max_element(extents.begin(), extents.end());
  auto bytes = static_cast<int64_t>(run);
  int64_t lines = (bytes + line - 1) / line;
  if (split == extents.end() || (*split < most && *split < lines)) {
    Range own = rangeOf(lines, part, parts);
    int64_t begin = own.begin * line, end = std::min(own.end * line, bytes);
    if (begin < end)
      copyLoop(*this, static_cast<uint64_t>(end - begin), 0, extents.size(), {},
               from + begin, to + begin);
    return;
  }
  if (run != 0)
    copyLoop(*this, run, 0, static_cast<size_t>(split - extents.begin()),
             rangeOf(*split, part, parts), from, to);
}

StridedCopy runtime::makeStrided(const fb::BoxCopy &box) {
  StridedCopy copy;
  copy.fromOffset = box.from_offset();
  copy.toOffset = box.to_offset();
  copy.run = box.run();
  copy.extents = toVector(box.extents());
  copy.fromStrides = toVector(box.from_strides());
  copy.toStrides = toVector(box.to_strides());
  copy.simplify();
  return copy;
}

void runtime::fillHost(char *to, uint64_t bytes,
                       const std::vector<uint8_t> &pattern, size_t part,
                       size_t parts) {
  if (parts > 1) {
    // Every part begins with the whole pattern, and with a cache line.
    uint64_t unit = 64 * std::max<uint64_t>(pattern.size(), 1);
    Range units =
        rangeOf(static_cast<int64_t>((bytes + unit - 1) / unit), part, parts);
    uint64_t begin = static_cast<uint64_t>(units.begin) * unit,
             end = std::min(static_cast<uint64_t>(units.end) * unit, bytes);
    if (begin >= end)
      return;
    to += begin;
    bytes = end - begin;
  }
  bool isByte = std::all_of(pattern.begin(), pattern.end(), [&](uint8_t byte) {
    return byte == pattern.front();
  });
  if (pattern.empty() || isByte) {
    std::memset(to, pattern.empty() ? 0 : pattern.front(), bytes);
    return;
  }
  // What is filled is copied behind itself, up to a block that stays in the
  // first-level cache.
  constexpr uint64_t block = 4096;
  uint64_t filled = std::min<uint64_t>(pattern.size(), bytes);
  std::memcpy(to, pattern.data(), filled);
  for (uint64_t most =
           std::max<uint64_t>(block / pattern.size(), 1) * pattern.size();
       filled < bytes;) {
    uint64_t more = std::min({filled, most, bytes - filled});
    std::memcpy(to + filled, to, more);
    filled += more;
  }
}
