//===- DrawnChange.h - A change that is drawn at random ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_DRAWNCHANGE_H
#define SOAP_LIB_SEARCH_DRAWNCHANGE_H

#include "Change.h"
#include <cmath>

namespace soap::detail {

/// A change, with the draws that several kinds of proposals share.
class DrawnChange : public Change {
public:
  DrawnChange(const ProposalContext &context, Strategy &strategy,
              Random &random, Edit &edit)
      : Change(context, strategy, edit), topology_(context.topology),
        random_(random) {}

  const Topology &topology() const { return topology_; }
  Random &random() { return random_; }

  /// From one to all, every order of magnitude with the same probability.
  size_t anyLength(size_t all) {
    double length =
        std::exp(random_.uniform() * std::log(static_cast<double>(all) + 1));
    return std::min(static_cast<size_t>(length), all);
  }

  /// A grid; one in two splits a single loop, as most good ones do. Now and
  /// then any configuration, or a grid with its devices in any order: unequal
  /// devices want other sets than rows.
  Configuration sampleGrid(int32_t group) {
    uint64_t unusual = random_.below(16);
    if (unusual == 0)
      return space().sample(group, random_);
    Configuration config = random_.below(2) == 0
                               ? space().sampleSimple(group, random_)
                               : space().sampleStructured(group, random_);
    if (unusual == 1) {
      llvm::MutableArrayRef<int32_t> devices = config.devices.edit();
      for (size_t i = devices.size(); i > 1; --i)
        std::swap(devices[i - 1], devices[random_.below(i)]);
    }
    return config;
  }

private:
  const Topology &topology_;

protected:
  Random &random_;
};

/// Puts a stretch of the graph around the group at place `index` of the space
/// on parts of the machine of equal size: operations that do not depend on each
/// other can run side by side.
void proposeLanes(DrawnChange &change, const ProposalTables &tables,
                  size_t index);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_DRAWNCHANGE_H
