//===- Tree.cpp - Along a binary tree -------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Member 0 is the root, member m has the children 2m + 1 and 2m + 2. Whole
// tensors go down, and up before for an all-reduce.
//
//===----------------------------------------------------------------------===//

#include "Transport/Collective.h"

using namespace soap;
using namespace soap::runtime;

namespace {
class TreeCollective : public Collective {
public:
  TreeCollective(Channels &channels, HostCollectivePart parts)
      : Collective(channels, std::move(parts)) {
    for (uint32_t child : {2 * member_ + 1, 2 * member_ + 2})
      if (child < members_) {
        children_.push_back(child);
        connectTo(child);
      }
    if (member_ != 0)
      connectFrom(parent());
  }

protected:
  uint32_t parent() const { return (member_ - 1) / 2; }

  void down(const Span &whole) {
    if (member_ != 0) {
      expect(parent(), whole.data, whole.bytes);
      receivers_[parent()]->finish();
    }
    for (uint32_t child : children_)
      post(child, whole.data, whole.bytes);
    for (uint32_t child : children_)
      senders_[child]->finish();
  }

  std::vector<uint32_t> children_;
};

class TreeBroadcast final : public TreeCollective {
public:
  using TreeCollective::TreeCollective;
  void move() override {
    down(member_ == 0 ? part_.send[0] : part_.receive[0]);
  }
};

class TreeAllReduce final : public TreeCollective {
public:
  TreeAllReduce(Channels &channels, HostCollectivePart parts)
      : TreeCollective(channels, std::move(parts)) {
    order_.push_back(member_);
    for (uint32_t child : children_) {
      connectFrom(child);
      order_.push_back(child);
    }
    if (member_ != 0)
      connectTo(parent());
    reserveIncoming(order_, part_.receive[0].bytes);
  }

  void move() override {
    Span sum = part_.send[0];
    if (!children_.empty() || members_ == 1) {
      sum = part_.receive[0];
      join(order_, part_.send[0].data, sum.data, sum.bytes);
    }
    if (member_ != 0) {
      post(parent(), sum.data, sum.bytes);
      senders_[parent()]->finish();
    }
    down(part_.receive[0]);
  }

private:
  std::vector<uint32_t> order_; ///< This member, then its children.
};
} // namespace

std::unique_ptr<HostMove> runtime::makeTree(Channels &channels,
                                            HostCollectivePart part) {
  switch (part.kind) {
  case fb::CollectiveKind::Broadcast:
    return std::make_unique<TreeBroadcast>(channels, std::move(part));
  case fb::CollectiveKind::AllReduce:
    return std::make_unique<TreeAllReduce>(channels, std::move(part));
  case fb::CollectiveKind::AllGather:
  case fb::CollectiveKind::AllToAll:
  case fb::CollectiveKind::ReduceScatter:
    break;
  }
  return nullptr;
}
