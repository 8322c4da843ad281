//===- Kernel.h - Kernels of a backend --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Kernel is made once per (KernelKey, constant operands) and device, on the
// thread that enqueues it; bind() fixes the addresses of one launch, after
// which enqueuing it allocates nothing and looks nothing up.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_BACKEND_KERNEL_H
#define SOAP_LIB_RUNTIME_BACKEND_KERNEL_H

#include "Backend/DeviceMemory.h"
#include "Backend/HostMemory.h"
#include "Types.h"
#include <map>
#include <memory>
#include <tuple>

namespace soap::runtime {

class Stream;

/// The code of a Native kernel; all null for kernels of the library.
struct NativeCode {
  /// Runs on the host. Null in models with device code, and where memory is
  /// planned: then nothing is bound.
  soap_native_kernel function = nullptr;
  const fb::NativeKernel *description = nullptr;
  const fb::DeviceCode *device = nullptr; ///< The model's, if it has some.
};

/// Copies of parameters in the layouts that library kernels want, made once and
/// shared by the launches of a device.
class ConstantCache {
public:
  ConstantCache() : memory_(std::make_shared<BlockList>()) {}
  /// Empty, but copies are made in the memory of `other`.
  static ConstantCache beside(const ConstantCache &other) {
    ConstantCache cache;
    cache.memory_ = other.memory_;
    return cache;
  }
  /// Memory of the host for a copy.
  std::shared_ptr<void> allocate(size_t bytes) {
    return memory_->allocate(bytes);
  }
  /// The copy of the tensor at `address` in the layout described by `layout`
  /// (any bytes that identify it), or null.
  std::shared_ptr<void> find(DevicePointer address,
                             const std::string &layout) const;
  void add(DevicePointer address, const std::string &layout,
           std::shared_ptr<void> copy, size_t bytes);
  size_t bytes() const { return bytes_; }

private:
  std::map<std::pair<DevicePointer, std::string>, std::shared_ptr<void>>
      copies_;
  std::shared_ptr<BlockList> memory_;
  size_t bytes_ = 0;
};

/// What one launch works on.
struct Binding {
  std::vector<DevicePointer> operands, results;
  std::vector<int64_t> sizes; ///< Of Native kernels.
  /// The device's scratchpad of at least Kernel::scratchpadBytes().
  DevicePointer scratchpad;
  ConstantCache *constants = nullptr;
};

/// A launch with all its addresses.
class BoundKernel {
public:
  virtual ~BoundKernel() = default;
  /// Enqueues it on a stream of the same backend.
  virtual void enqueue(Stream &stream) = 0;
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
  /// Constant operands are in their buffers: it may read them.
  virtual std::unique_ptr<BoundKernel> bind(const Binding &binding) = 0;
  virtual size_t scratchpadBytes() const { return 0; }
  /// What bind() adds to the constants.
  virtual std::vector<ConstantCopy> constantCopies() const { return {}; }
  /// What runs: the library's name of the implementation (oneDNN's
  /// impl_info_str), "soap:..." for our own loops, "native".
  const std::string &implementation() const { return implementation_; }

protected:
  std::string implementation_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_KERNEL_H
