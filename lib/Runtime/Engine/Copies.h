//===- Copies.h - Rows that copy boxes --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_COPIES_H
#define SOAP_LIB_RUNTIME_ENGINE_COPIES_H

#include "Engine/Row.h"

namespace soap::runtime {

/// The address of a device's buffer.
using BufferAddress = std::function<char *(uint32_t buffer)>;

/// A strided copy of `run` contiguous bytes per index of `extents`.
struct StridedCopy {
  const char *from = nullptr; ///< Null where given at run time.
  char *to = nullptr;
  uint64_t fromOffset = 0, toOffset = 0, run = 0;
  Shape extents, fromStrides, toStrides;

  /// Merges dims that are dense on both sides.
  void simplify();
  uint64_t bytes() const;
  /// `source` and `target`: bases in place of a null `from` or `to`.
  void execute(const char *source, char *target) const;
};

/// The copy of a box, without addresses.
StridedCopy makeStrided(const fb::BoxCopy &box);

std::unique_ptr<RowAction> makeCopy(const fb::Copy &copy,
                                    const BufferAddress &address);
std::unique_ptr<RowAction> makeFeed(const fb::Feed &feed, uint32_t device,
                                    const BufferAddress &address);
std::unique_ptr<RowAction> makeDrain(const fb::Drain &drain, uint32_t device,
                                     const BufferAddress &address);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_COPIES_H
