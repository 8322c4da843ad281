//===- Actions.cpp - What actions move ------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/FlatPlan.h"
#include "llvm/Support/ErrorHandling.h"
#include <cassert>

using namespace soap;
using llvm::SmallVector;

std::optional<CollectiveKind> soap::collectiveOf(ActionKind kind) {
  switch (kind) {
  case ActionKind::Transfer:
  case ActionKind::HaloExchange:
    return std::nullopt;
  case ActionKind::Broadcast:
    return CollectiveKind::Broadcast;
  case ActionKind::AllGather:
    return CollectiveKind::AllGather;
  case ActionKind::AllToAll:
    return CollectiveKind::AllToAll;
  case ActionKind::AllReduce:
    return CollectiveKind::AllReduce;
  case ActionKind::ReduceScatter:
    return CollectiveKind::ReduceScatter;
  }
  llvm_unreachable("unknown kind of action");
}

llvm::StringRef soap::stringify(ActionKind kind) {
  if (std::optional<CollectiveKind> collective = collectiveOf(kind))
    return stringify(*collective);
  return kind == ActionKind::Transfer ? "transfer" : "halo_exchange";
}

SmallVector<Movement, 4> soap::movements(const Action &action,
                                         int64_t elementBytes) {
  assert(elementBytes > 0 && "bytes of one element");
  SmallVector<Movement, 4> result;
  auto bytes = [&](const Port &port) {
    return volume(port.box) * elementBytes;
  };
  switch (action.kind) {
  case ActionKind::Transfer:
  case ActionKind::HaloExchange:
    for (size_t i = 0, e = action.inputs.size(); i != e; ++i)
      result.push_back({ActionKind::Transfer,
                        {action.inputs[i].device, action.destinations[i]},
                        {bytes(action.inputs[i])}});
    break;
  case ActionKind::Broadcast: {
    // Only the root puts something in.
    Movement movement{action.kind, action.group, {}};
    movement.bytes.assign(action.group.size(), 0);
    movement.bytes[0] = bytes(action.inputs[0]);
    result.push_back(std::move(movement));
    break;
  }
  case ActionKind::AllGather:
  case ActionKind::AllToAll:
  case ActionKind::AllReduce:
  case ActionKind::ReduceScatter: {
    Movement movement{action.kind, action.group, {}};
    for (const Port &port : action.inputs)
      movement.bytes.push_back(bytes(port));
    result.push_back(std::move(movement));
    break;
  }
  }
  return result;
}

/// linkBytes() of an action whose inputs have `sum` bytes, the largest one
/// `largest`.
static int64_t linkBytes(ActionKind kind, int64_t members, int64_t sum,
                         int64_t largest) {
  switch (kind) {
  case ActionKind::Transfer:
  case ActionKind::HaloExchange:
    return sum;
  case ActionKind::Broadcast:
    return largest * (members - 1);
  case ActionKind::AllGather:
    return sum * (members - 1);
  case ActionKind::AllToAll:
    return sum * (members - 1) / members;
  case ActionKind::AllReduce:
    return 2 * largest * (members - 1);
  case ActionKind::ReduceScatter:
    return largest * (members - 1);
  }
  return 0;
}

int64_t soap::linkBytes(const Action &action, int64_t elementBytes) {
  int64_t sum = 0, largest = 0;
  for (const Port &port : action.inputs) {
    int64_t bytes = volume(port.box) * elementBytes;
    sum += bytes;
    largest = std::max(largest, bytes);
  }
  return ::linkBytes(action.kind, static_cast<int64_t>(action.group.size()),
                     sum, largest);
}

int64_t soap::linkBytes(const FlatPlan &plan, const FlatPlan::Action &action,
                        int64_t elementBytes) {
  int64_t sum = 0, largest = 0;
  for (const FlatPlan::Port &port : plan.inputsOf(action)) {
    int64_t elements = plan.volumes[port.box];
    sum += elements;
    largest = std::max(largest, elements);
  }
  return ::linkBytes(action.kind, action.group.size(), sum * elementBytes,
                     largest * elementBytes);
}
