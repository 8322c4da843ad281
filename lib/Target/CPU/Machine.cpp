//===- Machine.cpp - The machine that the compiler runs on ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/CPU/Machine.h"
#include "soap/Calibration/Calibration.h"
#include "soap/Target/CPU/CPUTarget.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Threading.h"
#include <algorithm>
#include <unistd.h>

namespace soap {

std::string MachineInfo::name() const {
  return processor + ", " + std::to_string(cores) +
         (cores == 1 ? " core" : " cores");
}

MachineInfo inspectMachine() {
  MachineInfo info;
  info.processor = "unknown processor";
  if (auto buffer = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo")) {
    llvm::StringRef text = (*buffer)->getBuffer();
    size_t at = text.find("model name");
    if (at != llvm::StringRef::npos) {
      llvm::StringRef line = text.substr(at).split('\n').first;
      info.processor = line.split(':').second.trim().str();
    }
  }
  info.cores =
      static_cast<int32_t>(llvm::hardware_concurrency().compute_thread_count());
  long pages = sysconf(_SC_PHYS_PAGES), pageSize = sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && pageSize > 0)
    info.memoryBytes = static_cast<int64_t>(pages) * pageSize;
  return info;
}

std::string CPUTarget::getMachineName() const {
  return inspectMachine().name();
}

/// With as many devices as cores there is no spare core, so that transfers
/// occupy the receiver.
llvm::Expected<Topology>
CPUTarget::describeMachine(const MachineRequest &request) const {
  int32_t devices = request.devices;
  if (devices < 1)
    return llvm::createStringError(
        "expected at least one device, got: %d; ask for 1 or more", devices);
  MachineInfo info = inspectMachine();
  int32_t coresPerDevice = request.coresPerDevice;
  if (coresPerDevice <= 0)
    coresPerDevice = std::max(1, info.cores / devices);
  Calibration calibration;
  calibration.machine = info.name();
  calibration.kind.name = getName().str();
  calibration.copyBandwidth = 5e9;
  calibration.copyLatencyNs = 5000;
  if (!request.calibrationFile.empty()) {
    llvm::Expected<Calibration> loaded =
        Calibration::load(request.calibrationFile);
    if (!loaded)
      return loaded.takeError();
    if (loaded->kind.name != getName())
      return llvm::createStringError(
          "'" + request.calibrationFile + "': expected a calibration of " +
          getName() + ", got: one of " + loaded->kind.name);
    calibration = std::move(*loaded);
  }
  calibration.kind.alignment = getAlignment();
  // An instruction of AVX512_VNNI adds up four times as many products as one of
  // f32 does, one of AVX2 twice as many, and takes another one for the sum;
  // nothing else of 8 bits is calibrated.
  double byteProducts = processor_.hasFeature("avx512vnni") ? 4 : 1.5;
  if (hasByteProducts_ && calibration.kind.i8Flops == 0)
    calibration.kind.i8Flops = byteProducts * calibration.kind.peakFlops;
  // What products of the networks in docs/Performance.md take of the time of
  // those of f32, in the mean.
  constexpr double tileProducts = 4, pairProducts = 2;
  if (multipliesBF16_ && calibration.kind.bf16Flops == 0)
    calibration.kind.bf16Flops =
        (processor_.hasFeature("amx-bf16") ? tileProducts : pairProducts) *
        calibration.kind.peakFlops;
  bool spareCore = static_cast<int64_t>(devices) * coresPerDevice < info.cores;
  Topology topology = calibration.topology(devices, info.memoryBytes / devices,
                                           coresPerDevice, spareCore);
  if (request.link)
    topology.throttle(*request.link);
  return topology;
}

} // namespace soap
