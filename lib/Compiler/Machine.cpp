//===- Machine.cpp - The machine that is compiled for ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "soap/Calibration/MachineCalibration.h"
#include "soap/CostModel/Calibration.h"
#include "soap/CostModel/GeneratedTopologies.h"
#include "soap/CostModel/JSON.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
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
  if (options.calibration == "none")
    return "";
  if (options.calibration != "auto")
    return options.calibration;
  // Without a folder, nothing could be kept.
  std::string kept = calibrationPath(target, devices, options.coresPerDevice);
  if (kept.empty())
    return "";
  // A build for one device that nobody weighs is not worth seconds of
  // measuring.
  bool isWeighed = devices > 1 || options.devices || options.strategyTable ||
                   options.emit == Emit::Report ||
                   options.emit == Emit::Topology;
  if (!isWeighed) {
    llvm::Expected<Calibration> known = Calibration::load(kept);
    bool isKept = static_cast<bool>(known);
    llvm::consumeError(known.takeError());
    return isKept ? kept : "";
  }
  TimingScope scope = nest("calibration");
  Stage before = stage;
  bool measured = false;
  llvm::Expected<std::string> path =
      ensureCalibration(target, devices, options.coresPerDevice, [&] {
        measured = true;
        // The next stage to begin sees a wish to cancel.
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
  if (StringRef(options.strategy).ends_with(".json")) {
    auto buffer = readRegularFile(options.strategy);
    if (!buffer)
      return badInput("expected to read '" + options.strategy +
                      "', got: " + llvm::toString(buffer.takeError()));
    llvm::Expected<int32_t> devices =
        soap::devicesOfStrategy((*buffer)->getBuffer());
    if (!devices)
      return badInput(devices.takeError());
    return devices;
  }
  int32_t devices = 1;
  if (level == Level::Configured && options.strategy.empty())
    module->walk([&](Operation *op) {
      if (soapir::ConfigAttr config = soapir::getConfig(op))
        for (int32_t device : config.getDevices())
          devices = std::max(devices, device + 1);
    });
  return devices;
}

llvm::Expected<Topology> Compilation::describeTopology() {
  auto checked = [](llvm::Expected<Topology> topology) {
    return topology ? std::move(topology)
                    : llvm::Expected<Topology>(badInput(topology.takeError()));
  };
  if (!options.topology.empty())
    return checked(loadTopology(options.topology));
  llvm::Expected<int32_t> named = devicesOfStrategy();
  if (!named)
    return named.takeError();
  int32_t devices = options.devices.value_or(*named);
  if (devices > maxDevices)
    return badInput("expected devices below " + Twine(maxDevices) +
                    " in the strategy, got: " + Twine(devices - 1) +
                    "; describe larger machines with --topology");
  return checked(
      target.describeMachine({devices, options.coresPerDevice,
                              findCalibration(devices), options.link}));
}

llvm::Error Compilation::attachTopology() {
  // A model may bring its own.
  if (soapir::getTopology(*module) && !options.devices &&
      options.topology.empty())
    return llvm::Error::success();
  llvm::Expected<Topology> topology = describeTopology();
  if (!topology)
    return topology.takeError();
  writeTopology(*module, *topology);
  return llvm::Error::success();
}
