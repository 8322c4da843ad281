//===- LaunchPolicy.h - Where a launch order comes from ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch order is part of a strategy. It is written down by name, node by
// node, or made by a policy from everything else that the strategy says.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_LAUNCHPOLICY_H
#define SOAP_SEARCH_LAUNCHPOLICY_H

#include "soap/Search/Simulator.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace soap {

/// The names of the policies, for usage texts: "program", "fifo",
/// "critical-path".
llvm::ArrayRef<llvm::StringRef> launchPolicyNames();
bool isLaunchPolicy(llvm::StringRef name);

/// The order that a policy makes for the configurations of `strategy`:
/// "program" keeps the order that it has (empty: the graph's), the others do
/// not look at it. The strategy must be valid and `name` a policy.
std::vector<int32_t> launchOrder(llvm::StringRef name,
                                 const SearchProblem &problem,
                                 const Strategy &strategy);

/// Per node the longest way from its start to the end of the step, in
/// nanoseconds: its own time on its slowest device, and for every use of a
/// result the local reductions, actions and copies that the use waits for and
/// the way from there (the upward ranks of Topcuoglu et al., "Performance-
/// effective and low-complexity task scheduling", 2002, section 4.1; Yi et al.,
/// "Fast training of deep learning models over multiple GPUs", 2020, order by
/// them as well). Resources are free all the time. Nodes that do not compute
/// count 0 by themselves.
std::vector<int64_t> timeToEnd(const TaskGraph &tasks);

/// FIFO policy (the paper's Algorithm 1 on nodes): launches whichever node is
/// ready first; ties go to the lower position in the graph. Returns the order
/// for the strategy of `tasks`, which may be a change on trial that has all of
/// its plans. Its own order counts in so far as plans depend on it.
std::vector<int32_t> fifoOrder(const TaskGraph &tasks);
/// The order for the configurations of `strategy`, planned in graph order.
std::vector<int32_t> fifoOrder(const SearchProblem &problem,
                               const Strategy &strategy);

/// Critical path first: whenever a device has time, the node that can start
/// first is launched; among those that can start at the same time the one with
/// the longest way to the end, then the lower position in the graph.
std::vector<int32_t> criticalPathOrder(const TaskGraph &tasks);
std::vector<int32_t> criticalPathOrder(const SearchProblem &problem,
                                       const Strategy &strategy);

/// A launch order in which operands, and what GraphNode::after names, come
/// first: `add` is told every node that may come next, and `next` takes one of
/// those that were added. Inputs and outputs stand as keepPorts() puts them.
std::vector<int32_t> dependencyOrder(const OperatorGraph &graph,
                                     llvm::function_ref<void(int32_t)> add,
                                     llvm::function_ref<int32_t()> next);

/// Moves inputs to the front and outputs to the end of a launch order, each in
/// the graph's order: a model's inputs and outputs are numbered alike whatever
/// its launch order.
void keepPorts(std::vector<int32_t> &order, const OperatorGraph &graph);

/// The order that a list of names means. Nodes that carry no time may be left
/// out: they are launched right before their first user. Inputs and outputs
/// stand as keepPorts() puts them.
/// Errors: a name that no node has, twice the same, a compute node that is
/// missing; whether operands come first, verify() says.
llvm::Expected<std::vector<int32_t>>
orderOfNames(llvm::ArrayRef<llvm::StringRef> names, const OperatorGraph &graph);

/// The simulated step time of a strategy under every policy.
struct PolicyTime {
  llvm::StringRef policy;
  int64_t stepNs = 0;
};
llvm::SmallVector<PolicyTime, 3> simulatePolicies(const SearchProblem &problem,
                                                  const Strategy &strategy);

/// The names of nodes that are nearest to `name`, as a hint behind an error:
/// "; did you mean 'conv1' or 'conv10'?"; empty if none is near.
std::string nearestNodes(llvm::StringRef name, const OperatorGraph &graph);

} // namespace soap

#endif // SOAP_SEARCH_LAUNCHPOLICY_H
