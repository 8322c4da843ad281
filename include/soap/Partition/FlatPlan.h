//===- FlatPlan.h - A plan in flat lists ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The form in which the planner writes a plan: what CommPlan.h says of a
// ValuePlan, in lists of numbers that keep their memory from one plan to the
// next. A search compiles it as it is, some thousand values a second, each
// with up to some thousand transfers; planValue() expands it to a ValuePlan.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PARTITION_FLATPLAN_H
#define SOAP_PARTITION_FLATPLAN_H

#include "soap/Partition/CommPlan.h"
#include <memory>

namespace soap {

/// The plan of one value. Entries have the meaning and the order of those of a
/// ValuePlan, but boxes are numbers of boxes(), and lists within entries are
/// slices of the lists of the plan. Equal boxes may have different numbers.
struct FlatPlan {
  template <typename T>
  using List = llvm::SmallVector<T, 0>;

  /// Entries `begin` to `end` (exclusive) of a list.
  struct Slice {
    int32_t begin = 0, end = 0;
    int32_t size() const { return end - begin; }
  };
  struct Piece {
    int32_t shard, box;
  };
  struct Shard {
    int32_t device = 0, box = 0, part = -1;
    soap::Shard::Origin origin = soap::Shard::Origin::Task;
    int32_t index = 0, position = 0;
  };
  struct Reduction {
    Combine combine;
    int32_t output;
    Slice inputs; ///< Of `shardLists`.
  };
  struct Port {
    int32_t device, box;
    Slice pieces; ///< Of `pieces`.
  };
  struct Action {
    ActionKind kind;
    Combine combine = Combine::None;
    Slice group;   ///< Of `members`.
    Slice inputs;  ///< Of `ports`.
    Slice outputs; ///< Of `outputs`.
    int32_t round = 0;
  };
  struct Read {
    int32_t consumer, task, device, box;
    Slice pieces; ///< Of `pieces`.
  };

  size_t rank = 0;
  List<Range> ranges;    ///< `rank` for every box.
  List<int64_t> volumes; ///< Elements of every box; 0: empty.
  List<Shard> shards;
  List<Reduction> reductions;
  List<int32_t> shardLists;
  List<Action> actions;
  List<int32_t> members, outputs;
  List<Port> ports;
  List<Piece> pieces;
  List<Read> reads;
  List<int32_t> rounds;

  llvm::ArrayRef<Range> box(int32_t id) const {
    return {ranges.data() + id * rank, rank};
  }
  llvm::ArrayRef<int32_t> groupOf(const Action &action) const {
    return slice(members, action.group);
  }
  llvm::ArrayRef<Port> inputsOf(const Action &action) const {
    return slice(ports, action.inputs);
  }
  llvm::ArrayRef<int32_t> outputsOf(const Action &action) const {
    return slice(outputs, action.outputs);
  }
  llvm::ArrayRef<int32_t> inputsOf(const Reduction &reduction) const {
    return slice(shardLists, reduction.inputs);
  }
  llvm::ArrayRef<Piece> piecesIn(Slice which) const {
    return slice(pieces, which);
  }
  /// True if a box that `which` puts together is one whole shard, so that
  /// nothing is copied. The box is not empty.
  bool isWholeShard(Slice which, int32_t box) const {
    // Pieces cover their box and lie inside their shards.
    return which.size() == 1 &&
           volumes[shards[pieces[which.begin].shard].box] == volumes[box];
  }

  /// A new last entry of a list, whose fields are to be written. push_back()
  /// writes them to the stack and loads them again as a whole, which stalls.
  template <typename T>
  static T &append(List<T> &list) {
    list.resize_for_overwrite(list.size() + 1);
    return list.back();
  }
  /// Empties the lists for a value of `rank` dimensions; keeps their memory.
  void clear(size_t rank);
  /// The number of a new box, whose ranges are to be written to the place that
  /// rangesOf() names; then setVolume() is due.
  int32_t addBox() {
    auto id = static_cast<int32_t>(volumes.size());
    ranges.resize_for_overwrite(ranges.size() + rank);
    volumes.push_back(1);
    return id;
  }
  Range *rangesOf(int32_t id) { return ranges.data() + id * rank; }
  void setVolume(int32_t id) {
    int64_t product = 1;
    for (Range range : box(id))
      product *= range.size();
    volumes[id] = product;
  }

private:
  template <typename T>
  static llvm::ArrayRef<T> slice(const List<T> &list, Slice which) {
    return {list.data() + which.begin, static_cast<size_t>(which.size())};
  }
};

namespace detail {
class Planner;
} // namespace detail

/// Plans one value after the other and keeps its memory in between: planValue()
/// without the expansion.
class ValuePlanner {
public:
  ValuePlanner();
  ~ValuePlanner();
  /// The plan holds until the next call.
  const FlatPlan &plan(const Layout &producer, llvm::ArrayRef<Need> consumers,
                       RouteCost route = nullptr, int32_t host = kNoHost);

private:
  std::unique_ptr<detail::Planner> planner_;
};

/// The same plan with lists and boxes of its own; `numConsumers` as planned
/// for.
ValuePlan expand(const FlatPlan &plan, size_t numConsumers);

/// linkBytes() of an action of a flat plan.
int64_t linkBytes(const FlatPlan &plan, const FlatPlan::Action &action,
                  int64_t elementBytes);

} // namespace soap

#endif // SOAP_PARTITION_FLATPLAN_H
