//===- SOAPRTMovements.cpp - What programs move ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include <map>

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

static int64_t bytesOf(Value buffer) {
  return cast<BufferType>(buffer.getType()).getBytes();
}

static ActionKind actionKind(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::Broadcast:
    return ActionKind::Broadcast;
  case CollectiveKind::AllGather:
    return ActionKind::AllGather;
  case CollectiveKind::AllToAll:
    return ActionKind::AllToAll;
  case CollectiveKind::AllReduce:
    return ActionKind::AllReduce;
  case CollectiveKind::ReduceScatter:
    return ActionKind::ReduceScatter;
  }
  llvm_unreachable("unknown kind of collective");
}

static Movement transfer(int32_t from, int32_t to, Value buffer) {
  return {ActionKind::Transfer, {from, to}, {bytesOf(buffer)}};
}

ProgramMovements soap::soaprt::collectMovements(ModuleOp module, int32_t host,
                                                unsigned program) {
  ProgramMovements movements;
  /// Index of a collective's movement by tag, which may be any number.
  std::map<int32_t, unsigned> collectives;
  for (auto device : module.getOps<DeviceOp>()) {
    int32_t self = device.getId();
    auto mains = device.getMains();
    if (program >= mains.size())
      continue;
    for (Operation &op : mains[program].getBlock()) {
      if (auto feed = dyn_cast<FeedOp>(op)) {
        for (Value target : feed.getTargets())
          movements.feed.push_back(transfer(host, self, target));
      } else if (auto drain = dyn_cast<DrainOp>(op)) {
        for (Value source : drain.getSources())
          movements.drain.push_back(transfer(self, host, source));
      } else if (auto exchange = dyn_cast<ExchangeOp>(op)) {
        for (auto [send, to] :
             llvm::zip_equal(exchange.getSends(), exchange.getDestinations()))
          movements.step.push_back(transfer(self, to, send));
      } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
        auto [it, first] =
            collectives.try_emplace(collective.getTag(), movements.step.size());
        if (first) {
          Movement &movement = movements.step.emplace_back();
          movement.kind = actionKind(collective.getKind());
          movement.devices.assign(collective.getGroup().begin(),
                                  collective.getGroup().end());
          movement.bytes.assign(movement.devices.size(), 0);
        }
        for (Value send : collective.getSends())
          movements.step[it->second].bytes[collective.getMember()] +=
              bytesOf(send);
      }
    }
  }
  return movements;
}
