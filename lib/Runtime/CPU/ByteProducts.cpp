//===- ByteProducts.cpp - Products of 8-bit integers ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops for what oneDNN 2.6 does not compute exactly, or not at all: on
// processors without AVX512_VNNI, or where ONEDNN_MAX_CPU_ISA hides it, and of
// few convolutions (pads beyond the window).
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "CPU/ByteProduct.h"
#include "CPU/Threads.h"
#include <algorithm>
#include <optional>

using namespace soap;
using namespace soap::runtime;

bool runtime::multipliesBytes(const fb::Kernel &kernel) {
  auto is = [](const fb::TensorType *type, fb::ElementType element) {
    return type->element() == element;
  };
  const fb::Conv *conv = kernel.op_as_Conv();
  const fb::MatMul *matmul = kernel.op_as_MatMul();
  return (conv ? !conv->bias()
               : matmul && !matmul->bias() && matmul->alpha() == 1.0f) &&
         kernel.operands()->size() == 2 && !kernel.followers() &&
         is(kernel.operands()->Get(0), fb::ElementType::U8) &&
         is(kernel.operands()->Get(1), fb::ElementType::I8) &&
         is(kernel.results()->Get(0), fb::ElementType::I32);
}

//===----------------------------------------------------------------------===//
// One by one
//===----------------------------------------------------------------------===//

namespace {
class Multiplier {
public:
  Multiplier(const ByteProduct &product, const uint8_t *data,
             const int8_t *weights, uint32_t *result)
      : loops_(product.batches), product_(product), data_(data),
        weights_(weights), result_(result) {
    loops_.push_back(product.filters);
  }

  void run() const {
    int64_t all = 1;
    for (const ByteLoop &loop : loops_)
      all *= loop.size;
    forEachOf(all, std::min(all, static_cast<int64_t>(threadCount())),
              [&](int64_t i) { iterate(i); });
  }

private:
  /// An iteration of the outer loops, of all of them.
  void iterate(int64_t number) const {
    int64_t data = 0, weights = 0, result = 0;
    for (size_t depth = loops_.size(); depth-- != 0;) {
      const ByteLoop &loop = loops_[depth];
      int64_t i = number % loop.size;
      number /= loop.size;
      data += i * loop.data;
      weights += i * loop.weights;
      result += i * loop.result;
    }
    place(0, data, weights, result, {});
  }

  /// Every position of the result.
  void place(size_t dim, int64_t data, int64_t weights, int64_t result,
             std::array<int64_t, 3> at) const {
    if (dim == at.size()) {
      result_[result] = window(0, data, weights, at);
      return;
    }
    const BytePosition &position = product_.positions[dim];
    for (at[dim] = 0; at[dim] != position.outputs; ++at[dim])
      place(dim + 1, data, weights, result + at[dim] * position.result, at);
  }

  /// The sum over the window at a position, inside of the data. It wraps
  /// around, as that of a signed integer may not.
  uint32_t window(size_t dim, int64_t data, int64_t weights,
                  const std::array<int64_t, 3> &at) const {
    uint32_t sum = 0;
    if (dim == at.size()) {
      const ByteLoop &loop = product_.sum;
      for (int64_t i = 0; i != loop.size; ++i)
        sum += static_cast<uint32_t>(data_[data + i * loop.data] *
                                     weights_[weights + i * loop.weights]);
      return sum;
    }
    const BytePosition &position = product_.positions[dim];
    for (int64_t k = 0; k != position.window; ++k) {
      int64_t read =
          at[dim] * position.stride + k * position.dilation - position.pad;
      if (read >= 0 && read < position.extent)
        sum += window(dim + 1, data + read * position.data,
                      weights + k * position.weights, at);
    }
    return sum;
  }

  std::vector<ByteLoop> loops_;
  const ByteProduct &product_;
  const uint8_t *data_;
  const int8_t *weights_;
  uint32_t *result_;
};

class ByteKernel final : public Kernel {
public:
  explicit ByteKernel(ByteProduct product) : product_(std::move(product)) {
    implementation_ = "soap:bytes";
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<Bound>(product_, binding);
  }

private:
  class Bound final : public BoundKernel {
  public:
    Bound(ByteProduct product, const Binding &binding)
        : product_(std::move(product)), binding_(binding) {}
    void enqueue(Stream &) override {
      Multiplier(
          product_,
          reinterpret_cast<const uint8_t *>(hostAddress(binding_.operands[0])),
          reinterpret_cast<const int8_t *>(hostAddress(binding_.operands[1])),
          reinterpret_cast<uint32_t *>(hostAddress(binding_.results[0])))
          .run();
    }

  private:
    ByteProduct product_;
    Binding binding_;
  };

  ByteProduct product_;
};
} // namespace

//===----------------------------------------------------------------------===//
// Which products
//===----------------------------------------------------------------------===//

/// Elements from one to the next along each dim of a dense tensor.
static std::vector<int64_t> stridesOf(const fb::TensorType &type) {
  Shape shape = toVector(type.shape());
  std::vector<int64_t> strides(shape.size(), 1);
  bool last = type.order() == fb::ElementOrder::ChannelsLast;
  int64_t next = last ? shape[1] : 1;
  for (size_t d = shape.size(); d-- != 0;) {
    if (last && d == 1)
      continue;
    strides[d] = next;
    next *= shape[d];
  }
  return strides;
}

static std::optional<ByteProduct> convolution(const fb::Kernel &kernel,
                                              const fb::Conv &op) {
  const auto &data = *kernel.operands()->Get(0);
  const auto &weights = *kernel.operands()->Get(1);
  const auto &result = *kernel.results()->Get(0);
  Shape x = toVector(data.shape()), w = toVector(weights.shape()),
        y = toVector(result.shape());
  int64_t groups = op.groups();
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() ||
      y.size() != x.size() || groups < 1 || w[0] % groups ||
      x[1] != w[1] * groups || y[1] != w[0] || y[0] != x[0])
    return std::nullopt;
  auto xs = stridesOf(data), ws = stridesOf(weights), ys = stridesOf(result);
  int64_t outputs = w[0] / groups;
  ByteProduct product;
  product.batches = {{x[0], xs[0], 0, ys[0]}};
  if (groups > 1 && w[1] == 1 && outputs == 1) {
    product.filters = {groups, xs[1], ws[0], ys[1]};
  } else {
    product.batches.push_back(
        {groups, xs[1] * w[1], ws[0] * outputs, ys[1] * outputs});
    product.filters = {outputs, 0, ws[0], ys[1]};
  }
  size_t missing = product.positions.size() + 2 - x.size();
  for (size_t i = 0; i + 2 < x.size(); ++i)
    product.positions[missing + i] = {y[2 + i],
                                      w[2 + i],
                                      x[2 + i],
                                      op.strides()->Get(i),
                                      op.dilations()->Get(i),
                                      op.pads_lo()->Get(i),
                                      xs[2 + i],
                                      ws[2 + i],
                                      ys[2 + i]};
  product.sum = {w[1], xs[1], ws[1], 0};
  return product;
}

static std::optional<ByteProduct> matrixProduct(const fb::Kernel &kernel,
                                                const fb::MatMul &op) {
  const auto &first = *kernel.operands()->Get(0);
  const auto &second = *kernel.operands()->Get(1);
  const auto &result = *kernel.results()->Get(0);
  Shape a = toVector(first.shape()), b = toVector(second.shape()),
        y = toVector(result.shape());
  if (a.size() < 2 || b.size() < 2 || y.size() < 2 || a.size() > y.size() ||
      b.size() > y.size())
    return std::nullopt;
  auto as = stridesOf(first), bs = stridesOf(second), ys = stridesOf(result);
  if (op.transpose_a()) {
    std::swap(a[a.size() - 2], a.back());
    std::swap(as[as.size() - 2], as.back());
  }
  if (op.transpose_b()) {
    std::swap(b[b.size() - 2], b.back());
    std::swap(bs[bs.size() - 2], bs.back());
  }
  size_t rank = y.size();
  if (a.back() != b[b.size() - 2] || a[a.size() - 2] != y[rank - 2] ||
      b.back() != y.back())
    return std::nullopt;
  ByteProduct product;
  for (size_t d = 0; d + 2 < rank; ++d) {
    // Batch dims are aligned on the right; those of size 1 broadcast.
    auto strideIn = [&](const Shape &shape, const std::vector<int64_t> &all) {
      size_t missing = rank - shape.size();
      return d < missing || shape[d - missing] == 1 ? 0 : all[d - missing];
    };
    product.batches.push_back({y[d], strideIn(a, as), strideIn(b, bs), ys[d]});
  }
  BytePosition &rows = product.positions.back();
  rows.outputs = rows.extent = y[rank - 2];
  rows.data = as[a.size() - 2];
  rows.result = ys[rank - 2];
  product.filters = {y[rank - 1], 0, bs[b.size() - 1], ys[rank - 1]};
  product.sum = {a.back(), as.back(), bs[b.size() - 2], 0};
  return product;
}

std::unique_ptr<Kernel>
runtime::makeByteKernel(const fb::Kernel &kernel,
                        const std::vector<bool> &constant,
                        const ByteLoops *loops, size_t threads) {
  if (!multipliesBytes(kernel))
    return nullptr;
  const fb::Conv *conv = kernel.op_as_Conv();
  std::optional<ByteProduct> product =
      conv ? convolution(kernel, *conv)
           : matrixProduct(kernel, *kernel.op_as_MatMul());
  if (!product)
    return nullptr;
  if (!loops)
    return std::make_unique<ByteKernel>(std::move(*product));
  return makeVectorByteKernel(*product, *loops, threads,
                              constant.size() > 1 && constant[1]);
}

std::unique_ptr<Kernel>
runtime::makeByteKernel(const fb::Kernel &kernel,
                        const std::vector<bool> &constant) {
  return makeByteKernel(kernel, constant, byteLoops(), threadCount());
}
