//===- DeviceMemory.cpp - Blocks of a device's memory ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/Backend.h"
#include <utility>

using namespace soap::runtime;

DeviceBlock::DeviceBlock(BackendDevice &device, uint64_t bytes)
    : device(&device) {
  if (bytes == 0)
    return;
  base = device.allocate(bytes);
  length = bytes;
}

DeviceBlock::~DeviceBlock() {
  if (length)
    device->free(base, length);
}

DeviceBlock::DeviceBlock(DeviceBlock &&other) noexcept
    : device(other.device), base(other.base),
      length(std::exchange(other.length, 0)) {}

DeviceBlock &DeviceBlock::operator=(DeviceBlock &&other) noexcept {
  std::swap(device, other.device);
  std::swap(base, other.base);
  std::swap(length, other.length);
  return *this;
}
