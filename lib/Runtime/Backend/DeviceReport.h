//===- DeviceReport.h - What a backend says of a device ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_BACKEND_DEVICEREPORT_H
#define SOAP_LIB_RUNTIME_BACKEND_DEVICEREPORT_H

#include <cstdint>
#include <string>
#include <vector>

namespace soap::runtime {

/// What connects a device to others.
struct DeviceLink {
  std::string kind;     ///< "nvlink", "pcie"
  std::string to;       ///< "GPU 1", "switch", "host", or a place on the bus.
  uint32_t count = 1;   ///< Links that are used together; lanes of PCIe.
  uint32_t version = 0; ///< Or generation; 0: unknown.
};

/// A device that this process sees, for soap_list_devices().
struct DeviceReport {
  std::string name;    ///< "NVIDIA H200"
  std::string place;   ///< "0000:3b:00.0"
  std::string version; ///< What code it runs: "9.0".
  uint32_t cores = 0;  ///< Streaming multiprocessors.
  uint64_t memoryBytes = 0, freeBytes = 0;
  std::vector<uint32_t> peers; ///< Devices whose memory it reads and writes.
  std::vector<DeviceLink> links;
};

/// A library that kernels or transports of a backend are loaded from.
struct LibraryReport {
  std::string name;    ///< With its version, where it is there.
  std::string missing; ///< Else the reason and the cure.
};

/// The devices, and what is not known of them, with the reason and the cure.
struct DeviceReports {
  std::vector<DeviceReport> devices;
  std::string driver; ///< Its version, or "".
  std::string missing;
  std::vector<LibraryReport> libraries;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_DEVICEREPORT_H
