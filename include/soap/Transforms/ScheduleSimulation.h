//===- ScheduleSimulation.h - Simulate partitioned IR -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times of soap operations in the order of their block, with the semantics of
// the simulator (docs/Search.md) but read off the IR: which copies are packs
// and unpacks, which tasks form a launch group and what waits for what. It has
// to find the times of the task graph that the IR was made from.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRANSFORMS_SCHEDULESIMULATION_H
#define SOAP_TRANSFORMS_SCHEDULESIMULATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Search/TaskGraph.h"
#include "llvm/ADT/DenseMap.h"

namespace soap {

/// Start and end of an operation in nanoseconds; of a communication, when the
/// last of its members starts and ends.
struct ScheduledTime {
  int64_t start = 0, end = 0;
};

struct ScheduleTimes {
  int64_t stepNs = 0;
  llvm::DenseMap<mlir::Operation *, ScheduledTime> ops;
};

/// Simulates one step of a function that soap-partition made. The costs of
/// tasks are those of `tasks`, the task graph of the strategy that was
/// partitioned. Emits an error if the function has a task that the task graph
/// does not know.
mlir::FailureOr<ScheduleTimes> simulateSchedule(mlir::func::FuncOp main,
                                                const TaskGraph &tasks);

/// The same without a strategy, for tasks that were edited: costs follow from
/// the operations in their regions. The task graph takes tiles of equal shape
/// for equal; here every task has a cost of its own.
mlir::FailureOr<ScheduleTimes> simulateSchedule(mlir::func::FuncOp main,
                                                const Topology &topology,
                                                const CostModel &costs);

/// The launch order of the nodes of a partitioned function that policy "fifo"
/// or "critical-path" chooses (soap/Search/LaunchPolicy.h), from tasks alone.
/// The function must be in the order of soapir::writeLaunchOrder(), which also
/// writes the result.
mlir::FailureOr<llvm::SmallVector<llvm::StringRef>>
chooseTaskOrder(mlir::func::FuncOp main, const Topology &topology,
                const CostModel &costs, llvm::StringRef policy);

/// Sets `soap.start` and `soap.end` (nanoseconds) on the operations of a step.
void writeTimes(const ScheduleTimes &times);

} // namespace soap

#endif // SOAP_TRANSFORMS_SCHEDULESIMULATION_H
