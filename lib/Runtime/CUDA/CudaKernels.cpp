//===- CudaKernels.cpp - Kernels of the CUDA backend ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/CudaKernels.h"

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

namespace {
/// A launch that has nothing to write.
class EmptyKernel final : public Kernel {
public:
  EmptyKernel() { implementation_ = "soap:empty"; }
  std::unique_ptr<BoundKernel> bind(const Binding &) override {
    class Nothing final : public BoundKernel {
      void enqueue(Stream &) override {}
    };
    return std::make_unique<Nothing>();
  }
};
} // namespace

std::unique_ptr<Kernel> cuda::makeCudaKernel(CudaDevice &device,
                                             const fb::Kernel &kernel,
                                             const std::vector<bool> &constant,
                                             const NativeCode &native) {
  if (kernel.op_as_Native())
    return makeNativeKernel(device, kernel, native);
  if (elementCount(toVector(kernel.results()->Get(0)->shape())) == 0)
    return std::make_unique<EmptyKernel>();
  if (kernel.op_as_MatMul())
    if (auto result = makeMatMulKernel(device, kernel))
      return result;
  if (kernel.op_as_Conv() || kernel.op_as_ConvBackward())
    if (auto result = makeConvolutionKernel(device, kernel))
      return result;
  std::string types;
  for (const auto *type : items(kernel.operands()))
    types += text(types.empty() ? "" : ", ", elementName(type->element()), " ",
                  runtime::toString(toVector(type->shape())));
  invalid("expected a kernel that cuBLASLt or cuDNN implements, got: ",
          fb::EnumNameKernelOp(kernel.op_type()), " on ", types, " (key '",
          kernel.key()->str(), "'); compile the model again");
}
