//===- SharedParameters.h - Operations with the same weights ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_SHAREDPARAMETERS_H
#define SOAP_LIB_SEARCH_SHAREDPARAMETERS_H

#include "soap/Search/OperatorGraph.h"
#include <vector>

namespace soap::detail {

/// Sets of groups that read the same parameter, or what is prepared of it:
/// parts of an unrolled recurrent layer, tied weights. Where they are on
/// different devices, each of these needs a copy of the parameter, and its
/// gradient is reduced over all; so they are better moved together.
class SharedParameters {
public:
  explicit SharedParameters(const OperatorGraph &graph);

  bool empty() const { return readers_.empty(); }
  size_t size() const { return readers_.size(); }
  /// The groups of a set, at least two, ascending; no two sets are equal.
  llvm::ArrayRef<int32_t> readers(size_t set) const { return readers_[set]; }

private:
  std::vector<std::vector<int32_t>> readers_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_SHAREDPARAMETERS_H
