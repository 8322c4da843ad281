//===- MachineCalibration.h - Measure this machine --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures what lib/CostModel fits: a model made of matrix products, element-
// wise kernels and transfers runs on the runtime itself, on all devices at
// once, so that launch costs, shared memory bandwidth and busy cores are in the
// times.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CALIBRATION_MACHINECALIBRATION_H
#define SOAP_CALIBRATION_MACHINECALIBRATION_H

#include "soap/Calibration/Calibration.h"
#include "soap/Target/Target.h"

namespace soap {

/// Runs the calibration on `devices` devices of `target`, with `coresPerDevice`
/// cores each (0: an even split of the allowed cores). Takes a few seconds.
llvm::Expected<Calibration>
calibrateMachine(const Target &target, int32_t devices, int32_t coresPerDevice);

/// The file that keeps the calibration of this machine for that many devices:
/// in `$SOAP_CALIBRATION_DIR`, else `$XDG_CACHE_HOME/soap`, else
/// `~/.cache/soap`. Empty if none of them is set, or the first one to nothing.
std::string calibrationPath(const Target &target, int32_t devices,
                            int32_t coresPerDevice);

/// Calibrates unless calibrationPath() has a valid file, and keeps the result
/// there. Returns the path of the file. `measuring` is called before a run. One
/// thread at a time measures.
llvm::Expected<std::string>
ensureCalibration(const Target &target, int32_t devices, int32_t coresPerDevice,
                  llvm::function_ref<void()> measuring);

} // namespace soap

#endif // SOAP_CALIBRATION_MACHINECALIBRATION_H
