//===- Followers.h - Operations that stay with others -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_FOLLOWERS_H
#define SOAP_LIB_SEARCH_FOLLOWERS_H

#include "soap/Search/OperatorGraph.h"
#include <vector>

namespace soap::detail {

class Change;

/// Operations whose best place mostly follows from that of others. A change of
/// what they depend on alone would add communication before it gains anything,
/// so a proposal takes them along.
class Followers {
public:
  explicit Followers(const OperatorGraph &graph);

  /// True for a compute node that depends on nothing but parameters and
  /// constants: it prepares weights, which should be where they are read.
  bool isPreparation(int32_t node) const { return isPreparation_[node]; }
  /// True for a compute node without weights that reduces nothing: an
  /// element-wise or moving operation, which should be where its main operand
  /// is.
  bool isLight(int32_t node) const { return isLight_[node]; }

  /// Light operations go where the changed node is that makes their main
  /// operand, and those behind them, too.
  void followProducers(Change &change) const;
  /// What prepares weights for changed nodes goes where these read them.
  void followReaders(Change &change) const;

private:
  std::vector<bool> isPreparation_, isLight_; ///< Per node.
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_FOLLOWERS_H
