//===- Calibration.cpp - What this machine does ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Calibration/Calibration.h"
#include "soap/CostModel/CostModel.h"
#include "soap/Topology/JSONReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cmath>

using namespace soap;
namespace json = llvm::json;

llvm::Expected<Calibration> Calibration::parse(llvm::StringRef text) {
  llvm::Expected<json::Value> value = parseJSON(text, "a calibration");
  if (!value)
    return value.takeError();
  const json::Object *root = value->getAsObject();
  const json::Object *kind = root ? root->getObject("kind") : nullptr;
  if (!kind || root->getString("format").value_or("") != "soap-calibration")
    return llvm::createStringError(
        "expected a calibration with \"format\": \"soap-calibration\" and an "
        "object 'kind'; remove the file to measure again");
  detail::JSONReader reader;
  Calibration result;
  result.machine = root->getString("machine").value_or("").str();
  result.devices = static_cast<int32_t>(
      reader.integer(*root, "devices", "calibration", {1, 1000000}));
  std::optional<llvm::StringRef> name = root->getString("device_kind");
  if (!name)
    reader.fail("calibration: expected a name 'device_kind', got: none");
  result.kind = detail::readKind(reader, name.value_or(""), *kind);
  result.copyBandwidth = reader.number(*root, "copy_bandwidth_bytes_per_s",
                                       "calibration", detail::bandwidthBounds);
  result.copyLatencyNs =
      roundNs(reader.number(*root, "copy_latency_s", "calibration",
                            detail::secondsBounds) *
              1e9);
  result.fitError =
      reader.number(*root, "fit_error", "calibration", {0, 1e6}, 0);
  if (llvm::Error error = reader.takeError())
    return llvm::createStringError(toString(std::move(error)) +
                                   "; remove the file to measure again");
  return result;
}

llvm::Expected<Calibration> Calibration::load(llvm::StringRef path) {
  auto buffer = readRegularFile(path);
  if (!buffer)
    return llvm::createStringError("expected a calibration file, got: '" +
                                   path +
                                   "': " + llvm::toString(buffer.takeError()));
  llvm::Expected<Calibration> result = parse((*buffer)->getBuffer());
  if (!result)
    return llvm::createStringError("'" + path +
                                   "': " + llvm::toString(result.takeError()));
  return result;
}

std::string Calibration::toJSON() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("format", "soap-calibration");
    json.attribute("machine", machine);
    json.attribute("devices", devices);
    json.attribute("device_kind", kind.name);
    json.attributeObject("kind", [&] { detail::writeKind(json, kind); });
    detail::writeNumber(json, "copy_bandwidth_bytes_per_s", copyBandwidth);
    detail::writeNumber(json, "copy_latency_s", copyLatencyNs / 1e9);
    detail::writeNumber(json, "fit_error", fitError);
  });
  os << '\n';
  return text;
}

Topology Calibration::topology(int32_t count, int64_t memoryBytes,
                               int32_t coresPerDevice, bool spareCore) const {
  return Topology::machine(count, {kind, copyBandwidth, copyLatencyNs,
                                   memoryBytes, coresPerDevice, !spareCore});
}

namespace {
struct Sample {
  KernelQuery query;
  double ns;
};

double errorOf(const DeviceKind &kind, llvm::ArrayRef<Sample> samples) {
  double sum = 0;
  for (const Sample &sample : samples) {
    double ratio = std::log(
        static_cast<double>(CostModel::analyticNs(sample.query, kind)) /
        sample.ns);
    sum += ratio * ratio;
  }
  return std::sqrt(sum / static_cast<double>(samples.size()));
}

llvm::Error noTime(const llvm::Twine &what, const llvm::Twine &got = "none") {
  return llvm::createStringError("calibration: expected a time for " + what +
                                 ", got: " + got);
}

/// What a probe measured of `what`, in seconds, 0 or more.
llvm::Expected<double> timeOf(llvm::Expected<double> time,
                              const llvm::Twine &what) {
  if (time)
    return time;
  return noTime(what, toString(time.takeError()));
}

/// The same; fails if no time passed.
llvm::Expected<double> positiveTimeOf(llvm::Expected<double> time,
                                      const llvm::Twine &what) {
  llvm::Expected<double> result = timeOf(std::move(time), what);
  if (result && !(*result > 0))
    return noTime(what);
  return result;
}

/// Moving so few bytes takes no time but the launch.
constexpr int64_t tinyBytes = 256;

/// Bandwidths of memory and caches, and the cost of a launch.
llvm::Error measureMemory(const CalibrationProbe &probe, int32_t devices,
                          DeviceKind &kind) {
  // No cache holds so many bytes, which stand for the weights of a large
  // network.
  const int64_t large = (int64_t{256} << 20) / std::max(devices, 2);
  auto stream = positiveTimeOf(probe.stream(large), "memory traffic");
  if (!stream)
    return stream.takeError();
  auto start = timeOf(probe.stream(tinyBytes), "memory traffic");
  if (!start)
    return start.takeError();
  kind.memoryBandwidth = large / *stream;

  // The size of caches is the largest at which a kernel is nearly as fast as on
  // little data.
  double cached = 0;
  for (int64_t bytes = 512 << 10; bytes <= 8 << 20; bytes *= 2) {
    auto seconds = positiveTimeOf(probe.stream(bytes), "memory traffic");
    if (!seconds)
      return seconds.takeError();
    double rate = bytes / std::max(*seconds - *start, 0.1 * *seconds);
    if (rate < std::max(0.7 * cached, 1.3 * kind.memoryBandwidth))
      break;
    cached = std::max(cached, rate);
    kind.cacheBytes = static_cast<double>(bytes);
    kind.cacheBandwidth = rate;
  }

  auto launch = timeOf(probe.launch(), "the smallest kernel");
  if (!launch)
    return launch.takeError();
  kind.launchNs =
      std::max<int64_t>(1, std::llround(std::min(*launch, 1e-3) * 1e9));
  return llvm::Error::success();
}

/// Bandwidth and latency between devices.
llvm::Error measureCopies(const CalibrationProbe &probe, Calibration &result) {
  constexpr int64_t moved = 2 << 20;
  auto copy = positiveTimeOf(probe.copy(moved), "a copy between devices");
  if (!copy)
    return copy.takeError();
  auto handshake = timeOf(probe.copy(tinyBytes), "a copy between devices");
  if (!handshake)
    return handshake.takeError();
  result.copyLatencyNs = std::llround(*handshake * 1e9);
  result.copyBandwidth = moved / std::max(*copy - *handshake, 0.01 * *copy);
  return llvm::Error::success();
}

/// Products in which each size alone is small, and those that convolutions of
/// real networks are.
llvm::Error measureProducts(const CalibrationProbe &probe,
                            std::vector<Sample> &samples) {
  constexpr int64_t shapes[][3] = {
      {512, 512, 512},  {3136, 64, 576}, {784, 128, 1152}, {196, 256, 2304},
      {49, 512, 4608},  {1, 1024, 1024}, {4, 512, 512},    {16, 512, 512},
      {512, 4, 512},    {512, 16, 512},  {512, 512, 16},   {3136, 16, 64},
      {196, 1024, 256}, {12544, 64, 147}};
  for (auto [m, n, k] : shapes) {
    auto seconds = positiveTimeOf(
        probe.gemm(m, n, k), "a matrix product of " + llvm::Twine(m) + "x" +
                                 llvm::Twine(n) + "x" + llvm::Twine(k));
    if (!seconds)
      return seconds.takeError();
    KernelQuery query;
    query.flops = 2.0 * m * n * k;
    query.bytes = 4.0 * (m * k + k * n + m * n);
    query.rows = m;
    query.columns = n;
    query.depth = k;
    samples.push_back({query, *seconds * 1e9});
  }
  return llvm::Error::success();
}

/// Fits peak and half-efficiency sizes by coordinate descent over
/// multiplicative steps that get smaller: there are few parameters, the error
/// is smooth, and nothing leaves the sensible range. Returns the error left.
double fitProducts(DeviceKind &kind, llvm::ArrayRef<Sample> samples) {
  double best = 0; // Flops per second.
  for (const Sample &sample : samples)
    best = std::max(best, sample.query.flops / sample.ns * 1e9);
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
} // namespace

llvm::Expected<Calibration> soap::calibrate(const CalibrationProbe &probe,
                                            llvm::StringRef kindName,
                                            llvm::StringRef machine,
                                            int32_t devices) {
  Calibration result;
  result.machine = machine.str();
  result.devices = devices;
  result.kind.name = kindName.str();
  if (llvm::Error error = measureMemory(probe, devices, result.kind))
    return error;
  if (llvm::Error error = measureCopies(probe, result))
    return error;
  std::vector<Sample> samples;
  if (llvm::Error error = measureProducts(probe, samples))
    return error;
  result.fitError = fitProducts(result.kind, samples);
  return result;
}
