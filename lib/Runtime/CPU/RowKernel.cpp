//===- RowKernel.cpp - Products of one row, or of a few -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of one row reads every weight once: it takes as long as memory or
// a cache gives them. So they are read as they are, by the loops that recurrent
// layers use, in place of a reordered copy of oneDNN's. Of two factors of bf16
// the row is widened first. A few rows wait for memory as well, where the
// weights are in no cache.
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/FewRows.h"
#include "CPU/NarrowFloats.h"
#include "CPU/RowsLoops.h"
#include "Error.h"
#include <algorithm>
#include <cstring>
#include <optional>

using namespace soap;
using namespace soap::runtime;

namespace {
struct RowShape {
  int64_t rows, sum, columns;
  bool hasBias;  ///< One number per column.
  bool isNarrow; ///< Both factors are bf16.
};

class BoundRow final : public BoundKernel {
public:
  BoundRow(const RowShape &shape, const Binding &binding)
      : shape_(shape), a_(hostAddress(binding.operands[0])),
        b_(hostAddress(binding.operands[1])),
        wide_(floatsAt(binding.scratchpad)),
        bias_(shape.hasBias ? floatsAt(binding.operands[2]) : nullptr),
        c_(floatsAt(binding.results[0])) {}

  void enqueue(Stream &) override {
    auto columns = static_cast<size_t>(shape_.columns);
    for (int64_t row = 0; row != shape_.rows; ++row) {
      float *to = c_ + row * shape_.columns;
      if (bias_)
        std::memmove(to, bias_, columns * sizeof(float));
      else
        std::memset(to, 0, columns * sizeof(float));
    }
    if (!shape_.isNarrow)
      return check(multiplyFewRows(
          RowsProduct{shape_.rows, shape_.columns, shape_.sum,
                      reinterpret_cast<const float *>(a_), shape_.sum,
                      reinterpret_cast<const float *>(b_), shape_.sum, c_,
                      shape_.columns}));
    widenFloats(fb::ElementType::BF16, reinterpret_cast<const uint16_t *>(a_),
                wide_, static_cast<size_t>(shape_.rows * shape_.sum));
    check(multiplyFewRows(
        NarrowRowsProduct{shape_.rows, shape_.columns, shape_.sum, wide_,
                          shape_.sum, reinterpret_cast<const uint16_t *>(b_),
                          shape_.sum, c_, shape_.columns}));
  }

private:
  /// Shapes are such that the loops take them (isFastest()).
  static void check(bool isDone) {
    if (!isDone)
      failed("expected memory for the packed rows of a product, got none");
  }
  static float *floatsAt(DevicePointer pointer) {
    return reinterpret_cast<float *>(hostAddress(pointer));
  }

  const RowShape shape_;
  const char *a_, *b_;
  float *wide_;
  const float *bias_;
  float *c_;
};

class RowKernel final : public Kernel {
public:
  explicit RowKernel(const RowShape &shape) : shape_(shape) {
    implementation_ = "soap:row";
  }
  size_t scratchpadBytes() const override {
    return shape_.isNarrow
               ? alignedBytes(static_cast<size_t>(shape_.rows * shape_.sum) *
                              sizeof(float))
               : 0;
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<BoundRow>(shape_, binding);
  }

private:
  RowShape shape_;
};
} // namespace

/// The product that a kernel is, if it is one of f32 or bf16 whose rows, and
/// the second factor's columns, lie behind each other, with a result of f32.
static std::optional<RowShape> rowShape(const fb::Kernel &kernel) {
  const fb::MatMul *op = kernel.op_as_MatMul();
  if (!op || !op->transpose_b() || op->alpha() != 1 ||
      items(kernel.followers()).size() != 0 ||
      items(kernel.operands()).size() != (op->bias() ? 3u : 2u))
    return std::nullopt;
  auto elementOf = [&](uint32_t i) {
    return items(kernel.operands())[i]->element();
  };
  bool isNarrow = elementOf(0) == fb::ElementType::BF16;
  if ((!isNarrow && elementOf(0) != fb::ElementType::F32) ||
      elementOf(1) != elementOf(0) ||
      (op->bias() && elementOf(2) != fb::ElementType::F32))
    return std::nullopt;
  Shape a = toVector(kernel.operands()->Get(0)->shape());
  Shape b = toVector(kernel.operands()->Get(1)->shape());
  Shape c = toVector(kernel.results()->Get(0)->shape());
  if (b.size() != 2 || a.empty() || c.empty() ||
      kernel.results()->Get(0)->element() != fb::ElementType::F32)
    return std::nullopt;
  RowShape shape{elementCount(c) / std::max<int64_t>(c.back(), 1), b[1], b[0],
                 op->bias(), isNarrow};
  // One row lies like that even where it is a column.
  bool areRows =
      shape.rows == 1 || (!op->transpose_a() && a.back() == shape.sum);
  if (!areRows || elementCount(a) != shape.rows * shape.sum ||
      c.back() != shape.columns || shape.sum == 0 || shape.columns == 0)
    return std::nullopt;
  if (op->bias() && elementCount(toVector(
                        kernel.operands()->Get(2)->shape())) != shape.columns)
    return std::nullopt;
  return shape;
}

/// Of one row the memory that the factor lies in is the limit. It is for a few
/// rows, too, of a factor that no cache holds: oneDNN's kernels wait for it,
/// those with AVX-512 for fewer of them.
static bool isFastest(const RowShape &shape, const RowsLoops &loops) {
  constexpr int64_t manyElements = int64_t{2} << 20;
  int64_t fewRows = loops.width > 8 ? 8 : 16;
  return shape.rows == 1 || (!shape.isNarrow && shape.rows <= fewRows &&
                             shape.sum * shape.columns >= manyElements);
}

std::unique_ptr<Kernel> runtime::makeRowKernel(const fb::Kernel &kernel) {
  std::optional<RowShape> shape = rowsLoops() ? rowShape(kernel) : std::nullopt;
  return shape && isFastest(*shape, *rowsLoops())
             ? std::make_unique<RowKernel>(*shape)
             : nullptr;
}
