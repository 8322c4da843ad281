//===- Collective.cpp - One member of a collective ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/Collective.h"
#include "Backend/HostMemory.h"
#include <algorithm>
#include <cassert>
#include <cstring>

using namespace soap;
using namespace soap::runtime;

Collective::Collective(Channels &channels, HostCollectivePart parts)
    : part_(std::move(parts)),
      members_(static_cast<uint32_t>(part_.group.size())),
      member_(part_.member), senders_(members_), receivers_(members_),
      channels_(channels), elementBytes_(elementSize(part_.element)) {}

void Collective::connectTo(uint32_t other) {
  senders_[other] =
      channels_.makeSender(part_.firstChannel + member_ * members_ + other,
                           part_.group[member_], part_.group[other]);
}

void Collective::connectFrom(uint32_t other) {
  receivers_[other] =
      channels_.makeReceiver(part_.firstChannel + other * members_ + member_,
                             part_.group[other], part_.group[member_]);
}

void Collective::connectAll() {
  for (uint32_t m = 0; m != members_; ++m)
    if (m != member_) {
      connectTo(m);
      connectFrom(m);
    }
}

uint64_t Collective::bytes() const {
  uint64_t total = 0;
  for (const Span &span : part_.receive)
    total += span.bytes;
  return total;
}

void Collective::movements(std::vector<Movement> &result) const {
  result.push_back(movementOf(part_, put_));
}

void Collective::place(const std::vector<char *> &sends,
                       const std::vector<char *> &receives) {
  assert(sends.size() == part_.send.size() &&
         receives.size() == part_.receive.size() && "a place per span");
  for (size_t i = 0; i != part_.send.size(); ++i)
    part_.send[i].data = sends[i];
  for (size_t i = 0; i != part_.receive.size(); ++i)
    part_.receive[i].data = receives[i];
}

Span Collective::slice(const Span &whole, uint32_t i) const {
  uint64_t elements = count(whole.bytes);
  uint64_t begin = elements * i / members_, end = elements * (i + 1) / members_;
  // Before place(), spans have lengths alone.
  char *data = whole.data ? whole.data + begin * elementBytes_ : nullptr;
  return {data, (end - begin) * elementBytes_};
}

uint64_t Collective::reserve(uint64_t bytes) {
  uint64_t offset = reserved_;
  reserved_ += wholeLines(bytes);
  return offset;
}

void Collective::reserveIncoming(const std::vector<uint32_t> &sources,
                                 uint64_t bytes) {
  addresses_.reserve(sources.size() + 1);
  targets_.reserve(sources.size() + 1);
  incomingBytes_ = wholeLines(bytes);
  auto far = std::count_if(sources.begin(), sources.end(), [&](uint32_t m) {
    return m != member_ && !receivers_[m]->sharesMemory();
  });
  incoming_ = reserve(static_cast<uint64_t>(far) * incomingBytes_);
}

bool Collective::sharesMemory() const {
  return std::all_of(receivers_.begin(), receivers_.end(),
                     [](const std::unique_ptr<Receiver> &receiver) {
                       return !receiver || receiver->sharesMemory();
                     });
}

void Collective::join(const std::vector<uint32_t> &order, const char *mine,
                      char *target, uint64_t bytes) {
  if (!bytes)
    return;
  // All are posted before the first is waited for.
  char *place = ownMemory(incoming_);
  for (uint32_t m : order)
    if (m != member_ && !receivers_[m]->sharesMemory()) {
      receivers_[m]->post(place, bytes);
      place += incomingBytes_;
    }
  addresses_.clear();
  targets_.assign(1, target);
  place = ownMemory(incoming_);
  for (uint32_t m : order) {
    if (m == member_) {
      addresses_.push_back(mine);
    } else if (receivers_[m]->sharesMemory()) {
      addresses_.push_back(receivers_[m]->view(bytes));
      if (char *room = receivers_[m]->room())
        targets_.push_back(room);
    } else {
      receivers_[m]->finish();
      addresses_.push_back(place);
      place += incomingBytes_;
    }
  }
  reduceElements(part_.combine, part_.element, targets_, addresses_,
                 count(bytes));
  for (uint32_t m : order)
    if (m != member_ && receivers_[m]->sharesMemory())
      receivers_[m]->release();
}

void Collective::copy(const Span &from, const Span &to) {
  if (from.data != to.data && to.bytes)
    std::memcpy(to.data, from.data, to.bytes);
}

Movement runtime::movementOf(const CollectiveShape &shape, int64_t put) {
  static constexpr soap_movement_kind kinds[] = {
      SOAP_BROADCAST, SOAP_ALL_GATHER, SOAP_ALL_TO_ALL, SOAP_ALL_REDUCE,
      SOAP_REDUCE_SCATTER};
  Movement moved{kinds[static_cast<int>(shape.kind)],
                 {shape.group.begin(), shape.group.end()},
                 std::vector<int64_t>(shape.group.size(), 0)};
  moved.bytes[shape.member] = put;
  moved.meeting = shape.meeting;
  return moved;
}

void runtime::checkReduction(const CollectiveShape &shape) {
  bool reduces = shape.kind == fb::CollectiveKind::AllReduce ||
                 shape.kind == fb::CollectiveKind::ReduceScatter;
  if (reduces && !canReduce(shape.combine, shape.element))
    invalid("expected a reduction that the runtime knows, got: ",
            fb::EnumNameCombine(shape.combine), " of ",
            elementName(shape.element), "; compile with another strategy");
}

std::unique_ptr<HostMove>
runtime::makeHostCollective(Channels &channels, const CollectivePart &part) {
  checkReduction(part.shape);
  HostCollectivePart host{part.shape, {}, {}};
  for (const DeviceSpan &span : part.send)
    host.send.push_back({nullptr, span.bytes});
  for (const DeviceSpan &span : part.receive)
    host.receive.push_back({nullptr, span.bytes});
  switch (host.algorithm) {
  case fb::Algorithm::Direct:
    return makeDirect(channels, std::move(host));
  case fb::Algorithm::Ring:
    return makeRing(channels, std::move(host));
  case fb::Algorithm::Tree:
    return makeTree(channels, std::move(host));
  }
  return nullptr;
}
