//===- LaunchGroups.cpp - What is launched together -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchGroups.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"

using namespace mlir;
using namespace soap;

bool soap::isNodeTask(Operation *op) {
  auto task = dyn_cast<soapir::TaskOp>(op);
  return task && !task.getReduce();
}

bool soap::isMadeOnce(Operation *op) {
  auto slice = dyn_cast<soapir::SliceOp>(op);
  auto assemble = dyn_cast<soapir::AssembleOp>(op);
  return (slice && slice.getInit()) || (assemble && assemble.getInit());
}

bool soap::isCopy(Operation *op) {
  return isa<soapir::SliceOp, soapir::AssembleOp>(op);
}

/// The operation that a copy is made for: the first that reads it, a drain or
/// one of the step. Null for copies that only drains read: they are no part of
/// a step.
static Operation *purposeOf(Operation *copy) {
  Operation *first = nullptr;
  bool isRead = false;
  for (Operation *user : copy->getUsers()) {
    auto move = dyn_cast<soapir::CommunicationOpInterface>(user);
    isRead |= !move || move.getPhase() == Phase::Step;
    if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  return isRead ? first : nullptr;
}

bool soap::isUnpack(Operation *op) {
  Operation *purpose = isCopy(op) ? purposeOf(op) : nullptr;
  return purpose && isNodeTask(purpose);
}

static bool runsInStep(Operation *op) {
  if (auto task = dyn_cast<soapir::TaskOp>(op))
    return task.getPhase() == Phase::Step && task.getDevice() != kHostDevice;
  if (auto move = dyn_cast<soapir::CommunicationOpInterface>(op))
    return move.getPhase() == Phase::Step;
  return isCopy(op) && purposeOf(op);
}

/// True if `op` is launched together with `first`.
static bool belongs(Operation *first, Operation *op) {
  if (first == op)
    return true;
  auto task = dyn_cast<soapir::TaskOp>(first),
       other = dyn_cast<soapir::TaskOp>(op);
  if (task && other)
    return task.getNode() == other.getNode() &&
           task.getPhase() == other.getPhase() &&
           task.getReduce() == other.getReduce();
  if (auto reduction = dyn_cast<soapir::ReductionOpInterface>(op))
    return reduction.joinsPrevious();
  if (!isCopy(first) || !isCopy(op) ||
      !soapir::getBox(first->getResult(0))
           .isSameValue(soapir::getBox(op->getResult(0))))
    return false;
  Operation *purpose = purposeOf(first), *otherPurpose = purposeOf(op);
  if (!purpose || !otherPurpose)
    return purpose == otherPurpose;
  auto reader = dyn_cast<soapir::TaskOp>(purpose),
       otherReader = dyn_cast<soapir::TaskOp>(otherPurpose);
  return purpose == otherPurpose ||
         (reader && otherReader && reader.getNode() == otherReader.getNode() &&
          !reader.getReduce() && !otherReader.getReduce());
}

std::vector<LaunchGroup> soap::launchGroupsOf(Block &block) {
  std::vector<LaunchGroup> groups;
  for (Operation &op : block) {
    if (!runsInStep(&op))
      continue;
    if (groups.empty() || !belongs(groups.back().front(), &op))
      groups.emplace_back();
    groups.back().push_back(&op);
  }
  return groups;
}
