//===- Machine.h - The machine that the compiler runs on --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CPU_MACHINE_H
#define SOAP_TARGET_CPU_MACHINE_H

#include <cstdint>
#include <string>

namespace soap {

/// What the operating system says of this machine.
struct MachineInfo {
  std::string processor;   ///< Model name of the processor.
  int32_t cores = 1;       ///< Cores that this process may run on.
  int64_t memoryBytes = 0; ///< Physical memory.

  /// Processor and core count: what a calibration is valid for.
  std::string name() const;
};
MachineInfo inspectMachine();

} // namespace soap

#endif // SOAP_TARGET_CPU_MACHINE_H
