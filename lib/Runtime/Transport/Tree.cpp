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
    for (uint32_t child : {2 * member + 1, 2 * member + 2})
      if (child < members) {
        children.push_back(child);
        connectTo(child);
      }
    if (member != 0)
      connectFrom(parent());
  }

protected:
  uint32_t parent() const { return (member - 1) / 2; }

  void down(const Span &whole) {
    if (member != 0) {
      expect(parent(), whole.data, whole.bytes);
      receivers[parent()]->finish();
    }
    for (uint32_t child : children)
      post(child, whole.data, whole.bytes);
    for (uint32_t child : children)
      senders[child]->finish();
  }

  std::vector<uint32_t> children;
};

class TreeBroadcast final : public TreeCollective {
public:
  using TreeCollective::TreeCollective;
  void move() override { down(member == 0 ? part.send[0] : part.receive[0]); }
};

class TreeAllReduce final : public TreeCollective {
public:
  TreeAllReduce(Channels &channels, HostCollectivePart parts)
      : TreeCollective(channels, std::move(parts)) {
    order.push_back(member);
    for (uint32_t child : children) {
      connectFrom(child);
      order.push_back(child);
    }
    if (member != 0)
      connectTo(parent());
    reserveIncoming(order, part.receive[0].bytes);
  }

  void move() override {
    Span sum = part.send[0];
    if (!children.empty() || members == 1) {
      sum = part.receive[0];
      join(order, part.send[0].data, sum.data, sum.bytes);
    }
    if (member != 0) {
      post(parent(), sum.data, sum.bytes);
      senders[parent()]->finish();
    }
    down(part.receive[0]);
  }

private:
  std::vector<uint32_t> order; ///< This member, then its children.
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
