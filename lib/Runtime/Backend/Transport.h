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
  bool hasPriority = false; ///< It runs on the priority streams.
};

/// The processes that run a model together, as a transport sees them.
class Peers {
public:
  virtual ~Peers() = default;
  /// Throws the reason if steps cannot go on: a process is lost, or has said
  /// so. Any thread may call it, often.
  virtual void check() = 0;
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

  /// What moves data, for reports: the same in all processes.
  virtual std::string name() const { return "host"; }
  /// @{ When all rows are made: what this process tells the others, and
  /// connects to them when it knows what all have told, by rank. Where one of
  /// them fails, the others are told so, and throw too.
  virtual std::string introduction() const { return ""; }
  virtual void connect(const std::vector<std::string> &introductions) {}
  /// @}
};

/// Which of the machine's units a device of a model is to run on.
struct DevicePlace {
  uint32_t number = 0; ///< Of the device in the model.
  /// Its position among the devices that this process runs, and among those of
  /// all processes of this host.
  uint32_t inProcess = 0, onHost = 0;
  /// How many devices this process and this host run.
  uint32_t processDevices = 1, hostDevices = 1;
  /// How many devices of this host are to share a GPU, if the target has GPUs.
  uint32_t devicesPerGpu = 1;
};

/// What moves data between devices, where a backend has a choice.
enum class DeviceTransport { Auto, Host, Peer, Nccl };

/// The members of collectives, and whether they run on the priority streams.
struct CollectiveGroup {
  std::vector<uint32_t> members;
  bool hasPriority = false;

  bool operator==(const CollectiveGroup &other) const {
    return members == other.members && hasPriority == other.hasPriority;
  }
};

/// What a backend's own transport has to connect.
struct TransportOptions {
  /// Between the host memories of the devices; outlives the transport.
  Channels &channels;
  /// Links are to be slowed down, which channels do.
  bool isThrottled = false;
  DeviceTransport choice = DeviceTransport::Auto;
  /// Null if all devices are in this process. Outlives the transport.
  Peers *peers = nullptr;
  uint32_t devices = 0;            ///< Of all processes.
  std::vector<DevicePlace> places; ///< Of this process's devices.
  /// Of the collectives of all programs, in table order.
  std::vector<CollectiveGroup> groups;
  /// Between two devices, messages are received in the order in which they are
  /// sent, but for those of one row.
  bool messagesAreOrdered = true;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_TRANSPORT_H
