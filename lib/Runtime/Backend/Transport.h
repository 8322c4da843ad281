//===- Transport.h - Actions that move data between devices -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transport makes the rows by which devices exchange data. There are two
// kinds. One stages data through host memory, where host calls of the streams
// move it over channels (Transport/Staged.h). The other is a library of the
// devices that orders its actions by itself, as NCCL does: a backend brings it.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_BACKEND_TRANSPORT_H
#define SOAP_LIB_RUNTIME_BACKEND_TRANSPORT_H

#include "Backend/DeviceMemory.h"
#include "Backend/Row.h"

namespace soap::runtime {

class BackendDevice;
class Channels;

/// One device's side of a transfer; `channel` is shared with the other side and
/// used by no other transfer.
struct MessagePart {
  uint32_t channel = 0;
  uint32_t peer = 0;
  DeviceSpan span;
};

/// One device's side of a group of transfers.
struct ExchangePart {
  uint32_t device = 0;
  std::vector<MessagePart> sends, receives;
};

/// What a collective is, and which member this is (as in Model.fbs). `meeting`
/// numbers the collectives of a step. The channel from member i to member k is
/// firstChannel + i * group.size() + k; an algorithm opens those it needs.
struct CollectiveShape {
  fb::CollectiveKind kind = fb::CollectiveKind::Broadcast;
  fb::Algorithm algorithm = fb::Algorithm::Direct;
  uint32_t meeting = 0;
  uint32_t firstChannel = 0;
  uint32_t member = 0;
  std::vector<uint32_t> group;
  fb::Combine combine = fb::Combine::None;
  fb::ElementType element = fb::ElementType::F32;
};

/// One member's part of a collective.
struct CollectivePart {
  CollectiveShape shape;
  std::vector<DeviceSpan> send, receive;
};

/// Makes rows, before the first step. Members of an action enqueue it in the
/// order of their rows; an action ends on a member when its part is complete.
class Transport {
public:
  virtual ~Transport() = default;

  /// A group of transfers: posts all, then waits for all.
  virtual std::unique_ptr<RowAction> makeExchange(BackendDevice &device,
                                                  ExchangePart part) = 0;
  /// Throws SOAP_INVALID for a combination of type and combiner that has no
  /// meaning.
  virtual std::unique_ptr<RowAction> makeCollective(BackendDevice &device,
                                                    CollectivePart part) = 0;
  /// Says that a step cannot go on, from any thread: all actions, now and
  /// later, fail with the first reason.
  virtual void abandon(const std::string &reason) = 0;
};

/// What a backend's own transport has to connect.
struct TransportOptions {
  /// Between the host memories of the devices; outlives the transport.
  Channels &channels;
  /// All devices are in this process.
  bool isLocal = true;
  /// Links are to be slowed down, which channels do.
  bool isThrottled = false;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_TRANSPORT_H
