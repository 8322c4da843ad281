//===- Kernel.cpp - Kernels of the CPU backend ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Kernel.h"
#include "CPU/Backend.h"

using namespace soap;
using namespace soap::runtime;

std::shared_ptr<void> ConstantCache::find(const void *address,
                                          const std::string &layout) const {
  auto it = copies.find({address, layout});
  return it == copies.end() ? nullptr : it->second;
}

void ConstantCache::add(const void *address, const std::string &layout,
                        std::shared_ptr<void> copy, size_t bytes) {
  if (copies.emplace(std::make_pair(address, layout), std::move(copy)).second)
    total += bytes;
}

std::unique_ptr<Kernel> runtime::makeKernel(const fb::Kernel &kernel,
                                            const std::vector<bool> &constant) {
  const LibraryBackend &library = libraryBackend();
  bool empty = elementCount(toVector(kernel.results()->Get(0)->shape())) == 0;
  if (!empty)
    if (auto result =
            library.makeKernel(kernel, constant, /*allowReference=*/false))
      return result;
  if (auto result = makeLoopKernel(kernel))
    return result;
  if (auto result =
          library.makeKernel(kernel, constant, /*allowReference=*/true))
    return result;
  std::string types;
  for (const auto *type : items(kernel.operands()))
    types += text(types.empty() ? "" : ", ", elementName(type->element()), " ",
                  runtime::toString(toVector(type->shape())));
  invalid("expected a kernel that oneDNN or the runtime implements, got: ",
          fb::EnumNameKernelOp(kernel.op_type()), " on ", types, " (key '",
          kernel.key()->str(), "'); compile the model again");
}

namespace {
class BoundNative final : public BoundKernel {
public:
  BoundNative(soap_native_kernel function, const Binding &binding)
      : function(function), sizes(binding.sizes) {
    for (const auto *list : {&binding.operands, &binding.results})
      buffers.insert(buffers.end(), list->begin(), list->end());
  }
  void run() override { function(buffers.data(), sizes.data()); }

private:
  soap_native_kernel function;
  std::vector<void *> buffers;
  std::vector<int64_t> sizes;
};

class NativeKernel final : public Kernel {
public:
  explicit NativeKernel(soap_native_kernel function) : function(function) {
    name = "native";
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<BoundNative>(function, binding);
  }

private:
  soap_native_kernel function;
};
} // namespace

std::unique_ptr<Kernel> runtime::makeNativeKernel(soap_native_kernel function) {
  return std::make_unique<NativeKernel>(function);
}
