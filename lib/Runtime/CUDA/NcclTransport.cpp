//===- NcclTransport.cpp - Exchanges and collectives by NCCL --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages go over the communicator of all devices, collectives over that of
// their group, if it has one; those of priority streams over others than those
// of communication streams. All are enqueued in the order of the programs,
// which is one that all devices keep. What NCCL does not know is made of
// messages and joined here, or staged through the host.
//
//===----------------------------------------------------------------------===//

#include "CUDA/Communicators.h"
#include "CUDA/DeviceRows.h"
#include "Transport/HostMoves.h"
#include "Transport/Staged.h"
#include <algorithm>
#include <cstdlib>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

static void *addressOf(DevicePointer pointer) {
  return reinterpret_cast<void *>(pointer.value());
}

namespace {
using SharedCommunicators = std::shared_ptr<Communicators>;

class NcclMessages final : public Messages {
public:
  NcclMessages(SharedCommunicators communicators, bool hasPriority,
               const ExchangePart &part)
      : communicators_(std::move(communicators)),
        communicator_(CommunicatorPlan::ofAll(hasPriority)),
        device_(part.device), sends_(ordered(part.sends)),
        receives_(ordered(part.receives)) {}

  void enqueue(CudaStream &stream) override {
    if (sends_.empty() && receives_.empty())
      return;
    stream.gpu().use();
    communicators_->enqueue(communicator_, device_, [&](ncclComm_t handle) {
      for (const MessagePart &message : receives_)
        checkNccl(nccl().ncclRecv(addressOf(message.span.data),
                                  message.span.bytes, ncclUint8,
                                  static_cast<int>(message.peer), handle,
                                  stream.handle()),
                  "to receive from device ", message.peer);
      for (const MessagePart &message : sends_)
        checkNccl(nccl().ncclSend(addressOf(message.span.data),
                                  message.span.bytes, ncclUint8,
                                  static_cast<int>(message.peer), handle,
                                  stream.handle()),
                  "to send to device ", message.peer);
    });
  }

private:
  /// Both ends call in the order of the channels.
  static std::vector<MessagePart> ordered(std::vector<MessagePart> messages) {
    messages.erase(std::remove_if(messages.begin(), messages.end(),
                                  [](const MessagePart &message) {
                                    return message.span.bytes == 0;
                                  }),
                   messages.end());
    std::stable_sort(messages.begin(), messages.end(),
                     [](const MessagePart &a, const MessagePart &b) {
                       return a.channel < b.channel;
                     });
    return messages;
  }

  SharedCommunicators communicators_;
  size_t communicator_;
  uint32_t device_;
  std::vector<MessagePart> sends_, receives_;
};

/// True if spans have the same size, which all members know of each other.
bool haveOneSize(const std::vector<DeviceSpan> &spans) {
  return std::all_of(spans.begin(), spans.end(), [&](const DeviceSpan &span) {
    return span.bytes == spans[0].bytes;
  });
}

/// True if spans lie one behind the other, which each member knows of its own.
bool areAdjacent(const std::vector<DeviceSpan> &spans) {
  for (size_t i = 1; i != spans.size(); ++i)
    if (!(spans[i].data == spans[i - 1].data + spans[i - 1].bytes))
      return false;
  return true;
}

/// A collective that is one of NCCL's, or several at once. NCCL has the parts
/// of all members side by side: where they are not, they lie so in the scratch
/// memory.
class NcclCollective final : public CollectiveRow {
public:
  NcclCollective(SharedCommunicators communicators, size_t communicator,
                 CollectivePart given, NcclReduction reduction,
                 std::shared_ptr<DeviceScratch> scratch)
      : CollectiveRow(std::move(given)),
        communicators_(std::move(communicators)), communicator_(communicator),
        device_(part_.shape.group[part_.shape.member]), reduction_(reduction),
        scratch_(std::move(scratch)) {
    bool gathers = part_.shape.kind == fb::CollectiveKind::AllGather;
    bool scatters = part_.shape.kind == fb::CollectiveKind::ReduceScatter;
    if (!gathers && !scatters)
      return;
    const std::vector<DeviceSpan> &parts = gathers ? part_.receive : part_.send;
    isPacked_ = haveOneSize(parts) && !areAdjacent(parts);
    if (isPacked_)
      scratch_->need(members() * parts[0].bytes);
  }

private:
  void run(CudaStream &stream) override {
    stream.gpu().use();
    bool gathers = part_.shape.kind == fb::CollectiveKind::AllGather;
    if (isPacked_ && !gathers)
      for (uint32_t m = 0; m != members(); ++m)
        copySpan(stream, part_.send[m], packed(m));
    communicators_->enqueue(communicator_, device_, [&](ncclComm_t handle) {
      checkNccl(call(handle, stream.handle()), "to enqueue a collective");
    });
    if (isPacked_ && gathers)
      for (uint32_t m = 0; m != members(); ++m)
        copySpan(stream, packed(m), part_.receive[m]);
  }

  DeviceSpan packed(uint32_t m) const {
    bool gathers = part_.shape.kind == fb::CollectiveKind::AllGather;
    uint64_t bytes = (gathers ? part_.receive : part_.send)[m].bytes;
    return {scratch_->data() + m * bytes, bytes};
  }

  size_t count(uint64_t bytes) const {
    return bytes / elementSize(part_.shape.element);
  }

  ncclResult_t call(ncclComm_t handle, CUstream stream) const {
    const std::vector<DeviceSpan> &send = part_.send, &receive = part_.receive;
    switch (part_.shape.kind) {
    case fb::CollectiveKind::Broadcast: {
      const DeviceSpan &own = part_.shape.member == 0 ? send[0] : receive[0];
      void *data = addressOf(own.data);
      return nccl().ncclBroadcast(data, data, own.bytes, ncclUint8, /*root=*/0,
                                  handle, stream);
    }
    case fb::CollectiveKind::AllGather: {
      DeviceSpan all = isPacked_ ? packed(0) : receive[0];
      return nccl().ncclAllGather(addressOf(send[0].data), addressOf(all.data),
                                  send[0].bytes, ncclUint8, handle, stream);
    }
    case fb::CollectiveKind::AllReduce:
      return nccl().ncclAllReduce(
          addressOf(send[0].data), addressOf(receive[0].data),
          count(send[0].bytes), reduction_.type, reduction_.op, handle, stream);
    default:
      return scatter(handle, stream);
    }
  }

  ncclResult_t scatter(ncclComm_t handle, CUstream stream) const {
    const std::vector<DeviceSpan> &send = part_.send;
    void *result = addressOf(part_.receive[0].data);
    if (haveOneSize(send)) {
      DeviceSpan all = isPacked_ ? packed(0) : send[0];
      return nccl().ncclReduceScatter(addressOf(all.data), result,
                                      count(send[0].bytes), reduction_.type,
                                      reduction_.op, handle, stream);
    }
    // Shares of several sizes: a reduction to each member.
    for (uint32_t m = 0; m != members(); ++m) {
      if (send[m].bytes == 0)
        continue;
      ncclResult_t code = nccl().ncclReduce(
          addressOf(send[m].data), m == part_.shape.member ? result : nullptr,
          count(send[m].bytes), reduction_.type, reduction_.op,
          static_cast<int>(m), handle, stream);
      if (code != ncclSuccess && code != ncclInProgress)
        return code;
    }
    return ncclSuccess;
  }

  SharedCommunicators communicators_;
  size_t communicator_;
  uint32_t device_;
  NcclReduction reduction_;
  std::shared_ptr<DeviceScratch> scratch_;
  bool isPacked_ = false;
};

/// What waits for the streams of one device look at.
class DeviceWatch final : public StreamWatch {
public:
  DeviceWatch(SharedCommunicators communicators, uint32_t device)
      : communicators_(std::move(communicators)), device_(device) {}
  void check() override { communicators_->check(device_); }

private:
  SharedCommunicators communicators_;
  uint32_t device_;
};

class NcclTransport final : public Transport {
public:
  NcclTransport(const TransportOptions &options,
                const std::vector<DeviceGpu> &devices, unsigned mostPerDevice)
      : staged_(makeStagedTransport(options.channels, BackendTraits())),
        isCapturable_(devices.size() == 1),
        communicators_(std::make_shared<Communicators>(
            CommunicatorPlan(options.devices, options.groups, mostPerDevice),
            devices, options.peers)) {
    if (!options.messagesAreOrdered)
      invalid("expected messages that come in the order in which they are "
              "sent, as NCCL needs them, got: another order; use "
              "--gpu-transport=host");
  }

  std::string name() const override { return ncclName(); }
  std::string introduction() const override {
    return communicators_->introduction();
  }
  void connect(const std::vector<std::string> &introductions) override {
    communicators_->connect(introductions);
  }

  std::unique_ptr<RowAction> makeExchange(BackendDevice &device,
                                          ExchangePart part) override {
    watch(device, part.device);
    return prepared(makeDeviceExchange(part, messages(/*hasPriority=*/false)));
  }

  std::unique_ptr<RowAction> makeCollective(BackendDevice &device,
                                            CollectivePart part) override {
    checkReduction(part.shape);
    uint32_t number = part.shape.group[part.shape.member];
    watch(device, number);
    auto &own = static_cast<CudaDevice &>(device);
    std::shared_ptr<DeviceScratch> scratch =
        scratches_.get(own, part.hasPriority);
    if (auto row = makeOfNccl(part, scratch))
      return prepared(std::move(row));
    if (auto row = makeDirectCollective(own, part, messages(part.hasPriority),
                                        scratch))
      return prepared(std::move(row));
    return staged_->makeCollective(device, std::move(part));
  }

  void abandon(const std::string &reason) override {
    communicators_->abandon(reason);
    staged_->abandon(reason);
  }

private:
  MakeMessages messages(bool hasPriority) const {
    return [all = communicators_, hasPriority](const ExchangePart &part) {
      return std::make_unique<NcclMessages>(all, hasPriority, part);
    };
  }

  /// Null for what is made of messages. All members decide alike.
  std::unique_ptr<DeviceRow>
  makeOfNccl(const CollectivePart &part,
             std::shared_ptr<DeviceScratch> scratch) const {
    std::optional<size_t> communicator =
        communicators_->plan().find({part.shape.group, part.hasPriority});
    if (!communicator)
      return nullptr;
    NcclReduction reduction = {ncclUint8, ncclSum};
    switch (part.shape.kind) {
    case fb::CollectiveKind::AllToAll:
      return nullptr;
    case fb::CollectiveKind::Broadcast:
      break;
    case fb::CollectiveKind::AllGather:
      if (!haveOneSize(part.receive))
        return nullptr;
      break;
    case fb::CollectiveKind::AllReduce:
    case fb::CollectiveKind::ReduceScatter: {
      auto known = ncclReductionOf(part.shape.combine, part.shape.element);
      if (!known)
        return nullptr;
      reduction = *known;
      break;
    }
    }
    return std::make_unique<NcclCollective>(communicators_, *communicator, part,
                                            reduction, std::move(scratch));
  }

  void watch(BackendDevice &device, uint32_t number) const {
    static_cast<CudaDevice &>(device).setWatch(
        std::make_shared<DeviceWatch>(communicators_, number));
  }
  std::unique_ptr<DeviceRow> prepared(std::unique_ptr<DeviceRow> row) {
    row->prepare([this](const std::string &reason) { abandon(reason); },
                 isCapturable_);
    return row;
  }

  std::unique_ptr<Transport> staged_;
  bool isCapturable_;
  SharedCommunicators communicators_;
  DeviceScratches scratches_;
};
} // namespace

std::unique_ptr<Transport>
cuda::makeNcclTransport(const TransportOptions &options,
                        const std::vector<DeviceGpu> &devices) {
  (void)nccl(); // Says what is missing.
  if (std::any_of(options.groups.begin(), options.groups.end(),
                  [](const CollectiveGroup &g) { return g.hasPriority; }))
    requireLaunchOrder();
  const char *most = std::getenv("SOAP_NCCL_COMMUNICATORS");
  long count = most ? std::atol(most) : CommunicatorPlan::kMostPerDevice;
  return std::make_unique<NcclTransport>(
      options, devices, static_cast<unsigned>(std::max(count, 1L)));
}
