//===- PointwiseGradient.cpp - Gradients of 1x1 convolutions --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With channels last, both gradients of a pointwise convolution are products
// over pixels. oneDNN multiplies them in half the time of its gradients of
// convolutions where images are small or the convolution moves by more than one
// pixel, and in about the same time elsewhere (docs/Runtime.md). In the second
// case, the pixels that it reads are packed before, or spread out behind.
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "CPU/CPUKernels.h"
#include "CPU/DnnlRequest.h"
#include "CPU/Threads.h"
#include "CPU/VectorLevel.h"
#include "soap/Testing/PlantedFault.h"
#include <array>
#include <cstring>
#include <optional>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::dnnlops;
using dnnl::memory;

namespace {
/// The pixels of x that a pointwise convolution reads for those of y, by up to
/// three spatial dims, missing ones of size 1 in front.
struct PixelGrid {
  static constexpr size_t dims = 3;
  int64_t images = 1;
  std::array<int64_t, dims> x{1, 1, 1}, y{1, 1, 1}, strides{1, 1, 1};

  bool isAll() const { return x == y; }
  int64_t pixels() const { return images * y[0] * y[1] * y[2]; }

  /// Copies pixels of `bytes` that y has from x, line by line of y.
  void pack(const char *from, char *to, size_t bytes) const {
    forEachLine(y, [&](int64_t image, int64_t plane, int64_t row) {
      const char *line =
          from + bytes * lineOf(x, image, plane * strides[0], row * strides[1]);
      char *made = to + bytes * lineOf(y, image, plane, row);
      for (int64_t column = 0; column != y[2]; ++column, made += bytes)
        std::memcpy(made,
                    line + bytes * static_cast<size_t>(column * strides[2]),
                    bytes);
    });
  }

  /// Copies them back, and makes the other pixels of x zero.
  void spread(const char *from, char *to, size_t bytes) const {
    forEachLine(x, [&](int64_t image, int64_t plane, int64_t row) {
      char *made = to + bytes * lineOf(x, image, plane, row);
      if (!isRead(0, plane) || !isRead(1, row)) {
        std::memset(made, 0, bytes * static_cast<size_t>(x[2]));
        return;
      }
      const char *line =
          from + bytes * lineOf(y, image, plane / strides[0], row / strides[1]);
      for (int64_t column = 0; column != x[2]; ++column, made += bytes)
        if (isRead(2, column))
          std::memcpy(made,
                      line + bytes * static_cast<size_t>(column / strides[2]),
                      bytes);
        else
          std::memset(made, 0, bytes);
    });
  }

private:
  using Extents = std::array<int64_t, dims>;

  bool isRead(size_t dim, int64_t at) const {
    if (SOAP_FAULT("pointwise-gradient-rim"))
      return at % strides[dim] == 0 && at / strides[dim] + 1 < y[dim];
    return at % strides[dim] == 0 && at / strides[dim] < y[dim];
  }
  /// The number of the first pixel of a line.
  static size_t lineOf(const Extents &of, int64_t image, int64_t plane,
                       int64_t row) {
    return static_cast<size_t>(((image * of[0] + plane) * of[1] + row) * of[2]);
  }
  /// Calls body(image, plane, row) on all threads.
  template <typename Body>
  void forEachLine(const Extents &of, const Body &body) const {
    int64_t lines = images * of[0] * of[1];
    auto parts = std::min(static_cast<int64_t>(threadCount()), lines);
    forEachOf(lines, parts, [&](int64_t line) {
      body(line / of[1] / of[0], line / of[1] % of[0], line % of[1]);
    });
  }
};

/// A gradient of y of x and w, of the weights or of x.
struct PointwiseGradient {
  PixelGrid grid;
  int64_t channels = 0, filters = 0;
  bool ofFilter = false;
};
} // namespace

static std::optional<PointwiseGradient>
pointwiseGradient(const fb::Kernel &kernel) {
  const fb::ConvBackward *op = kernel.op_as_ConvBackward();
  if (!op || op->bias() || op->groups() != 1 ||
      items(kernel.operands()).size() != 2 ||
      items(kernel.followers()).size() != 0)
    return std::nullopt;
  bool ofFilter = op->of_filter();
  const fb::TensorType &first = *kernel.operands()->Get(0),
                       &second = *kernel.operands()->Get(1),
                       &result = *kernel.results()->Get(0);
  const fb::TensorType &other = ofFilter ? second : result;
  Shape x = toVector(ofFilter ? first.shape() : result.shape()),
        w = toVector(ofFilter ? result.shape() : second.shape()),
        y = toVector(ofFilter ? second.shape() : first.shape());
  size_t rank = x.size();
  if (first.order() != fb::ElementOrder::ChannelsLast ||
      other.order() != fb::ElementOrder::ChannelsLast ||
      first.element() != second.element() || rank < 3 || rank > 5 ||
      w.size() != rank || y.size() != rank || x[0] != y[0] || w[0] != y[1] ||
      w[1] != x[1] || elementCount(w) != w[0] * w[1] || !elementCount(x) ||
      !elementCount(y))
    return std::nullopt;
  PointwiseGradient gradient;
  gradient.ofFilter = ofFilter;
  gradient.channels = x[1];
  gradient.filters = y[1];
  gradient.grid.images = x[0];
  for (const auto *list : {op->strides(), op->pads_lo()})
    if (items(list).size() != rank - 2)
      return std::nullopt;
  for (size_t i = 0; i + 2 < rank; ++i) {
    size_t dim = PixelGrid::dims - (rank - 2) + i;
    int64_t stride = op->strides()->Get(static_cast<uint32_t>(i));
    if (stride < 1 || op->pads_lo()->Get(static_cast<uint32_t>(i)) != 0 ||
        (y[2 + i] - 1) * stride >= x[2 + i])
      return std::nullopt;
    gradient.grid.x[dim] = x[2 + i];
    gradient.grid.y[dim] = y[2 + i];
    gradient.grid.strides[dim] = stride;
  }
  return gradient;
}

namespace {
class BoundGradient final : public BoundKernel {
public:
  void enqueue(Stream &) override {
    if (before)
      grid.pack(before, packed, bytes);
    product.execute(dnnlStream(), arguments);
    if (after)
      grid.spread(packed, after, bytes);
  }

  PixelGrid grid;
  size_t bytes = 0; ///< Of a pixel of x.
  dnnl::matmul product;
  std::unordered_map<int, memory> arguments;
  /// Where x is that is packed before the product, or spread out behind it.
  const char *before = nullptr;
  char *after = nullptr, *packed = nullptr;
};

class GradientKernel final : public Kernel {
public:
  GradientKernel(const PointwiseGradient &gradient,
                 const dnnl::matmul::primitive_desc &desc, fb::ElementType ofX)
      : gradient_(gradient), desc_(desc),
        pixelBytes_(static_cast<size_t>(gradient.channels) *
                    memory::data_type_size(dnnlType(ofX))) {
    implementation_ = desc.impl_info_str();
  }

  size_t scratchpadBytes() const override {
    return packedBytes() + alignedBytes(desc_.scratchpad_desc().get_size());
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto bound = std::make_unique<BoundGradient>();
    char *scratch = hostAddress(binding.scratchpad);
    char *first = hostAddress(binding.operands[0]),
         *second = hostAddress(binding.operands[1]),
         *result = hostAddress(binding.results[0]);
    bound->grid = gradient_.grid;
    bound->bytes = pixelBytes_;
    bound->packed = scratch;
    if (packedBytes()) {
      char *&x = gradient_.ofFilter ? first : result;
      if (gradient_.ofFilter)
        bound->before = x;
      else
        bound->after = x;
      x = scratch;
    }
    // Of weights: the gradient of y, transposed, times x.
    if (gradient_.ofFilter)
      std::swap(first, second);
    bound->product = dnnl::matmul(desc_);
    auto add = [&](int argument, const memory::desc &desc, char *at) {
      bound->arguments.insert({argument, memory(desc, dnnlEngine(), at)});
    };
    add(DNNL_ARG_SRC, desc_.src_desc(), first);
    add(DNNL_ARG_WEIGHTS, desc_.weights_desc(), second);
    add(DNNL_ARG_DST, desc_.dst_desc(), result);
    add(DNNL_ARG_SCRATCHPAD, desc_.scratchpad_desc(), scratch + packedBytes());
    return bound;
  }

private:
  size_t packedBytes() const {
    return gradient_.grid.isAll()
               ? 0
               : alignedBytes(static_cast<size_t>(gradient_.grid.pixels()) *
                              pixelBytes_);
  }

  PointwiseGradient gradient_;
  dnnl::matmul::primitive_desc desc_;
  size_t pixelBytes_;
};
} // namespace

std::unique_ptr<Kernel>
runtime::makePointwiseGradientKernel(const fb::Kernel &kernel) {
  std::optional<PointwiseGradient> gradient = pointwiseGradient(kernel);
  fb::ElementType element = kernel.operands()->Get(0)->element(),
                  made = kernel.results()->Get(0)->element();
  if (!gradient || (element != fb::ElementType::F32 &&
                    !(element == fb::ElementType::BF16 && multipliesBF16())))
    return nullptr;
  int64_t pixels = gradient->grid.pixels(), channels = gradient->channels,
          filters = gradient->filters;
  memory::data_type type = dnnlType(element), result = dnnlType(made);
  auto rows = [](int64_t count, int64_t width, memory::data_type of) {
    return memory::desc({count, width}, of, memory::dims{width, 1});
  };
  Request request{kernel, {}, /*allowReference=*/false};
  auto desc =
      gradient->ofFilter
          ? describe<dnnl::matmul>(
                request, userScratchpad(),
                memory::desc({filters, pixels}, type, memory::dims{1, filters}),
                rows(pixels, channels, type), rows(filters, channels, result))
          : describe<dnnl::matmul>(
                request, userScratchpad(), rows(pixels, filters, type),
                rows(filters, channels, type), rows(pixels, channels, result));
  if (!desc)
    return nullptr;
  return std::make_unique<GradientKernel>(*gradient, desc,
                                          gradient->ofFilter ? element : made);
}
