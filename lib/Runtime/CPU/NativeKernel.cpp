//===- NativeKernel.cpp - Native kernels of the CPU backend ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/Threads.h"
#include <algorithm>
#include <numeric>

using namespace soap;
using namespace soap::runtime;

namespace {
/// What a native kernel that knows no sizes touches of a buffer: elements that
/// lie dense along those of the launch's sizes that it varies along.
class BufferExtent {
public:
  BufferExtent(const fb::NativeKernel &kernel, uint32_t buffer,
               const std::vector<int64_t> &sizes)
      : bytes_(items(kernel.bytes())[buffer]),
        varies_(items(kernel.extents())[buffer]), sizes_(sizes) {}

  bool varies(size_t dim) const { return dim < 64 && varies_ >> dim & 1; }
  /// From an index along a size to the next one.
  uint64_t bytesPerIndex(size_t dim) const {
    if (!varies(dim))
      return 0;
    uint64_t bytes = bytes_;
    for (size_t inner = dim + 1; inner < sizes_.size(); ++inner)
      if (varies(inner))
        bytes *= static_cast<uint64_t>(sizes_[inner]);
    return bytes;
  }
  uint64_t bytes() const {
    uint64_t bytes = bytes_;
    for (size_t dim = 0; dim != sizes_.size(); ++dim)
      if (varies(dim))
        bytes *= static_cast<uint64_t>(sizes_[dim]);
    return bytes;
  }

private:
  uint64_t bytes_, varies_;
  const std::vector<int64_t> &sizes_;
};

/// How a launch is dealt out: a call for every index along the sizes in front
/// of `dim`, and for each of so many ranges of that one.
struct Split {
  size_t dim = 0;
  int64_t outer = 1, ranges = 1;
};

/// One call of a native kernel.
struct Call {
  std::vector<void *> buffers;
  std::vector<int64_t> sizes;
};

std::vector<BufferExtent> extentsOf(const fb::NativeKernel &kernel,
                                    const std::vector<int64_t> &sizes) {
  std::vector<BufferExtent> extents;
  for (uint32_t i = 0; i != items(kernel.extents()).size(); ++i)
    extents.emplace_back(kernel, i, sizes);
  return extents;
}

/// Along the first size if it has enough for all threads that are worth it,
/// else along the next ones as well.
Split splitOf(const std::vector<BufferExtent> &extents, size_t operands,
              const std::vector<int64_t> &sizes) {
  uint64_t bytes = 0;
  for (const BufferExtent &extent : extents)
    if (extent.varies(0))
      bytes += extent.bytes();
  auto threads = static_cast<int64_t>(threadsForBytes(bytes));
  Split split;
  for (;; ++split.dim) {
    // All parts would write the same elements, or there are none.
    bool isWhole = split.dim == sizes.size() || sizes[split.dim] == 0;
    for (size_t i = operands; i < extents.size() && !isWhole; ++i)
      isWhole = !extents[i].varies(split.dim);
    if (isWhole)
      return Split();
    if (split.outer * sizes[split.dim] >= threads)
      break;
    split.outer *= sizes[split.dim];
  }
  // As many calls for each thread, or about four.
  split.ranges = std::min({threads / std::gcd(split.outer, threads),
                           4 * threads / split.outer, sizes[split.dim]});
  return split;
}

class BoundNative final : public BoundKernel {
public:
  BoundNative(soap_native_kernel function, const fb::NativeKernel *kernel,
              const Binding &binding)
      : function_(function) {
    std::vector<BufferExtent> extents;
    if (kernel && kernel->size_count() != 0 && !binding.sizes.empty())
      extents = extentsOf(*kernel, binding.sizes);
    Split split;
    if (!extents.empty())
      split = splitOf(extents, binding.operands.size(), binding.sizes);
    for (int64_t outer = 0; outer != split.outer; ++outer)
      for (int64_t range = 0; range != split.ranges; ++range)
        calls_.push_back(makeCall(extents, binding, split, outer, range));
  }
  void enqueue(Stream &) override {
    auto calls = static_cast<int64_t>(calls_.size());
    forEachOf(calls, std::min(calls, static_cast<int64_t>(threadCount())),
              [this](int64_t number) {
                const Call &call = calls_[static_cast<size_t>(number)];
                function_(call.buffers.data(), call.sizes.data());
              });
  }

private:
  /// The call for the index number `outer` and a range.
  static Call makeCall(const std::vector<BufferExtent> &extents,
                       const Binding &binding, const Split &split,
                       int64_t outer, int64_t range) {
    Call call = {{}, binding.sizes};
    std::vector<int64_t> first(binding.sizes.size()); // Along each size.
    if (split.outer * split.ranges > 1) {
      int64_t size = binding.sizes[split.dim];
      first[split.dim] = size * range / split.ranges;
      call.sizes[split.dim] =
          size * (range + 1) / split.ranges - first[split.dim];
      for (size_t dim = split.dim; dim-- != 0;) {
        first[dim] = outer % binding.sizes[dim];
        outer /= binding.sizes[dim];
        call.sizes[dim] = 1;
      }
    }
    for (const auto *list : {&binding.operands, &binding.results})
      for (DevicePointer buffer : *list) {
        char *address = hostAddress(buffer);
        size_t number = call.buffers.size();
        for (size_t dim = 0; dim <= split.dim && number < extents.size(); ++dim)
          address += static_cast<uint64_t>(first[dim]) *
                     extents[number].bytesPerIndex(dim);
        call.buffers.push_back(address);
      }
    // Kernels only read what the last entry points to.
    call.buffers.push_back(const_cast<soap_native_services *>(&nativeServices));
    return call;
  }

  soap_native_kernel function_;
  std::vector<Call> calls_;
};

class NativeKernel final : public Kernel {
public:
  NativeKernel(soap_native_kernel function, const fb::NativeKernel *description)
      : function_(function), description_(description) {
    implementation_ = "native";
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<BoundNative>(function_, description_, binding);
  }

private:
  soap_native_kernel function_;
  const fb::NativeKernel *description_;
};
} // namespace

std::unique_ptr<Kernel> runtime::makeNativeKernel(const NativeCode &native) {
  return std::make_unique<NativeKernel>(native.function, native.description);
}
