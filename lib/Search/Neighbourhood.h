//===- Neighbourhood.h - Strategies with one other decision -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_NEIGHBOURHOOD_H
#define SOAP_LIB_SEARCH_NEIGHBOURHOOD_H

#include "StrategyWalk.h"

namespace soap::detail {

/// The neighbours of a strategy: those in which one group of operations has
/// another configuration, or one update of a parameter lives elsewhere, in the
/// same launch order.
///
/// A group that has up to `mostOfGroup` configurations takes all of them: that
/// is so on up to four devices, mostly. Else it takes all degrees on devices
/// that follow each other, from any device on; and its own degrees with one
/// task on another device, or two tasks exchanged. An update follows its group,
/// is sharded, or is on one device.
class Neighbourhood {
public:
  static constexpr double mostOfGroup = 50000;

  Neighbourhood(const SearchProblem &problem, const ConfigurationSpace &space)
      : problem_(problem), space_(space) {}

  bool isComplete(int32_t group) const {
    return space_.size(group) <= mostOfGroup;
  }

  /// What is changed, and to what.
  struct Neighbour {
    int32_t group = -1, update = -1; ///< One of the two.
    Configuration config;
  };
  /// Calls `visit` with every neighbour of the strategy, and the strategy's own
  /// configurations, until it returns false.
  void forEach(const Strategy &strategy,
               llvm::function_ref<bool(const Neighbour &)> visit) const;

private:
  bool forEachOfGroup(const Strategy &strategy, int32_t group,
                      llvm::function_ref<bool(const Neighbour &)> visit) const;
  bool forEachInRows(int32_t group,
                     llvm::function_ref<bool(const Neighbour &)> visit) const;
  bool forEachOfUpdate(const Strategy &strategy, int32_t update,
                       llvm::function_ref<bool(const Neighbour &)> visit) const;

  const SearchProblem &problem_;
  const ConfigurationSpace &space_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_NEIGHBOURHOOD_H
