//===- SimulatorRecords.h - Who sees what is launched -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_SIMULATORRECORDS_H
#define SOAP_LIB_SEARCH_SIMULATORRECORDS_H

#include "TimeArrays.h"
#include "soap/Search/CompiledTasks.h"

namespace soap::detail {

/// On the fast path.
struct RecordNothing {
  void use(int32_t, int64_t) {}
  void useRow(int32_t, const int64_t *, size_t) {}
  void compute(llvm::ArrayRef<int32_t>, const int64_t *,
               llvm::ArrayRef<int64_t>) {}
  void copy(llvm::ArrayRef<int32_t>, const int64_t *, llvm::ArrayRef<int64_t>) {
  }
  void collective(llvm::ArrayRef<int32_t>, int64_t, int64_t) {}
  void transfers(const ActionTasks &, const int64_t *, const int64_t *) {}
};

/// Notes when resources are used first.
struct RecordUses : RecordNothing {
  int64_t *nextStarts = nullptr;
  void use(int32_t resource, int64_t start) {
    // Mostly it was used before: a store would cost more than the look.
    if (LLVM_UNLIKELY(start < nextStarts[resource]))
      nextStarts[resource] = start;
  }
  /// Of `count` resources from `first` on.
  void useRow(int32_t first, const int64_t *starts, size_t count) {
    lowerTo(nextStarts + first, starts, 0, count);
  }
};

/// Passes uses on, numbered as in SimulatorState::resources.
template <typename Record>
struct NumberedUses {
  Record &record;
  int32_t numEnds, firstPriority;
  void compute(int32_t device, int64_t start) { record.use(device, start); }
  void communication(int32_t device, int64_t start) {
    record.use(numEnds + device, start);
  }
  void priority(int32_t device, int64_t start) {
    record.use(firstPriority + device, start);
  }
  void link(int32_t resource, int64_t start) {
    record.use(2 * numEnds + resource, start);
  }
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_SIMULATORRECORDS_H
