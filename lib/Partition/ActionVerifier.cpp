//===- ActionVerifier.cpp - Checks the actions of a plan ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanVerifier.h"
#include <algorithm>
#include <map>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::BitVector;
using llvm::createStringError;
using llvm::Error;
using llvm::SmallVector;
using llvm::Twine;

Error PlanVerifier::checkPort(const Port &port, int32_t action) {
  const Action &user = plan_.actions[action];
  if (Error error =
          checkPieces(port.pieces, port.box, port.device, !isReduction(user)))
    return error;
  for (const Piece &piece : port.pieces) {
    const Shard &shard = plan_.shards[piece.shard];
    if (shard.origin == Shard::Origin::Action &&
        !isReduction(plan_.actions[shard.index]))
      return createStringError("device " + Twine(port.device) +
                               " sources what it only received, shard " +
                               Twine(piece.shard));
  }
  return Error::success();
}

Error PlanVerifier::checkOutputs(int32_t index) {
  const Action &action = plan_.actions[index];
  for (size_t i = 0, e = action.outputs.size(); i != e; ++i) {
    int32_t output = action.outputs[i];
    if (output < 0 || output >= static_cast<int32_t>(plan_.shards.size()) ||
        ready_[output])
      return createStringError("expected an output of its own, got: shard " +
                               Twine(output));
    const Shard &shard = plan_.shards[output];
    if (shard.origin != Shard::Origin::Action || shard.index != index ||
        shard.position != static_cast<int32_t>(i) || shard.part != -1 ||
        shard.box.size() != producer_.cuts.size())
      return createStringError("shard " + Twine(output) + " is not output " +
                               Twine(i));
    ready_[output] = true;
  }
  return Error::success();
}

Error PlanVerifier::checkTransfers(const Action &action) {
  size_t count = action.inputs.size();
  if (count == 0 || action.outputs.size() != count ||
      action.destinations.size() != count)
    return createStringError(
        "expected as many outputs and destinations as inputs");
  SmallVector<int32_t, 8> members;
  for (size_t i = 0; i != count; ++i) {
    const Port &input = action.inputs[i];
    const Shard &output = plan_.shards[action.outputs[i]];
    if (output.device == input.device ||
        output.device != action.destinations[i] || output.box != input.box)
      return createStringError(
          "expected transfer " + Twine(i) +
          " to bring its box to its destination, another device");
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
      return createStringError(
          "transfer " + Twine(i) +
          " is not in order of source, destination, offset");
  }
  llvm::sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (members != action.group)
    return createStringError(
        "expected the group to be the devices that take part");
  return Error::success();
}

Error PlanVerifier::checkCollective(const Action &action) {
  ArrayRef<int32_t> group = action.group;
  bool broadcast = action.kind == ActionKind::Broadcast;
  size_t numInputs = broadcast ? 1 : group.size();
  size_t numOutputs = broadcast ? group.size() - 1 : group.size();
  if (group.size() < 2 || action.inputs.size() != numInputs ||
      action.outputs.size() != numOutputs)
    return createStringError(
        "the numbers of members, inputs and outputs do not fit");
  // A broadcast may have any root; the others are sorted.
  if (!std::is_sorted(group.begin() + broadcast, group.end()))
    return createStringError("expected a sorted group");
  for (size_t i = 0; i != group.size(); ++i)
    if (llvm::is_contained(group.drop_front(i + 1), group[i]))
      return createStringError("device " + Twine(group[i]) +
                               " is a member twice");
  for (size_t i = 0; i != numInputs; ++i)
    if (action.inputs[i].device != group[i])
      return createStringError("input " + Twine(i) +
                               " is on another device than its member");
  for (size_t i = 0; i != numOutputs; ++i)
    if (plan_.shards[action.outputs[i]].device != group[i + broadcast])
      return createStringError("output " + Twine(i) +
                               " is on another device than its member");
  if (isReduction(action))
    return checkReduction(action);

  for (size_t i = 0; i != numInputs; ++i)
    for (size_t j = 0; j != i; ++j)
      if (overlap(action.inputs[i].box, action.inputs[j].box))
        return createStringError("inputs overlap");
  for (int32_t output : action.outputs) {
    const Box &box = plan_.shards[output].box;
    int64_t covered = 0, total = 0;
    for (const Port &input : action.inputs) {
      covered += volume(intersect(input.box, box));
      total += volume(input.box);
    }
    if (covered != volume(box) || isEmpty(box))
      return createStringError("output " + toString(box) +
                               " is not covered by the inputs");
    if (action.kind != ActionKind::AllToAll && total != covered)
      return createStringError("output " + toString(box) +
                               " is not the union of the inputs");
  }
  return Error::success();
}

Error PlanVerifier::checkReduction(const Action &action) {
  if (action.combine != producer_.combine)
    return createStringError("expected the producer's combiner");
  const Box &box = action.inputs[0].box;
  for (const Box &other : reduced_)
    if (overlap(other, box))
      return createStringError("elements " + toString(intersect(other, box)) +
                               " are reduced twice");
  reduced_.push_back(box);
  int64_t scattered = 0;
  for (size_t i = 0, e = action.inputs.size(); i != e; ++i) {
    if (action.inputs[i].box != box)
      return createStringError("expected the same box of every member");
    const Box &output = plan_.shards[action.outputs[i]].box;
    if (action.kind == ActionKind::AllReduce && output != box)
      return createStringError("expected every member to get the whole box");
    if (!contains(box, output))
      return createStringError("output " + toString(output) +
                               " is outside of " + toString(box));
    scattered += volume(output);
    for (size_t j = 0; j != i; ++j)
      if (action.kind == ActionKind::ReduceScatter &&
          overlap(output, plan_.shards[action.outputs[j]].box))
        return createStringError("expected disjoint outputs");
  }
  if (action.kind == ActionKind::ReduceScatter && scattered != volume(box))
    return createStringError("expected the outputs to cover " + toString(box));

  // Every part of every tile enters exactly once.
  std::map<std::pair<int64_t, int32_t>, SmallVector<Box, 2>> entered;
  for (const Port &port : action.inputs)
    for (const Piece &piece : port.pieces) {
      if (contents_[piece.shard].empty())
        return createStringError(
            "expected copy 0 of a part that no local reduction used, got: "
            "shard " +
            Twine(piece.shard));
      const Content &content = contents_[piece.shard].front();
      for (unsigned part : content.parts.set_bits()) {
        auto &boxes = entered[{content.tile, static_cast<int32_t>(part)}];
        for (const Box &other : boxes)
          if (overlap(other, piece.box))
            return createStringError("part " + Twine(part) + " enters twice");
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
        return createStringError("part " + Twine(part) + " of tile " +
                                 Twine(tile) + " does not enter");
    }
  }
  return Error::success();
}

Error PlanVerifier::checkAction(int32_t index) {
  const Action &action = plan_.actions[index];
  for (const Port &input : action.inputs)
    if (Error error = checkPort(input, index))
      return error;
  if (Error error = checkOutputs(index))
    return error;
  if (action.kind == ActionKind::Transfer ||
      action.kind == ActionKind::HaloExchange) {
    if (Error error = checkTransfers(action))
      return error;
  } else if (Error error = checkCollective(action)) {
    return error;
  }
  if (!isReduction(action) && action.combine != Combine::None)
    return createStringError("expected a combiner on reductions only");
  return Error::success();
}
