//===- Communication.h - Rows that move data between devices ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exchanges and collectives over channels. Rows are made before the first step
// and block the calling thread until their part is complete.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_TRANSPORT_COMMUNICATION_H
#define SOAP_LIB_RUNTIME_TRANSPORT_COMMUNICATION_H

#include "Engine/Row.h"
#include "Transport/Channel.h"

namespace soap::runtime {

/// A range of device memory.
struct Span {
  char *data = nullptr;
  uint64_t bytes = 0;
};

/// One device's side of a transfer; `channel` is shared with the other side.
struct MessagePart {
  uint32_t channel = 0;
  uint32_t peer = 0;
  Span span;
};

struct ExchangePart {
  uint32_t device = 0;
  std::vector<MessagePart> sends, receives;
};

/// One member's part of a collective (extents as in Model.fbs). The channel
/// from member i to member k is firstChannel + i * group.size() + k; an
/// algorithm opens those it needs.
struct CollectivePart {
  fb::CollectiveKind kind;
  fb::Algorithm algorithm;
  uint32_t meeting = 0;
  uint32_t firstChannel = 0;
  uint32_t member = 0;
  std::vector<uint32_t> group;
  fb::Combine combine;
  fb::ElementType element;
  std::vector<Span> send, receive;
};

/// A group of transfers: posts all, then waits for all.
std::unique_ptr<RowAction> makeExchange(Transport &transport,
                                        ExchangePart part);

/// Throws SOAP_INVALID for a combination of type and combiner that has no
/// meaning.
std::unique_ptr<RowAction> makeCollective(Transport &transport,
                                          CollectivePart part);

/// Joins `count` elements of all `sources`, in their order, into `target`,
/// which may be one of them.
void reduceElements(fb::Combine combine, fb::ElementType element, char *target,
                    const std::vector<const char *> &sources, uint64_t count);
/// True if reduceElements knows this type.
bool canReduce(fb::Combine combine, fb::ElementType element);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_TRANSPORT_COMMUNICATION_H
