//===- RecomputationChoice.h - What to make again ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of training that does not fit into memory can make values of its
// forward pass again for the backward pass, in place of keeping them. Which
// ones: those that cost least time per byte (a greedy choice, as for the
// knapsack problem of Jain et al., "Checkmate: breaking the memory wall with
// optimal tensor rematerialization", 2020, who solve it exactly for one
// device).
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_RECOMPUTATIONCHOICE_H
#define SOAP_SEARCH_RECOMPUTATIONCHOICE_H

#include "soap/Search/Strategy.h"

namespace soap {

/// An operation of the forward pass, which can be made again.
struct ForwardOperation {
  int64_t ns = 0; ///< What it takes.
  /// Of its results, on the devices that are too small, when they hold most.
  int64_t heldBytes = 0;
  bool isRead = false;     ///< By the backward pass.
  bool isRepeated = false; ///< It is made again already.
  /// The forward operations that make what it reads, by number. They stand
  /// before it.
  llvm::SmallVector<int32_t, 4> operands;
};

/// Which operations to make again, beside those that are, so that devices hold
/// `bytes` less, ascending. What is kept is what the backward pass reads, and
/// what an operation that is made again reads; so with an operation whose
/// result is not to be kept, those that it depends on are made again, too, up
/// to what is kept. The cheapest per byte come first, and no more are chosen
/// than are needed. Less than `bytes` are saved if all that is held is not
/// enough; empty if nothing can be saved.
std::vector<int32_t>
chooseRecomputation(llvm::ArrayRef<ForwardOperation> forward, int64_t bytes);

/// A strategy of `from` for `to`, a graph that makes more or fewer values
/// again: nodes of the same name have the same configuration, others follow
/// their groups. A launch order is kept as far as `to` allows; what it does not
/// know stands right before its first reader.
Strategy transferStrategy(const OperatorGraph &from, const Strategy &strategy,
                          const OperatorGraph &to, const Topology &topology);

} // namespace soap

#endif // SOAP_SEARCH_RECOMPUTATIONCHOICE_H
