//===- Transport.h - Moves data between devices -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_TRANSPORT_TRANSPORT_H
#define SOAP_LIB_RUNTIME_TRANSPORT_TRANSPORT_H

#include "Engine/Row.h"

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

/// One member's part of a collective (extents as in Model.fbs).
struct CollectivePart {
  fb::CollectiveKind kind;
  uint32_t meeting = 0;
  uint32_t member = 0;
  std::vector<uint32_t> group;
  fb::Combine combine;
  fb::ElementType element;
  std::vector<Span> send, receive;
};

/// A way to move data. Rows are made before the first step, for all devices of
/// this process; they block the calling thread until their part is complete.
class Transport {
public:
  virtual ~Transport() = default;
  virtual std::unique_ptr<RowAction> makeExchange(ExchangePart part) = 0;
  virtual std::unique_ptr<RowAction> makeCollective(CollectivePart part) = 0;
};

/// Threads of one process: receivers copy from the sender's memory. Reductions
/// run in member order, each element once, so that all members get the same
/// bits. Throws SOAP_INVALID for a combination of type and combiner that has no
/// meaning. A wait looks `spins` times before it sleeps.
std::unique_ptr<Transport> makeLocalTransport(size_t channels,
                                              const std::vector<size_t> &groups,
                                              unsigned spins);

/// Joins `count` elements of all `sources`, in their order, into `target`,
/// which may be one of them.
void reduceElements(fb::Combine combine, fb::ElementType element, char *target,
                    const std::vector<const char *> &sources, uint64_t count);
/// True if reduceElements knows this type.
bool canReduce(fb::Combine combine, fb::ElementType element);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_TRANSPORT_TRANSPORT_H
