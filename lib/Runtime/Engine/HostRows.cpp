//===- HostRows.cpp - Inputs and outputs of other processes ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/HostRows.h"

using namespace soap;
using namespace soap::runtime;

using Boxes = flatbuffers::Vector<flatbuffers::Offset<fb::BoxCopy>>;

namespace {
/// The boxes of a row, one side of which is packed.
class PackedBoxes {
public:
  /// `packs`: copies into the packed side, else out of it.
  PackedBoxes(const Boxes *boxes, bool packs) : packs_(packs) {
    for (const fb::BoxCopy *box : items(boxes)) {
      StridedCopy copy = makeStrided(*box);
      Shape dense(copy.extents.size());
      auto stride = static_cast<int64_t>(copy.run);
      for (size_t d = dense.size(); d-- > 0;) {
        dense[d] = stride;
        stride *= copy.extents[d];
      }
      (packs ? copy.toStrides : copy.fromStrides) = std::move(dense);
      (packs ? copy.toOffset : copy.fromOffset) = total;
      total += copy.bytes();
      copies.push_back(std::move(copy));
    }
  }

  /// Between the packed side and host memory.
  void execute(const void *memory) {
    auto *other = static_cast<char *>(const_cast<void *>(memory));
    for (const StridedCopy &copy : copies)
      packs_ ? copy.execute(other, staging) : copy.execute(staging, other);
  }

  /// Between the packed side and one place in a device's memory per box.
  void enqueue(Stream &stream, const std::vector<DevicePointer> &places) {
    for (size_t i = 0; i != copies.size(); ++i)
      if (packs_)
        stream.copyToHost(copies[i], places[i], staging);
      else
        stream.copyFromHost(copies[i], staging, places[i]);
  }

  std::vector<StridedCopy> copies;
  char *staging = nullptr; ///< The packed side.
  uint64_t total = 0;

private:
  bool packs_;
};

/// Base of the feed and the drain row of a device: it counts what they move.
class RemoteRow : public RowAction, protected MovingCall {
public:
  RemoteRow(const Boxes *copies, bool packs, uint32_t device,
            Channels &channels)
      : MovingCall(channels), boxes_(copies, packs), feeds_(!packs),
        device_(static_cast<int32_t>(device)) {}

  uint64_t bytes() const final { return moved_ ? boxes_.total : 0; }
  uint64_t ownBytes() const final { return boxes_.total; }
  void setOwnMemory(char *memory) final { boxes_.staging = memory; }
  void movements(std::vector<Movement> &result) const final {
    for (const StridedCopy &copy : boxes_.copies) {
      Movement movement;
      movement.devices = {SOAP_HOST, device_};
      if (!feeds_)
        std::swap(movement.devices[0], movement.devices[1]);
      movement.bytes = {moved_ ? static_cast<int64_t>(copy.bytes()) : 0};
      result.push_back(std::move(movement));
    }
  }

protected:
  PackedBoxes boxes_;
  std::vector<DevicePointer> places_; ///< In the device's memory, by box.
  bool moved_ = false;                ///< In the last step.

private:
  bool feeds_;
  int32_t device_;
};

class RemoteFeed final : public RemoteRow {
public:
  RemoteFeed(const fb::Feed &feed, uint32_t device,
             const BufferAddress &address, std::unique_ptr<Receiver> end,
             Channels &channels)
      : RemoteRow(feed.copies(), /*packs=*/false, device, channels),
        end_(std::move(end)) {
    for (const fb::BoxCopy *box : items(feed.copies()))
      places_.push_back(address(box->to()));
  }

  void enqueue(Stream &stream, const Step &) override {
    stream.call(*this);
    boxes_.enqueue(stream, places_);
    moved_ = true;
  }

private:
  void move() override {
    end_->post(boxes_.staging, boxes_.total);
    end_->finish();
  }

  std::unique_ptr<Receiver> end_;
};

class RemoteDrain final : public RemoteRow {
public:
  RemoteDrain(const fb::Drain &drain, uint32_t device,
              const BufferAddress &address, std::unique_ptr<Sender> end,
              Channels &channels)
      : RemoteRow(drain.copies(), /*packs=*/true, device, channels),
        end_(std::move(end)), port_(drain.output()) {
    for (const fb::BoxCopy *box : items(drain.copies()))
      places_.push_back(address(box->from()));
  }

  void enqueue(Stream &stream, const Step &step) override {
    moved_ = step.outputs[port_] != nullptr;
    if (!moved_)
      return; // An output that nobody asked for.
    boxes_.enqueue(stream, places_);
    stream.call(*this);
  }

private:
  void move() override {
    end_->post(boxes_.staging, boxes_.total);
    end_->finish();
  }

  std::unique_ptr<Sender> end_;
  uint32_t port_;
};

class FeedSource final : public HostSide {
public:
  FeedSource(const fb::Feed &feed, std::unique_ptr<Sender> end)
      : boxes_(feed.copies(), /*packs=*/true), end_(std::move(end)),
        port_(feed.input()) {}

  void start(const Step &step) override {
    boxes_.execute(step.inputs[port_]);
    end_->post(boxes_.staging, boxes_.total);
  }
  void finish(const Step &) override { end_->finish(); }
  uint64_t ownBytes() const override { return boxes_.total; }
  void setOwnMemory(char *memory) override { boxes_.staging = memory; }

private:
  PackedBoxes boxes_;
  std::unique_ptr<Sender> end_;
  uint32_t port_;
};

class DrainTarget final : public HostSide {
public:
  DrainTarget(const fb::Drain &drain, std::unique_ptr<Receiver> end)
      : boxes_(drain.copies(), /*packs=*/false), end_(std::move(end)),
        port_(drain.output()) {}

  void start(const Step &step) override {
    if (step.outputs[port_])
      end_->post(boxes_.staging, boxes_.total);
  }
  void finish(const Step &step) override {
    if (!step.outputs[port_])
      return;
    end_->finish();
    boxes_.execute(step.outputs[port_]);
  }
  uint64_t ownBytes() const override { return boxes_.total; }
  void setOwnMemory(char *memory) override { boxes_.staging = memory; }

private:
  PackedBoxes boxes_;
  std::unique_ptr<Receiver> end_;
  uint32_t port_;
};
} // namespace

std::unique_ptr<RowAction> runtime::makeRemoteFeed(
    const fb::Feed &feed, uint32_t device, const BufferAddress &address,
    std::unique_ptr<Receiver> receiver, Channels &channels) {
  return std::make_unique<RemoteFeed>(feed, device, address,
                                      std::move(receiver), channels);
}

std::unique_ptr<RowAction>
runtime::makeRemoteDrain(const fb::Drain &drain, uint32_t device,
                         const BufferAddress &address,
                         std::unique_ptr<Sender> sender, Channels &channels) {
  return std::make_unique<RemoteDrain>(drain, device, address,
                                       std::move(sender), channels);
}

std::unique_ptr<HostSide>
runtime::makeFeedSource(const fb::Feed &feed, std::unique_ptr<Sender> sender) {
  return std::make_unique<FeedSource>(feed, std::move(sender));
}

std::unique_ptr<HostSide>
runtime::makeDrainTarget(const fb::Drain &drain,
                         std::unique_ptr<Receiver> receiver) {
  return std::make_unique<DrainTarget>(drain, std::move(receiver));
}

void HostLinks::number(const fb::Model &model) {
  for (uint32_t p = 0; p != items(model.programs()).size(); ++p) {
    auto &ofProgram = numbers.emplace_back();
    for (const fb::Device *device : items(model.devices())) {
      auto &ofDevice = ofProgram.emplace_back();
      for (const fb::Row *row : rowsOf(*device, p)) {
        ofDevice.push_back(count);
        if (row->body_as_Feed() || row->body_as_Drain())
          ++count;
      }
    }
  }
}
