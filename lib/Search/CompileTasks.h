//===- CompileTasks.h - Flat arrays of one node or value --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_COMPILETASKS_H
#define SOAP_LIB_SEARCH_COMPILETASKS_H

#include "soap/Search/TaskGraph.h"

namespace soap::detail {

/// What the cost model wants to know about one task.
KernelQuery describeTask(const OperatorGraph &graph, int32_t node,
                         const Degrees &degrees, int64_t task,
                         const TaskWork &work);

struct CompileInput {
  const ValuePlan &plan;
  const Topology &topology;
  int64_t elementBytes;
  const NodeTasks &producer;
  bool producerComputes;
  struct Consumer {
    const NodeTasks *tasks; ///< Null for outputs of the graph.
  };
  llvm::ArrayRef<Consumer> consumers;
  llvm::ArrayRef<int32_t> launchOrder; ///< Consumers as they are launched.
};
ValueTasks compilePlan(const CompileInput &input);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_COMPILETASKS_H
