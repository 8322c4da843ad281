//===- DeviceMemory.h - Addresses in a device's memory ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_BACKEND_DEVICEMEMORY_H
#define SOAP_LIB_RUNTIME_BACKEND_DEVICEMEMORY_H

#include <cstdint>

namespace soap::runtime {

/// An address in the memory of a device. Only the device's backend knows what
/// it means: no other code may read or write there, except through
/// hostAddress() where the backend's traits allow it.
class DevicePointer {
public:
  DevicePointer() = default;
  explicit DevicePointer(uintptr_t address) : value_(address) {}
  explicit DevicePointer(void *host)
      : value_(reinterpret_cast<uintptr_t>(host)) {}

  uintptr_t value() const { return value_; }
  DevicePointer operator+(uint64_t bytes) const {
    return DevicePointer(value_ + bytes);
  }
  bool operator==(const DevicePointer &o) const { return value_ == o.value_; }
  bool operator<(const DevicePointer &o) const { return value_ < o.value_; }

private:
  uintptr_t value_ = 0;
};

/// The host address of a device pointer. Only for backends with
/// BackendTraits::memoryIsHost.
inline char *hostAddress(DevicePointer pointer) {
  return reinterpret_cast<char *>(pointer.value());
}

/// A range of device memory.
struct DeviceSpan {
  DevicePointer data;
  uint64_t bytes = 0;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_DEVICEMEMORY_H
