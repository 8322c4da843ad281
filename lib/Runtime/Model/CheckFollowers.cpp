//===- CheckFollowers.cpp - Checks what follows kernels -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Followers.h"
#include "Model/Checker.h"
#include <set>

using namespace soap;
using namespace soap::runtime;

void Checker::followers(const fb::Kernel *kernel) {
  auto all = items(kernel->followers());
  if (all.size() == 0)
    return;
  constexpr uint32_t mostFollowers = 32;
  if (!canHaveFollowers(*kernel) || all.size() > mostFollowers)
    bad(all.size(), " followers of ", fb::EnumNameKernelOp(kernel->op_type()));
  for (const fb::Follower *follower : all)
    kind(follower->kind(), fb::FollowerKind::MAX);
  auto operands = items(kernel->operands());
  const fb::TensorType &result = *items(kernel->results())[0];
  Shape shape = toVector(result.shape());
  size_t own = followerOperands(*kernel);
  own = operands.size() - std::min<size_t>(own, operands.size());
  // Products of bf16 have results of bf16, too.
  auto isFollowed = [&](fb::ElementType element) {
    return element == fb::ElementType::F32 ||
           (element == fb::ElementType::BF16 &&
            operands[0]->element() == fb::ElementType::BF16);
  };
  if (own < 2 || !isFollowed(result.element()) ||
      shape.size() <= channelDimOf(*kernel))
    bad("followers of ", own, " operands and a result of ",
        elementName(result.element()), " ", toString(shape));
  std::set<uint32_t> taken;
  uint32_t inPlace = 0;
  for (const fb::Follower *follower : all) {
    if (!hasOperand(follower->kind()))
      continue;
    if (follower->operand() < own || follower->operand() >= operands.size() ||
        !taken.insert(follower->operand()).second)
      bad("a follower of operand ", follower->operand(), " of ",
          operands.size());
    const fb::TensorType &type = *operands[follower->operand()];
    Shape extents = toVector(type.shape());
    int64_t count = elementCount(extents);
    bool isWhole = extents == shape;
    if (!isFollowed(type.element()) ||
        (follower->in_place() && type.element() != result.element()) ||
        (isWhole && type.order() != result.order()) ||
        (!isWhole && count != 1 && count != shape[channelDimOf(*kernel)]))
      bad("a follower of ", elementName(type.element()), " ", toString(extents),
          " behind ", toString(shape));
    if (!follower->in_place())
      continue;
    if (++inPlace > 1 || !isWhole || follower != all[0] ||
        follower->kind() != fb::FollowerKind::Add)
      bad("a follower in place that is not the first, or no sum of two of ",
          toString(shape));
  }
}

void Checker::places(const fb::Launch *launch, const fb::Kernel *kernel) {
  auto bytesOf = [&](uint32_t index) { return *buffer(index); };
  auto overlap = [](const fb::Buffer &a, const fb::Buffer &b) {
    return a.space() == b.space() && a.offset() < b.offset() + b.bytes() &&
           b.offset() < a.offset() + a.bytes();
  };
  for (const fb::Follower *follower : items(kernel->followers())) {
    if (!follower->in_place())
      continue;
    fb::Buffer result = bytesOf(launch->results()->Get(0));
    fb::Buffer place = bytesOf(launch->operands()->Get(follower->operand()));
    if (place.space() != result.space() || place.offset() != result.offset())
      bad("a result that is not in the place of operand ", follower->operand());
    for (uint32_t i = 0; i != launch->operands()->size(); ++i)
      if (i != follower->operand() &&
          overlap(bytesOf(launch->operands()->Get(i)), result))
        bad("a result that overwrites operand ", i);
  }
}
