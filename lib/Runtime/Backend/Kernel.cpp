//===- Kernel.cpp - Kernels of a backend ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/Kernel.h"

using namespace soap;
using namespace soap::runtime;

std::shared_ptr<void> ConstantCache::find(DevicePointer address,
                                          const std::string &layout) const {
  auto it = copies_.find({address, layout});
  return it == copies_.end() ? nullptr : it->second;
}

void ConstantCache::add(DevicePointer address, const std::string &layout,
                        std::shared_ptr<void> copy, size_t bytes) {
  if (copies_.emplace(std::make_pair(address, layout), std::move(copy)).second)
    bytes_ += bytes;
}
