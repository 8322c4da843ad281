//===- PlanVerifier.cpp - Checks communication plans ----------------------===//
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

Error PlanVerifier::checkTaskShards() {
  size_t numTasks = producer_.tasks.size();
  if (plan_.shards.size() < numTasks)
    return createStringError("expected at least " + Twine(numTasks) +
                             " shards, got: " + Twine(plan_.shards.size()));
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
      return createStringError("shard " + Twine(task) + " is not what task " +
                               Twine(task) + " produces");
    ready_[task] = true;
    // Only copy 0 has parts to give.
    if (producer_.parts > 1 && copy == 0) {
      BitVector parts(producer_.parts);
      parts.set(part);
      contents_[task].push_back({shard.box, tile, std::move(parts)});
    }
  }
  return Error::success();
}

Error PlanVerifier::checkReductions() {
  for (size_t r = 0, e = plan_.reductions.size(); r != e; ++r) {
    const LocalReduction &reduction = plan_.reductions[r];
    auto error = [&](const Twine &what) {
      return createStringError("local reduction " + Twine(r) + ": " + what);
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
      // The inputs are used up: no action may move one of these parts by itself
      // any more.
      contents_[input].clear();
    }
    if (output.part != (sum.parts.all() ? -1 : lowest))
      return error("wrong part of its output, got: " + Twine(output.part));
    ready_[reduction.output] = true;
    if (!sum.parts.all())
      contents_[reduction.output].push_back(std::move(sum));
  }
  return Error::success();
}

Error PlanVerifier::checkPieces(ArrayRef<Piece> pieces, const Box &box,
                                int32_t device, bool complete) {
  int64_t covered = 0;
  for (size_t i = 0, e = pieces.size(); i != e; ++i) {
    const Piece &piece = pieces[i];
    if (piece.shard < 0 ||
        piece.shard >= static_cast<int32_t>(plan_.shards.size()))
      return createStringError("no shard " + Twine(piece.shard));
    const Shard &shard = plan_.shards[piece.shard];
    if (!ready_[piece.shard])
      return createStringError("shard " + Twine(piece.shard) +
                               " is used before it exists");
    if (shard.device != device)
      return createStringError("expected a shard on device " + Twine(device) +
                               ", got: " + Twine(shard.device));
    if ((shard.part == -1) != complete)
      return createStringError("expected a " +
                               Twine(complete ? "complete" : "partial") +
                               " value, got: shard " + Twine(piece.shard));
    if (piece.box.size() != box.size() || isEmpty(piece.box) ||
        !contains(shard.box, piece.box) || !contains(box, piece.box))
      return createStringError("piece " + toString(piece.box) +
                               " is empty or outside of " + toString(box));
    for (size_t j = 0; j != i; ++j)
      if (overlap(pieces[j].box, piece.box))
        return createStringError("elements " +
                                 toString(intersect(pieces[j].box, piece.box)) +
                                 " are there twice");
    covered += volume(piece.box);
  }
  if (covered != volume(box))
    return createStringError("pieces cover " + Twine(covered) +
                             " elements of " + toString(box));
  return Error::success();
}

bool PlanVerifier::isPart(const Read &read) const {
  if (read.pieces.size() != 1)
    return false;
  int32_t shard = read.pieces[0].shard;
  return shard >= 0 && shard < static_cast<int32_t>(plan_.shards.size()) &&
         plan_.shards[shard].part != -1;
}

Error PlanVerifier::checkPartRead(const Read &read, int32_t part) const {
  const Shard &shard = plan_.shards[read.pieces[0].shard];
  if (producer_.combine != Combine::Sum ||
      shard.origin != Shard::Origin::Task || shard.device != read.device ||
      shard.box != read.box || read.pieces[0].box != read.box)
    return createStringError(
        "expected the whole shard of a task that makes a part of a sum");
  if (shard.part != part)
    return createStringError("expected part " + Twine(part) +
                             ", got: " + Twine(shard.part));
  return Error::success();
}

Error PlanVerifier::checkReads() {
  size_t next = 0;
  for (size_t c = 0, e = consumers_.size(); c != e; ++c) {
    const Need &need = consumers_[c];
    // All tasks take their parts, as the first one does, or none does.
    bool takesParts = need.parts > 1 && need.parts == producer_.parts &&
                      next < plan_.reads.size() && isPart(plan_.reads[next]);
    for (size_t slot = 0; slot != need.devices.size(); ++slot) {
      auto place = static_cast<int64_t>(slot) / need.copies;
      auto part = static_cast<int32_t>(place % need.parts);
      Box box = need.tileBox(place / need.parts);
      if (isEmpty(box) || (part != 0 && !takesParts))
        continue;
      if (next == plan_.reads.size())
        return createStringError("expected more reads");
      const Read &read = plan_.reads[next];
      auto error = [&](const Twine &what) {
        return createStringError("read " + Twine(next) + " (consumer " +
                                 Twine(c) + ", task " +
                                 Twine(need.tasks[slot]) + "): " + what);
      };
      if (read.consumer != static_cast<int32_t>(c) ||
          read.task != need.tasks[slot] || read.device != need.devices[slot] ||
          read.box != box)
        return error("is not what the consumer needs");
      if (takesParts && !isPart(read))
        return error("expected a part, as other tasks of the consumer take");
      if (Error what = takesParts ? checkPartRead(read, part)
                                  : checkPieces(read.pieces, box, read.device,
                                                /*complete=*/true))
        return error(toString(std::move(what)));
      for (const Piece &piece : read.pieces) {
        const Shard &shard = plan_.shards[piece.shard];
        if (shard.origin != Shard::Origin::Action)
          continue;
        users_[shard.index].set(c);
        int32_t round = plan_.roundOf(static_cast<int32_t>(c));
        if (plan_.actions[shard.index].round != round)
          return error("expected what is gathered in round " + Twine(round) +
                       ", got: action " + Twine(shard.index) + " of round " +
                       Twine(plan_.actions[shard.index].round));
      }
      ++next;
    }
  }
  if (next != plan_.reads.size())
    return createStringError("expected fewer reads");
  return Error::success();
}

Error PlanVerifier::checkRounds() const {
  // Consumers need not stand as they are launched.
  SmallVector<int32_t, 4> starts(1, 0);
  for (auto [index, need] : llvm::enumerate(consumers_)) {
    int32_t round = plan_.roundOf(static_cast<int32_t>(index));
    if (round < 0 || (need.regather && round != 0))
      return createStringError("consumer " + Twine(index) +
                               " is in no round, got: " + Twine(round));
    starts.resize(std::max<size_t>(starts.size(), round + 1), 0);
    starts[round] += need.startsRound;
  }
  for (size_t round = 0; round < starts.size(); ++round)
    if (starts[round] != (round > 0 ? 1 : 0))
      return createStringError("expected one consumer to start round " +
                               Twine(round) + ", got: " + Twine(starts[round]));
  for (size_t i = 1; i < plan_.actions.size(); ++i)
    if (plan_.actions[i].round < plan_.actions[i - 1].round)
      return createStringError("expected actions round by round, got: action " +
                               Twine(i) + " too late");
  return Error::success();
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
      return createStringError("action " + Twine(i) + " serves nobody");
    if (waiting != action.consumers)
      return createStringError("action " + Twine(i) +
                               " names other consumers than those that "
                               "wait for it");
  }
  return Error::success();
}

Error PlanVerifier::run() {
  if (Error error = checkRounds())
    return error;
  if (Error error = checkTaskShards())
    return error;
  if (Error error = checkReductions())
    return error;
  for (auto [index, action] : llvm::enumerate(plan_.actions))
    if (Error error = checkAction(static_cast<int32_t>(index)))
      return createStringError("action " + Twine(index) + " (" +
                               stringify(action.kind) +
                               "): " + toString(std::move(error)));
  for (size_t s = 0, e = plan_.shards.size(); s != e; ++s)
    if (!ready_[s])
      return createStringError("nothing produces shard " + Twine(s));
  if (Error error = checkReads())
    return error;
  return checkConsumers();
}

Error soap::verify(const ValuePlan &plan, const Layout &producer,
                   ArrayRef<Need> consumers) {
  return PlanVerifier(plan, producer, consumers).run();
}
