//===- Copies.cpp - Rows that copy boxes ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Copies.h"

using namespace soap;
using namespace soap::runtime;

namespace {
class CopyRow final : public RowAction {
public:
  CopyRow(const fb::Copy &row, const BufferAddress &address) {
    for (const auto *fill : items(row.fills())) {
      fills_.push_back({address(fill->buffer()) + fill->offset(), fill->bytes(),
                        toVector(fill->pattern())});
      bytes_ += fill->bytes();
    }
    for (const auto *box : items(row.copies())) {
      copies_.push_back(
          {makeStrided(*box), address(box->from()), address(box->to())});
      bytes_ += copies_.back().box.bytes();
    }
  }

  void enqueue(Stream &stream, const Step &) override {
    for (const Fill &fill : fills_)
      stream.fill(fill.to, fill.bytes, fill.pattern);
    for (const Copy &copy : copies_)
      stream.copy(copy.box, copy.from, copy.to);
  }
  uint64_t bytes() const override { return bytes_; }

private:
  struct Fill {
    DevicePointer to;
    uint64_t bytes;
    std::vector<uint8_t> pattern;
  };
  struct Copy {
    StridedCopy box;
    DevicePointer from, to;
  };
  std::vector<Fill> fills_;
  std::vector<Copy> copies_;
  uint64_t bytes_ = 0;
};

/// A feed or a drain: each copy is one transfer from or to the host.
class HostRow final : public RowAction {
public:
  HostRow(uint32_t port, bool feed, uint32_t device)
      : port_(port), feed_(feed), device_(static_cast<int32_t>(device)) {}

  void add(StridedCopy box, DevicePointer place) {
    boxes_.push_back({std::move(box), place});
    moved_.push_back(0);
  }

  void enqueue(Stream &stream, const Step &step) override {
    const char *source =
        feed_ ? static_cast<const char *>(step.inputs[port_]) : nullptr;
    char *target = feed_ ? nullptr : static_cast<char *>(step.outputs[port_]);
    for (size_t i = 0; i != boxes_.size(); ++i) {
      const auto &[box, place] = boxes_[i];
      moved_[i] = 0;
      if (!source && !target)
        continue; // An output that nobody asked for.
      if (feed_)
        stream.copyFromHost(box, source, place);
      else
        stream.copyToHost(box, place, target);
      moved_[i] = box.bytes();
    }
  }

  uint64_t bytes() const override {
    uint64_t total = 0;
    for (uint64_t count : moved_)
      total += count;
    return total;
  }

  void movements(std::vector<Movement> &result) const override {
    for (size_t i = 0; i != boxes_.size(); ++i) {
      std::vector<int32_t> ends =
          feed_ ? std::vector<int32_t>{SOAP_HOST, device_}
                : std::vector<int32_t>{device_, SOAP_HOST};
      result.push_back(
          {SOAP_TRANSFER, ends, {static_cast<int64_t>(moved_[i])}});
    }
  }

private:
  uint32_t port_;
  bool feed_;
  int32_t device_;
  std::vector<std::pair<StridedCopy, DevicePointer>> boxes_;
  std::vector<uint64_t> moved_;
};
} // namespace

std::unique_ptr<RowAction> runtime::makeCopy(const fb::Copy &copy,
                                             const BufferAddress &address) {
  return std::make_unique<CopyRow>(copy, address);
}

std::unique_ptr<RowAction> runtime::makeFeed(const fb::Feed &feed,
                                             uint32_t device,
                                             const BufferAddress &address) {
  auto row = std::make_unique<HostRow>(feed.input(), /*feeds=*/true, device);
  for (const auto *box : items(feed.copies()))
    row->add(makeStrided(*box), address(box->to()));
  return row;
}

std::unique_ptr<RowAction> runtime::makeDrain(const fb::Drain &drain,
                                              uint32_t device,
                                              const BufferAddress &address) {
  auto row = std::make_unique<HostRow>(drain.output(), /*feeds=*/false, device);
  for (const auto *box : items(drain.copies()))
    row->add(makeStrided(*box), address(box->from()));
  return row;
}
