//===- DeviceRows.cpp - Rows from device memory to device memory ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/DeviceRows.h"
#include "CUDA/JoinKernel.h"
#include "Transport/HostMoves.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

DevicePointer DeviceScratch::data() {
  if (block_.size() < bytes_)
    block_ = DeviceBlock(device_, bytes_);
  return block_.data();
}

std::shared_ptr<DeviceScratch> DeviceScratches::get(CudaDevice &device,
                                                    bool hasPriority) {
  std::weak_ptr<DeviceScratch> &known = known_[{&device, hasPriority}];
  std::shared_ptr<DeviceScratch> scratch = known.lock();
  if (!scratch)
    known = scratch = std::make_shared<DeviceScratch>(device);
  return scratch;
}

void cuda::copySpan(CudaStream &stream, const DeviceSpan &from,
                    const DeviceSpan &to) {
  if (!(from.data == to.data) && from.bytes)
    stream.copy(StridedCopy::dense(from.bytes), from.data, to.data);
}

void DeviceRow::enqueue(Stream &stream, const Step &) {
  hasRun_ = false;
  try {
    run(static_cast<CudaStream &>(stream));
  } catch (...) {
    abandon_(messageOf(std::current_exception()));
    throw;
  }
  hasRun_ = true;
}

static uint64_t total(const std::vector<DeviceSpan> &spans) {
  uint64_t bytes = 0;
  for (const DeviceSpan &span : spans)
    bytes += span.bytes;
  return bytes;
}

uint64_t CollectiveRow::bytes() const {
  return hasRun() ? total(part_.receive) : 0;
}

void CollectiveRow::movements(std::vector<Movement> &result) const {
  auto put = static_cast<int64_t>(hasRun() ? total(part_.send) : 0);
  result.push_back(movementOf(part_.shape, put));
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

namespace {
class DeviceExchange final : public DeviceRow {
public:
  DeviceExchange(const ExchangePart &part, std::unique_ptr<Messages> messages)
      : part_(part), messages_(std::move(messages)) {}

  uint64_t bytes() const override {
    uint64_t bytes = 0;
    for (const MessagePart &message : part_.receives)
      bytes += hasRun() ? message.span.bytes : 0;
    return bytes;
  }
  void movements(std::vector<Movement> &result) const override {
    for (const MessagePart &message : part_.receives)
      result.push_back(
          {SOAP_TRANSFER,
           {static_cast<int32_t>(message.peer),
            static_cast<int32_t>(part_.device)},
           {hasRun() ? static_cast<int64_t>(message.span.bytes) : 0}});
  }

private:
  void run(CudaStream &stream) override { messages_->enqueue(stream); }

  ExchangePart part_;
  std::unique_ptr<Messages> messages_;
};
} // namespace

std::unique_ptr<DeviceRow> cuda::makeDeviceExchange(const ExchangePart &part,
                                                    const MakeMessages &make) {
  return std::make_unique<DeviceExchange>(part, make(part));
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {
/// Collectives that join nothing: each member sends to others, from others it
/// receives.
class DirectMove final : public CollectiveRow {
public:
  DirectMove(CollectivePart given, const MakeMessages &make)
      : CollectiveRow(std::move(given)) {
    const CollectiveShape &shape = part_.shape;
    uint32_t n = members(), me = shape.member;
    bool roots = shape.kind == fb::CollectiveKind::Broadcast;
    bool gathers = shape.kind == fb::CollectiveKind::AllGather;
    ExchangePart messages;
    messages.device = shape.group[me];
    for (uint32_t m = 0; m != n; ++m) {
      if (m == me)
        continue;
      if (!roots || me == 0)
        messages.sends.push_back({shape.firstChannel + me * n + m,
                                  shape.group[m],
                                  part_.send[roots || gathers ? 0 : m]});
      if (!roots || m == 0)
        messages.receives.push_back({shape.firstChannel + m * n + me,
                                     shape.group[m],
                                     part_.receive[roots ? 0 : m]});
    }
    messages_ = make(messages);
    if (!roots)
      own_ = {part_.send[gathers ? 0 : me], part_.receive[me]};
  }

private:
  void run(CudaStream &stream) override {
    copySpan(stream, own_.first, own_.second);
    messages_->enqueue(stream);
  }

  std::unique_ptr<Messages> messages_;
  std::pair<DeviceSpan, DeviceSpan> own_; ///< What stays, and where to.
};

/// A share of the elements to each member, which joins it, in the order of the
/// members; of an all-reduce it then sends the result to all.
class DirectJoin final : public CollectiveRow {
public:
  DirectJoin(CollectivePart given, const JoinKernel &join,
             const MakeMessages &make, std::shared_ptr<DeviceScratch> scratch)
      : CollectiveRow(std::move(given)), join_(join),
        scratch_(std::move(scratch)), make_(make) {
    uint32_t n = members(), me = part_.shape.member;
    bool scatters = part_.shape.kind == fb::CollectiveKind::ReduceScatter;
    for (uint32_t m = 0; m != n; ++m) {
      shares_.push_back(scatters ? part_.send[m] : share(part_.send[0], m));
      results_.push_back(scatters ? DeviceSpan() : share(part_.receive[0], m));
    }
    if (scatters)
      results_[me] = part_.receive[0];
    // Shares lie at multiples of 16 bytes, as loads of joins may want them.
    incoming_ = (shares_[me].bytes + 15) / 16 * 16;
    scratch_->need((n - 1) * incoming_);
  }

private:
  /// The part of a tensor that member m joins.
  DeviceSpan share(const DeviceSpan &whole, uint32_t m) const {
    uint64_t size = elementSize(part_.shape.element);
    uint64_t count = whole.bytes / size, n = members();
    uint64_t begin = count * m / n, end = count * (m + 1) / n;
    return {whole.data + begin * size, (end - begin) * size};
  }

  /// Makes the messages, when the scratch memory has an address.
  void prepareMessages() {
    const CollectiveShape &shape = part_.shape;
    uint32_t n = members(), me = shape.member;
    DevicePointer place = scratch_->data();
    ExchangePart out, back;
    out.device = back.device = shape.group[me];
    for (uint32_t m = 0; m != n; ++m) {
      if (m == me) {
        sources_.push_back(shares_[me].data);
        continue;
      }
      uint32_t to = shape.firstChannel + me * n + m;
      uint32_t from = shape.firstChannel + m * n + me;
      out.sends.push_back({to, shape.group[m], shares_[m]});
      out.receives.push_back(
          {from, shape.group[m], {place, shares_[me].bytes}});
      sources_.push_back(place);
      place = place + incoming_;
      back.sends.push_back({to, shape.group[m], results_[me]});
      back.receives.push_back({from, shape.group[m], results_[m]});
    }
    out_ = make_(out);
    if (shape.kind == fb::CollectiveKind::AllReduce)
      back_ = make_(back);
  }

  void run(CudaStream &stream) override {
    if (!out_)
      prepareMessages();
    out_->enqueue(stream);
    join_.launch(stream, sources_, results_[part_.shape.member].data,
                 shares_[part_.shape.member].bytes);
    if (back_)
      back_->enqueue(stream);
  }

  const JoinKernel &join_;
  std::shared_ptr<DeviceScratch> scratch_;
  MakeMessages make_;
  std::vector<DeviceSpan> shares_, results_; ///< By member.
  uint64_t incoming_ = 0; ///< From one share in the scratch to the next.
  std::vector<DevicePointer> sources_;
  std::unique_ptr<Messages> out_, back_;
};
} // namespace

std::unique_ptr<DeviceRow>
cuda::makeDirectCollective(CudaDevice &device, const CollectivePart &part,
                           const MakeMessages &make,
                           std::shared_ptr<DeviceScratch> scratch) {
  bool joins = part.shape.kind == fb::CollectiveKind::AllReduce ||
               part.shape.kind == fb::CollectiveKind::ReduceScatter;
  if (!joins)
    return std::make_unique<DirectMove>(part, make);
  if (part.shape.group.size() > JoinKernel::kSources)
    return nullptr;
  const JoinKernel *join =
      JoinKernel::of(device.gpu(), part.shape.combine, part.shape.element);
  if (!join)
    return nullptr;
  return std::make_unique<DirectJoin>(part, *join, make, std::move(scratch));
}
