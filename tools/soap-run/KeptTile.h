//===- KeptTile.h - Tiles for another process -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_KEPTTILE_H
#define SOAP_TOOLS_SOAPRUN_KEPTTILE_H

#include "Session.h"

namespace soap::run {

/// Whether a tile is one of parts that tasks have computed and whose sum is the
/// value.
bool isPartOfSum(const soap_tile &tile);

/// What an observer was shown, with a copy of the data unless it is that of
/// partial results which are no parts of a sum.
class KeptTile {
public:
  explicit KeptTile(const soap_tile &tile);

  /// Points into this.
  soap_tile view() const;
  size_t bytes() const { return data_.size(); }

  /// @{ As bytes that stand one after the other; take() moves `at` behind those
  /// of one tile.
  void append(std::string &message) const;
  static KeptTile take(const char *&at);
  /// @}

private:
  KeptTile() = default;

  soap_tile numbers_ = {}; ///< Its pointers are those of a process.
  std::string value_, rowName_, data_;
  std::vector<int64_t> shape_, box_;
  std::vector<uint32_t> parts_;
};

/// Brings the tiles of all ranks to rank 0, a number of MiB at a time, and
/// calls `use` for each there. Collective.
void bringTiles(Session &session, const std::vector<KeptTile> &mine,
                const std::function<void(const KeptTile &)> &use);

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_KEPTTILE_H
