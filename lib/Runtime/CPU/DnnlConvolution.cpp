//===- DnnlConvolution.cpp - Convolutions as oneDNN primitives ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/DnnlRequest.h"

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::dnnlops;
using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

/// Whether a convolution gains from layouts of oneDNN's choice, with both
/// activations reordered in every run. Measured on one core with AVX-512,
/// docs/Runtime.md has the table: dense (NCHW) tensors get an im2col product,
/// 1.4 to 9 times slower than the direct kernels, reorders included; but
/// pointwise convolutions are plain products, for which reorders do not pay
/// unless the images are small and the weights `areConstant`.
static bool prefersOwnLayouts(const Shape &weights, const memory::dims &dst,
                              bool areConstant) {
  Shape kernel(weights.begin() + 2, weights.end());
  Shape image(dst.begin() + 2, dst.end());
  constexpr int64_t smallImage = 64;
  return elementCount(kernel) > 1 ||
         (areConstant && elementCount(image) <= smallImage);
}

Result dnnlops::makeConv(const Request &request, const fb::Conv *op) {
  if (request.operands() != (op->bias() ? 3u : 2u))
    return nullptr;
  Shape x = request.operand(0), w = request.operand(1);
  int64_t groups = op->groups();
  if (x.size() != w.size() || x.size() < 3 || groups < 1 || w[0] % groups ||
      x[1] != w[1] * groups)
    return nullptr;
  // Weights as [groups, F / groups, C / groups, kernel...].
  Shape grouped = w;
  if (groups > 1) {
    grouped[0] /= groups;
    grouped.insert(grouped.begin(), groups);
  }
  memory::desc src = request.operandDesc(0), dst = request.resultDesc();
  memory::desc weights =
      denseDesc(request.kernel.operands()->Get(1)->element(), grouped);
  memory::desc bias = op->bias() ? request.operandDesc(2) : memory::desc();
  memory::desc weightsWanted =
      request.isConstant(1) ? anyLayout(weights) : weights;

  using Conv = dnnl::convolution_forward;
  auto attempt = [&](const memory::desc &srcWanted,
                     const memory::desc &weightsWanted,
                     const memory::desc &dstWanted) -> Result {
    auto make = [&](const auto &...tail) {
      return describe<Conv>(
          request, userScratchpad(), prop_kind::forward_inference,
          algorithm::convolution_direct, srcWanted, weightsWanted, tail...,
          dstWanted, dims(op->strides()), gaps(op->dilations()),
          dims(op->pads_lo()), dims(op->pads_hi()));
    };
    Conv::primitive_desc desc = op->bias() ? make(bias) : make();
    if (!desc)
      return nullptr;
    std::vector<memory::desc> user{src, weights},
        wanted{desc.src_desc(), desc.weights_desc()};
    std::vector<int> arguments{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
    if (op->bias()) {
      user.push_back(bias);
      wanted.push_back(bias);
      arguments.push_back(DNNL_ARG_BIAS);
    }
    user.push_back(dst);
    wanted.push_back(desc.dst_desc());
    arguments.push_back(DNNL_ARG_DST);
    return single<Conv>(request, desc, user, wanted, arguments);
  };
  auto plain = [&] { return attempt(src, weightsWanted, dst); };
  auto chosen = [&] {
    return attempt(anyLayout(src), anyLayout(weights), anyLayout(dst));
  };
  bool first = prefersOwnLayouts(w, dst.dims(), request.isConstant(1));
  Result result = first ? chosen() : plain();
  if (!result)
    result = first ? plain() : chosen();
  return result;
}

/// The gradients of a convolution, of x or of the weights.
template <typename Primitive>
static typename Primitive::primitive_desc
describeBackward(const Request &request, const fb::ConvBackward *op,
                 const memory::desc &first, const memory::desc &second,
                 const memory::desc &third,
                 const dnnl::convolution_forward::primitive_desc &forward) {
  return describeBy(request, [&] {
    typename Primitive::desc desc(algorithm::convolution_direct, first, second,
                                  third, dims(op->strides()),
                                  gaps(op->dilations()), dims(op->pads_lo()),
                                  dims(op->pads_hi()));
    return typename Primitive::primitive_desc(desc, userScratchpad(),
                                              dnnlEngine(), forward,
                                              /*allow_empty=*/true);
  });
}

Result dnnlops::makeConvBackward(const Request &request,
                                 const fb::ConvBackward *op) {
  if (request.operands() != 2)
    return nullptr;
  bool ofFilter = op->of_filter();
  Shape x = ofFilter ? request.operand(0) : request.result();
  Shape w = ofFilter ? request.result() : request.operand(1);
  Shape y = request.operand(ofFilter ? 1 : 0);
  int64_t groups = op->groups();
  if (x.size() != w.size() || y.size() != x.size() || x.size() < 3 ||
      groups < 1 || w[0] % groups || x[1] != w[1] * groups || y[1] != w[0] ||
      x[0] != y[0])
    return nullptr;
  Shape grouped = w;
  if (groups > 1) {
    grouped[0] /= groups;
    grouped.insert(grouped.begin(), groups);
  }
  fb::ElementType element = request.kernel.operands()->Get(0)->element();
  memory::desc src = denseDesc(element, x), dst = denseDesc(element, y);
  memory::desc weights = denseDesc(element, grouped);
  Request anyForward = request;
  anyForward.allowReference = true;
  auto attempt = [&](const memory::desc &srcWanted,
                     const memory::desc &weightsWanted,
                     const memory::desc &dstWanted) -> Result {
    auto forward = describe<dnnl::convolution_forward>(
        anyForward, userScratchpad(), prop_kind::forward_training,
        algorithm::convolution_direct, srcWanted, weightsWanted, dstWanted,
        dims(op->strides()), gaps(op->dilations()), dims(op->pads_lo()),
        dims(op->pads_hi()));
    if (!forward)
      return nullptr;
    if (ofFilter) {
      using Filter = dnnl::convolution_backward_weights;
      auto desc = describeBackward<Filter>(request, op, srcWanted,
                                           weightsWanted, dstWanted, forward);
      return desc ? single<Filter>(request, desc, {src, dst, weights},
                                   {desc.src_desc(), desc.diff_dst_desc(),
                                    desc.diff_weights_desc()},
                                   {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST,
                                    DNNL_ARG_DIFF_WEIGHTS})
                  : nullptr;
    }
    using Data = dnnl::convolution_backward_data;
    auto desc = describeBackward<Data>(request, op, srcWanted, weightsWanted,
                                       dstWanted, forward);
    return desc ? single<Data>(
                      request, desc, {dst, weights, src},
                      {desc.diff_dst_desc(), desc.weights_desc(),
                       desc.diff_src_desc()},
                      {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC})
                : nullptr;
  };
  auto plain = [&] { return attempt(src, weights, dst); };
  auto chosen = [&] {
    return attempt(anyLayout(src), anyLayout(weights), anyLayout(dst));
  };
  bool first =
      prefersOwnLayouts(w, dst.dims(), !ofFilter && request.isConstant(1));
  Result result = first ? chosen() : plain();
  if (!result)
    result = first ? plain() : chosen();
  return result;
}
