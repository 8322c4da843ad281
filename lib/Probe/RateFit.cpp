//===- RateFit.cpp - Rates of a kind of device, measured ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Probe/RateFit.h"

using namespace soap;

std::string detail::noTime(const ProbeTime &time, const std::string &what,
                           bool isPositive) {
  if (time.error.empty() && (time.seconds > 0 || !isPositive))
    return "";
  return "calibration: expected a time for " + what +
         ", got: " + (time.error.empty() ? "none" : time.error);
}

std::string detail::measureCopies(const RateProbe &probe, int32_t devices,
                                  RateFit &fit) {
  const char *what = "a copy between devices";
  // What a step moves lay in no cache before, as gradients of many parameters;
  // of little, the latency is most of the time.
  const int64_t moved = (64 << 20) / std::max(devices, 2);
  ProbeTime copy = probe.copy(moved);
  if (std::string error = noTime(copy, what, true); !error.empty())
    return error;
  // Waking up those that wait takes longer than the rest of a handshake.
  ProbeTime handshake = probe.handOver(tinyBytes);
  if (std::string error = noTime(handshake, what, false); !error.empty())
    return error;
  fit.copyLatencyNs = std::llround(handshake.seconds * 1e9);
  fit.copyBandwidth =
      moved / std::max(copy.seconds - handshake.seconds, 0.01 * copy.seconds);
  return "";
}

std::string detail::measureBoxes(const RateProbe &probe,
                                 std::vector<MeasuredBoxes> &samples) {
  constexpr int64_t whole = INT64_MAX;
  constexpr int64_t shapes[][2] = {{4 << 10, whole},     {64 << 10, whole},
                                   {256 << 10, whole},   {1 << 20, whole},
                                   {4 << 20, whole},     {32 << 10, 16},
                                   {256 << 10, 16},      {256 << 10, 64},
                                   {256 << 10, 1 << 10}, {1 << 20, 256}};
  for (auto [bytes, run] : shapes) {
    ProbeTime time = probe.boxes(bytes, run);
    std::string what = "a copy of " + std::to_string(bytes) + " bytes";
    if (std::string error = noTime(time, what, true); !error.empty())
      return error;
    samples.push_back({static_cast<double>(bytes),
                       static_cast<double>(bytes / std::min(bytes, run)),
                       time.seconds});
  }
  return "";
}

detail::BoxRates detail::fitBoxes(const std::vector<MeasuredBoxes> &samples) {
  // One rate after the other, as far as it is not negative: the sum is convex.
  // Rates are in units in which they are about equal.
  constexpr double units[] = {1e-6, 1e-10, 1e-9};
  double rates[] = {0, 1, 0};
  for (int round = 0; round != 2000; ++round)
    for (int rate = 0; rate != 3; ++rate) {
      double product = 0, square = 0;
      for (const MeasuredBoxes &sample : samples) {
        double parts[] = {units[0], sample.bytes * units[1],
                          sample.runs * units[2]};
        double left = 1;
        for (int other = 0; other != 3; ++other)
          if (other != rate)
            left -= rates[other] * parts[other] / sample.seconds;
        double part = parts[rate] / sample.seconds;
        product += left * part;
        square += part * part;
      }
      // Bytes take some time.
      double least = rate == 1 ? 1e-6 : 0;
      rates[rate] = std::max(least, product / square);
    }
  return {rates[0] * units[0], rates[1] * units[1], rates[2] * units[2]};
}

std::string detail::measureProducts(const RateProbe &probe,
                                    std::vector<MeasuredProduct> &samples) {
  constexpr int64_t shapes[][3] = {
      {512, 512, 512},  {3136, 64, 576}, {784, 128, 1152}, {196, 256, 2304},
      {49, 512, 4608},  {1, 1024, 1024}, {4, 512, 512},    {16, 512, 512},
      {512, 4, 512},    {512, 16, 512},  {512, 512, 16},   {3136, 16, 64},
      {196, 1024, 256}, {12544, 64, 147}};
  for (auto [m, n, k] : shapes) {
    ProbeTime time = probe.gemm(m, n, k);
    std::string what = "a matrix product of " + std::to_string(m) + "x" +
                       std::to_string(n) + "x" + std::to_string(k);
    if (std::string error = noTime(time, what, true); !error.empty())
      return error;
    MeasuredProduct sample;
    sample.flops = static_cast<double>(2 * m * n * k);
    sample.bytes = static_cast<double>(4 * (m * k + k * n + m * n));
    sample.rows = m;
    sample.columns = n;
    sample.depth = k;
    sample.ns = time.seconds * 1e9;
    samples.push_back(sample);
  }
  return "";
}
