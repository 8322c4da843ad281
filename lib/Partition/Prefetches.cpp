//===- Prefetches.cpp - When parameters are gathered again ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/Prefetches.h"

using namespace soap;

std::vector<int32_t> soap::prefetchPositions(llvm::ArrayRef<int64_t> bytesRead,
                                             int64_t limit) {
  std::vector<int32_t> positions;
  int64_t bytes = 0; // That nodes from `begin` to the reader read.
  size_t begin = 0;
  for (size_t reader = 0; reader < bytesRead.size(); ++reader) {
    while (begin + 1 < reader && (limit <= 0 || bytes > limit))
      bytes -= bytesRead[begin++];
    positions.push_back(static_cast<int32_t>(begin));
    bytes += bytesRead[reader];
  }
  return positions;
}
