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
  explicit DevicePointer(uintptr_t address) : address(address) {}
  explicit DevicePointer(void *host)
      : address(reinterpret_cast<uintptr_t>(host)) {}

  uintptr_t value() const { return address; }
  DevicePointer operator+(uint64_t bytes) const {
    return DevicePointer(address + bytes);
  }
  bool operator==(const DevicePointer &o) const { return address == o.address; }
  bool operator<(const DevicePointer &o) const { return address < o.address; }

private:
  uintptr_t address = 0;
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
