//===- Staged.cpp - Communication through host memory ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/Staged.h"
#include "Transport/HostMoves.h"
#include <map>

using namespace soap;
using namespace soap::runtime;

void MovingCall::run() {
  try {
    move();
  } catch (...) {
    channels.abandon(messageOf(std::current_exception()));
    throw;
  }
}

namespace {
/// Where the spans of an action lie in its staging memory. Spans that are the
/// same in the device are the same there: an all-reduce may work in place.
class Staging {
public:
  uint64_t add(const DeviceSpan &span) {
    auto [it, isNew] =
        offsets.emplace(std::make_pair(span.data, span.bytes), size);
    if (isNew)
      size += (span.bytes + 63) / 64 * 64;
    return it->second;
  }
  uint64_t bytes() const { return size; }

private:
  std::map<std::pair<DevicePointer, uint64_t>, uint64_t> offsets;
  uint64_t size = 0;
};

class StagedRow final : public RowAction, private MovingCall {
public:
  StagedRow(Channels &channels, std::unique_ptr<HostMove> hostMove,
            const std::vector<DeviceSpan> &sends,
            const std::vector<DeviceSpan> &receives,
            const BackendTraits &traits)
      : MovingCall(channels), hostMove(std::move(hostMove)) {
    if (traits.memoryIsHost) {
      std::vector<char *> from, to;
      for (const DeviceSpan &span : sends)
        from.push_back(hostAddress(span.data));
      for (const DeviceSpan &span : receives)
        to.push_back(hostAddress(span.data));
      this->hostMove->place(from, to);
      return;
    }
    isStaged = true;
    Staging places;
    for (const DeviceSpan &span : sends)
      outgoing.push_back(
          {span.data, places.add(span), StridedCopy::dense(span.bytes)});
    for (const DeviceSpan &span : receives)
      incoming.push_back(
          {span.data, places.add(span), StridedCopy::dense(span.bytes)});
    stagingBytes = places.bytes();
  }

  void enqueue(Stream &stream, const Step &) override {
    for (const Staged &span : outgoing)
      if (span.box.run)
        stream.copyToHost(span.box, span.device, staging + span.offset);
    stream.call(*this);
    for (const Staged &span : incoming)
      if (span.box.run)
        stream.copyFromHost(span.box, staging + span.offset, span.device);
  }

  uint64_t bytes() const override { return hostMove->bytes(); }
  void movements(std::vector<Movement> &result) const override {
    hostMove->movements(result);
  }
  uint64_t ownBytes() const override {
    return stagingBytes + hostMove->ownBytes();
  }
  void setOwnMemory(char *memory) override {
    staging = memory;
    hostMove->setOwnMemory(memory + stagingBytes);
    if (!isStaged)
      return;
    std::vector<char *> from, to;
    for (const Staged &span : outgoing)
      from.push_back(staging + span.offset);
    for (const Staged &span : incoming)
      to.push_back(staging + span.offset);
    hostMove->place(from, to);
  }

private:
  void move() override { hostMove->run(); }

  struct Staged {
    DevicePointer device;
    uint64_t offset;
    StridedCopy box;
  };
  std::unique_ptr<HostMove> hostMove;
  std::vector<Staged> outgoing, incoming;
  bool isStaged = false;
  uint64_t stagingBytes = 0;
  char *staging = nullptr;
};

class StagedTransport final : public Transport {
public:
  StagedTransport(Channels &channels, const BackendTraits &traits)
      : channels(channels), traits(traits) {}

  std::unique_ptr<RowAction> makeExchange(BackendDevice &,
                                          ExchangePart part) override {
    std::vector<DeviceSpan> sends, receives;
    for (const MessagePart &message : part.sends)
      sends.push_back(message.span);
    for (const MessagePart &message : part.receives)
      receives.push_back(message.span);
    return std::make_unique<StagedRow>(
        channels, makeHostExchange(channels, part), sends, receives, traits);
  }

  std::unique_ptr<RowAction> makeCollective(BackendDevice &,
                                            CollectivePart part) override {
    return std::make_unique<StagedRow>(channels,
                                       makeHostCollective(channels, part),
                                       part.send, part.receive, traits);
  }

  void abandon(const std::string &reason) override { channels.abandon(reason); }

private:
  Channels &channels;
  BackendTraits traits;
};
} // namespace

std::unique_ptr<Transport>
runtime::makeStagedTransport(Channels &channels, const BackendTraits &traits) {
  return std::make_unique<StagedTransport>(channels, traits);
}
