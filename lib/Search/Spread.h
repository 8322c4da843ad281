//===- Spread.h - The same on more devices ----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_SPREAD_H
#define SOAP_LIB_SEARCH_SPREAD_H

#include "soap/Search/ConfigurationSpace.h"

namespace soap::detail {

/// How a strategy on devices 0 to span-1 is made one on span * factor devices:
/// every operation splits a loop `factor` times further.
struct Spread {
  int32_t span = 1, factor = 1; ///< Factor: a power of two.
  /// The first loop of this kind that has room is split, of attributes the
  /// largest. Reductions are not split.
  LoopKind kind = LoopKind::Sample;
  /// False: the strategy is repeated on devices span, 2 span, ..., each
  /// repetition with a contiguous part of the loop, so that what was together
  /// stays together. True: what was on device d is on devices factor * d,
  /// factor * d + 1, ..., which share its tiles.
  bool inside = false;
};

/// The configuration that a group with `config` gets. A loop with less room is
/// split as often as it can be, or not at all.
Configuration spread(const OperatorGraph &graph,
                     const ConfigurationSpace &space, int32_t group,
                     const Configuration &config, const Spread &how);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_SPREAD_H
