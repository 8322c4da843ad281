//===- Calibration.cpp - What this machine does ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Calibration/Calibration.h"
#include "soap/Probe/RateFit.h"
#include "soap/Topology/JSONReader.h"
#include "llvm/Support/MemoryBuffer.h"

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
                                   memoryBytes, coresPerDevice, !spareCore,
                                   /*sharesMemory=*/true});
}

/// An error as the probes of a fit report it.
static ProbeTime timeOf(llvm::Expected<double> time) {
  if (time)
    return {*time, ""};
  return {0, toString(time.takeError())};
}

llvm::Expected<Calibration> soap::calibrate(const CalibrationProbe &probe,
                                            llvm::StringRef kindName,
                                            llvm::StringRef machine,
                                            int32_t devices) {
  RateProbe probes;
  probes.gemm = [&](int64_t m, int64_t n, int64_t k) {
    return timeOf(probe.gemm(m, n, k));
  };
  probes.launch = [&] { return timeOf(probe.launch()); };
  probes.stream = [&](int64_t bytes) { return timeOf(probe.stream(bytes)); };
  probes.boxes = [&](int64_t bytes, int64_t run) {
    return timeOf(probe.boxes(bytes, run));
  };
  probes.copy = [&](int64_t bytes) { return timeOf(probe.copy(bytes)); };
  probes.handOver = [&](int64_t bytes) {
    return timeOf(probe.handOver(bytes));
  };
  Calibration result;
  result.machine = machine.str();
  result.devices = devices;
  result.kind.name = kindName.str();
  RateFit fit;
  if (std::string error = measureRates(probes, devices, result.kind, fit);
      !error.empty())
    return llvm::createStringError(llvm::Twine(error));
  result.copyBandwidth = fit.copyBandwidth;
  result.copyLatencyNs = fit.copyLatencyNs;
  result.fitError = fit.error;
  return result;
}
