//===- PeerTransport.cpp - Copies among the GPUs of a process -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The receiver copies. A stream waits for another one by an event, which must
// be recorded first: the thread that enqueues a wait waits until the other one
// has enqueued the record. Rows meet in the same order in all programs, so
// these threads come to their ends whenever the streams would.
//
//===----------------------------------------------------------------------===//

#include "CUDA/DeviceRows.h"
#include "CUDA/Transports.h"
#include "CUDA/Watch.h"
#include "Transport/HostMoves.h"
#include "Transport/Staged.h"
#include <condition_variable>
#include <map>
#include <set>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

namespace {
/// What the two ends of a channel share. Messages are counted: an end goes on
/// when the other one has enqueued its side of the same message.
struct PeerLink {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t posted = 0, taken = 0;
  /// Of the sender's last message.
  DevicePointer data;
  const Gpu *gpu = nullptr;
  /// Recorded when the data are there, and when they have been copied. Each is
  /// recorded again only after the other end has enqueued its wait.
  std::unique_ptr<CudaEvent> ready, done;
};

/// All links of a process, by channel.
class PeerLinks {
public:
  std::shared_ptr<PeerLink> get(uint32_t channel) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<PeerLink> &link = links_[channel];
    if (!link)
      link = std::make_shared<PeerLink>();
    return link;
  }
  void abandon(const std::string &reason) {
    abandonment_.set(reason);
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto &[channel, link] : links_) {
      std::lock_guard<std::mutex> own(link->mutex);
      link->changed.notify_all();
    }
  }
  /// Waits until `done`, which the link's mutex guards; throws if a device does
  /// not come.
  template <typename Done>
  void wait(PeerLink &link, std::unique_lock<std::mutex> &lock,
            const Done &done) {
    link.changed.wait(lock, [&] { return abandonment_.isSet() || done(); });
    abandonment_.check();
  }

private:
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<PeerLink>> links_;
  Abandonment abandonment_;
};

class PeerMessages final : public Messages {
public:
  PeerMessages(std::shared_ptr<PeerLinks> links, const ExchangePart &part)
      : links_(std::move(links)) {
    for (const MessagePart &message : part.sends)
      if (message.span.bytes)
        sends_.push_back({links_->get(message.channel), message.span});
    for (const MessagePart &message : part.receives)
      if (message.span.bytes)
        receives_.push_back({links_->get(message.channel), message.span});
  }

  void enqueue(CudaStream &stream) override {
    for (End &end : sends_)
      post(stream, end);
    for (End &end : receives_)
      receive(stream, end);
    for (End &end : sends_)
      finish(stream, end);
  }

private:
  struct End {
    std::shared_ptr<PeerLink> link;
    DeviceSpan span;
    uint64_t count = 0; ///< Messages of this end.
  };

  static void recordOn(CudaStream &stream, std::unique_ptr<CudaEvent> &event) {
    if (!event)
      event = std::make_unique<CudaEvent>(stream.gpu(), /*isTimed=*/false);
    stream.record(*event);
  }

  void post(CudaStream &stream, End &end) {
    PeerLink &link = *end.link;
    std::lock_guard<std::mutex> lock(link.mutex);
    recordOn(stream, link.ready);
    link.data = end.span.data;
    link.gpu = &stream.gpu();
    end.count = ++link.posted;
    link.changed.notify_all();
  }

  void receive(CudaStream &stream, End &end) {
    PeerLink &link = *end.link;
    std::unique_lock<std::mutex> lock(link.mutex);
    uint64_t next = link.taken + 1;
    links_->wait(link, lock, [&] { return link.posted >= next; });
    stream.wait(*link.ready);
    stream.copyFromPeer(*link.gpu, link.data, end.span.data, end.span.bytes);
    recordOn(stream, link.done);
    link.taken = next;
    link.changed.notify_all();
  }

  void finish(CudaStream &stream, End &end) {
    PeerLink &link = *end.link;
    std::unique_lock<std::mutex> lock(link.mutex);
    links_->wait(link, lock, [&] { return link.taken >= end.count; });
    stream.wait(*link.done);
  }

  std::shared_ptr<PeerLinks> links_;
  std::vector<End> sends_, receives_;
};

class PeerTransport final : public Transport {
public:
  explicit PeerTransport(const TransportOptions &options)
      : staged_(makeStagedTransport(options.channels, BackendTraits())),
        links_(std::make_shared<PeerLinks>()) {}

  std::string name() const override { return "peer copies"; }

  std::unique_ptr<RowAction> makeExchange(BackendDevice &device,
                                          ExchangePart part) override {
    return prepared(makeDeviceExchange(part, messagesOf(device)));
  }

  std::unique_ptr<RowAction> makeCollective(BackendDevice &device,
                                            CollectivePart part) override {
    checkReduction(part.shape);
    auto &own = static_cast<CudaDevice &>(device);
    auto row = makeDirectCollective(own, part, messagesOf(device),
                                    scratches_.get(own, part.hasPriority));
    if (!row)
      return staged_->makeCollective(device, std::move(part));
    return prepared(std::move(row));
  }

  void abandon(const std::string &reason) override {
    links_->abandon(reason);
    staged_->abandon(reason);
  }

private:
  MakeMessages messagesOf(BackendDevice &device) {
    seePeers(static_cast<CudaDevice &>(device).gpu());
    return [links = links_](const ExchangePart &part) {
      return std::make_unique<PeerMessages>(links, part);
    };
  }
  std::unique_ptr<DeviceRow> prepared(std::unique_ptr<DeviceRow> row) {
    row->prepare([this](const std::string &reason) { abandon(reason); },
                 /*isCapturable=*/false);
    return row;
  }
  /// Lets a GPU read the memory of those seen before, and them its own.
  void seePeers(const Gpu &gpu) {
    if (!seen_.insert(&gpu).second)
      return;
    for (const Gpu *other : seen_)
      if (other != &gpu) {
        gpu.reach(*other);
        other->reach(gpu);
      }
  }

  std::unique_ptr<Transport> staged_;
  std::shared_ptr<PeerLinks> links_;
  std::set<const Gpu *> seen_;
  DeviceScratches scratches_;
};
} // namespace

std::unique_ptr<Transport>
cuda::makePeerTransport(const TransportOptions &options) {
  return std::make_unique<PeerTransport>(options);
}
