//===- NativeKernel.cpp - Kernels of a model's own PTX --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/CudaKernels.h"
#include "CUDA/Grid.h"
#include "CUDA/Stream.h"

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

namespace {
/// One function of the model's code with its arguments.
struct BoundLaunch {
  CUfunction function;
  unsigned blocks, threads;
  std::vector<uint64_t> arguments; ///< Each is 64 bits wide.
  std::vector<void *> addresses;   ///< Of the arguments.
};

class BoundNative final : public BoundKernel {
public:
  explicit BoundNative(std::vector<BoundLaunch> launches)
      : launches_(std::move(launches)) {
    for (BoundLaunch &launch : launches_)
      for (uint64_t &argument : launch.arguments)
        launch.addresses.push_back(&argument);
  }
  void enqueue(Stream &stream) override {
    auto &own = static_cast<CudaStream &>(stream);
    for (BoundLaunch &launch : launches_)
      own.launch(launch.function, launch.blocks, launch.threads,
                 launch.addresses.data());
  }

private:
  std::vector<BoundLaunch> launches_;
};

class NativeKernel final : public Kernel {
public:
  NativeKernel(CudaDevice &device, const NativeCode &native)
      : device_(device), native_(native) {
    implementation_ = "native";
  }
  size_t scratchpadBytes() const override {
    return native_.description->scratch_bytes();
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override;

private:
  unsigned blocksOf(const fb::DeviceLaunch &launch,
                    const std::vector<int64_t> &sizes) const;

  CudaDevice &device_;
  NativeCode native_;
};
} // namespace

unsigned NativeKernel::blocksOf(const fb::DeviceLaunch &launch,
                                const std::vector<int64_t> &sizes) const {
  uint64_t blocks = launch.blocks();
  if (blocks == 0) {
    uint64_t count = 1;
    for (uint32_t i = 0; i != native_.description->size_count(); ++i)
      if (__builtin_mul_overflow(count, static_cast<uint64_t>(sizes[i]),
                                 &count))
        count = UINT64_MAX;
    uint64_t items = launch.items_per_block();
    blocks = count / items + (count % items != 0);
  }
  return blocksWithin(device_.gpu(), blocks);
}

std::unique_ptr<BoundKernel> NativeKernel::bind(const Binding &binding) {
  std::vector<BoundLaunch> launches;
  uint32_t sizes = native_.description->size_count();
  for (const fb::DeviceLaunch *row : items(native_.description->launches())) {
    BoundLaunch launch;
    launch.function = device_.module(*native_.device).find(row->entry()->str());
    launch.threads = row->threads();
    launch.blocks = blocksOf(*row, binding.sizes);
    for (const auto *list : {&binding.operands, &binding.results})
      for (DevicePointer buffer : *list)
        launch.arguments.push_back(buffer.value());
    if (native_.description->scratch_bytes())
      launch.arguments.push_back(binding.scratchpad.value());
    for (uint32_t i = 0; i != sizes; ++i)
      launch.arguments.push_back(static_cast<uint64_t>(binding.sizes[i]));
    for (int64_t constant : items(row->constants()))
      launch.arguments.push_back(static_cast<uint64_t>(constant));
    launches.push_back(std::move(launch));
  }
  return std::make_unique<BoundNative>(std::move(launches));
}

std::unique_ptr<Kernel> cuda::makeNativeKernel(CudaDevice &device,
                                               const fb::Kernel &kernel,
                                               const NativeCode &native) {
  if (!native.device || !native.description)
    invalid("expected code for a GPU of kernel '", kernel.key()->str(),
            "', got: code for the host; compile the model with --target=cuda");
  return std::make_unique<NativeKernel>(device, native);
}
