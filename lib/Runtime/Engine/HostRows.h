//===- HostRows.h - Inputs and outputs of other processes -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 is the host of a run: it has all inputs and gets all outputs. What the
// feed and drain rows of other processes' devices move is packed on one side,
// in the order of the row's boxes, and unpacked on the other.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_HOSTROWS_H
#define SOAP_LIB_RUNTIME_ENGINE_HOSTROWS_H

#include "Engine/Copies.h"
#include "Process/Group.h"
#include "Transport/Staged.h"

namespace soap::runtime {

/// A feed or drain row of a device that is not in rank 0's process. A failure
/// abandons `channels`.
std::unique_ptr<RowAction> makeRemoteFeed(const fb::Feed &feed, uint32_t device,
                                          const BufferAddress &address,
                                          std::unique_ptr<Receiver> receiver,
                                          Channels &channels);
std::unique_ptr<RowAction> makeRemoteDrain(const fb::Drain &drain,
                                           uint32_t device,
                                           const BufferAddress &address,
                                           std::unique_ptr<Sender> sender,
                                           Channels &channels);

/// What rank 0 does for such a row.
class HostSide {
public:
  virtual ~HostSide() = default;
  /// Begins; does not wait for anybody.
  virtual void start(const Step &step) = 0;
  /// Waits until the inputs have left, or the outputs have come.
  virtual void finish(const Step &step) = 0;
  /// @{ What it needs from start() to finish().
  virtual uint64_t ownBytes() const = 0;
  virtual void setOwnMemory(char *memory) = 0;
  /// @}
};
std::unique_ptr<HostSide> makeFeedSource(const fb::Feed &feed,
                                         std::unique_ptr<Sender> sender);
std::unique_ptr<HostSide> makeDrainTarget(const fb::Drain &drain,
                                          std::unique_ptr<Receiver> receiver);

/// How feed and drain rows reach rank 0.
struct HostLinks {
  /// Null if all devices are in one process.
  Group *group = nullptr;
  uint64_t firstChannel = 0;
  /// Feed and drain rows before each row: [program][device][row].
  std::vector<std::vector<std::vector<uint32_t>>> numbers;
  uint32_t count = 0; ///< Of all of them.

  /// Numbers the rows of a model.
  void number(const fb::Model &model);
  uint64_t channelOf(uint32_t program, uint32_t device, uint32_t row) const {
    return firstChannel + numbers[program][device][row];
  }
  /// True if rows of this process move data to and from rank 0.
  bool areRemote() const { return group && group->rank() != 0; }
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_HOSTROWS_H
