//===- DnnlKernel.h - A kernel made of oneDNN primitives --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN (github.com/oneapi-src/oneDNN), version 2 of its interface: a
// primitive descriptor chooses an implementation for given layouts; `any` lets
// it choose layouts too.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_DNNLKERNEL_H
#define SOAP_LIB_RUNTIME_CPU_DNNLKERNEL_H

#include "CPU/CPUKernels.h"
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>

namespace soap::runtime {

/// The CPU engine of the process.
dnnl::engine &dnnlEngine();
/// The calling thread's stream.
dnnl::stream &dnnlStream();

/// True if `implementation` is one of oneDNN's unoptimised loops.
bool isReference(const std::string &implementation);

/// The type in oneDNN's terms, or undef.
dnnl::memory::data_type dnnlType(fb::ElementType element);

/// A dense, row-major tensor; rank 0 as one element.
dnnl::memory::desc denseDesc(fb::ElementType element, const Shape &shape);

/// A dense tensor in the order of its table.
dnnl::memory::desc orderedDesc(const fb::TensorType &type);

/// The same tensor, of rank 3 to 5, with channels last.
dnnl::memory::desc channelsLastDesc(const fb::TensorType &type);

/// A sequence of primitives over the operands and results of a launch. Where a
/// primitive wants another layout than the dense one, constants are reordered
/// at bind, other operands and results in every run, through the scratchpad.
class DnnlKernel final : public Kernel {
public:
  /// One operand or result: how it lies in the buffer, and what the primitives
  /// want. `index` is its number in the binding.
  struct Slot {
    bool result = false;
    size_t index = 0;
    bool constant = false;
    dnnl::memory::desc user, wanted;
    bool accumulates = false; ///< A result that is added to what is there.
  };
  /// Describes a primitive, which is made (its code generated) at the first
  /// bind.
  struct Stage {
    std::function<dnnl::primitive()> make;
    dnnl::memory::desc scratchpad;
    std::vector<std::pair<int, size_t>> arguments; ///< DNNL_ARG_*, slot.
    dnnl::primitive primitive = {};
  };

  explicit DnnlKernel(std::string implementation) {
    implementation_ = std::move(implementation);
  }
  size_t addSlot(Slot slot);
  Slot &slot(size_t index) { return slots_[index]; }
  void addStage(Stage stage);

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override;
  size_t scratchpadBytes() const override;
  std::vector<ConstantCopy> constantCopies() const override;

private:
  std::vector<Slot> slots_;
  std::vector<Stage> stages_;
  size_t stageScratch_ = 0; ///< The largest of all stages.
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_DNNLKERNEL_H
