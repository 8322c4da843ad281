//===- Staged.cpp - Communication through host memory ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/Staged.h"
#include "Backend/HostMemory.h"
#include "Transport/HostMoves.h"
#include <map>

using namespace soap;
using namespace soap::runtime;

void MovingCall::run() {
  try {
    move();
  } catch (...) {
    channels_.abandon(messageOf(std::current_exception()));
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
        offsets_.emplace(std::make_pair(span.data, span.bytes), bytes_);
    if (isNew)
      bytes_ += wholeLines(span.bytes);
    return it->second;
  }
  uint64_t bytes() const { return bytes_; }

private:
  std::map<std::pair<DevicePointer, uint64_t>, uint64_t> offsets_;
  uint64_t bytes_ = 0;
};

class StagedRow final : public RowAction, private MovingCall {
public:
  StagedRow(Channels &channels, std::unique_ptr<HostMove> hostMove,
            const std::vector<DeviceSpan> &sends,
            const std::vector<DeviceSpan> &receives,
            const BackendTraits &traits)
      : MovingCall(channels), hostMove_(std::move(hostMove)) {
    if (traits.memoryIsHost) {
      std::vector<char *> from, to;
      for (const DeviceSpan &span : sends)
        from.push_back(hostAddress(span.data));
      for (const DeviceSpan &span : receives)
        to.push_back(hostAddress(span.data));
      this->hostMove_->place(from, to);
      return;
    }
    isStaged_ = true;
    Staging places;
    for (const DeviceSpan &span : sends)
      outgoing_.push_back(
          {span.data, places.add(span), StridedCopy::dense(span.bytes)});
    for (const DeviceSpan &span : receives)
      incoming_.push_back(
          {span.data, places.add(span), StridedCopy::dense(span.bytes)});
    stagingBytes_ = places.bytes();
  }

  void enqueue(Stream &stream, const Step &) override {
    for (const Staged &span : outgoing_)
      if (span.box.run)
        stream.copyToHost(span.box, span.device, staging_ + span.offset);
    stream.call(*this);
    for (const Staged &span : incoming_)
      if (span.box.run)
        stream.copyFromHost(span.box, staging_ + span.offset, span.device);
  }

  bool callsHost() const override { return true; }
  uint64_t bytes() const override { return hostMove_->bytes(); }
  void movements(std::vector<Movement> &result) const override {
    hostMove_->movements(result);
  }
  uint64_t ownBytes() const override {
    return stagingBytes_ + hostMove_->ownBytes();
  }
  void setOwnMemory(char *memory) override {
    staging_ = memory;
    hostMove_->setOwnMemory(memory + stagingBytes_);
    if (!isStaged_)
      return;
    std::vector<char *> from, to;
    for (const Staged &span : outgoing_)
      from.push_back(staging_ + span.offset);
    for (const Staged &span : incoming_)
      to.push_back(staging_ + span.offset);
    hostMove_->place(from, to);
  }

private:
  void move() override { hostMove_->run(); }

  struct Staged {
    DevicePointer device;
    uint64_t offset;
    StridedCopy box;
  };
  std::unique_ptr<HostMove> hostMove_;
  std::vector<Staged> outgoing_, incoming_;
  bool isStaged_ = false;
  uint64_t stagingBytes_ = 0;
  char *staging_ = nullptr;
};

class StagedTransport final : public Transport {
public:
  StagedTransport(Channels &channels, const BackendTraits &traits)
      : channels_(channels), traits_(traits) {}

  std::unique_ptr<RowAction> makeExchange(BackendDevice &,
                                          ExchangePart part) override {
    std::vector<DeviceSpan> sends, receives;
    for (const MessagePart &message : part.sends)
      sends.push_back(message.span);
    for (const MessagePart &message : part.receives)
      receives.push_back(message.span);
    return std::make_unique<StagedRow>(
        channels_, makeHostExchange(channels_, part), sends, receives, traits_);
  }

  std::unique_ptr<RowAction> makeCollective(BackendDevice &,
                                            CollectivePart part) override {
    return std::make_unique<StagedRow>(channels_,
                                       makeHostCollective(channels_, part),
                                       part.send, part.receive, traits_);
  }

  void abandon(const std::string &reason) override {
    channels_.abandon(reason);
  }

private:
  Channels &channels_;
  BackendTraits traits_;
};
} // namespace

std::unique_ptr<Transport>
runtime::makeStagedTransport(Channels &channels, const BackendTraits &traits) {
  return std::make_unique<StagedTransport>(channels, traits);
}
