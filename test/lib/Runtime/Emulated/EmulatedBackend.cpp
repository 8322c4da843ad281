//===- EmulatedBackend.cpp - An accelerator without hardware --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// A test device, of target `emulated`: it has no use but to find mistakes. Its
// memory is none of the host's, its streams run by themselves as late as they
// may, it captures and replays. Kernels are those of the CPU backend.
//
//===----------------------------------------------------------------------===//

#include "HeldChannels.h"
#include "Memory.h"
#include "OrderedTransport.h"
#include "Settings.h"
#include "Stream.h"
#include "Transport/Staged.h"
#include <cstring>
#include <optional>

using namespace soap;
using namespace soap::emulated;
using namespace soap::runtime;

namespace {
/// A launch of a kernel of the CPU, on the memory of one device.
class EmulatedLaunch final : public BoundKernel {
public:
  EmulatedLaunch(std::unique_ptr<BoundKernel> launch,
                 std::optional<uint32_t> device)
      : launch_(std::move(launch)), device_(device) {}

  void enqueue(Stream &stream) override {
    auto &own = static_cast<EmulatedStream &>(stream);
    if (device_ && *device_ != own.owner().number())
      failed("expected a kernel bound to emulated device ",
             own.owner().number(), ", got: device ", *device_);
    own.push([this, &own] { launch_->enqueue(own.kernelStream()); });
  }

private:
  std::unique_ptr<BoundKernel> launch_;
  std::optional<uint32_t> device_; ///< That of all operands, if there are any.
};

class EmulatedKernel final : public Kernel {
public:
  explicit EmulatedKernel(std::unique_ptr<Kernel> kernel)
      : kernel_(std::move(kernel)) {
    implementation_ = this->kernel_->implementation();
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    Binding own = binding;
    std::optional<uint32_t> device;
    auto translate = [&](DevicePointer &pointer) {
      uint32_t owner = device.value_or(UINT32_MAX);
      pointer = DevicePointer(privateAddress(pointer, &owner));
      if (owner == UINT32_MAX)
        return;
      if (device && *device != owner)
        failed("expected operands on emulated device ", *device,
               ", got: one on device ", owner);
      device = owner;
    };
    for (auto *list : {&own.operands, &own.results})
      for (DevicePointer &pointer : *list)
        translate(pointer);
    translate(own.scratchpad);
    return std::make_unique<EmulatedLaunch>(kernel_->bind(own), device);
  }

  size_t scratchpadBytes() const override { return kernel_->scratchpadBytes(); }
  std::vector<ConstantCopy> constantCopies() const override {
    return kernel_->constantCopies();
  }

private:
  std::unique_ptr<Kernel> kernel_;
};

/// The transport that stages data, over channels that come late.
class HeldTransport final : public Transport {
public:
  HeldTransport(const TransportOptions &options, const BackendTraits &traits)
      : channels_(makeHeldChannels(options.channels,
                                   !options.peers && !options.isThrottled)),
        staged_(makeStagedTransport(*channels_, traits)) {}

  std::unique_ptr<RowAction> makeExchange(BackendDevice &device,
                                          ExchangePart part) override {
    return staged_->makeExchange(device, std::move(part));
  }
  std::unique_ptr<RowAction> makeCollective(BackendDevice &device,
                                            CollectivePart part) override {
    return staged_->makeCollective(device, std::move(part));
  }
  void abandon(const std::string &reason) override { staged_->abandon(reason); }

private:
  std::unique_ptr<Channels> channels_;
  std::unique_ptr<Transport> staged_;
};

class EmulatedBackend final : public Backend {
public:
  BackendTraits traits() const override {
    BackendTraits traits;
    traits.captures = true;
    return traits;
  }
  std::string library() const override {
    return "emulated accelerator, a test device, over " + cpu().library();
  }
  std::string deviceName() const override {
    return "emulated accelerator, a test device";
  }
  uint64_t availableMemory() const override { return cpu().availableMemory(); }
  void useThreads(size_t) const override { cpu().useThreads(1); }

  std::unique_ptr<BackendDevice>
  makeDevice(const DevicePlace &place) const override {
    return std::make_unique<Device>(place.number, cpu());
  }
  std::unique_ptr<Transport>
  makeTransport(const TransportOptions &options) const override {
    if (Settings::fromEnvironment().isOrdered && !options.peers &&
        !options.isThrottled)
      return makeOrderedTransport();
    return std::make_unique<HeldTransport>(options, traits());
  }

private:
  static const Backend &cpu() { return findBackend("cpu"); }
};
} // namespace

std::unique_ptr<Kernel> Device::makeKernel(const fb::Kernel &kernel,
                                           const std::vector<bool> &constant,
                                           const NativeCode &native) {
  return std::make_unique<EmulatedKernel>(
      kernelDevice_->makeKernel(kernel, constant, native));
}

extern "C" const Backend *soap_backend(const char *runtime) {
  static const EmulatedBackend backend;
  return std::strcmp(runtime, SOAP_VERSION) == 0 ? &backend : nullptr;
}
