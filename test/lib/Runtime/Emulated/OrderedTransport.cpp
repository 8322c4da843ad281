//===- OrderedTransport.cpp - A transport that the devices order ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderedTransport.h"
#include "Memory.h"
#include "Stream.h"
#include "Transport/HostMoves.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>
#include <cstring>
#include <unordered_map>

using namespace soap;
using namespace soap::emulated;
using namespace soap::runtime;

namespace {
using Spans = std::vector<Span>; ///< As commands address them.

/// Guarded by the scheduler's mutex.
struct Abandonment {
  bool isAbandoned = false;
  std::string reason;
};

/// Waits in the current stream; throws if the transport is abandoned.
template <typename Fn>
void waitUntil(const Abandonment &abandonment, Fn condition) {
  Scheduler::get().waitFor(
      [&] { return abandonment.isAbandoned || condition(); });
  Scheduler::Lock lock(Scheduler::get().mutex);
  if (abandonment.isAbandoned)
    failed(abandonment.reason);
}

/// The messages of one transfer. The sender's memory is read by the receiver.
struct Mailbox {
  const char *data = nullptr;
  uint64_t posted = 0, taken = 0; ///< Guarded by the scheduler's mutex.
};

/// The members of a collective, each with its spans.
struct Gathering {
  explicit Gathering(const CollectiveShape &shape)
      : shape(shape), send(shape.group.size()), receive(shape.group.size()) {}

  /// What all members receive, from what all of them send.
  void compute();

  CollectiveShape shape;
  std::vector<Spans> send, receive;    ///< By member.
  uint64_t arrived = 0, completed = 0; ///< Guarded by the scheduler's mutex.

private:
  std::vector<char> join(const std::vector<const Span *> &sources) const;
};

std::vector<char>
Gathering::join(const std::vector<const Span *> &sources) const {
  std::vector<char> sum(sources[0]->bytes);
  std::vector<const char *> addresses;
  for (const Span *source : sources)
    addresses.push_back(source->data);
  if (!sum.empty())
    reduceElements(shape.combine, shape.element, {sum.data()}, addresses,
                   sum.size() / elementSize(shape.element));
  return sum;
}

void copy(const char *from, const Span &to) {
  if (to.bytes)
    std::memmove(to.data, from, to.bytes);
}

void Gathering::compute() {
  size_t n = shape.group.size();
  std::vector<std::vector<char>> sums;
  switch (shape.kind) {
  case fb::CollectiveKind::Broadcast:
    for (size_t m = 1; m != n; ++m)
      copy(send[0][0].data, receive[m][0]);
    return;
  case fb::CollectiveKind::AllGather:
  case fb::CollectiveKind::AllToAll:
    for (size_t to = 0; to != n; ++to)
      for (size_t m = 0; m != n; ++m) {
        bool gathers = shape.kind == fb::CollectiveKind::AllGather;
        copy(send[m][gathers ? 0 : to].data, receive[to][m]);
      }
    return;
  case fb::CollectiveKind::AllReduce:
  case fb::CollectiveKind::ReduceScatter:
    // A result may lie where another member still reads: all are made first.
    for (size_t to = 0; to != n; ++to) {
      bool reduces = shape.kind == fb::CollectiveKind::AllReduce;
      std::vector<const Span *> sources;
      for (size_t m = 0; m != n; ++m)
        sources.push_back(&send[m][reduces ? 0 : to]);
      sums.push_back(join(sources));
    }
    for (size_t to = 0; to != n; ++to)
      copy(sums[to].data(), receive[to][0]);
    return;
  }
}

class OrderedExchange final : public RowAction {
public:
  OrderedExchange(const ExchangePart &part,
                  std::vector<std::shared_ptr<Mailbox>> out,
                  std::vector<std::shared_ptr<Mailbox>> in,
                  const Abandonment &abandonment)
      : part_(part), out_(std::move(out)), in_(std::move(in)),
        abandonment_(abandonment), received_(part.receives.size()) {
    for (const MessagePart &message : part.sends)
      sources_.push_back(privateAddress(part.device, message.span.data));
    for (const MessagePart &message : part.receives)
      targets_.push_back(privateAddress(part.device, message.span.data));
  }

  void enqueue(Stream &stream, const Step &) override {
    static_cast<EmulatedStream &>(stream).push([this] { move(); });
  }
  uint64_t bytes() const override {
    uint64_t total = 0;
    for (int64_t count : received_)
      total += static_cast<uint64_t>(count);
    return total;
  }
  void movements(std::vector<Movement> &result) const override {
    for (size_t i = 0; i != received_.size(); ++i)
      result.push_back({SOAP_TRANSFER,
                        {static_cast<int32_t>(part_.receives[i].peer),
                         static_cast<int32_t>(part_.device)},
                        {received_[i]}});
  }

private:
  void move() {
    std::fill(received_.begin(), received_.end(), 0);
    std::vector<uint64_t> messages;
    {
      Scheduler::Lock lock(Scheduler::get().mutex);
      for (size_t i = 0; i != out_.size(); ++i) {
        out_[i]->data = sources_[i];
        messages.push_back(++out_[i]->posted);
      }
    }
    for (size_t i = 0; i != in_.size(); ++i) {
      Mailbox &mail = *in_[i];
      waitUntil(abandonment_, [&] { return mail.posted > mail.taken; });
      Scheduler::get().hold();
      received_[i] = static_cast<int64_t>(part_.receives[i].span.bytes);
      copy(mail.data, {targets_[i], part_.receives[i].span.bytes});
      Scheduler::Lock lock(Scheduler::get().mutex);
      ++mail.taken;
    }
    for (size_t i = 0; i != out_.size() && !SOAP_FAULT("sender-leaves"); ++i)
      waitUntil(abandonment_, [&] { return out_[i]->taken >= messages[i]; });
  }

  ExchangePart part_;
  std::vector<std::shared_ptr<Mailbox>> out_, in_;
  const Abandonment &abandonment_;
  std::vector<char *> sources_, targets_;
  std::vector<int64_t> received_; ///< Bytes of each message in the last step.
};

class OrderedCollective final : public RowAction {
public:
  OrderedCollective(std::shared_ptr<Gathering> gathering, uint32_t member,
                    const Abandonment &abandonment)
      : gathering_(std::move(gathering)), member_(member),
        abandonment_(abandonment) {}

  void enqueue(Stream &stream, const Step &) override {
    static_cast<EmulatedStream &>(stream).push([this] { meet(); });
  }
  uint64_t bytes() const override {
    return total(gathering_->receive[member_]);
  }
  void movements(std::vector<Movement> &result) const override {
    CollectiveShape shape = gathering_->shape;
    shape.member = member_;
    result.push_back(movementOf(
        shape,
        hasMet_ ? static_cast<int64_t>(total(gathering_->send[member_])) : 0));
  }

private:
  static uint64_t total(const Spans &spans) {
    uint64_t bytes = 0;
    for (const Span &span : spans)
      bytes += span.bytes;
    return bytes;
  }

  void meet() {
    hasMet_ = false;
    Gathering &g = *gathering_;
    uint64_t members = g.shape.group.size(), round, arrivals;
    {
      Scheduler::Lock lock(Scheduler::get().mutex);
      arrivals = ++g.arrived;
      round = (arrivals + members - 1) / members;
    }
    if (arrivals == round * members) {
      g.compute();
      Scheduler::Lock lock(Scheduler::get().mutex);
      ++g.completed;
    }
    waitUntil(abandonment_, [&] { return g.completed >= round; });
    hasMet_ = true;
  }

  std::shared_ptr<Gathering> gathering_;
  uint32_t member_;
  const Abandonment &abandonment_;
  bool hasMet_ = false; ///< In the last step.
};

class OrderedTransport final : public Transport {
public:
  std::unique_ptr<RowAction> makeExchange(BackendDevice &,
                                          ExchangePart part) override {
    std::vector<std::shared_ptr<Mailbox>> out, in;
    for (const MessagePart &message : part.sends)
      out.push_back(mailbox(message.channel));
    for (const MessagePart &message : part.receives)
      in.push_back(mailbox(message.channel));
    return std::make_unique<OrderedExchange>(part, std::move(out),
                                             std::move(in), abandonment_);
  }

  std::unique_ptr<RowAction> makeCollective(BackendDevice &,
                                            CollectivePart part) override {
    checkReduction(part.shape);
    std::shared_ptr<Gathering> &own = gatherings_[part.shape.meeting];
    if (!own)
      own = std::make_shared<Gathering>(part.shape);
    uint32_t member = part.shape.member;
    uint32_t device = part.shape.group[member];
    for (const DeviceSpan &span : part.send)
      own->send[member].push_back(
          {privateAddress(device, span.data), span.bytes});
    for (const DeviceSpan &span : part.receive)
      own->receive[member].push_back(
          {privateAddress(device, span.data), span.bytes});
    return std::make_unique<OrderedCollective>(own, member, abandonment_);
  }

  void abandon(const std::string &reason) override {
    Scheduler::Lock lock(Scheduler::get().mutex);
    if (!abandonment_.isAbandoned)
      abandonment_ = {true, reason};
    Scheduler::get().changed();
  }

private:
  std::shared_ptr<Mailbox> mailbox(uint32_t channel) {
    std::shared_ptr<Mailbox> &own = mailboxes_[channel];
    if (!own)
      own = std::make_shared<Mailbox>();
    return own;
  }

  Abandonment abandonment_;
  std::unordered_map<uint32_t, std::shared_ptr<Mailbox>> mailboxes_;
  std::unordered_map<uint32_t, std::shared_ptr<Gathering>> gatherings_;
};
} // namespace

std::unique_ptr<Transport> emulated::makeOrderedTransport() {
  return std::make_unique<OrderedTransport>();
}
