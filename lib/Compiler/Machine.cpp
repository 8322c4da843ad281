//===- Machine.cpp - The machine that is compiled for ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "soap/Calibration/Calibration.h"
#include "soap/Calibration/MachineCalibration.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Support/JSON.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace mlir;
using namespace soap;

/// What is to be said of a calibration that was just measured; empty: nothing.
/// On a quiet machine the model is within a factor of 1.2 to 1.5 of the probes.
static std::string noiseOf(const std::string &path) {
  llvm::Expected<Calibration> calibration = Calibration::load(path);
  double factor = calibration ? std::exp(calibration->fitError) : 1;
  llvm::consumeError(calibration.takeError());
  if (factor <= 1.6)
    return "";
  return llvm::formatv(
      "calibration: times are off by a factor of {0:f1} from what was "
      "measured, as on a busy machine; remove '{1}' to measure again",
      factor, path);
}

std::string Compilation::findCalibration(int32_t devices) {
  if (options_.calibration == "none")
    return "";
  if (options_.calibration != "auto")
    return options_.calibration;
  // Without a folder for it, a calibration could not be kept.
  std::string kept = calibrationPath(target_, devices, options_.coresPerDevice);
  if (kept.empty())
    return "";
  // For one device, where no strategies are compared, seconds of measuring are
  // not worth it.
  bool isWeighed = devices > 1 || options_.devices || options_.strategyTable ||
                   options_.emit == Emit::Report ||
                   options_.emit == Emit::Topology;
  if (!isWeighed) {
    llvm::Expected<Calibration> known = Calibration::load(kept);
    bool isKept = static_cast<bool>(known);
    llvm::consumeError(known.takeError());
    return isKept ? kept : "";
  }
  TimingScope scope = nest("calibration");
  Stage before = stage_;
  bool measured = false;
  llvm::Expected<std::string> path =
      ensureCalibration(target_, devices, options_.coresPerDevice, [&] {
        measured = true;
        // If the caller wants to cancel, the next stage sees it when it begins.
        llvm::consumeError(begin(Stage::Calibration));
        remark("calibration: measuring this machine with " + Twine(devices) +
               (devices == 1 ? " busy device" : " busy devices") +
               ", once; kept in '" + kept + "'");
      });
  if (measured)
    llvm::consumeError(begin(before));
  if (!path) {
    warn(llvm::toString(path.takeError()) +
         "; going on with round figures, as --calibration=none");
    return "";
  }
  if (std::string noise = measured ? noiseOf(*path) : ""; !noise.empty())
    warn(noise);
  return *path;
}

llvm::Expected<int32_t> Compilation::devicesOfStrategy() {
  if (StringRef(options_.strategy).ends_with(".json")) {
    auto buffer = readRegularFile(options_.strategy);
    if (!buffer)
      return badInput("expected to read '" + options_.strategy +
                      "', got: " + llvm::toString(buffer.takeError()));
    llvm::Expected<int32_t> devices =
        soap::devicesOfStrategy((*buffer)->getBuffer());
    if (!devices)
      return badInput(devices.takeError());
    return devices;
  }
  int32_t devices = 1;
  if (level_ == Level::Configured && options_.strategy.empty())
    module_->walk([&](Operation *op) {
      if (soapir::ConfigAttr config = soapir::getConfig(op))
        for (int32_t device : config.getDevices())
          devices = std::max(devices, device + 1);
    });
  return devices;
}

llvm::Expected<int32_t> Compilation::countDevices() {
  if (options_.devices)
    return *options_.devices;
  if (!options_.topology.empty()) {
    llvm::Expected<Topology> topology = loadTopology(options_.topology);
    if (!topology)
      return badInput(topology.takeError());
    return topology->numDevices();
  }
  if (soapir::TopologyOp topology = soapir::getTopology(*module_))
    return static_cast<int32_t>(topology.getNumDevices());
  return devicesOfStrategy();
}

llvm::Expected<Topology> Compilation::describeTopology() {
  auto checked = [](llvm::Expected<Topology> topology) {
    return topology ? std::move(topology)
                    : llvm::Expected<Topology>(badInput(topology.takeError()));
  };
  if (!options_.topology.empty())
    return checked(loadTopology(options_.topology));
  llvm::Expected<int32_t> named = devicesOfStrategy();
  if (!named)
    return named.takeError();
  int32_t devices = options_.devices.value_or(*named);
  if (devices > maxLocalDevices)
    return badInput("expected devices below " + Twine(maxLocalDevices) +
                    " in the strategy, got: " + Twine(devices - 1) +
                    "; describe larger machines with --topology");
  std::string calibration = findCalibration(devices);
  isCalibrated_ = options_.calibration == "auto" && !calibration.empty();
  return checked(target_.describeMachine(
      {devices, options_.coresPerDevice, calibration, options_.link}));
}

llvm::Error Compilation::checkRates() {
  // This machine's rates are measured, with f32 alone (docs/CostModel.md).
  if (options_.topology.empty())
    return llvm::Error::success();
  FailureOr<Topology> topology = readTopology(*module_);
  if (failed(topology))
    return emitted(mlir::failure(), Kind::BadInput);
  for (auto [precision, count] : nn::countPrecisions(*module_))
    for (const DeviceKind &kind : topology->kinds())
      if (kind.knownFlops(precision) == 0)
        warn("devices of kind " + kind.name + " have no rate for " +
             stringify(precision) +
             " in this topology: its products are simulated as long as those "
             "of f32, as if factors were widened");
  return llvm::Error::success();
}

llvm::Error Compilation::attachTopology() {
  // An .mlir model may have a topology of its own.
  if (!soapir::getTopology(*module_) || options_.devices ||
      !options_.topology.empty()) {
    llvm::Expected<Topology> topology = describeTopology();
    if (!topology)
      return topology.takeError();
    writeTopology(*module_, *topology);
  }
  if (llvm::Error error = checkRates())
    return error;
  if (ModuleOp inner = evaluation()) {
    FailureOr<Topology> topology = readTopology(*module_);
    if (failed(topology))
      return emitted(mlir::failure(), Kind::BadInput);
    writeTopology(inner, *topology);
  }
  return llvm::Error::success();
}
