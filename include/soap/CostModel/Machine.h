//===- Machine.h - The machine that the compiler runs on --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_COSTMODEL_MACHINE_H
#define SOAP_COSTMODEL_MACHINE_H

#include "soap/CostModel/Calibration.h"

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

/// `devices` equal devices of this machine, each with an equal share of its
/// memory and `coresPerDevice` cores (0: an even split of the allowed ones).
/// Where devices and cores are as many, there is no spare core: transfers
/// occupy the receiver. Rates come from the calibration file, or are round
/// figures if the path is empty. `link`: what
/// devices exchange passes links of this speed, as with soap-run --link.
/// Errors: no device; a calibration that cannot be read.
llvm::Expected<Topology> describeMachine(int32_t devices,
                                         int32_t coresPerDevice,
                                         llvm::StringRef calibrationFile,
                                         std::optional<LinkSpeed> link = {});

} // namespace soap

#endif // SOAP_COSTMODEL_MACHINE_H
