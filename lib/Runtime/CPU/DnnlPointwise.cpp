//===- DnnlPointwise.cpp - Products as pointwise convolutions -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN 2.6 has no product of f32 with a factor in a layout of its own for
// processors with AVX2: it packs the factor in every run, or, of few rows,
// reads it as it is, column by column, at half the speed where columns lie a
// multiple of 4 KiB apart. A convolution of 1x1 over an image with channels
// last is the same product, and its weights are reordered once.
//
//===----------------------------------------------------------------------===//

#include "CPU/DnnlRequest.h"

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::dnnlops;
using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

/// Whether a convolution is the fastest way to multiply so many rows.
/// docs/Runtime.md has the tables.
static bool isFastest(int64_t rows, bool packs) {
  // With AVX-512 both have a layout of their own, and the convolution divides
  // products of many rows better.
  if (!packs)
    return rows >= 1024 && rows < 4096;
  // Of one row, reading the factor takes the time, in any layout. Of many,
  // packing it takes hardly any, and a copy of it would take memory for nothing
  // where others read it as it is.
  return rows >= 2 && rows < 1024;
}
/// A factor is in memory twice while it is reordered.
static constexpr int64_t mostPackedBytes = int64_t{192} << 20;

Result dnnlops::makePointwise(const Request &request, const Shape &a,
                              const Shape &y, bool transposesB, bool hasBias,
                              bool packs) {
  bool isF32 =
      request.kernel.operands()->Get(0)->element() == fb::ElementType::F32 &&
      request.kernel.operands()->Get(1)->element() == fb::ElementType::F32;
  int64_t rows = a[0], sum = a[1], columns = y[1];
  if (!isF32 || !request.isConstant(1) || !isFastest(rows, packs) ||
      sum * columns * static_cast<int64_t>(sizeof(float)) > mostPackedBytes)
    return nullptr;
  using Tag = memory::format_tag;
  constexpr auto f32 = memory::data_type::f32;
  memory::desc src({1, sum, rows, 1}, f32, Tag::nhwc);
  memory::desc dst({1, columns, rows, 1}, f32, Tag::nhwc);
  memory::desc weights({columns, sum, 1, 1}, f32,
                       transposesB ? memory::dims{sum, 1, 1, 1}
                                   : memory::dims{1, columns, 1, 1});
  memory::desc bias({columns}, f32, Tag::a);

  using Conv = dnnl::convolution_forward;
  auto make = [&](const auto &...tail) {
    return describe<Conv>(
        request, followedScratchpad(request, dst, /*channelDim=*/1),
        prop_kind::forward_inference, algorithm::convolution_direct, src,
        anyLayout(weights), tail..., dst, memory::dims{1, 1},
        memory::dims{0, 0}, memory::dims{0, 0});
  };
  Conv::primitive_desc desc = hasBias ? make(bias) : make();
  // Where a convolution is a product of matrices, followers read wrong places.
  if (!desc ||
      (items(request.kernel.followers()).size() != 0 &&
       std::string(desc.impl_info_str()).find("gemm") != std::string::npos))
    return nullptr;
  std::vector<memory::desc> user{src, weights},
      wanted{src, desc.weights_desc()};
  std::vector<int> arguments{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  if (hasBias) {
    user.push_back(bias);
    wanted.push_back(bias);
    arguments.push_back(DNNL_ARG_BIAS);
  }
  user.push_back(dst);
  wanted.push_back(dst);
  arguments.push_back(DNNL_ARG_DST);
  return single<Conv>(request, desc, user, wanted, arguments);
}
