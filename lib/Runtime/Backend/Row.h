//===- Row.h - What one row of a program does -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_BACKEND_ROW_H
#define SOAP_LIB_RUNTIME_BACKEND_ROW_H

#include "Types.h"
#include <memory>

namespace soap::runtime {

class Stream;

/// What the rows of a step need to know of it.
struct Step {
  uint32_t number = 0;  ///< From 1.
  uint32_t program = 0; ///< Which one of the model's.
  const void *const *inputs = nullptr;
  void *const *outputs = nullptr;
};

/// One communication of a step, as the counters report it.
struct Movement {
  soap_movement_kind kind = SOAP_TRANSFER;
  std::vector<int32_t> devices;
  std::vector<int64_t> bytes;
  /// Of a collective: which one it is in the step. Every member reports the
  /// bytes of its own, and 0 for the others.
  int64_t meeting = -1;
};

/// A row with all its addresses. It is made at load, and stays where it is for
/// as long as a stream may still run what it has enqueued.
class RowAction {
public:
  virtual ~RowAction() = default;
  /// Enqueues the commands of the row. What it enqueues in the Step phase does
  /// not depend on the step, so that it may be captured and replayed.
  virtual void enqueue(Stream &stream, const Step &step) = 0;
  /// True if it enqueues calls of the host.
  virtual bool callsHost() const { return false; }
  /// False if a graph may not have it, though it calls nothing of the host.
  virtual bool isCapturable() const { return true; }
  /// Bytes that this device copied or received in the last step. Like
  /// movements(), to be called when the stream has been synchronized.
  virtual uint64_t bytes() const { return 0; }
  /// Appends what the last step moved between devices, if this is the side that
  /// reports it.
  virtual void movements(std::vector<Movement> &result) const {}

  /// Bytes of host memory that the row needs beside buffers, while it runs:
  /// rows that run one after the other share them.
  virtual uint64_t ownBytes() const { return 0; }
  /// Gives it so many bytes, at a multiple of 64, before the first step.
  virtual void setOwnMemory(char *memory) {}
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_ROW_H
