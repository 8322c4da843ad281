//===- PlacementBlocks.h - Operations that are placed together --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_PLACEMENTBLOCKS_H
#define SOAP_LIB_SEARCH_PLACEMENTBLOCKS_H

#include "soap/Search/SearchProblem.h"

namespace soap::detail {

/// Blocks of groups of operations that stay on one device, as Mirhoseini et
/// al., "Device placement optimization with reinforcement learning", 2017,
/// section 3.3, colocate operations before they learn where to place them. In a
/// block are
///
/// - operations without weights that reduce nothing, and what makes their main
///   operand;
/// - an operation and the only one that reads its results, if that one reads
///   nothing else that is computed: so a branch of operations in a row is one
///   block, unless it has more than 1 / (4 x devices) of the work of the step;
/// - operations that prepare weights, and the first that reads what they make.
class PlacementBlocks {
public:
  explicit PlacementBlocks(const SearchProblem &problem);

  size_t size() const { return numBlocks_; }
  /// The block of a group of compute nodes.
  int32_t of(int32_t group) const { return blockOf_[group]; }

private:
  std::vector<int32_t> blockOf_; ///< Per group; -1: it computes nothing.
  size_t numBlocks_ = 0;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_PLACEMENTBLOCKS_H
