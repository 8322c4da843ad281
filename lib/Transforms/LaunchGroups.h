//===- LaunchGroups.h - What is launched together ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TRANSFORMS_LAUNCHGROUPS_H
#define SOAP_LIB_TRANSFORMS_LAUNCHGROUPS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace soap {

/// Operations of a partitioned function that stand together for one purpose:
/// the tasks of one node, the local reductions of one value, the copies of one
/// value for one purpose, or one action.
using LaunchGroup = llvm::SmallVector<mlir::Operation *>;

/// The launch groups of a step, in block order. Inputs, outputs, parameters,
/// feeds, drains and the copies for them are in none.
std::vector<LaunchGroup> launchGroupsOf(mlir::Block &block);

/// True for tasks of the strategy, as opposed to copies, actions and
/// reductions.
bool isNodeTask(mlir::Operation *op);
bool isCopy(mlir::Operation *op);
/// Whether a copy is made before the first step.
bool isMadeOnce(mlir::Operation *op);
/// True for copies that are made for a task of the strategy.
bool isUnpack(mlir::Operation *op);

} // namespace soap

#endif // SOAP_LIB_TRANSFORMS_LAUNCHGROUPS_H
