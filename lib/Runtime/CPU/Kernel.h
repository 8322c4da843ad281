//===- Kernel.h - Kernels of the CPU backend --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Kernel is made once per (KernelKey, constant operands) and device, on the
// thread that runs it; bind() fixes the addresses of one launch, after which
// running it allocates nothing and looks nothing up.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_KERNEL_H
#define SOAP_LIB_RUNTIME_CPU_KERNEL_H

#include "Types.h"
#include <map>
#include <memory>
#include <tuple>

namespace soap::runtime {

/// Copies of parameters in the layouts that library kernels want, made once and
/// shared by the launches of a device.
class ConstantCache {
public:
  /// The copy of the tensor at `address` in the layout described by `layout`
  /// (any bytes that identify it), or null.
  std::shared_ptr<void> find(const void *address,
                             const std::string &layout) const;
  void add(const void *address, const std::string &layout,
           std::shared_ptr<void> copy, size_t bytes);
  size_t bytes() const { return total; }

private:
  std::map<std::pair<const void *, std::string>, std::shared_ptr<void>> copies;
  size_t total = 0;
};

/// What one launch works on.
struct Binding {
  std::vector<void *> operands, results;
  std::vector<int64_t> sizes; ///< Of Native kernels.
  /// The device's scratchpad of at least Kernel::scratchpadBytes().
  void *scratchpad = nullptr;
  ConstantCache *constants = nullptr;
};

/// A launch, ready to run.
class BoundKernel {
public:
  virtual ~BoundKernel() = default;
  virtual void run() = 0;
};

/// A constant operand that a kernel reads from a copy of its own in another
/// layout, and not from the buffer.
struct ConstantCopy {
  size_t operand = 0;
  std::string layout; ///< Equal for equal copies of one operand.
  size_t bytes = 0;
};

class Kernel {
public:
  virtual ~Kernel() = default;
  virtual std::unique_ptr<BoundKernel> bind(const Binding &binding) = 0;
  virtual size_t scratchpadBytes() const { return 0; }
  /// What bind() adds to the constants.
  virtual std::vector<ConstantCopy> constantCopies() const { return {}; }
  /// What runs: the library's name of the implementation (oneDNN's
  /// impl_info_str), "soap:..." for our own loops, "native".
  const std::string &implementation() const { return name; }

protected:
  std::string name;
};

/// Chooses a library kernel for the calling thread's number of cores.
/// `constant[i]`: operand i never changes. Code is generated at the first
/// bind(): until then a kernel is cheap. Throws SOAP_INVALID with the
/// kernel's key if nothing implements it.
std::unique_ptr<Kernel> makeKernel(const fb::Kernel &kernel,
                                   const std::vector<bool> &constant);

/// Calls a function of the model.
std::unique_ptr<Kernel> makeNativeKernel(soap_native_kernel function);

/// Loops for what oneDNN lacks: empty results, and softmax along dims for which
/// oneDNN has only its reference implementation.
std::unique_ptr<Kernel> makeLoopKernel(const fb::Kernel &kernel);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_KERNEL_H
