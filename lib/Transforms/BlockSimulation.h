//===- BlockSimulation.h - A simulation of partitioned IR -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TRANSFORMS_BLOCKSIMULATION_H
#define SOAP_LIB_TRANSFORMS_BLOCKSIMULATION_H

#include "LaunchGroups.h"
#include "TaskCosts.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Search/Timeline.h"
#include "soap/Transforms/ScheduleSimulation.h"

namespace soap {

/// Launches groups of operations one after the other. All times are in
/// nanoseconds since the start of the step.
class BlockSimulation {
public:
  /// With a task graph, costs are those of its nodes, else of `costs`.
  BlockSimulation(const Topology &topology, const TaskGraph *tasks,
                  const TaskCosts *costs)
      : tasks_(tasks), costs_(costs), topology_(topology),
        resources_(Timeline::size(topology_), 0),
        timeline_(Timeline::of(resources_, topology_)) {
    assert((tasks || costs) && "costs of tasks come from somewhere");
  }

  BlockSimulation(const BlockSimulation &) = delete;

  /// Launches all groups of a block.
  mlir::FailureOr<ScheduleTimes> run(mlir::Block &block);
  /// Launches a group behind all that was launched before. Emits an error if
  /// the cost of a task is not known.
  llvm::LogicalResult launch(llvm::ArrayRef<mlir::Operation *> group);

  /// When the last resource is free.
  int64_t stepNs() const;
  /// When a shard is there; 0 if nothing made it yet.
  int64_t readyTime(mlir::Value shard) const { return ready_.lookup(shard); }
  /// When the compute stream of a device is free.
  int64_t computeTime(int32_t device) const {
    return timeline_.compute[device];
  }

private:
  int32_t deviceOf(mlir::Value shard) const;
  mlir::FailureOr<int64_t> costOf(mlir::Operation *op, int32_t device) const;
  /// One action, or the reductions of one bucket.
  llvm::LogicalResult communicate(llvm::ArrayRef<mlir::Operation *> group);
  llvm::LogicalResult collective(llvm::ArrayRef<mlir::Operation *> ops);
  int64_t pack(soapir::CommunicationOpInterface op,
               llvm::ArrayRef<MemberCopies> copies);
  void transfers(soapir::CommunicationOpInterface op);

  const TaskGraph *tasks_;
  const TaskCosts *costs_;
  const Topology &topology_;
  std::vector<int64_t> resources_; ///< That timeline_ refers to.
  Timeline timeline_;
  llvm::DenseMap<mlir::Value, int64_t> ready_;
  ScheduleTimes times_;
};

} // namespace soap

#endif // SOAP_LIB_TRANSFORMS_BLOCKSIMULATION_H
