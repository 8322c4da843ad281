//===- RateFit.h - Rates of a kind of device, measured ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What to measure of a device, and how the parameters of the analytic cost
// model follow from it. `Kind` is DeviceKind (soap/Topology/Topology.h) or has
// the same rates: soap-run, which has no LLVM, has such a one of its own.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PROBE_RATEFIT_H
#define SOAP_PROBE_RATEFIT_H

#include "soap/Links/AnalyticTime.h"
#include "soap/Probe/ProbeModel.h"
#include <functional>

namespace soap {

/// Measures with all devices busy. Each gives seconds per call (the median of
/// several), 0 or more, or says why it cannot measure.
struct RateProbe {
  /// Matrix product m x k times k x n of floats by the library's kernel.
  std::function<ProbeTime(int64_t m, int64_t n, int64_t k)> gemm;
  /// The smallest kernel of the library: what every kernel costs.
  std::function<ProbeTime()> launch;
  /// Reads and writes `bytes` (half each) of memory.
  std::function<ProbeTime(int64_t bytes)> stream;
  /// Copies `bytes` within a device, in contiguous runs of `run` bytes.
  std::function<ProbeTime(int64_t bytes, int64_t run)> boxes;
  /// Moves `bytes` from one device to another, handshake included.
  std::function<ProbeTime(int64_t bytes)> copy;
  /// The same between two kernels: from the end of the one that makes them to
  /// the start of the one that reads them.
  std::function<ProbeTime(int64_t bytes)> handOver;
};

/// What a fit says beside the rates of the device.
struct RateFit {
  double copyBandwidth = 0; ///< Bytes/s per device between devices, all busy.
  int64_t copyLatencyNs = 0;
  /// Root mean square of log(model / measured) over the products.
  double error = 0;
};

namespace detail {

/// A product that was measured, with the members of KernelWork.
struct MeasuredProduct {
  double flops = 0, bytes = 0, bytesAgain = 0;
  int64_t rows = 1, columns = 1, depth = 0;
  double ns = 0;
};

/// "calibration: expected a time for WHAT, got: none", or nothing.
std::string noTime(const ProbeTime &time, const std::string &what,
                   bool isPositive);

/// Moving so few bytes takes no time but the launch.
constexpr int64_t tinyBytes = 256;

/// Bandwidth and latency between devices.
std::string measureCopies(const RateProbe &probe, int32_t devices,
                          RateFit &fit);
/// Products in which each size alone is small, and those that convolutions of
/// real networks are.
std::string measureProducts(const RateProbe &probe,
                            std::vector<MeasuredProduct> &samples);

/// Bandwidths of memory and caches, and the cost of a launch.
template <typename Kind>
std::string measureMemory(const RateProbe &probe, int32_t devices, Kind &kind) {
  const char *traffic = "memory traffic";
  // No cache holds so many bytes, which stand for the weights of a large
  // network.
  const int64_t large = (int64_t{256} << 20) / std::max(devices, 2);
  ProbeTime stream = probe.stream(large);
  if (std::string error = noTime(stream, traffic, true); !error.empty())
    return error;
  ProbeTime start = probe.stream(tinyBytes);
  if (std::string error = noTime(start, traffic, false); !error.empty())
    return error;
  kind.memoryBandwidth = static_cast<double>(large) / stream.seconds;

  // The size of caches is the largest at which a kernel is nearly as fast as on
  // little data.
  double cached = 0;
  for (int64_t bytes = 512 << 10; bytes <= 8 << 20; bytes *= 2) {
    ProbeTime time = probe.stream(bytes);
    if (std::string error = noTime(time, traffic, true); !error.empty())
      return error;
    double rate = static_cast<double>(bytes) /
                  std::max(time.seconds - start.seconds, 0.1 * time.seconds);
    if (rate < std::max(0.7 * cached, 1.3 * kind.memoryBandwidth))
      break;
    cached = std::max(cached, rate);
    kind.cacheBytes = static_cast<double>(bytes);
    kind.cacheBandwidth = rate;
  }

  ProbeTime launch = probe.launch();
  if (std::string error = noTime(launch, "the smallest kernel", false);
      !error.empty())
    return error;
  kind.launchNs =
      std::max<int64_t>(1, std::llround(std::min(launch.seconds, 1e-3) * 1e9));
  return "";
}

/// A copy within a device that was measured.
struct MeasuredBoxes {
  double bytes, runs, seconds;
};

std::string measureBoxes(const RateProbe &probe,
                         std::vector<MeasuredBoxes> &samples);

/// Seconds of a copy: launch + perByte * bytes + perRun * runs.
struct BoxRates {
  double launch = 0, perByte = 0, perRun = 0;
};

/// The least sum of squares of model / measured - 1 over rates that are not
/// negative.
BoxRates fitBoxes(const std::vector<MeasuredBoxes> &samples);

template <typename Kind>
double errorOf(const Kind &kind, const std::vector<MeasuredProduct> &samples) {
  double sum = 0;
  for (const MeasuredProduct &sample : samples) {
    double ratio =
        std::log(static_cast<double>(analyticTimeNs(sample, kind)) / sample.ns);
    sum += ratio * ratio;
  }
  return std::sqrt(sum / static_cast<double>(samples.size()));
}

/// Fits peak and half-efficiency sizes by coordinate descent over
/// multiplicative steps that get smaller: there are few parameters, the error
/// is smooth, and nothing leaves the sensible range. Returns the error left.
template <typename Kind>
double fitProducts(Kind &kind, const std::vector<MeasuredProduct> &samples) {
  double best = 0; // Flops per second.
  for (const MeasuredProduct &sample : samples)
    best = std::max(best, sample.flops / sample.ns * 1e9);
  kind.peakFlops = best * 1.1;
  double error = errorOf(kind, samples);
  for (double step = 2; step > 1.01; step = std::sqrt(step)) {
    for (bool improved = true; improved;) {
      improved = false;
      for (double *parameter : {&kind.peakFlops, &kind.halfRows,
                                &kind.halfColumns, &kind.halfDepth}) {
        double low = parameter == &kind.peakFlops ? best * 0.8 : 0.05;
        double high = parameter == &kind.peakFlops ? best * 2 : 512;
        for (double factor : {step, 1 / step}) {
          double old = *parameter;
          *parameter = std::clamp(old * factor, low, high);
          double changed = errorOf(kind, samples);
          if (changed < error - 1e-9) {
            error = changed;
            improved = true;
          } else {
            *parameter = old;
          }
        }
      }
    }
  }
  return error;
}

} // namespace detail

/// Measures a grid of shapes and fits peak, half-efficiency sizes, launch cost,
/// bandwidths and latency of `devices` devices of a kind. Returns an empty
/// string, or what could not be measured.
template <typename Kind>
std::string measureRates(const RateProbe &probe, int32_t devices, Kind &kind,
                         RateFit &fit) {
  std::string error = detail::measureMemory(probe, devices, kind);
  if (error.empty())
    error = detail::measureCopies(probe, devices, fit);
  std::vector<detail::MeasuredBoxes> boxes;
  if (error.empty())
    error = detail::measureBoxes(probe, boxes);
  if (error.empty()) {
    detail::BoxRates rates = detail::fitBoxes(boxes);
    kind.boxLaunchNs = std::llround(rates.launch * 1e9);
    kind.boxBandwidth = 2 / rates.perByte;
    kind.boxRunSeconds = rates.perRun;
  }
  std::vector<detail::MeasuredProduct> samples;
  if (error.empty())
    error = detail::measureProducts(probe, samples);
  if (error.empty())
    fit.error = detail::fitProducts(kind, samples);
  return error;
}

} // namespace soap

#endif // SOAP_PROBE_RATEFIT_H
