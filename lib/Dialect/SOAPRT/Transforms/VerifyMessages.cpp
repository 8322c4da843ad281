//===- VerifyMessages.cpp - Both ends of a message agree ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/Transforms/Messages.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramProof.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

std::map<MessageKey, MessageEnds>
soap::soaprt::collectMessages(ModuleOp module) {
  std::map<MessageKey, MessageEnds> messages;
  for (auto device : module.getOps<DeviceOp>()) {
    auto self = static_cast<int32_t>(device.getId());
    for (MainOp main : device.getMains())
      for (auto exchange : main.getBlock().getOps<ExchangeOp>()) {
        auto ends = [&](int32_t from, int32_t to) -> MessageEnds & {
          return messages[{main.getProgram(), from, to,
                           static_cast<int32_t>(exchange.getTag())}];
        };
        for (auto [buffer, peer] :
             llvm::zip_equal(exchange.getSends(), exchange.getDestinations()))
          ends(self, peer).sends.push_back({exchange, buffer});
        for (auto [buffer, peer] :
             llvm::zip_equal(exchange.getReceives(), exchange.getOrigins()))
          ends(peer, self).receives.push_back({exchange, buffer});
      }
  }
  return messages;
}

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
  auto messages = collectMessages(module);
  for (auto &[key, ends] : messages) {
    auto [program, from, to, tag] = key;
    if (!devices.contains(from) || !devices.contains(to))
      continue;
    if (ends.sends.size() != ends.receives.size()) {
      MessageEnd known =
          (ends.sends.empty() ? ends.receives : ends.sends).front();
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
