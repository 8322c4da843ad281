//===- RowKernel.cpp - Products of one row --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of one row reads every weight once: it takes as long as memory or
// a cache gives them. So they are read as they are, by the loops that recurrent
// layers use, in place of a reordered copy of oneDNN's.
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/FewRows.h"
#include "CPU/RowsLoops.h"
#include <cstring>
#include <optional>

using namespace soap;
using namespace soap::runtime;

namespace {
struct RowShape {
  int64_t sum, columns;
  bool hasBias; ///< One number per column.
};

class BoundRow final : public BoundKernel {
public:
  BoundRow(const RowShape &shape, const Binding &binding)
      : shape_(shape), a_(floatsAt(binding.operands[0])),
        b_(floatsAt(binding.operands[1])),
        bias_(shape.hasBias ? floatsAt(binding.operands[2]) : nullptr),
        c_(floatsAt(binding.results[0])) {}

  void enqueue(Stream &) override {
    auto columns = static_cast<size_t>(shape_.columns);
    if (bias_)
      std::memmove(c_, bias_, columns * sizeof(float));
    else
      std::memset(c_, 0, columns * sizeof(float));
    multiplyFewRows({1, shape_.columns, shape_.sum, a_, shape_.sum, b_,
                     shape_.sum, c_, shape_.columns});
  }

private:
  static float *floatsAt(DevicePointer pointer) {
    return reinterpret_cast<float *>(hostAddress(pointer));
  }

  const RowShape shape_;
  const float *a_, *b_, *bias_;
  float *c_;
};

class RowKernel final : public Kernel {
public:
  explicit RowKernel(const RowShape &shape) : shape_(shape) {
    implementation_ = "soap:row";
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<BoundRow>(shape_, binding);
  }

private:
  RowShape shape_;
};
} // namespace

/// The product that a kernel is, if it is one of f32 with one row and a second
/// factor whose columns lie behind each other.
static std::optional<RowShape> rowShape(const fb::Kernel &kernel) {
  const fb::MatMul *op = kernel.op_as_MatMul();
  if (!op || !op->transpose_b() || op->alpha() != 1 ||
      items(kernel.followers()).size() != 0 ||
      items(kernel.operands()).size() != (op->bias() ? 3u : 2u))
    return std::nullopt;
  for (const auto *type : items(kernel.operands()))
    if (type->element() != fb::ElementType::F32)
      return std::nullopt;
  Shape a = toVector(kernel.operands()->Get(0)->shape());
  Shape b = toVector(kernel.operands()->Get(1)->shape());
  Shape c = toVector(kernel.results()->Get(0)->shape());
  if (b.size() != 2 || a.empty() || c.empty() ||
      kernel.results()->Get(0)->element() != fb::ElementType::F32)
    return std::nullopt;
  RowShape shape{b[1], b[0], op->bias()};
  if (elementCount(a) != shape.sum || elementCount(c) != shape.columns ||
      c.back() != shape.columns || shape.sum == 0 || shape.columns == 0)
    return std::nullopt;
  if (op->bias() && elementCount(toVector(
                        kernel.operands()->Get(2)->shape())) != shape.columns)
    return std::nullopt;
  return shape;
}

std::unique_ptr<Kernel> runtime::makeRowKernel(const fb::Kernel &kernel) {
  std::optional<RowShape> shape = rowsLoops() ? rowShape(kernel) : std::nullopt;
  return shape ? std::make_unique<RowKernel>(*shape) : nullptr;
}
