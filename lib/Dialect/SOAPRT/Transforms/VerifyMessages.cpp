//===- VerifyMessages.cpp - Both ends of a message agree ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/Transforms/ProgramProof.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/DenseSet.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

namespace {
/// One end of a message.
struct End {
  ExchangeOp exchange;
  Value buffer;
};
/// Program, sender, receiver, tag.
using Key = std::tuple<StringRef, int32_t, int32_t, int32_t>;
/// The n-th send meets the n-th receive.
struct Ends {
  SmallVector<End> sends, receives;
};
} // namespace

/// The bytes of a message are those of its buffer: elements of one type in one
/// order, which is that of a shape unless it is row-major.
static bool areSame(Value sent, Value received) {
  auto from = cast<BufferType>(sent.getType()),
       to = cast<BufferType>(received.getType());
  return from.getElementType() == to.getElementType() &&
         from.getOrder() == to.getOrder() && from.getBytes() == to.getBytes() &&
         (from.getOrder() == ElementOrder::RowMajor ||
          from.getShape() == to.getShape());
}

LogicalResult soap::soaprt::verifyMessages(ModuleOp module) {
  if (SOAP_FAULT("no-proof"))
    return success();
  llvm::DenseSet<int32_t> devices;
  for (auto device : module.getOps<DeviceOp>())
    devices.insert(static_cast<int32_t>(device.getId()));
  std::map<Key, Ends> messages;
  for (auto device : module.getOps<DeviceOp>()) {
    auto self = static_cast<int32_t>(device.getId());
    for (MainOp main : device.getMains())
      for (auto exchange : main.getBlock().getOps<ExchangeOp>()) {
        auto ends = [&](int32_t from, int32_t to) -> Ends & {
          return messages[{main.getProgram(), from, to,
                           static_cast<int32_t>(exchange.getTag())}];
        };
        for (auto [buffer, peer] :
             llvm::zip_equal(exchange.getSends(), exchange.getDestinations()))
          if (devices.contains(peer))
            ends(self, peer).sends.push_back({exchange, buffer});
        for (auto [buffer, peer] :
             llvm::zip_equal(exchange.getReceives(), exchange.getOrigins()))
          if (devices.contains(peer))
            ends(peer, self).receives.push_back({exchange, buffer});
      }
  }
  for (auto &[key, ends] : messages) {
    auto [program, from, to, tag] = key;
    if (ends.sends.size() != ends.receives.size()) {
      End known = (ends.sends.empty() ? ends.receives : ends.sends).front();
      return known.exchange.emitOpError()
             << "expected as many sends as receives from device " << from
             << " to " << to << " with tag " << tag
             << ", got: " << ends.sends.size() << " and "
             << ends.receives.size();
    }
    for (auto [send, receive] : llvm::zip_equal(ends.sends, ends.receives)) {
      if (areSame(send.buffer, receive.buffer))
        continue;
      InFlightDiagnostic diagnostic = receive.exchange.emitOpError()
                                      << "expected to receive "
                                      << send.buffer.getType() << ", as device "
                                      << from << " sends it with tag " << tag
                                      << ", got: " << receive.buffer.getType();
      diagnostic.attachNote(send.exchange.getLoc()) << "the row that sends it";
      return diagnostic;
    }
  }
  return success();
}
