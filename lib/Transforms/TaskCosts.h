//===- TaskCosts.h - Costs of tasks from their regions ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TRANSFORMS_TASKCOSTS_H
#define SOAP_LIB_TRANSFORMS_TASKCOSTS_H

#include "soap/CostModel/CostModel.h"
#include "soap/Dialect/NN/IR/PartitionInterface.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Partition/PartitionSpec.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace soap {

/// What the tasks of a partitioned function cost, without the strategy that
/// they come from: the sum over the operations of their regions.
class TaskCosts {
public:
  /// Finds out which dimensions are samples and which values are parameters,
  /// from task to task.
  TaskCosts(mlir::Block &block, const CostModel &costs);

  /// Time of one task on a kind of device, in nanoseconds.
  int64_t ns(soapir::TaskOp task, const DeviceKind &kind) const;

private:
  /// What is known of a value beyond a shard of it.
  struct Known {
    DimTraits traits;
    llvm::SmallVector<int64_t, 5> shape; ///< Of the whole.
  };
  using Operands = llvm::SmallVector<Known>;
  /// Tells `visit(op, operands)` the operations in the region of a task, in
  /// order; traits flow from operands to results. Returns what the task
  /// returns.
  template <typename Visit>
  Operands walk(soapir::TaskOp task, Visit visit) const;
  static llvm::SmallVector<DimTraits> traitsOf(const Operands &operands);
  /// Kinds of the loops of `op`, which has `spec`: as in the graph, those of
  /// the leader of its group (soap.group) where it runs along the leader's
  /// loops.
  llvm::SmallVector<LoopKind, 6> kindsOf(nn::PartitionOpInterface op,
                                         const PartitionSpec &spec,
                                         const Operands &operands) const;

  const CostModel &costs_;
  /// By the name of the value's node and the number of the result.
  llvm::DenseMap<std::pair<mlir::StringAttr, int64_t>, Known> values_;
  /// Of what leads groups: the kinds of its loops, by their names.
  llvm::StringMap<llvm::StringMap<LoopKind>> leaders_;
};

} // namespace soap

#endif // SOAP_LIB_TRANSFORMS_TASKCOSTS_H
