//===- Copies.cpp - Rows that copy boxes ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Copies.h"
#include "soap/Testing/PlantedFault.h"
#include <cstring>

using namespace soap;
using namespace soap::runtime;

void StridedCopy::simplify() {
  // From the innermost dim outwards: a dim that continues its inner neighbour
  // (or the run) on both sides joins it.
  Shape e, f, t;
  for (size_t d = extents.size(); d-- > 0;) {
    if (extents[d] == 1)
      continue;
    auto length = static_cast<int64_t>(run);
    if (e.empty() && fromStrides[d] == length &&
        (toStrides[d] == length || SOAP_FAULT("copy-merged"))) {
      run *= static_cast<uint64_t>(extents[d]);
      continue;
    }
    if (!e.empty() && fromStrides[d] == f.back() * e.back() &&
        toStrides[d] == t.back() * e.back()) {
      e.back() *= extents[d];
      continue;
    }
    e.push_back(extents[d]);
    f.push_back(fromStrides[d]);
    t.push_back(toStrides[d]);
  }
  extents.assign(e.rbegin(), e.rend());
  fromStrides.assign(f.rbegin(), f.rend());
  toStrides.assign(t.rbegin(), t.rend());
}

uint64_t StridedCopy::bytes() const {
  uint64_t total = run;
  for (int64_t extent : extents)
    total *= static_cast<uint64_t>(extent);
  return total;
}

/// The innermost loop, with the length of a run as a constant where it is that
/// of an element (transposed and gathered tensors).
template <size_t size>
static void copyRuns(const char *from, char *to, int64_t count,
                     int64_t fromStride, int64_t toStride) {
  for (int64_t i = 0; i != count; ++i)
    std::memcpy(to + i * toStride, from + i * fromStride, size);
}

static void copyLoop(const StridedCopy &copy, size_t dim, const char *from,
                     char *to) {
  if (dim == copy.extents.size()) {
    std::memcpy(to, from, copy.run);
    return;
  }
  int64_t count = copy.extents[dim];
  int64_t fromStride = copy.fromStrides[dim], toStride = copy.toStrides[dim];
  if (dim + 1 == copy.extents.size()) {
    switch (copy.run) {
    case 1:
      return copyRuns<1>(from, to, count, fromStride, toStride);
    case 2:
      return copyRuns<2>(from, to, count, fromStride, toStride);
    case 4:
      return copyRuns<4>(from, to, count, fromStride, toStride);
    case 8:
      return copyRuns<8>(from, to, count, fromStride, toStride);
    default:
      for (int64_t i = 0; i != count; ++i)
        std::memcpy(to + i * toStride, from + i * fromStride, copy.run);
      return;
    }
  }
  for (int64_t i = 0; i != count; ++i)
    copyLoop(copy, dim + 1, from + i * fromStride, to + i * toStride);
}

void StridedCopy::execute(const char *source, char *target) const {
  for (int64_t extent : extents)
    if (extent == 0)
      return;
  if (run == 0)
    return;
  copyLoop(*this, 0, (from ? from : source) + fromOffset,
           (to ? to : target) + toOffset);
}

StridedCopy runtime::makeStrided(const fb::BoxCopy &box) {
  StridedCopy copy;
  copy.fromOffset = box.from_offset();
  copy.toOffset = box.to_offset();
  copy.run = box.run();
  copy.extents = toVector(box.extents());
  copy.fromStrides = toVector(box.from_strides());
  copy.toStrides = toVector(box.to_strides());
  copy.simplify();
  return copy;
}

namespace {
class CopyRow final : public RowAction {
public:
  CopyRow(const fb::Copy &row, const BufferAddress &address) {
    for (const auto *fill : items(row.fills())) {
      fills.push_back({address(fill->buffer()) + fill->offset(), fill->bytes(),
                       toVector(fill->pattern())});
      total += fill->bytes();
    }
    for (const auto *box : items(row.copies())) {
      StridedCopy copy = makeStrided(*box);
      copy.from = address(box->from());
      copy.to = address(box->to());
      total += copy.bytes();
      copies.push_back(std::move(copy));
    }
  }

  void run(const Step &) override {
    for (const Fill &fill : fills) {
      if (fill.pattern.empty()) {
        std::memset(fill.to, 0, fill.bytes);
        continue;
      }
      for (uint64_t i = 0; i < fill.bytes; i += fill.pattern.size())
        std::memcpy(fill.to + i, fill.pattern.data(), fill.pattern.size());
    }
    for (const StridedCopy &copy : copies)
      copy.execute(nullptr, nullptr);
  }
  uint64_t bytes() const override { return total; }

private:
  struct Fill {
    char *to;
    uint64_t bytes;
    std::vector<uint8_t> pattern;
  };
  std::vector<Fill> fills;
  std::vector<StridedCopy> copies;
  uint64_t total = 0;
};

/// A feed or a drain: each copy is one transfer from or to the host.
class HostRow final : public RowAction {
public:
  HostRow(uint32_t port, bool feed, uint32_t device)
      : port(port), feed(feed), device(static_cast<int32_t>(device)) {}

  void add(StridedCopy copy) {
    copies.push_back(std::move(copy));
    moved.push_back(0);
  }

  void run(const Step &step) override {
    const char *source =
        feed ? static_cast<const char *>(step.inputs[port]) : nullptr;
    char *target = feed ? nullptr : static_cast<char *>(step.outputs[port]);
    for (size_t i = 0; i != copies.size(); ++i) {
      moved[i] = 0;
      if (!source && !target)
        continue; // An output that nobody asked for.
      copies[i].execute(source, target);
      moved[i] = copies[i].bytes();
    }
  }

  uint64_t bytes() const override {
    uint64_t total = 0;
    for (uint64_t count : moved)
      total += count;
    return total;
  }

  void movements(std::vector<Movement> &result) const override {
    for (size_t i = 0; i != copies.size(); ++i) {
      std::vector<int32_t> ends = feed
                                      ? std::vector<int32_t>{SOAP_HOST, device}
                                      : std::vector<int32_t>{device, SOAP_HOST};
      result.push_back({SOAP_TRANSFER, ends, {static_cast<int64_t>(moved[i])}});
    }
  }

private:
  uint32_t port;
  bool feed;
  int32_t device;
  std::vector<StridedCopy> copies;
  std::vector<uint64_t> moved;
};
} // namespace

std::unique_ptr<RowAction> runtime::makeCopy(const fb::Copy &copy,
                                             const BufferAddress &address) {
  return std::make_unique<CopyRow>(copy, address);
}

std::unique_ptr<RowAction> runtime::makeFeed(const fb::Feed &feed,
                                             uint32_t device,
                                             const BufferAddress &address) {
  auto row = std::make_unique<HostRow>(feed.input(), true, device);
  for (const auto *box : items(feed.copies())) {
    StridedCopy copy = makeStrided(*box);
    copy.to = address(box->to());
    row->add(std::move(copy));
  }
  return row;
}

std::unique_ptr<RowAction> runtime::makeDrain(const fb::Drain &drain,
                                              uint32_t device,
                                              const BufferAddress &address) {
  auto row = std::make_unique<HostRow>(drain.output(), false, device);
  for (const auto *box : items(drain.copies())) {
    StridedCopy copy = makeStrided(*box);
    copy.from = address(box->from());
    row->add(std::move(copy));
  }
  return row;
}
