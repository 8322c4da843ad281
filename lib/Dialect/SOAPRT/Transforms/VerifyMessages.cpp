//===- VerifyMessages.cpp - What is received is what is sent --------------===//
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

std::vector<CollectiveMembers>
soap::soaprt::collectCollectives(ModuleOp module) {
  using Key =
      std::tuple<StringRef, int32_t, CollectiveKind, std::vector<int32_t>>;
  // The n-th of a key has all n-th rows of members.
  std::map<Key, std::vector<CollectiveMembers>> known;
  for (auto device : module.getOps<DeviceOp>())
    for (MainOp main : device.getMains()) {
      std::map<Key, size_t> counts;
      for (auto row : main.getBlock().getOps<CollectiveOp>()) {
        Key key{main.getProgram(), static_cast<int32_t>(row.getTag()),
                row.getKind(), row.getGroup().vec()};
        std::vector<CollectiveMembers> &collectives = known[key];
        size_t number = counts[key]++;
        if (number == collectives.size())
          collectives.emplace_back(row.getGroup().size());
        collectives[number][row.getMember()] = row;
      }
    }
  std::vector<CollectiveMembers> result;
  for (auto &[key, collectives] : known)
    llvm::append_range(result, std::move(collectives));
  return result;
}

/// The number of a piece that goes from one of `members` members to another.
static size_t pieceOf(CollectiveKind kind, size_t members, size_t from,
                      size_t to) {
  switch (kind) {
  case CollectiveKind::Broadcast:
  case CollectiveKind::AllReduce:
    return 0;
  case CollectiveKind::AllGather:
    return from;
  case CollectiveKind::ReduceScatter:
    return to;
  case CollectiveKind::AllToAll:
    return from * members + to;
  }
  llvm_unreachable("an unknown collective");
}

SmallVector<SmallVector<CollectiveEnd>>
soap::soaprt::piecesOf(ArrayRef<CollectiveOp> members) {
  SmallVector<SmallVector<CollectiveEnd>> pieces;
  auto add = [&](CollectiveOp row, Value buffer, size_t from, size_t to) {
    size_t piece = pieceOf(row.getKind(), members.size(), from, to);
    pieces.resize(std::max(pieces.size(), piece + 1));
    pieces[piece].push_back({row, buffer});
  };
  for (size_t member = 0; member != members.size(); ++member) {
    CollectiveOp row = members[member];
    if (!row)
      continue;
    for (auto [to, buffer] : llvm::enumerate(row.getSends()))
      add(row, buffer, member, to);
    for (auto [from, buffer] : llvm::enumerate(row.getReceives()))
      add(row, buffer, from, member);
  }
  return pieces;
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

/// `devices` are those of the module.
static LogicalResult verifyCollective(ArrayRef<CollectiveOp> members,
                                      const llvm::DenseSet<int32_t> &devices) {
  CollectiveOp known =
      *llvm::find_if(members, [](CollectiveOp row) { return row != nullptr; });
  for (auto [device, row] : llvm::zip_equal(known.getGroup(), members))
    if (!row && devices.contains(device))
      return known.emitOpError()
             << "expected device " << device << " to take part in the "
             << stringify(known.getKind()) << " with tag " << known.getTag();
  for (const auto &piece : piecesOf(members))
    for (const CollectiveEnd &end : piece) {
      if (areSame(piece.front().buffer, end.buffer))
        continue;
      CollectiveOp row = end.collective, first = piece.front().collective;
      InFlightDiagnostic diagnostic =
          row.emitOpError()
          << "expected " << piece.front().buffer.getType() << ", as device "
          << first.getGroup()[first.getMember()]
          << " has this piece, got: " << end.buffer.getType();
      diagnostic.attachNote(first.getLoc()) << "the row that has it";
      return diagnostic;
    }
  return success();
}

LogicalResult soap::soaprt::verifyMessages(ModuleOp module) {
  if (SOAP_FAULT("no-proof"))
    return success();
  llvm::DenseSet<int32_t> devices;
  for (auto device : module.getOps<DeviceOp>())
    devices.insert(static_cast<int32_t>(device.getId()));
  for (const CollectiveMembers &members : collectCollectives(module))
    if (failed(verifyCollective(members, devices)))
      return failure();
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
