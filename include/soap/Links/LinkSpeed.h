//===- LinkSpeed.h - Bandwidth and latency of a link ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What --link=BANDWIDTH:LATENCY means, for the compiler, which simulates such
// links, and the runtime, which makes transfers as slow. Depends on nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LINKS_LINKSPEED_H
#define SOAP_LINKS_LINKSPEED_H

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

namespace soap {

/// The longest time of one kernel, copy or transfer, 10,000 s: what would take
/// longer counts as this, so that sums of 900,000 of them fit into 64 bits.
constexpr int64_t longestNs = 10'000'000'000'000;

/// A time in ns, rounded to the nearest, from 0 to longestNs.
inline int64_t roundNs(double ns) {
  if (!(ns < static_cast<double>(longestNs)))
    return longestNs;
  return ns > 0 ? std::llround(ns) : 0;
}

/// A directed link between two devices.
struct LinkSpeed {
  double bandwidth = 0; ///< Bytes/s, more than 0.
  int64_t latencyNs = 0;

  /// How long `bytes` keep the link.
  int64_t busyNs(uint64_t bytes) const {
    return roundNs(static_cast<double>(bytes) / bandwidth * 1e9);
  }
};

namespace detail {
/// Reads "NUMBER UNIT" with one of the units; false if it is anything else.
template <size_t N>
bool readQuantity(const std::string &text,
                  const std::pair<const char *, double> (&units)[N],
                  double &value) {
  size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || digits == std::string::npos ||
      text.find('.') != text.rfind('.') || text == ".")
    return false;
  std::string number = text.substr(0, digits);
  if (number.find_first_of("0123456789") == std::string::npos)
    return false;
  for (const auto &[unit, factor] : units)
    if (text.compare(digits, std::string::npos, unit) == 0) {
      value = std::strtod(number.c_str(), nullptr) * factor;
      return true;
    }
  return false;
}
} // namespace detail

/// Reads BANDWIDTH:LATENCY, as in 1GB/s:10us: a bandwidth in B/s, KB/s, MB/s,
/// GB/s, TB/s (powers of 1000) or KiB/s, MiB/s, GiB/s, and a latency in ns, us,
/// ms or s. Returns an empty string, or what is wrong.
inline std::string parseLinkSpeed(const std::string &text, LinkSpeed &link) {
  static constexpr std::pair<const char *, double> rates[] = {
      {"B/s", 1},     {"KB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},
      {"TB/s", 1e12}, {"KiB/s", 0x1p10}, {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30}};
  static constexpr std::pair<const char *, double> times[] = {
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  size_t colon = text.find(':');
  double bandwidth = 0, latency = 0;
  std::string got = ", got: '" + text + "'";
  if (colon == std::string::npos)
    return "expected --link=BANDWIDTH:LATENCY, as in 1GB/s:10us" + got;
  if (!detail::readQuantity(text.substr(0, colon), rates, bandwidth))
    return "expected a bandwidth in B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s "
           "or GiB/s before the colon of --link, as in 1GB/s:10us" +
           got;
  if (!detail::readQuantity(text.substr(colon + 1), times, latency))
    return "expected a latency in ns, us, ms or s after the colon of --link, "
           "as in 1GB/s:10us" +
           got;
  if (!(bandwidth >= 1 && bandwidth <= 1e15))
    return "expected a bandwidth of 1B/s to 1000TB/s in --link" + got;
  if (!(latency <= 1e12))
    return "expected a latency of at most 1000s in --link" + got;
  link.bandwidth = bandwidth;
  link.latencyNs = std::llround(latency);
  return "";
}

} // namespace soap

#endif // SOAP_LINKS_LINKSPEED_H
