//===- CPUBackend.cpp - The CPU as a backend ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device is a set of cores, its memory is the host's. The engine gives a
// thread to every stream, bound to these cores: a stream runs a command where
// it is enqueued, and an event is a counter that threads wait for.
//
//===----------------------------------------------------------------------===//

#include "Backend/Backend.h"
#include "Backend/HostMemory.h"
#include "CPU/CPUKernels.h"
#include "CPU/Threads.h"
#include "Wait.h"
#include <cstring>
#include <fstream>
#include <oneapi/dnnl/dnnl.hpp>

using namespace soap;
using namespace soap::runtime;

namespace {
class CPUEvent final : public Event {
public:
  Counter records;    ///< Written by the stream that records.
  uint32_t waits = 0; ///< Of the stream that waits.
};

class CPUStream final : public Stream {
public:
  explicit CPUStream(Patience patience) : patience_(patience) {}

  void copy(const StridedCopy &box, DevicePointer from,
            DevicePointer to) override {
    run(box, hostAddress(from), hostAddress(to));
  }
  void copyFromHost(const StridedCopy &box, const char *from,
                    DevicePointer to) override {
    run(box, from, hostAddress(to));
  }
  void copyToHost(const StridedCopy &box, DevicePointer from,
                  char *to) override {
    run(box, hostAddress(from), to);
  }
  void fill(DevicePointer to, uint64_t bytes,
            const std::vector<uint8_t> &pattern) override {
    size_t parts = threadsForBytes(bytes);
    forEachPart(parts, [&](size_t part) {
      fillHost(hostAddress(to), bytes, pattern, part, parts);
    });
  }
  void call(HostCall &call) override { call.run(); }
  void stamp(int64_t &time) override { time = now(); }
  void record(Event &event) override {
    static_cast<CPUEvent &>(event).records.increment();
  }
  void wait(Event &event) override {
    auto &own = static_cast<CPUEvent &>(event);
    own.records.wait(++own.waits, patience_);
  }
  void synchronize() override {}

private:
  static void run(const StridedCopy &box, const char *from, char *to) {
    size_t parts = threadsForBytes(box.bytes());
    forEachPart(parts,
                [&](size_t part) { box.execute(from, to, part, parts); });
  }

  Patience patience_;
};

class CPUDevice final : public BackendDevice {
public:
  DevicePointer allocate(uint64_t bytes) override {
    return DevicePointer(allocatePages(bytes));
  }
  void free(DevicePointer block, uint64_t bytes) override {
    freePages(hostAddress(block), bytes);
  }
  void discard(DevicePointer block, uint64_t offset, uint64_t bytes) override {
    discardPages(hostAddress(block), offset, bytes);
  }
  std::unique_ptr<Stream> makeStream(Patience patience,
                                     bool /*hasPriority*/) override {
    return std::make_unique<CPUStream>(patience);
  }
  std::unique_ptr<Event> makeEvent() override {
    return std::make_unique<CPUEvent>();
  }
  std::unique_ptr<Kernel> makeKernel(const fb::Kernel &kernel,
                                     const std::vector<bool> &constant,
                                     const NativeCode &native) override {
    return makeCPUKernel(kernel, constant, native);
  }
};

class CPUBackend final : public Backend {
public:
  BackendTraits traits() const override {
    BackendTraits traits;
    traits.memoryIsHost = true;
    traits.runsInPlace = true;
    return traits;
  }

  std::string library() const override {
    const dnnl_version_t *version = dnnl_version();
    return text("oneDNN ", version->major, ".", version->minor, ".",
                version->patch);
  }

  std::string deviceName() const override {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
      if (line.rfind("model name", 0) == 0)
        return line.substr(std::min(line.size(), line.find(':') + 2));
    return "cpu";
  }

  uint64_t availableMemory() const override { return availableHostMemory(); }

  void useThreads(size_t count) const override { runtime::useThreads(count); }

  uint64_t discardableBytes(uint64_t offset, uint64_t bytes) const override {
    return wholePageBytes(offset, bytes);
  }

  std::unique_ptr<BackendDevice>
  makeDevice(const DevicePlace &) const override {
    return std::make_unique<CPUDevice>();
  }
};
} // namespace

extern "C" const Backend *soap_backend(const char *runtime) {
  static const CPUBackend backend;
  return std::strcmp(runtime, SOAP_VERSION) == 0 ? &backend : nullptr;
}
