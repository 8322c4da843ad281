//===- ProbeModel.h - A model made for measuring ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CALIBRATION_PROBEMODEL_H
#define SOAP_LIB_CALIBRATION_PROBEMODEL_H

#include "soap/Target/Target.h"

namespace soap {

/// What one row of a probe does, on every device at the same time.
struct ProbeStep {
  enum class Kind { Gemm, Launch, Stream, Exchange } kind;
  /// Gemm: m x k times k x n floats with constant weights, as a convolution
  /// where m makes a square image. Launch: nearly nothing, by the library.
  int64_t m = 0, n = 0, k = 0;
  int64_t bytes = 0; ///< Stream: read plus written. Exchange: per device.
};

/// Runs `step` on `devices` devices of `target` with `coresPerDevice` cores
/// each and returns the median time of its row in seconds, over repetitions and
/// devices. Fails with the reason if it cannot run. An Exchange sends to the
/// next device; with one device it is a copy.
llvm::Expected<double> measureProbe(const ProbeStep &step, const Target &target,
                                    int32_t devices, int32_t coresPerDevice);

} // namespace soap

#endif // SOAP_LIB_CALIBRATION_PROBEMODEL_H
