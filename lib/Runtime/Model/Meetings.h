//===- Meetings.h - Which rows of which devices meet ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MODEL_MEETINGS_H
#define SOAP_LIB_RUNTIME_MODEL_MEETINGS_H

#include "Types.h"

namespace soap::runtime {

/// The static match of all communication in the programs: every message belongs
/// to one channel (a send and its receive), every collective row to one
/// meeting. No two programs have a channel or a meeting in common.
struct Meetings {
  struct Channel {
    uint32_t source = 0, target = 0;
    uint64_t bytes = 0;
  };
  struct Meeting {
    std::vector<uint32_t> group;
    bool hasPriority = false; ///< Its rows are on the priority streams.
    /// The channel from member i to member k is firstChannel + i * n + k.
    uint32_t firstChannel = 0;
  };
  /// What a row takes part in; empty for rows that do not communicate.
  struct RowLinks {
    std::vector<uint32_t> sends, receives; ///< Channels, in the row's order.
    uint32_t meeting = 0;
  };

  std::vector<Channel> channels;
  std::vector<Meeting> meetings;
  /// [program][device][row]
  std::vector<std::vector<std::vector<RowLinks>>> rows;
  /// Between two devices, messages are received in the order in which they are
  /// sent, but for those of one row.
  bool messagesAreOrdered = true;
  /// All channels have numbers below: those of messages, then of meetings.
  uint32_t channelCount = 0;
};

/// Matches the rows of a checked table. Throws SOAP_INVALID if a message or a
/// collective lacks a partner that agrees with it, or if the devices would wait
/// for each other in a circle (found by running them abstractly).
Meetings matchRows(const fb::Model &model);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_MODEL_MEETINGS_H
