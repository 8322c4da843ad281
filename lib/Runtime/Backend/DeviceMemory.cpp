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
    : device_(&device) {
  if (bytes == 0)
    return;
  data_ = device.allocate(bytes);
  size_ = bytes;
}

DeviceBlock::~DeviceBlock() {
  if (size_)
    device_->free(data_, size_);
}

DeviceBlock::DeviceBlock(DeviceBlock &&other) noexcept
    : device_(other.device_), data_(other.data_),
      size_(std::exchange(other.size_, 0)) {}

DeviceBlock &DeviceBlock::operator=(DeviceBlock &&other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
