//===- NodeChoices.h - What a bound knows of a node -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The degrees that a node may have and what its tasks then cost, at least.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_NODECHOICES_H
#define SOAP_LIB_SEARCH_NODECHOICES_H

#include "DegreesCosts.h"
#include "soap/Search/ConfigurationSpace.h"
#include <map>
#include <memory>

namespace soap::detail {

/// One vector of degrees, without copies: they add work and shorten no task.
/// Times are those of the kind of device that is fastest for the task.
struct Choice {
  Degrees degrees;
  llvm::SmallVector<uint8_t, 6> index; ///< Per loop, into NodeChoices::degrees.
  int64_t workNs = 0;                  ///< Sum over the tasks.
  int64_t shortestNs = 0, longestNs = 0;
  int64_t lastNs = 0; ///< Of the task that is last along every loop.
};

struct NodeChoices {
  std::vector<Choice> choices;
  /// The degrees that choices have, per loop, ascending.
  std::vector<llvm::SmallVector<int32_t, 8>> degrees;
};

/// Makes the choices of nodes. Nodes with equal specs and kernels share them.
class ChoiceMaker {
public:
  ChoiceMaker(const SearchProblem &problem, int32_t maxTasks);

  /// Of a compute node.
  std::shared_ptr<const NodeChoices> make(int32_t node);

private:
  Choice price(int32_t node, Degrees degrees) const;

  SearchProblem problem_;
  ConfigurationSpace space_;
  int32_t maxTasks_;
  std::vector<bool> hasKind_;    ///< Per kind: is there such a device?
  std::vector<int32_t> extents_; ///< Of loops with at most maxTasks_ units.
  std::map<std::string, std::shared_ptr<const NodeChoices>> known_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_NODECHOICES_H
