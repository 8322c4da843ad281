//===- WrittenBytes.cpp - What programs write -----------------------------===//
//------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/WrittenBytes.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

WrittenBytes::WrittenBytes(const fb::Device &device, Access access)
    : device_(device) {
  forEachRow(device, [&](const fb::Row *row) {
    access == Access::Write ? addWritesOf(*row) : addReadsOf(*row);
  });
}

void WrittenBytes::addReadsOf(const fb::Row &row) {
  if (const auto *launch = row.body_as_Launch())
    for (uint32_t buffer : items(launch->operands()))
      add(buffer);
  if (const auto *copy = row.body_as_Copy())
    for (const fb::BoxCopy *box : items(copy->copies()))
      add(box->from());
  if (const auto *exchange = row.body_as_Exchange())
    for (const fb::Message *message : items(exchange->sends()))
      add(message->data().buffer());
  if (const auto *collective = row.body_as_Collective())
    for (const fb::Extent *extent : items(collective->send()))
      add(extent->buffer());
  if (const auto *drain = row.body_as_Drain())
    for (const fb::BoxCopy *box : items(drain->copies()))
      add(box->from());
}

void WrittenBytes::addWritesOf(const fb::Row &row) {
  if (const auto *launch = row.body_as_Launch())
    for (uint32_t buffer : items(launch->results()))
      add(buffer);
  if (const auto *copy = row.body_as_Copy()) {
    for (const fb::BoxCopy *box : items(copy->copies()))
      add(box->to());
    for (const fb::Fill *fill : items(copy->fills()))
      add(fill->buffer());
  }
  if (const auto *exchange = row.body_as_Exchange())
    for (const fb::Message *message : items(exchange->receives()))
      add(message->data().buffer());
  if (const auto *collective = row.body_as_Collective())
    for (const fb::Extent *extent : items(collective->receive()))
      add(extent->buffer());
  if (const auto *feed = row.body_as_Feed())
    for (const fb::BoxCopy *box : items(feed->copies()))
      add(box->to());
}

void WrittenBytes::add(uint32_t buffer) {
  const fb::Buffer *bytes = device_.buffers()->Get(buffer);
  if (bytes->space() != fb::Space::Parameters || bytes->bytes() == 0)
    return;
  uint64_t lo = bytes->offset(), hi = lo + bytes->bytes();
  auto next = ranges_.upper_bound(lo);
  if (next != ranges_.begin() && std::prev(next)->second >= lo)
    --next;
  while (next != ranges_.end() && next->first <= hi) {
    lo = std::min(lo, next->first);
    hi = std::max(hi, next->second);
    next = ranges_.erase(next);
  }
  ranges_[lo] = hi;
}

bool WrittenBytes::overlaps(uint32_t buffer) const {
  const fb::Buffer *bytes = device_.buffers()->Get(buffer);
  if (bytes->space() != fb::Space::Parameters || bytes->bytes() == 0)
    return false;
  auto next = ranges_.lower_bound(bytes->offset() + bytes->bytes());
  return next != ranges_.begin() && std::prev(next)->second > bytes->offset();
}
