//===- Kernel.cpp - Kernels of the CPU backend ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/Threads.h"
#include "CPU/VectorLevel.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

/// Bytes of a buffer that lie between neighbours along the first size.
static uint64_t bytesPerRow(const fb::NativeKernel &kernel, uint32_t buffer,
                            const std::vector<int64_t> &sizes) {
  uint64_t bytes = items(kernel.bytes())[buffer];
  uint64_t extents = items(kernel.extents())[buffer];
  for (size_t k = 1; k < sizes.size() && k < 64; ++k)
    if (extents >> k & 1)
      bytes *= static_cast<uint64_t>(sizes[k]);
  return bytes;
}

namespace {
/// One call of a native kernel.
struct Call {
  std::vector<void *> buffers;
  std::vector<int64_t> sizes;
};

/// On how many threads a launch runs.
size_t partsOf(const fb::NativeKernel &kernel, const Binding &binding) {
  auto buffers = items(kernel.extents());
  size_t operands = binding.operands.size();
  if (binding.sizes.empty() || kernel.size_count() == 0)
    return 1;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i != buffers.size(); ++i) {
    bool isSplit = buffers[i] & 1;
    if (i >= operands && !isSplit)
      return 1; // All parts would write the same elements.
    if (isSplit)
      bytes += bytesPerRow(kernel, i, binding.sizes) *
               static_cast<uint64_t>(binding.sizes[0]);
  }
  return std::clamp<size_t>(static_cast<size_t>(binding.sizes[0]), 1,
                            threadsForBytes(bytes));
}

class BoundNative final : public BoundKernel {
public:
  BoundNative(soap_native_kernel function, const fb::NativeKernel *kernel,
              const Binding &binding)
      : function_(function) {
    size_t parts = kernel ? partsOf(*kernel, binding) : 1;
    for (size_t part = 0; part != parts; ++part)
      calls_.push_back(makeCall(kernel, binding, part, parts));
  }
  void enqueue(Stream &) override {
    runParallel(
        calls_.size(),
        [](void *self, size_t part) {
          const auto &bound = *static_cast<const BoundNative *>(self);
          const Call &call = bound.calls_[part];
          bound.function_(call.buffers.data(), call.sizes.data());
        },
        this);
  }

private:
  static Call makeCall(const fb::NativeKernel *kernel, const Binding &binding,
                       size_t part, size_t parts) {
    Call call = {{}, binding.sizes};
    int64_t begin = 0;
    if (parts > 1) {
      int64_t rows = binding.sizes[0];
      begin = rows * static_cast<int64_t>(part) / static_cast<int64_t>(parts);
      int64_t end =
          rows * static_cast<int64_t>(part + 1) / static_cast<int64_t>(parts);
      call.sizes[0] = end - begin;
    }
    uint32_t i = 0;
    for (const auto *list : {&binding.operands, &binding.results})
      for (DevicePointer buffer : *list) {
        char *address = hostAddress(buffer);
        if (begin && items(kernel->extents())[i] & 1)
          address += static_cast<uint64_t>(begin) *
                     bytesPerRow(*kernel, i, binding.sizes);
        call.buffers.push_back(address);
        ++i;
      }
    // Kernels only read what the last entry points to.
    call.buffers.push_back(const_cast<soap_native_services *>(&nativeServices));
    return call;
  }

  soap_native_kernel function_;
  std::vector<Call> calls_; ///< One per thread.
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

/// Whether the library is to apply the followers of a kernel where it can, and
/// not a loop behind the kernel without them. oneDNN 2.6 applies them one by
/// one to each element where a convolution is a product of matrices (twice the
/// time of ShuffleNet). A kernel of our own has a loop behind it.
static bool prefersPostOperations(const fb::Kernel &kernel,
                                  const Kernel &followed) {
  const std::string &plain = followed.implementation();
  return plain.rfind("soap:", 0) != 0 &&
         (kernel.op_as_MatMul() || plain.find("gemm") == std::string::npos);
}

/// oneDNN's kernel of a grouped convolution, which is faster than loops of our
/// own where it is one with AVX-512. Null for all others.
static std::unique_ptr<Kernel>
makeGroupedWithAVX512(const fb::Kernel &kernel,
                      const std::vector<bool> &constant) {
  if (kernel.op_as_Conv()->groups() == 1)
    return nullptr;
  auto library = makeDnnlKernel(kernel, constant, /*allowReference=*/false);
  bool isWide =
      library && library->implementation().find("avx512") != std::string::npos;
  return isWide ? std::move(library) : nullptr;
}

std::unique_ptr<Kernel>
runtime::makeCPUKernel(const fb::Kernel &kernel,
                       const std::vector<bool> &constant,
                       const NativeCode &native) {
  if (kernel.op_as_Native() && native.device)
    invalid("expected a model whose native kernels run on the host, got: one "
            "with device code; compile it with --target=cpu");
  if (kernel.op_as_Native())
    return std::make_unique<NativeKernel>(native.function, native.description);
  bool empty = elementCount(toVector(kernel.results()->Get(0)->shape())) == 0;
  if (!empty) {
    if (auto result = makeWinogradKernel(kernel, constant))
      return result;
    if (auto result = makeWinogradFilterKernel(kernel))
      return result;
    if (auto result = makePointwiseGradientKernel(kernel))
      return result;
    if (auto result = makeTransposedKernel(kernel, constant))
      return result;
    if (auto result = makePoolKernel(kernel))
      return result;
    if (auto result = makeLrnKernel(kernel))
      return result;
    if (auto result = makeRowKernel(kernel))
      return result;
    if (auto result = makeAttentionKernel(kernel))
      return result;
    if (auto result = makePointwiseKernel(kernel, constant)) {
      auto library = makeGroupedWithAVX512(kernel, constant);
      return library ? std::move(library) : std::move(result);
    }
    if (!multipliesBF16())
      if (auto result = makeWidenedKernel(kernel, constant))
        return result;
  }
  std::unique_ptr<Kernel> followed =
      empty ? nullptr : makeFollowedKernel(kernel, constant);
  if (followed && !prefersPostOperations(kernel, *followed))
    return followed;
  if (!empty)
    if (auto result =
            makeDnnlKernel(kernel, constant, /*allowReference=*/false))
      return result;
  if (auto result = makeLoopKernel(kernel))
    return result;
  if (auto result = makeByteKernel(kernel))
    return result;
  if (followed &&
      followed->implementation().find("widened") == std::string::npos)
    return followed;
  if (auto result = makeWidenedKernel(kernel, constant))
    return result;
  if (followed)
    return followed;
  if (auto result = makeDnnlKernel(kernel, constant, /*allowReference=*/true))
    return result;
  std::string types;
  for (const auto *type : items(kernel.operands()))
    types += text(types.empty() ? "" : ", ", elementName(type->element()), " ",
                  runtime::toString(toVector(type->shape())));
  invalid("expected a kernel that oneDNN or the runtime implements, got: ",
          fb::EnumNameKernelOp(kernel.op_type()), " on ", types, " (key '",
          kernel.key()->str(), "'); compile the model again");
}
