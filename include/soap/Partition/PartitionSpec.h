//===- PartitionSpec.h - How an operation can be split ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain data that says how an operation can be split: the loops that may be
// split and, for every dimension of every operand and result, which elements
// one unit of a loop touches. Search, simulation, verification, partitioning
// and memory planning derive everything they know about an operation from it.
// This library knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PARTITION_PARTITIONSPEC_H
#define SOAP_PARTITION_PARTITIONSPEC_H

#include "soap/Partition/Vocabulary.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <string>

namespace soap {

/// A half-open interval of elements or loop units. Empty if hi <= lo.
struct Range {
  int64_t lo = 0, hi = 0;

  int64_t size() const { return hi > lo ? hi - lo : 0; }
  bool empty() const { return hi <= lo; }
  bool contains(Range other) const {
    return other.empty() || (lo <= other.lo && other.hi <= hi);
  }
  bool operator==(const Range &o) const { return lo == o.lo && hi == o.hi; }
  bool operator!=(const Range &o) const { return !(*this == o); }
};

/// The common part of two ranges (empty, at `max(lo)`, where there is none).
inline Range intersect(Range a, Range b) {
  int64_t lo = std::max(a.lo, b.lo);
  return {lo, std::max(lo, std::min(a.hi, b.hi))};
}

/// One range per dimension of a tensor, in elements.
using Box = llvm::SmallVector<Range, 5>;
/// One range per loop of an operation, in loop units.
using Tile = llvm::SmallVector<Range, 6>;

/// Number of elements in a box; 1 for the box of a rank-0 tensor.
int64_t volume(const Box &box);
/// True if some dimension of the box is empty: nothing is read or written.
bool isEmpty(const Box &box);
inline bool contains(llvm::ArrayRef<Range> outer, llvm::ArrayRef<Range> inner) {
  assert(outer.size() == inner.size() && "boxes of different rank");
  bool inside = true;
  for (size_t d = 0, e = inner.size(); d != e; ++d) {
    if (inner[d].empty())
      return true;
    inside &= outer[d].lo <= inner[d].lo && inner[d].hi <= outer[d].hi;
  }
  return inside;
}
Box intersect(const Box &a, const Box &b);
/// The box that covers a whole tensor of `shape`.
Box wholeBox(llvm::ArrayRef<int64_t> shape);
/// The extents of a box.
llvm::SmallVector<int64_t, 5> shapeOf(const Box &box);
/// `[0:32, 256:512]`, the form the IR prints.
std::string toString(const Box &box);

/// The elements of one dimension that unit i of `loop` touches:
/// [floor((mul*i+lo)/div), floor((mul*i+hi)/div)], both ends inclusive. With
/// `loop` -1 the interval is the constant [lo, hi]. Elements outside of the
/// tensor are padding: the box of a tile is clamped to the tensor.
struct DimAccess {
  int16_t loop = -1;
  int64_t mul = 0, lo = 0, hi = 0, div = 1;

  /// Dimension i of the loop's own numbering: unit i touches element i.
  static DimAccess identity(unsigned loop) {
    return {static_cast<int16_t>(loop), 1, 0, 0, 1};
  }
  /// The whole of a dimension of `size` elements, whatever the tile.
  static DimAccess whole(int64_t size) { return {-1, 0, 0, size - 1, 1}; }
  /// Unit i touches [mul*i+lo, mul*i+hi].
  static DimAccess window(unsigned loop, int64_t mul, int64_t lo, int64_t hi) {
    return {static_cast<int16_t>(loop), mul, lo, hi, 1};
  }
  bool operator==(const DimAccess &o) const {
    return loop == o.loop && mul == o.mul && lo == o.lo && hi == o.hi &&
           div == o.div;
  }
};

/// How a task touches one operand or result: one access per dimension.
struct ValueAccess {
  llvm::SmallVector<DimAccess, 5> dims;
  /// Results only: joins the parts when an absent loop is split.
  Combine combine = Combine::None;
  /// Operands only: read just by the task at 0 in every reduction loop (a
  /// bias).
  bool firstOnly = false;
  /// Operands only: the operation is additive in its operands, and the sum of
  /// what the tasks along the reduction loops read is the value. A task takes
  /// the partial result of its own index, unreduced, if the producer left it on
  /// its device (takesParts()); else only the first task reads the value, which
  /// is reduced, and to the others it is zero.
  bool unreduced = false;
};

/// A loop that may be split, `extent` units long. The name is a role (n, f, c,
/// h, w, k, d0, ...) and outlives the spec: a string literal or an MLIR
/// identifier.
struct LoopSpec {
  llvm::StringRef name;
  int64_t extent = 1;
};

/// How one operation can be split. Loops stand in the forward operation's
/// declared order, in its gradients too. Invariants: see verify().
struct PartitionSpec {
  llvm::SmallVector<LoopSpec, 6> loops;
  llvm::SmallVector<ValueAccess, 4> operands, results;

  /// The index of the loop called `name`, or -1.
  int findLoop(llvm::StringRef name) const;
  /// True if `loop` indexes no dimension of result `result`: splitting it makes
  /// partial results (or equal copies, if the combiner is Same).
  bool isReduction(unsigned loop, unsigned result = 0) const;
};

/// The kind of a loop (Jia et al., "Beyond data and model parallelism", section
/// 4): Sample loops trace to a batch dimension, Parameter loops index a value
/// that comes only from parameters, the others are Attribute loops.
enum class LoopKind : uint8_t { Sample, Attribute, Parameter };
llvm::StringRef stringify(LoopKind kind);

/// Bits per (value, dim) that flow forward through a graph to find loop kinds.
struct DimTraits {
  /// Bit d: dimension d traces to a batch dimension.
  uint32_t sampleDims = 0;
  /// The value is derived from parameters only.
  bool parameterOnly = false;
};

/// Kinds of all loops of `spec`, given traits and shapes of its operands.
llvm::SmallVector<LoopKind, 6>
inferLoopKinds(const PartitionSpec &spec,
               llvm::ArrayRef<DimTraits> operandTraits,
               llvm::ArrayRef<llvm::SmallVector<int64_t, 5>> operandShapes);

/// Traits of result `result`: a result dimension is a sample dimension if its
/// loop is of kind Sample; it is parameter-only if all operands are.
DimTraits inferResultTraits(const PartitionSpec &spec, unsigned result,
                            llvm::ArrayRef<LoopKind> kinds,
                            llvm::ArrayRef<DimTraits> operandTraits);

/// Unit range of tile `index` of `count` along an extent:
/// [floor(index*extent/count), floor((index+1)*extent/count)). The only
/// function that cuts anything.
Range tileRange(int64_t extent, int64_t count, int64_t index);

/// The degrees of all loops, times `replicate` equal copies of every task.
struct Degrees {
  llvm::SmallVector<int32_t, 6> loops; ///< One per loop of the spec.
  int32_t replicate = 1;

  /// Tasks without copies: the product of the loops' degrees.
  int64_t numTiles() const;
  /// All tasks: numTiles() * replicate.
  int64_t numTasks() const { return numTiles() * replicate; }
  bool operator==(const Degrees &o) const {
    return loops == o.loops && replicate == o.replicate;
  }
};

/// Tasks are numbered row-major over the loops in the spec's order, copies
/// innermost. The index of task `task` along each loop:
llvm::SmallVector<int32_t, 6> taskIndices(const Degrees &degrees, int64_t task);

/// The tile of loop units that task `task` computes.
Tile tileOfTask(const PartitionSpec &spec, const Degrees &degrees,
                int64_t task);

/// Elements (clamped to [0, size)) that the units `units` of the access' loop
/// touch. Monotone accesses touch a contiguous range if windows abut or
/// overlap; otherwise this is the hull.
Range accessRange(const DimAccess &access, Range units, int64_t size);
/// The same without clamping: where windows would start and end.
Range unclampedRange(const DimAccess &access, Range units);

/// The box of a value that the task with `tile` touches. Empty ("not read") if
/// any dimension is.
Box accessBox(const ValueAccess &access, const Tile &tile,
              llvm::ArrayRef<int64_t> shape);

/// The box of operand `operand` read by task `task`; empty for a firstOnly
/// operand in a task that is not at 0 in every reduction loop of result 0.
Box operandBox(const PartitionSpec &spec, unsigned operand,
               const Degrees &degrees, int64_t task,
               llvm::ArrayRef<int64_t> shape);
/// The box of result `result` written by task `task`.
Box resultBox(const PartitionSpec &spec, unsigned result,
              const Degrees &degrees, int64_t task,
              llvm::ArrayRef<int64_t> shape);

/// The shift rule: the access of a local operation whose tile starts at unit
/// `tileStart` and whose operand box starts at element `boxStart`:
/// lo' = lo + mul*tileStart - div*boxStart, hi' alike.
DimAccess shiftAccess(const DimAccess &access, int64_t tileStart,
                      int64_t boxStart);

/// Low and high padding that a local operation needs: how far its first window
/// starts before, and its last window ends after, the local box. Negative
/// values mean that the box is larger than the windows need.
struct LocalPads {
  int64_t lo = 0, hi = 0;
};
LocalPads localPads(const DimAccess &shifted, int64_t units, int64_t boxSize);

/// Checks the invariants: every result dimension uses at most one loop, with
/// div = 1, mul > 0 and abutting windows, and is covered exactly; a loop is in
/// at most one dimension of a result; a loop absent from a result needs a
/// combiner; operand accesses are monotone; an unreduced operand uses no
/// reduction loop, and all results of such an operation are sums; ranks agree
/// with the shapes. Fails with the first violation.
llvm::Error verify(const PartitionSpec &spec,
                   llvm::ArrayRef<llvm::SmallVector<int64_t, 5>> operandShapes,
                   llvm::ArrayRef<llvm::SmallVector<int64_t, 5>> resultShapes);

} // namespace soap

#endif // SOAP_PARTITION_PARTITIONSPEC_H
