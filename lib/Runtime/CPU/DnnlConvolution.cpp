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

/// Whether oneDNN is to choose all layouts first. Where both activations have
/// channels last, they stay as they are: its choice is the same or not faster
/// (docs/Runtime.md); where one has, the other one is reordered.
static bool choosesFirst(int channelsLast, bool prefersOwn) {
  return channelsLast == 1 || (channelsLast == 0 && prefersOwn);
}

/// What `attempt` makes of layouts of source, weights and destination: of
/// oneDNN's choice if `own`, else of the given ones, or the other way round
/// where it makes nothing. `anyWeights` have any layout in either case.
template <typename Attempt>
static Result attemptLayouts(bool own, bool anyWeights, const memory::desc &src,
                             const memory::desc &weights,
                             const memory::desc &dst, const Attempt &attempt) {
  Result result;
  for (bool chosen : {own, !own})
    if (!result)
      result =
          chosen ? attempt(anyLayout(src), anyLayout(weights), anyLayout(dst))
                 : attempt(src, anyWeights ? anyLayout(weights) : weights, dst);
  return result;
}

/// The kernel of a description that was chosen for operands and a result as
/// they are: source, weights, `bias` unless it is null. Null without one.
template <typename Primitive>
static Result withBias(const Request &request,
                       const typename Primitive::primitive_desc &desc,
                       const memory::desc &src, const memory::desc &weights,
                       const memory::desc *bias, const memory::desc &dst) {
  if (!desc)
    return nullptr;
  std::vector<memory::desc> user{src, weights},
      wanted{desc.src_desc(), desc.weights_desc()};
  std::vector<int> arguments{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  if (bias) {
    user.push_back(*bias);
    wanted.push_back(*bias);
    arguments.push_back(DNNL_ARG_BIAS);
  }
  user.push_back(dst);
  wanted.push_back(desc.dst_desc());
  arguments.push_back(DNNL_ARG_DST);
  return single<Primitive>(request, desc, user, wanted, arguments);
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

  using Conv = dnnl::convolution_forward;
  auto attempt = [&](const memory::desc &srcWanted,
                     const memory::desc &weightsWanted,
                     const memory::desc &dstWanted) -> Result {
    auto make = [&](const auto &...tail) {
      return describe<Conv>(
          request, followedScratchpad(request, dstWanted, /*channelDim=*/1),
          prop_kind::forward_inference, algorithm::convolution_direct,
          srcWanted, weightsWanted, tail..., dstWanted, dims(op->strides()),
          gaps(op->dilations()), dims(op->pads_lo()), dims(op->pads_hi()));
    };
    Conv::primitive_desc desc = op->bias() ? make(bias) : make();
    return withBias<Conv>(request, desc, src, weights,
                          op->bias() ? &bias : nullptr, dst);
  };
  bool constant = request.isConstant(1);
  bool own = choosesFirst(request.channelsLast(),
                          prefersOwnLayouts(w, dst.dims(), constant));
  return attemptLayouts(own, constant || request.channelsLast() > 0, src,
                        weights, dst, attempt);
}

namespace {
/// The shapes of a convolution y of x and w, of which a gradient is wanted.
struct BackwardShapes {
  Shape x, w, y;
  int64_t groups;
  fb::ElementType element; ///< Of the operands.

  /// The weights as [groups, F / groups, C / groups, kernel...].
  memory::desc weights(fb::ElementType type) const {
    Shape grouped = w;
    if (groups > 1) {
      grouped[0] /= groups;
      grouped.insert(grouped.begin(), groups);
    }
    return denseDesc(type, grouped);
  }
};
} // namespace

/// The same weights as those of a transposed convolution, which makes C
/// channels of F: the dimensions of both are exchanged.
static memory::desc exchanged(const memory::desc &weights, bool grouped) {
  auto rank = static_cast<size_t>(weights.data.ndims);
  memory::dims dims = weights.dims();
  memory::dims strides(weights.data.format_desc.blocking.strides,
                       weights.data.format_desc.blocking.strides + rank);
  size_t first = grouped ? 1 : 0;
  std::swap(dims[first], dims[first + 1]);
  std::swap(strides[first], strides[first + 1]);
  return {dims, weights.data_type(), strides};
}

/// Whether a transposed convolution gains from layouts of oneDNN's choice.
/// Measured as for convolutions, with AVX-512 on one core: windows of dense
/// tensors are products of matrices whose results are added up, which is
/// faster where windows do not overlap (1,024 to 512 channels of 28x28, a
/// kernel of 2x2 and strides of 2: 19 ms against 27) or results have few
/// channels (64 to 3 of 64x64, 4x4: 0.32 ms against 1.12), and slower elsewhere
/// (256 to 128 of 14x14, 4x4: 1.66 ms against 1.26).
static bool prefersOwnLayouts(const BackwardShapes &shapes,
                              const fb::ConvBackward *op) {
  constexpr int64_t fewChannels = 16;
  bool overlaps = false;
  for (size_t i = 0; i + 2 < shapes.w.size(); ++i)
    overlaps |= shapes.w[2 + i] > op->strides()->Get(i);
  return overlaps && shapes.w[1] >= fewChannels;
}

/// A transposed convolution: the gradient of x, plus a bias.
static Result makeTransposed(const Request &request, const fb::ConvBackward *op,
                             const BackwardShapes &shapes) {
  memory::desc src = request.operandDesc(0), dst = request.resultDesc(),
               weights =
                   exchanged(shapes.weights(shapes.element), shapes.groups > 1);
  memory::desc bias = op->bias() ? request.operandDesc(2) : memory::desc();
  using Transposed = dnnl::deconvolution_forward;
  auto attempt = [&](const memory::desc &srcWanted,
                     const memory::desc &weightsWanted,
                     const memory::desc &dstWanted) -> Result {
    auto make = [&](const auto &...tail) {
      return describe<Transposed>(
          request, followedScratchpad(request, dstWanted, /*channelDim=*/1),
          prop_kind::forward_inference, algorithm::deconvolution_direct,
          srcWanted, weightsWanted, tail..., dstWanted, dims(op->strides()),
          gaps(op->dilations()), dims(op->pads_lo()), dims(op->pads_hi()));
    };
    Transposed::primitive_desc desc = op->bias() ? make(bias) : make();
    return withBias<Transposed>(request, desc, src, weights,
                                op->bias() ? &bias : nullptr, dst);
  };
  return attemptLayouts(
      choosesFirst(request.channelsLast(), prefersOwnLayouts(shapes, op)),
      request.isConstant(1) || request.channelsLast() > 0, src, weights, dst,
      attempt);
}

/// The gradient of the weights.
static Result makeFilterGradient(const Request &request,
                                 const fb::ConvBackward *op,
                                 const BackwardShapes &shapes) {
  memory::desc src = request.operandDesc(0), dst = request.operandDesc(1),
               weights =
                   shapes.weights(request.kernel.results()->Get(0)->element());
  Request anyForward = request;
  anyForward.allowReference = true;
  using Filter = dnnl::convolution_backward_weights;
  auto attempt = [&](const memory::desc &srcWanted,
                     const memory::desc &weightsWanted,
                     const memory::desc &dstWanted) -> Result {
    // Its weights have the type of the operands, the gradient has the wider
    // one.
    memory::desc multiplied = weightsWanted;
    multiplied.data.data_type = srcWanted.data.data_type;
    auto forward = describe<dnnl::convolution_forward>(
        anyForward, userScratchpad(), prop_kind::forward_training,
        algorithm::convolution_direct, srcWanted, multiplied, dstWanted,
        dims(op->strides()), gaps(op->dilations()), dims(op->pads_lo()),
        dims(op->pads_hi()));
    if (!forward)
      return nullptr;
    auto desc = describeBy(request, [&] {
      Filter::desc backward(algorithm::convolution_direct, srcWanted,
                            weightsWanted, dstWanted, dims(op->strides()),
                            gaps(op->dilations()), dims(op->pads_lo()),
                            dims(op->pads_hi()));
      return Filter::primitive_desc(backward, userScratchpad(), dnnlEngine(),
                                    forward, /*allow_empty=*/true);
    });
    return desc ? single<Filter>(
                      request, desc, {src, dst, weights},
                      {desc.src_desc(), desc.diff_dst_desc(),
                       desc.diff_weights_desc()},
                      {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS})
                : nullptr;
  };
  bool own = choosesFirst(
      request.isLast(0) + request.isLast(1),
      prefersOwnLayouts(shapes.w, dst.dims(), /*areConstant=*/false));
  return attemptLayouts(own, /*anyWeights=*/request.isLast(0), src, weights,
                        dst, attempt);
}

Result dnnlops::makeConvBackward(const Request &request,
                                 const fb::ConvBackward *op) {
  bool ofFilter = op->of_filter();
  if (request.operands() != (op->bias() ? 3u : 2u) || (ofFilter && op->bias()))
    return nullptr;
  BackwardShapes shapes;
  shapes.x = ofFilter ? request.operand(0) : request.result();
  shapes.w = ofFilter ? request.result() : request.operand(1);
  shapes.y = request.operand(ofFilter ? 1 : 0);
  shapes.groups = op->groups();
  shapes.element = request.kernel.operands()->Get(0)->element();
  const auto &[x, w, y, groups, element] = shapes;
  if (x.size() != w.size() || y.size() != x.size() || x.size() < 3 ||
      groups < 1 || w[0] % groups || x[1] != w[1] * groups || y[1] != w[0] ||
      x[0] != y[0] || (op->bias() && request.operand(2) != Shape{x[1]}))
    return nullptr;
  return ofFilter ? makeFilterGradient(request, op, shapes)
                  : makeTransposed(request, op, shapes);
}
