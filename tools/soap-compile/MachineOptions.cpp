//===- MachineOptions.cpp - The machine of soap-compile -------------------===//
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

/// On a quiet machine the model is within a factor of 1.2 to 1.5 of the probes.
static void warnOfNoise(const std::string &path) {
  llvm::Expected<Calibration> calibration = Calibration::load(path);
  double factor = calibration ? std::exp(calibration->fitError) : 1;
  llvm::consumeError(calibration.takeError());
  if (factor > 1.6)
    llvm::errs() << llvm::formatv(
        "warning: calibration: times are off by a factor of {0:f1} from what "
        "was measured, as on a busy machine; remove '{1}' to measure again\n",
        factor, path);
}

std::string Compilation::findCalibration(int32_t devices) {
  if (line.calibration == "none")
    return "";
  if (line.calibration != "auto")
    return line.calibration;
  // One device has nothing to weigh; no folder, nowhere to keep it.
  if (devices < 2 ||
      calibrationPath(*line.target, devices, line.coresPerDevice).empty())
    return "";
  TimingScope scope = timer.nest("calibration");
  bool measured = false;
  llvm::Expected<std::string> path =
      ensureCalibration(*line.target, devices, line.coresPerDevice, [&] {
        measured = true;
        llvm::errs() << "calibration: measuring this machine with " << devices
                     << " busy devices, once; kept in '"
                     << calibrationPath(*line.target, devices,
                                        line.coresPerDevice)
                     << "'\n";
      });
  if (path) {
    if (measured)
      warnOfNoise(*path);
    return *path;
  }
  llvm::errs() << "warning: " << llvm::toString(path.takeError())
               << "; going on with round figures, as --calibration=none\n";
  return "";
}

llvm::Expected<int32_t> Compilation::devicesOfStrategy() {
  if (StringRef(line.strategy).ends_with(".json")) {
    auto buffer = readRegularFile(line.strategy);
    if (!buffer)
      return llvm::createStringError(
          "expected to read '" + line.strategy +
          "', got: " + llvm::toString(buffer.takeError()));
    return soap::devicesOfStrategy((*buffer)->getBuffer());
  }
  int32_t devices = 1;
  if (level == Level::Configured && line.strategy.empty())
    module->walk([&](Operation *op) {
      if (ir::ConfigAttr config = ir::getConfig(op))
        for (int32_t device : config.getDevices())
          devices = std::max(devices, device + 1);
    });
  return devices;
}

llvm::Expected<Topology> Compilation::describeTopology() {
  if (!line.topology.empty())
    return loadTopology(line.topology);
  llvm::Expected<int32_t> named = devicesOfStrategy();
  if (!named)
    return named.takeError();
  int32_t devices = line.devices.value_or(*named);
  if (devices > maxDevices)
    return llvm::createStringError(
        "expected devices below " + llvm::Twine(maxDevices) +
        " in the strategy, got: " + llvm::Twine(devices - 1) +
        "; describe larger machines with --topology");
  return line.target->describeMachine(
      {devices, line.coresPerDevice, findCalibration(devices), line.link});
}

int Compilation::printTopology() {
  llvm::Expected<Topology> topology = describeTopology();
  if (!topology) {
    printError(llvm::toString(topology.takeError()));
    return BadInput;
  }
  return writeText(line.output.empty() ? "-" : line.output, topology->toJSON())
             ? Fine
             : BadInput;
}

bool Compilation::attachTopology() {
  // A model may bring its own.
  if (ir::getTopology(*module) && !line.devices && line.topology.empty())
    return true;
  llvm::Expected<Topology> topology = describeTopology();
  if (!topology) {
    printError(llvm::toString(topology.takeError()));
    return false;
  }
  writeTopology(*module, *topology);
  return true;
}
