//===- Calibration.h - What this machine does -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters of the analytic model for one machine, fitted to a short run. The
// measuring itself is the caller's (it owns the kernels): this library says
// what to measure and fits the curve.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CALIBRATION_CALIBRATION_H
#define SOAP_CALIBRATION_CALIBRATION_H

#include "soap/Topology/Topology.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace soap {

/// What a calibration run measured, kept in a file per machine.
struct Calibration {
  std::string machine;      ///< Processor name and core count.
  int32_t devices = 1;      ///< Devices that were busy together.
  DeviceKind kind;          ///< Fitted.
  double copyBandwidth = 0; ///< Bytes/s per device between devices, all busy.
  int64_t copyLatencyNs = 0;
  /// Root mean square of log(model / measured) over the kernels of the run.
  double fitError = 0;

  static llvm::Expected<Calibration> parse(llvm::StringRef json);
  static llvm::Expected<Calibration> load(llvm::StringRef path);
  std::string toJSON() const;

  /// N equal devices of the calibrated machine.
  Topology topology(int32_t count, int64_t memoryBytes, int32_t coresPerDevice,
                    bool spareCore) const;
};

/// Measures with all devices busy. Each returns seconds per call (the median
/// of several), 0 or more, and fails if it cannot measure.
struct CalibrationProbe {
  /// Matrix product m x k times k x n of floats by the library's kernel.
  llvm::function_ref<llvm::Expected<double>(int64_t m, int64_t n, int64_t k)>
      gemm;
  /// The smallest kernel of the library: what every kernel costs.
  llvm::function_ref<llvm::Expected<double>()> launch;
  /// Reads and writes `bytes` (half each) of memory.
  llvm::function_ref<llvm::Expected<double>(int64_t bytes)> stream;
  /// Copies `bytes` within a device, in contiguous runs of `run` bytes.
  llvm::function_ref<llvm::Expected<double>(int64_t bytes, int64_t run)> boxes;
  /// Moves `bytes` from one device to another, handshake included.
  llvm::function_ref<llvm::Expected<double>(int64_t bytes)> copy;
  /// The same between two kernels: from the end of the one that makes them to
  /// the start of the one that reads them.
  llvm::function_ref<llvm::Expected<double>(int64_t bytes)> handOver;
};

/// Runs the probe over a grid of shapes and fits peak, half-efficiency sizes,
/// launch cost, bandwidths and latency of devices of the kind `kindName`.
llvm::Expected<Calibration> calibrate(const CalibrationProbe &probe,
                                      llvm::StringRef kindName,
                                      llvm::StringRef machine, int32_t devices);

} // namespace soap

#endif // SOAP_CALIBRATION_CALIBRATION_H
