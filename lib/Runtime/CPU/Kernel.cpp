//===- Kernel.cpp - Kernels of the CPU backend ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/VectorLevel.h"

using namespace soap;
using namespace soap::runtime;

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
    return makeNativeKernel(native);
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
    if (auto result = makeStridedKernel(kernel, constant))
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
  if (auto result = makeByteKernel(kernel, constant))
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
