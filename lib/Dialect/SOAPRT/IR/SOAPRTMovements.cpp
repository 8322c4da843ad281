//===- SOAPRTMovements.cpp - What programs move ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "llvm/ADT/DenseMap.h"

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

SmallVector<Movement> soap::soaprt::collectMovements(ModuleOp module,
                                                     int32_t host) {
  SmallVector<Movement> movements;
  /// Index of a collective's movement by tag.
  llvm::DenseMap<int32_t, unsigned> collectives;
  auto transfer = [&](int32_t from, int32_t to, int64_t bytes) {
    movements.push_back({ActionKind::Transfer, {from, to}, {bytes}});
  };
  for (auto device : module.getOps<DeviceOp>()) {
    int32_t self = device.getId();
    for (Operation &op : device.getMain().getBlock()) {
      if (auto feed = dyn_cast<FeedOp>(op)) {
        for (Value target : feed.getTargets())
          transfer(host, self, bytesOf(target));
      } else if (auto drain = dyn_cast<DrainOp>(op)) {
        for (Value source : drain.getSources())
          transfer(self, host, bytesOf(source));
      } else if (auto exchange = dyn_cast<ExchangeOp>(op)) {
        for (auto [send, to] :
             llvm::zip_equal(exchange.getSends(), exchange.getDestinations()))
          transfer(self, to, bytesOf(send));
      } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
        auto [it, first] =
            collectives.try_emplace(collective.getTag(), movements.size());
        if (first) {
          Movement &movement = movements.emplace_back();
          movement.kind = actionKind(collective.getKind());
          movement.devices.assign(collective.getGroup().begin(),
                                  collective.getGroup().end());
          movement.bytes.assign(movement.devices.size(), 0);
        }
        for (Value send : collective.getSends())
          movements[it->second].bytes[collective.getMember()] += bytesOf(send);
      }
    }
  }
  return movements;
}
