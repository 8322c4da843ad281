//===- KernelDescription.h - What a task is to the cost model ---*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_KERNELDESCRIPTION_H
#define SOAP_SEARCH_KERNELDESCRIPTION_H

#include "soap/CostModel/CostModel.h"
#include "soap/Search/Strategy.h"
#include <map>

namespace soap {

/// What one task touches. Boxes have the rank of their value; empty: not read.
struct KernelAccess {
  const PartitionSpec &spec;
  llvm::ArrayRef<LoopKind> kinds; ///< Per loop of the spec.
  Tile tile;
  llvm::SmallVector<Box, 4> operands;
  llvm::SmallVector<Box, 2> results;
  llvm::SmallVector<int32_t, 4> operandBytes; ///< Bytes of an element.
  llvm::SmallVector<int32_t, 2> resultBytes;
};

/// What the cost model wants to know about the task: traffic, and the matrix
/// product that a contraction is. The key of the result is that of `work`,
/// which must outlive it.
KernelQuery describeKernel(const KernelAccess &access, const TaskWork &work);

/// The work of all kernels that the tasks of a strategy launch, by key. Views
/// are none, nor are tasks that the library applies behind another one's kernel
/// (GraphNode::followedOperand).
std::map<std::string, KernelWork> kernelsOf(const OperatorGraph &graph,
                                            const Strategy &strategy);

} // namespace soap

#endif // SOAP_SEARCH_KERNELDESCRIPTION_H
