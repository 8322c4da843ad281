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
  PackedBoxes(const Boxes *boxes, bool packs) : packs(packs) {
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

  /// Between the packed side and `memory`, or, if that is null, the addresses
  /// in the copies.
  void execute(const void *memory) {
    auto *other = static_cast<char *>(const_cast<void *>(memory));
    for (const StridedCopy &copy : copies)
      packs ? copy.execute(other, staging) : copy.execute(staging, other);
  }

  std::vector<StridedCopy> copies;
  char *staging = nullptr; ///< The packed side.
  uint64_t total = 0;

private:
  bool packs;
};

/// What both rows of a device count.
class RemoteRow : public RowAction {
public:
  RemoteRow(const Boxes *copies, bool packs, uint32_t device)
      : boxes(copies, packs), feeds(!packs),
        device(static_cast<int32_t>(device)) {}

  uint64_t bytes() const final { return moved ? boxes.total : 0; }
  uint64_t ownBytes() const final { return boxes.total; }
  void setOwnMemory(char *memory) final { boxes.staging = memory; }
  void movements(std::vector<Movement> &result) const final {
    for (const StridedCopy &copy : boxes.copies) {
      Movement movement;
      movement.devices = {SOAP_HOST, device};
      if (!feeds)
        std::swap(movement.devices[0], movement.devices[1]);
      movement.bytes = {moved ? static_cast<int64_t>(copy.bytes()) : 0};
      result.push_back(std::move(movement));
    }
  }

protected:
  PackedBoxes boxes;
  bool moved = false; ///< In the last run.

private:
  bool feeds;
  int32_t device;
};

class RemoteFeed final : public RemoteRow {
public:
  RemoteFeed(const fb::Feed &feed, uint32_t device,
             const BufferAddress &address, std::unique_ptr<Receiver> end)
      : RemoteRow(feed.copies(), /*packs=*/false, device), end(std::move(end)) {
    for (size_t i = 0; i != boxes.copies.size(); ++i)
      boxes.copies[i].to =
          address(feed.copies()->Get(static_cast<uint32_t>(i))->to());
  }

  void run(const Step &) override {
    end->post(boxes.staging, boxes.total);
    end->finish();
    boxes.execute(nullptr);
    moved = true;
  }

private:
  std::unique_ptr<Receiver> end;
};

class RemoteDrain final : public RemoteRow {
public:
  RemoteDrain(const fb::Drain &drain, uint32_t device,
              const BufferAddress &address, std::unique_ptr<Sender> end)
      : RemoteRow(drain.copies(), /*packs=*/true, device), end(std::move(end)),
        port(drain.output()) {
    for (size_t i = 0; i != boxes.copies.size(); ++i)
      boxes.copies[i].from =
          address(drain.copies()->Get(static_cast<uint32_t>(i))->from());
  }

  void run(const Step &step) override {
    moved = step.outputs[port] != nullptr;
    if (!moved)
      return; // An output that nobody asked for.
    boxes.execute(nullptr);
    end->post(boxes.staging, boxes.total);
    end->finish();
  }

private:
  std::unique_ptr<Sender> end;
  uint32_t port;
};

class FeedSource final : public HostSide {
public:
  FeedSource(const fb::Feed &feed, std::unique_ptr<Sender> end)
      : boxes(feed.copies(), /*packs=*/true), end(std::move(end)),
        port(feed.input()) {}

  void start(const Step &step) override {
    boxes.execute(step.inputs[port]);
    end->post(boxes.staging, boxes.total);
  }
  void finish(const Step &) override { end->finish(); }
  uint64_t ownBytes() const override { return boxes.total; }
  void setOwnMemory(char *memory) override { boxes.staging = memory; }

private:
  PackedBoxes boxes;
  std::unique_ptr<Sender> end;
  uint32_t port;
};

class DrainTarget final : public HostSide {
public:
  DrainTarget(const fb::Drain &drain, std::unique_ptr<Receiver> end)
      : boxes(drain.copies(), /*packs=*/false), end(std::move(end)),
        port(drain.output()) {}

  void start(const Step &step) override {
    if (step.outputs[port])
      end->post(boxes.staging, boxes.total);
  }
  void finish(const Step &step) override {
    if (!step.outputs[port])
      return;
    end->finish();
    boxes.execute(step.outputs[port]);
  }
  uint64_t ownBytes() const override { return boxes.total; }
  void setOwnMemory(char *memory) override { boxes.staging = memory; }

private:
  PackedBoxes boxes;
  std::unique_ptr<Receiver> end;
  uint32_t port;
};
} // namespace

std::unique_ptr<RowAction>
runtime::makeRemoteFeed(const fb::Feed &feed, uint32_t device,
                        const BufferAddress &address,
                        std::unique_ptr<Receiver> receiver) {
  return std::make_unique<RemoteFeed>(feed, device, address,
                                      std::move(receiver));
}

std::unique_ptr<RowAction>
runtime::makeRemoteDrain(const fb::Drain &drain, uint32_t device,
                         const BufferAddress &address,
                         std::unique_ptr<Sender> sender) {
  return std::make_unique<RemoteDrain>(drain, device, address,
                                       std::move(sender));
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
  for (const fb::Device *device : items(model.devices())) {
    numbers.emplace_back();
    for (const fb::Row *row : items(device->main())) {
      numbers.back().push_back(count);
      if (row->body_as_Feed() || row->body_as_Drain())
        ++count;
    }
  }
}
