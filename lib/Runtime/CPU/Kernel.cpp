//===- Kernel.cpp - Kernels of the CPU backend ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"

using namespace soap;
using namespace soap::runtime;

namespace {
class BoundNative final : public BoundKernel {
public:
  BoundNative(soap_native_kernel function, const Binding &binding)
      : function_(function), sizes_(binding.sizes) {
    for (const auto *list : {&binding.operands, &binding.results})
      for (DevicePointer buffer : *list)
        buffers_.push_back(hostAddress(buffer));
    // Kernels only read what the last entry points to.
    buffers_.push_back(const_cast<soap_native_services *>(&nativeServices));
  }
  void enqueue(Stream &) override { function_(buffers_.data(), sizes_.data()); }

private:
  soap_native_kernel function_;
  std::vector<void *> buffers_;
  std::vector<int64_t> sizes_;
};

class NativeKernel final : public Kernel {
public:
  explicit NativeKernel(soap_native_kernel function) : function_(function) {
    implementation_ = "native";
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<BoundNative>(function_, binding);
  }

private:
  soap_native_kernel function_;
};
} // namespace

std::unique_ptr<Kernel>
runtime::makeCPUKernel(const fb::Kernel &kernel,
                       const std::vector<bool> &constant,
                       const NativeCode &native) {
  if (kernel.op_as_Native() && native.device)
    invalid("expected a model whose native kernels run on the host, got: one "
            "with device code; compile it with --target=cpu");
  if (kernel.op_as_Native())
    return std::make_unique<NativeKernel>(native.function);
  bool empty = elementCount(toVector(kernel.results()->Get(0)->shape())) == 0;
  if (!empty)
    if (auto result =
            makeDnnlKernel(kernel, constant, /*allowReference=*/false))
      return result;
  if (auto result = makeLoopKernel(kernel))
    return result;
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
