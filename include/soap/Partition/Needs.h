//===- Needs.h - What a use of a value needs --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one rule from a use of a value to a need of its plan. The simulator and
// the partitioner both apply it: the one from a strategy, the other from IR.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PARTITION_NEEDS_H
#define SOAP_PARTITION_NEEDS_H

#include "soap/Partition/CommPlan.h"

namespace soap {

/// One operand of one operation, with the configuration of the operation.
struct ValueUse {
  const PartitionSpec &spec; ///< Of the operation that reads.
  unsigned operand = 0;
  const Degrees &degrees;
  llvm::ArrayRef<int32_t> devices; ///< One per task.
  /// The configuration lists the operand in `regather`.
  bool regather = false;
  /// The operation is an output of the graph. What it reads is drained by
  /// actions of its own, off the step, so it is always gathered again.
  bool isOutput = false;
  /// The value lies in memory before the step, as parameters and constants do:
  /// a use that is gathered again starts a round.
  bool isStored = false;
};

/// What `use` needs of a value of `shape`.
Need needOf(const ValueUse &use, llvm::ArrayRef<int64_t> shape);
/// The same in the memory of a need that there is.
void needOf(const ValueUse &use, llvm::ArrayRef<int64_t> shape, Need &need);

} // namespace soap

#endif // SOAP_PARTITION_NEEDS_H
