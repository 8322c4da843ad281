//===- ProbeModel.h - A model made for measuring ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures devices with models of one kind of row, which run on the runtime
// itself, so that launch costs, shared memory bandwidth and busy cores are in
// the times. No compiler and no LLVM is needed.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PROBE_PROBEMODEL_H
#define SOAP_PROBE_PROBEMODEL_H

#include "soap/Runtime/Runtime.h"
#include <string>
#include <vector>

namespace soap {

/// What one row of a probe does, on every device at the same time.
struct ProbeStep {
  enum class Kind {
    Gemm,
    Launch,
    Stream,
    Boxes,
    Exchange,
    HandOver,
    Feed
  } kind;
  /// Gemm: m x k times k x n floats with constant weights, as a convolution
  /// where m makes a square image. Launch: nearly nothing, by the library.
  int64_t m = 0, n = 0, k = 0;
  /// Stream: read plus written. Boxes: of a copy within a device. Exchange and
  /// HandOver: per device, the latter between two kernels. Feed: from the host
  /// to each device.
  int64_t bytes = 0;
  /// Exchange: from this device to that one alone; -1: each to the next.
  int32_t from = -1, to = -1;
  /// Boxes: bytes of the contiguous runs that a copy consists of, a divisor of
  /// `bytes`, or all of them.
  int64_t run = INT64_MAX;
};

/// What is measured.
struct ProbeTarget {
  std::string name;        ///< As in the tables of models.
  uint64_t alignment = 64; ///< Of buffers, in bytes.
  uint32_t devices = 1;
  uint32_t coresPerDevice = 0; ///< Of the host; 0: an even split.
  uint32_t devicesPerGpu = 0;  ///< As in soap_load_options.
  /// A native kernel that writes max(x, 0) of `sizes[0]` floats of its first
  /// buffer to its second. Null for devices that do not run code of the host:
  /// memory traffic is that of a copy, and the smallest kernel is a product.
  soap_native_kernel stream = nullptr;
};

/// Seconds, or why there are none.
struct ProbeTime {
  double seconds = 0;
  std::string error;
};

/// Runs `step` and gives the median time of its rows, over repetitions and
/// devices: of the copies among them (Boxes); from the end of one kernel to the
/// start of the next (HandOver; without a native kernel or a second device it
/// is an Exchange). With one device, an Exchange is a copy.
ProbeTime measureProbe(const ProbeStep &step, const ProbeTarget &target);

/// ProbeTarget::stream for devices that are cores of this host.
soap_native_kernel hostStreamKernel();

} // namespace soap

#endif // SOAP_PROBE_PROBEMODEL_H
