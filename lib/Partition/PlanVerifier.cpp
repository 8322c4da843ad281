//===- PlanVerifier.cpp - Checks communication plans ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shares nothing with the planner but the data structures: it compares boxes
// pair by pair, where the planner counts on grids.
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/CommPlan.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <map>

using namespace soap;
using llvm::ArrayRef;
using llvm::BitVector;
using llvm::SmallVector;
using llvm::Twine;
using Error = std::string;

namespace {

bool overlap(const Box &a, const Box &b) { return !isEmpty(intersect(a, b)); }

/// A region of one tile together with the partial results summed up in it.
struct Content {
  Box box;
  int64_t tile;
  BitVector parts;
};

class PlanVerifier {
public:
  PlanVerifier(const ValuePlan &plan, const Layout &producer,
               ArrayRef<Need> consumers)
      : plan_(plan), producer_(producer), consumers_(consumers),
        users_(plan.actions.size(), BitVector(consumers.size())) {}
  Error run();

private:
  Error checkTaskShards();
  Error checkReductions();
  Error checkAction(int32_t index);
  Error checkTransfers(const Action &action);
  Error checkCollective(const Action &action);
  Error checkReduction(const Action &action);
  Error checkPort(const Port &port, int32_t action);
  Error checkOutputs(int32_t index);
  Error checkReads();
  Error checkConsumers();
  /// Pieces lie inside their shards and `box`, on `device`, are disjoint and
  /// cover the box. `complete`: whether the shards are complete or partial.
  Error checkPieces(ArrayRef<Piece> pieces, const Box &box, int32_t device,
                    bool complete);
  bool isReduction(const Action &action) const {
    return action.kind == ActionKind::AllReduce ||
           action.kind == ActionKind::ReduceScatter;
  }

  const ValuePlan &plan_;
  const Layout &producer_;
  ArrayRef<Need> consumers_;
  std::vector<std::vector<Content>> contents_; ///< Per shard with parts.
  std::vector<char> ready_;                    ///< Per shard.
  std::vector<Box> reduced_;                   ///< By actions so far.
  std::vector<BitVector> users_;               ///< Per action.
};

Error PlanVerifier::checkTaskShards() {
  size_t numTasks = producer_.tasks.size();
  if (plan_.shards.size() < numTasks)
    return ("expected at least " + Twine(numTasks) +
            " shards, got: " + Twine(plan_.shards.size()))
        .str();
  contents_.resize(plan_.shards.size());
  ready_.assign(plan_.shards.size(), false);
  for (size_t slot = 0; slot != numTasks; ++slot) {
    auto copy = static_cast<int32_t>(slot % producer_.copies);
    auto part = static_cast<int32_t>(slot / producer_.copies % producer_.parts);
    auto tile = static_cast<int64_t>(slot) / producer_.copies / producer_.parts;
    int32_t task = producer_.tasks[slot];
    const Shard &shard = plan_.shards[task];
    if (shard.origin != Shard::Origin::Task || shard.index != task ||
        shard.device != producer_.devices[slot] ||
        shard.box != producer_.tileBox(tile) ||
        shard.part != (producer_.parts == 1 ? -1 : part))
      return ("shard " + Twine(task) + " is not what task " + Twine(task) +
              " produces")
          .str();
    ready_[task] = true;
    // Only copy 0 has parts to give.
    if (producer_.parts > 1 && copy == 0) {
      BitVector parts(producer_.parts);
      parts.set(part);
      contents_[task].push_back({shard.box, tile, std::move(parts)});
    }
  }
  return "";
}

Error PlanVerifier::checkReductions() {
  for (size_t r = 0, e = plan_.reductions.size(); r != e; ++r) {
    const LocalReduction &reduction = plan_.reductions[r];
    auto error = [&](const Twine &what) {
      return ("local reduction " + Twine(r) + ": " + what).str();
    };
    if (reduction.combine != producer_.combine || reduction.inputs.size() < 2)
      return error("expected the producer's combiner and several inputs");
    if (reduction.output < 0 ||
        reduction.output >= static_cast<int32_t>(plan_.shards.size()) ||
        ready_[reduction.output])
      return error("expected an output of its own");
    const Shard &output = plan_.shards[reduction.output];
    if (output.origin != Shard::Origin::Reduction ||
        output.index != static_cast<int32_t>(r))
      return error("its output has another origin");
    Content sum;
    int32_t lowest = INT32_MAX;
    for (int32_t input : reduction.inputs) {
      if (input < 0 || input >= static_cast<int32_t>(plan_.shards.size()) ||
          contents_[input].size() != 1 ||
          plan_.shards[input].origin != Shard::Origin::Task)
        return error("expected copy 0 of a part, got: shard " + Twine(input));
      const Shard &shard = plan_.shards[input];
      if (shard.device != output.device || shard.box != output.box)
        return error("shard " + Twine(input) + " is another box or device");
      const Content &content = contents_[input].front();
      if (sum.parts.empty())
        sum = content;
      else if (sum.tile != content.tile || sum.parts.anyCommon(content.parts))
        return error("part " + Twine(shard.part) + " enters twice");
      else
        sum.parts |= content.parts;
      lowest = std::min(lowest, shard.part);
      // Used up: no part leaves by itself any more.
      contents_[input].clear();
    }
    if (output.part != (sum.parts.all() ? -1 : lowest))
      return error("wrong part of its output, got: " + Twine(output.part));
    ready_[reduction.output] = true;
    if (!sum.parts.all())
      contents_[reduction.output].push_back(std::move(sum));
  }
  return "";
}

Error PlanVerifier::checkPieces(ArrayRef<Piece> pieces, const Box &box,
                                int32_t device, bool complete) {
  int64_t covered = 0;
  for (size_t i = 0, e = pieces.size(); i != e; ++i) {
    const Piece &piece = pieces[i];
    if (piece.shard < 0 ||
        piece.shard >= static_cast<int32_t>(plan_.shards.size()))
      return ("no shard " + Twine(piece.shard)).str();
    const Shard &shard = plan_.shards[piece.shard];
    if (!ready_[piece.shard])
      return ("shard " + Twine(piece.shard) + " is used before it exists")
          .str();
    if (shard.device != device)
      return ("expected a shard on device " + Twine(device) +
              ", got: " + Twine(shard.device))
          .str();
    if ((shard.part == -1) != complete)
      return ("expected a " + Twine(complete ? "complete" : "partial") +
              " value, got: shard " + Twine(piece.shard))
          .str();
    if (piece.box.size() != box.size() || isEmpty(piece.box) ||
        !contains(shard.box, piece.box) || !contains(box, piece.box))
      return "piece " + toString(piece.box) + " is empty or outside of " +
             toString(box);
    for (size_t j = 0; j != i; ++j)
      if (overlap(pieces[j].box, piece.box))
        return "elements " + toString(intersect(pieces[j].box, piece.box)) +
               " are there twice";
    covered += volume(piece.box);
  }
  if (covered != volume(box))
    return ("pieces cover " + Twine(covered) + " elements of ").str() +
           toString(box);
  return "";
}

Error PlanVerifier::checkPort(const Port &port, int32_t action) {
  const Action &user = plan_.actions[action];
  if (Error error =
          checkPieces(port.pieces, port.box, port.device, !isReduction(user));
      !error.empty())
    return error;
  for (const Piece &piece : port.pieces) {
    const Shard &shard = plan_.shards[piece.shard];
    if (shard.origin == Shard::Origin::Action &&
        !isReduction(plan_.actions[shard.index]))
      return ("device " + Twine(port.device) +
              " sources what it only received, shard " + Twine(piece.shard))
          .str();
  }
  return "";
}

Error PlanVerifier::checkOutputs(int32_t index) {
  const Action &action = plan_.actions[index];
  for (size_t i = 0, e = action.outputs.size(); i != e; ++i) {
    int32_t output = action.outputs[i];
    if (output < 0 || output >= static_cast<int32_t>(plan_.shards.size()) ||
        ready_[output])
      return ("expected an output of its own, got: shard " + Twine(output))
          .str();
    const Shard &shard = plan_.shards[output];
    if (shard.origin != Shard::Origin::Action || shard.index != index ||
        shard.position != static_cast<int32_t>(i) || shard.part != -1 ||
        shard.box.size() != producer_.cuts.size())
      return ("shard " + Twine(output) + " is not output " + Twine(i)).str();
    ready_[output] = true;
  }
  return "";
}

Error PlanVerifier::checkTransfers(const Action &action) {
  size_t count = action.inputs.size();
  if (count == 0 || action.outputs.size() != count ||
      action.destinations.size() != count)
    return "expected as many outputs and destinations as inputs";
  SmallVector<int32_t, 8> members;
  for (size_t i = 0; i != count; ++i) {
    const Port &input = action.inputs[i];
    const Shard &output = plan_.shards[action.outputs[i]];
    if (output.device == input.device ||
        output.device != action.destinations[i] || output.box != input.box)
      return ("expected transfer " + Twine(i) +
              " to bring its box to its destination, another device")
          .str();
    members.push_back(input.device);
    members.push_back(output.device);
    if (i == 0)
      continue;
    auto route = [&](size_t k) {
      SmallVector<int64_t, 8> key{action.inputs[k].device,
                                  action.destinations[k]};
      for (Range range : action.inputs[k].box)
        key.push_back(range.lo);
      return key;
    };
    if (route(i) < route(i - 1))
      return ("transfer " + Twine(i) +
              " is not in order of source, destination, offset")
          .str();
  }
  llvm::sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (members != action.group)
    return "expected the group to be the devices that take part";
  return "";
}

Error PlanVerifier::checkCollective(const Action &action) {
  ArrayRef<int32_t> group = action.group;
  bool broadcast = action.kind == ActionKind::Broadcast;
  size_t numInputs = broadcast ? 1 : group.size();
  size_t numOutputs = broadcast ? group.size() - 1 : group.size();
  if (group.size() < 2 || action.inputs.size() != numInputs ||
      action.outputs.size() != numOutputs)
    return "the numbers of members, inputs and outputs do not fit";
  // A broadcast may have any root; the others are sorted.
  if (!std::is_sorted(group.begin() + broadcast, group.end()))
    return "expected a sorted group";
  for (size_t i = 0; i != group.size(); ++i)
    if (llvm::is_contained(group.drop_front(i + 1), group[i]))
      return ("device " + Twine(group[i]) + " is a member twice").str();
  for (size_t i = 0; i != numInputs; ++i)
    if (action.inputs[i].device != group[i])
      return ("input " + Twine(i) + " is on another device than its member")
          .str();
  for (size_t i = 0; i != numOutputs; ++i)
    if (plan_.shards[action.outputs[i]].device != group[i + broadcast])
      return ("output " + Twine(i) + " is on another device than its member")
          .str();
  if (isReduction(action))
    return checkReduction(action);

  for (size_t i = 0; i != numInputs; ++i)
    for (size_t j = 0; j != i; ++j)
      if (overlap(action.inputs[i].box, action.inputs[j].box))
        return "inputs overlap";
  for (int32_t output : action.outputs) {
    const Box &box = plan_.shards[output].box;
    int64_t covered = 0, total = 0;
    for (const Port &input : action.inputs) {
      covered += volume(intersect(input.box, box));
      total += volume(input.box);
    }
    if (covered != volume(box) || isEmpty(box))
      return "output " + toString(box) + " is not covered by the inputs";
    if (action.kind != ActionKind::AllToAll && total != covered)
      return "output " + toString(box) + " is not the union of the inputs";
  }
  return "";
}

Error PlanVerifier::checkReduction(const Action &action) {
  if (action.combine != producer_.combine)
    return "expected the producer's combiner";
  const Box &box = action.inputs[0].box;
  for (const Box &other : reduced_)
    if (overlap(other, box))
      return "elements " + toString(intersect(other, box)) +
             " are reduced twice";
  reduced_.push_back(box);
  int64_t scattered = 0;
  for (size_t i = 0, e = action.inputs.size(); i != e; ++i) {
    if (action.inputs[i].box != box)
      return "expected the same box of every member";
    const Box &output = plan_.shards[action.outputs[i]].box;
    if (action.kind == ActionKind::AllReduce && output != box)
      return "expected every member to get the whole box";
    if (!contains(box, output))
      return "output " + toString(output) + " is outside of " + toString(box);
    scattered += volume(output);
    for (size_t j = 0; j != i; ++j)
      if (action.kind == ActionKind::ReduceScatter &&
          overlap(output, plan_.shards[action.outputs[j]].box))
        return "expected disjoint outputs";
  }
  if (action.kind == ActionKind::ReduceScatter && scattered != volume(box))
    return "expected the outputs to cover " + toString(box);

  // Every part of every tile enters exactly once.
  std::map<std::pair<int64_t, int32_t>, SmallVector<Box, 2>> entered;
  for (const Port &port : action.inputs)
    for (const Piece &piece : port.pieces) {
      if (contents_[piece.shard].empty())
        return ("expected copy 0 of a part that no local reduction used, got: "
                "shard " +
                Twine(piece.shard))
            .str();
      const Content &content = contents_[piece.shard].front();
      for (unsigned part : content.parts.set_bits()) {
        auto &boxes = entered[{content.tile, static_cast<int32_t>(part)}];
        for (const Box &other : boxes)
          if (overlap(other, piece.box))
            return ("part " + Twine(part) + " enters twice").str();
        boxes.push_back(piece.box);
      }
    }
  for (int64_t tile = 0, e = producer_.numTiles(); tile != e; ++tile) {
    Box wanted = intersect(producer_.tileBox(tile), box);
    if (isEmpty(wanted))
      continue;
    for (int32_t part = 0; part != producer_.parts; ++part) {
      int64_t have = 0;
      for (const Box &piece : entered[{tile, part}])
        have += volume(piece);
      if (have != volume(wanted))
        return ("part " + Twine(part) + " of tile " + Twine(tile) +
                " does not enter")
            .str();
    }
  }
  return "";
}

Error PlanVerifier::checkAction(int32_t index) {
  const Action &action = plan_.actions[index];
  Error error;
  for (size_t i = 0, e = action.inputs.size(); i != e && error.empty(); ++i)
    error = checkPort(action.inputs[i], index);
  if (error.empty())
    error = checkOutputs(index);
  if (error.empty())
    error = action.kind == ActionKind::Transfer ||
                    action.kind == ActionKind::HaloExchange
                ? checkTransfers(action)
                : checkCollective(action);
  if (error.empty() && !isReduction(action) && action.combine != Combine::None)
    error = "expected a combiner on reductions only";
  if (error.empty())
    return "";
  return ("action " + Twine(index) + " (" + stringify(action.kind) + "): ")
             .str() +
         error;
}

Error PlanVerifier::checkReads() {
  size_t next = 0;
  for (size_t c = 0, e = consumers_.size(); c != e; ++c) {
    const Need &need = consumers_[c];
    for (size_t slot = 0; slot != need.devices.size(); ++slot) {
      Box box = need.tileBox(static_cast<int64_t>(slot) / need.copies);
      if (isEmpty(box))
        continue;
      if (next == plan_.reads.size())
        return "expected more reads";
      const Read &read = plan_.reads[next];
      auto error = [&](const Twine &what) {
        return ("read " + Twine(next) + " (consumer " + Twine(c) + ", task " +
                Twine(need.tasks[slot]) + "): " + what)
            .str();
      };
      if (read.consumer != static_cast<int32_t>(c) ||
          read.task != need.tasks[slot] || read.device != need.devices[slot] ||
          read.box != box)
        return error("is not what the consumer needs");
      if (Error what =
              checkPieces(read.pieces, box, read.device, /*complete=*/true);
          !what.empty())
        return error(what);
      for (const Piece &piece : read.pieces)
        if (plan_.shards[piece.shard].origin == Shard::Origin::Action)
          users_[plan_.shards[piece.shard].index].set(c);
      ++next;
    }
  }
  if (next != plan_.reads.size())
    return "expected fewer reads";
  return "";
}

Error PlanVerifier::checkConsumers() {
  for (size_t i = plan_.actions.size(); i-- != 0;) {
    const Action &action = plan_.actions[i];
    for (const Port &port : action.inputs)
      for (const Piece &piece : port.pieces)
        if (plan_.shards[piece.shard].origin == Shard::Origin::Action)
          users_[plan_.shards[piece.shard].index] |= users_[i];
    SmallVector<int32_t, 2> waiting(users_[i].set_bits_begin(),
                                    users_[i].set_bits_end());
    if (waiting.empty())
      return ("action " + Twine(i) + " serves nobody").str();
    if (waiting != action.consumers)
      return ("action " + Twine(i) +
              " names other consumers than those that "
              "wait for it")
          .str();
  }
  return "";
}

Error PlanVerifier::run() {
  Error error = checkTaskShards();
  if (error.empty())
    error = checkReductions();
  for (size_t i = 0, e = plan_.actions.size(); i != e && error.empty(); ++i)
    error = checkAction(static_cast<int32_t>(i));
  if (error.empty())
    for (size_t s = 0, e = plan_.shards.size(); s != e; ++s)
      if (!ready_[s])
        return ("nothing produces shard " + Twine(s)).str();
  if (error.empty())
    error = checkReads();
  if (error.empty())
    error = checkConsumers();
  return error;
}

} // namespace

std::string soap::verify(const ValuePlan &plan, const Layout &producer,
                         ArrayRef<Need> consumers) {
  return PlanVerifier(plan, producer, consumers).run();
}
