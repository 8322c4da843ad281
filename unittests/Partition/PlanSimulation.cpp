//===- PlanSimulation.cpp - Executes plans on small arrays ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSimulation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace soap;
using namespace soap::test;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

namespace {
/// No task produces it.
constexpr int64_t unset = INT64_MIN;

/// The elements of a box, row-major.
struct Array {
  Box box;
  std::vector<int64_t> values;

  explicit Array(const Box &box = {})
      : box(box), values(static_cast<size_t>(volume(box)), unset) {}
  int64_t &at(ArrayRef<int64_t> index) {
    int64_t flat = 0;
    for (size_t d = 0; d != box.size(); ++d)
      flat = flat * box[d].size() + index[d] - box[d].lo;
    return values[flat];
  }
};

/// Calls `fn(index)` for all elements of a box.
template <typename Fn>
void forEachElement(const Box &box, Fn fn) {
  if (isEmpty(box))
    return;
  SmallVector<int64_t, 5> index;
  for (Range range : box)
    index.push_back(range.lo);
  while (true) {
    fn(ArrayRef<int64_t>(index));
    size_t d = box.size();
    while (d-- != 0) {
      if (++index[d] != box[d].hi)
        break;
      index[d] = box[d].lo;
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

void copyInto(Array &to, Array &from, const Box &box) {
  forEachElement(box, [&](ArrayRef<int64_t> i) { to.at(i) = from.at(i); });
}

int64_t combineTwo(Combine combine, int64_t a, int64_t b) {
  switch (combine) {
  case Combine::Sum:
    return a + b;
  case Combine::Max:
    return std::max(a, b);
  case Combine::Min:
    return std::min(a, b);
  case Combine::Prod:
    return a * b % 1000003;
  case Combine::And:
    return a & b;
  case Combine::Or:
    return a | b;
  case Combine::None:
  case Combine::Same:
    break;
  }
  return unset;
}

/// What part `part` contributes to an element.
int64_t partOf(ArrayRef<int64_t> index, int32_t part) {
  uint64_t hash = 0x9e3779b97f4a7c15u * static_cast<uint64_t>(part + 1);
  for (int64_t i : index) {
    hash = (hash ^ static_cast<uint64_t>(i + 1)) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 29;
  }
  return static_cast<int64_t>(hash % 1000003);
}

int64_t truth(const Layout &producer, ArrayRef<int64_t> index) {
  int64_t value = partOf(index, 0);
  for (int32_t part = 1; part < producer.parts; ++part)
    value = combineTwo(producer.combine, value, partOf(index, part));
  return value;
}

struct Simulation {
  const ValuePlan &plan;
  const Layout &producer;
  std::vector<Array> shards;
  std::string error;

  Simulation(const ValuePlan &plan, const Layout &producer)
      : plan(plan), producer(producer), shards(plan.shards.size()) {}

  /// Assembles a box from shards on one device.
  Array gather(const Box &box, int32_t device, ArrayRef<Piece> pieces) {
    Array array(box);
    for (const Piece &piece : pieces) {
      if (plan.shards[piece.shard].device != device)
        error = "a piece is on another device";
      if (shards[piece.shard].box.size() != box.size() ||
          !contains(shards[piece.shard].box, piece.box))
        error = "a shard is read before it exists";
      else
        copyInto(array, shards[piece.shard], piece.box);
    }
    if (llvm::is_contained(array.values, unset))
      error = "elements are missing in " + toString(box);
    return array;
  }

  void runTasks() {
    for (size_t slot = 0; slot != producer.tasks.size(); ++slot) {
      auto part = static_cast<int32_t>(slot / producer.copies % producer.parts);
      int64_t tile =
          static_cast<int64_t>(slot) / producer.copies / producer.parts;
      Array array(producer.tileBox(tile));
      forEachElement(array.box, [&](ArrayRef<int64_t> i) {
        array.at(i) = partOf(i, part);
      });
      shards[producer.tasks[slot]] = std::move(array);
    }
    for (const LocalReduction &reduction : plan.reductions) {
      Array sum = shards[reduction.inputs[0]];
      for (int32_t input : ArrayRef<int32_t>(reduction.inputs).drop_front())
        for (size_t i = 0; i != sum.values.size(); ++i)
          sum.values[i] = combineTwo(reduction.combine, sum.values[i],
                                     shards[input].values[i]);
      shards[reduction.output] = std::move(sum);
    }
  }

  void runAction(const Action &action) {
    std::vector<Array> inputs;
    for (const Port &port : action.inputs)
      inputs.push_back(gather(port.box, port.device, port.pieces));
    if (!error.empty())
      return;
    bool reduces = action.combine != Combine::None;
    if (reduces)
      for (size_t k = 1; k != inputs.size(); ++k)
        for (size_t i = 0; i != inputs[0].values.size(); ++i)
          inputs[0].values[i] = combineTwo(action.combine, inputs[0].values[i],
                                           inputs[k].values[i]);
    for (size_t k = 0; k != action.outputs.size(); ++k) {
      Array output(plan.shards[action.outputs[k]].box);
      switch (action.kind) {
      case ActionKind::Transfer:
      case ActionKind::HaloExchange:
        copyInto(output, inputs[k], output.box);
        break;
      case ActionKind::Broadcast:
      case ActionKind::AllReduce:
      case ActionKind::ReduceScatter:
        copyInto(output, inputs[0], output.box);
        break;
      case ActionKind::AllGather:
      case ActionKind::AllToAll:
        for (Array &input : inputs)
          copyInto(output, input, intersect(input.box, output.box));
        break;
      }
      if (llvm::is_contained(output.values, unset))
        error = "an output of " + stringify(action.kind).str() +
                " has missing elements";
      shards[action.outputs[k]] = std::move(output);
    }
  }

  std::string run(ArrayRef<Need> consumers) {
    runTasks();
    for (const Action &action : plan.actions)
      if (error.empty())
        runAction(action);
    ArrayRef<Read> reads(plan.reads);
    for (auto [index, need] : llvm::enumerate(consumers)) {
      auto own = reads.take_while([index = index](const Read &read) {
        return read.consumer == static_cast<int32_t>(index);
      });
      reads = reads.drop_front(own.size());
      if (error.empty())
        checkReads(need, own);
    }
    if (error.empty() && !reads.empty())
      error = "reads of other consumers";
    return error;
  }

  /// What tasks of one tile and copy read adds up to the value.
  void checkReads(const Need &need, ArrayRef<Read> reads) {
    int64_t tiles = 0;
    for (int64_t tile = 0; tile != need.numTiles(); ++tile)
      tiles += isEmpty(need.tileBox(tile)) ? 0 : 1;
    auto numReads = static_cast<int64_t>(reads.size());
    int32_t parts = numReads == tiles * need.copies ? 1 : need.parts;
    if (numReads != tiles * need.copies * parts) {
      error = "another number of reads";
      return;
    }
    for (int64_t tile = 0; tile != tiles; ++tile)
      for (int32_t copy = 0; copy != need.copies; ++copy) {
        std::vector<Array> taken;
        for (int32_t part = 0; part != parts; ++part) {
          const Read &read = reads[(tile * parts + part) * need.copies + copy];
          taken.push_back(gather(read.box, read.device, read.pieces));
        }
        if (!error.empty())
          return;
        const Box &box = taken.front().box;
        forEachElement(box, [&](ArrayRef<int64_t> i) {
          int64_t value = 0;
          for (Array &array : taken)
            value += array.at(i);
          if (value != truth(producer, i))
            error = "wrong value in " + toString(box);
        });
      }
  }
};
} // namespace

std::string soap::test::simulate(const ValuePlan &plan, const Layout &producer,
                                 ArrayRef<Need> consumers) {
  return Simulation(plan, producer).run(consumers);
}

std::string soap::test::summarize(const ValuePlan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Action &action : plan.actions) {
    os << stringify(action.kind) << " [";
    llvm::interleaveComma(action.group, os);
    os << "]: ";
    llvm::interleaveComma(action.inputs, os, [&](const Port &port) {
      os << port.device << ' ' << toString(port.box);
    });
    os << " -> ";
    llvm::interleaveComma(action.outputs, os, [&](int32_t shard) {
      os << plan.shards[shard].device << ' '
         << toString(plan.shards[shard].box);
    });
    os << '\n';
  }
  return text;
}

Layout soap::test::gridLayout(ArrayRef<int64_t> shape,
                              ArrayRef<int32_t> degrees,
                              ArrayRef<int32_t> devices, int32_t parts,
                              int32_t copies) {
  Layout layout;
  for (size_t d = 0; d != shape.size(); ++d) {
    layout.cuts.emplace_back(1, 0);
    for (int32_t i = 0; i != degrees[d]; ++i)
      layout.cuts[d].push_back(tileRange(shape[d], degrees[d], i).hi);
  }
  layout.parts = parts;
  layout.combine = parts > 1 ? Combine::Sum : Combine::None;
  layout.copies = copies;
  layout.devices.assign(devices.begin(), devices.end());
  layout.tasks.resize(devices.size());
  std::iota(layout.tasks.begin(), layout.tasks.end(), 0);
  return layout;
}

Need soap::test::gridNeed(ArrayRef<int64_t> shape, ArrayRef<int32_t> degrees,
                          ArrayRef<int32_t> devices, int32_t copies,
                          int64_t before, int64_t after) {
  Need need;
  for (size_t d = 0; d != shape.size(); ++d) {
    need.ranges.emplace_back();
    for (int32_t i = 0; i != degrees[d]; ++i) {
      Range range = tileRange(shape[d], degrees[d], i);
      if (degrees[d] > 1)
        range = {std::max<int64_t>(0, range.lo - before),
                 std::min(shape[d], range.hi + after)};
      need.ranges[d].push_back(range);
    }
  }
  need.copies = copies;
  need.devices.assign(devices.begin(), devices.end());
  need.tasks.resize(devices.size());
  std::iota(need.tasks.begin(), need.tasks.end(), 0);
  return need;
}
