//===- MachineCalibration.cpp - Measure this machine ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Calibration/MachineCalibration.h"
#include "soap/Probe/ProbeModel.h"
#include "soap/Support/JSON.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/xxhash.h"
#include <mutex>

namespace soap {

llvm::Expected<Calibration> calibrateMachine(const Target &target,
                                             int32_t devices,
                                             int32_t coresPerDevice) {
  ProbeTarget probed;
  probed.name = target.getName().str();
  probed.alignment = static_cast<uint64_t>(target.getAlignment());
  probed.devices = static_cast<uint32_t>(devices);
  probed.coresPerDevice = static_cast<uint32_t>(coresPerDevice);
  probed.stream = target.getStreamKernel();
  auto measure = [&](const ProbeStep &step) -> llvm::Expected<double> {
    ProbeTime time = measureProbe(step, probed);
    if (!time.error.empty())
      return llvm::createStringError(llvm::Twine(time.error));
    return time.seconds;
  };
  auto gemm = [&](int64_t m, int64_t n, int64_t k) {
    return measure({ProbeStep::Kind::Gemm, m, n, k, 0});
  };
  auto launch = [&] { return measure({ProbeStep::Kind::Launch}); };
  auto stream = [&](int64_t bytes) {
    return measure({ProbeStep::Kind::Stream, 0, 0, 0, bytes});
  };
  auto boxes = [&](int64_t bytes, int64_t run) {
    ProbeStep step{ProbeStep::Kind::Boxes, 0, 0, 0, bytes};
    step.run = run;
    return measure(step);
  };
  auto copy = [&](int64_t bytes) {
    return measure({ProbeStep::Kind::Exchange, 0, 0, 0, bytes});
  };
  auto handOver = [&](int64_t bytes) {
    return measure({ProbeStep::Kind::HandOver, 0, 0, 0, bytes});
  };
  return calibrate({gemm, launch, stream, boxes, copy, handOver},
                   target.getName(), target.getMachineName(), devices);
}

std::string calibrationPath(const Target &target, int32_t devices,
                            int32_t coresPerDevice) {
  llvm::SmallString<128> path;
  if (auto folder = llvm::sys::Process::GetEnv("SOAP_CALIBRATION_DIR")) {
    if (folder->empty())
      return "";
    path = *folder;
  } else if (llvm::sys::path::cache_directory(path)) {
    llvm::sys::path::append(path, "soap");
  } else {
    return "";
  }
  // One from before copies ran on all cores of a device is measured again,
  // under another name.
  constexpr llvm::StringLiteral form = "; form 4";
  std::string machine =
      llvm::utohexstr(llvm::xxh3_64bits(target.getMachineName() + form.str()),
                      /*LowerCase=*/true, /*Width=*/16);
  llvm::sys::path::append(path, "calibration-" + target.getName() + "-" +
                                    machine + "-" + std::to_string(devices) +
                                    "x" + std::to_string(coresPerDevice) +
                                    ".json");
  return path.str().str();
}

llvm::Expected<std::string>
ensureCalibration(const Target &target, int32_t devices, int32_t coresPerDevice,
                  llvm::function_ref<void()> measuring) {
  std::string path = calibrationPath(target, devices, coresPerDevice);
  if (path.empty())
    return llvm::createStringError(
        "expected a folder for the calibration of this machine, got none; set "
        "SOAP_CALIBRATION_DIR, XDG_CACHE_HOME or HOME");
  // Two measurements at the same time would disturb each other; the second
  // caller finds the file of the first.
  static std::mutex measuringOne;
  std::lock_guard<std::mutex> lock(measuringOne);
  llvm::Expected<Calibration> kept = Calibration::load(path);
  if (kept)
    return path;
  llvm::consumeError(kept.takeError());
  measuring();
  llvm::Expected<Calibration> calibration =
      calibrateMachine(target, devices, coresPerDevice);
  if (!calibration)
    return calibration.takeError();
  if (std::error_code code =
          llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path)))
    return llvm::createStringError(code, "cannot create the folder of '%s'",
                                   path.c_str());
  if (llvm::Error error = writeWholeFile(path, calibration->toJSON()))
    return std::move(error);
  return path;
}

} // namespace soap
