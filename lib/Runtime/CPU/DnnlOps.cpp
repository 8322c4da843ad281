//===- DnnlOps.cpp - Library kernels as oneDNN primitives -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/DnnlRequest.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::dnnlops;
using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

std::mutex &dnnlops::describing() {
  static std::mutex mutex;
  static thread_local std::mutex own;
  return SOAP_FAULT("described-at-once") ? own : mutex;
}

//===----------------------------------------------------------------------===//
// Matrix product
//===----------------------------------------------------------------------===//

/// Whether oneDNN computes the product by the routine for matrices in any
/// layout, which packs or reads `weights` as they are in every run.
static bool readsAsGiven(const dnnl::matmul::primitive_desc &desc,
                         const memory::desc &weights) {
  return desc.weights_desc() == weights &&
         std::string(desc.impl_info_str()).find("gemm") == 0;
}

/// Whether that routine is faster than products of blocks of f32 (`brg`, which
/// oneDNN has for AVX-512), with a second factor that changes. These read it as
/// it is, at half the speed where its rows lie a multiple of 4 KiB apart, and
/// write sums of few products slowly. docs/Runtime.md has the table.
static bool prefersGemm(int64_t rows, int64_t sum, int64_t columns,
                        bool transposesB) {
  constexpr int64_t fewRows = 32, many = 256;
  if (columns < many)
    return false;
  return transposesB ? rows >= many && sum <= many : rows >= fewRows;
}

/// The implementation of a product by the routine for matrices in any layout;
/// none if oneDNN has none for these arguments.
template <typename... Ts>
static dnnl::matmul::primitive_desc
describeGemm(const Request &request, const dnnl::primitive_attr &attr,
             const Ts &...arguments) {
  return describeBy(request, [&] {
    // Which the search for the next implementation reads.
    dnnl::matmul::desc product(arguments...);
    dnnl::matmul::primitive_desc desc(product, attr, dnnlEngine(),
                                      /*allow_empty=*/true);
    while (desc && std::string(desc.impl_info_str()).find("gemm") != 0)
      if (!desc.next_impl())
        return dnnl::matmul::primitive_desc();
    return desc;
  });
}

static Result makeMatMul(const Request &request, const fb::MatMul *op) {
  if (request.operands() != (op->bias() ? 3u : 2u))
    return nullptr;
  auto element = [&](size_t i) {
    return request.kernel.operands()->Get(i)->element();
  };
  Shape a = request.operand(0), b = request.operand(1), y = request.result();
  Shape c = op->bias() ? request.operand(2) : Shape();
  if (a.size() < 2 || b.size() < 2 || y.size() < 2)
    return nullptr;
  // A batch of one is one product.
  if (elementCount(y) == y[y.size() - 1] * y[y.size() - 2])
    for (Shape *shape : {&a, &b, &c, &y})
      while (shape->size() > 2 && shape->front() == 1)
        shape->erase(shape->begin());
  if (a.size() > y.size() || b.size() > y.size() || c.size() > y.size())
    return nullptr;
  // A batch that only the first operand has is more rows of one product.
  bool flat = !op->transpose_a() &&
              elementCount(b) == b[b.size() - 1] * b[b.size() - 2] &&
              a.size() == y.size() &&
              (c.empty() || elementCount(c) == c.back());
  if (flat) {
    auto collapse = [](const Shape &s) {
      return Shape{elementCount(Shape(s.begin(), s.end() - 1)), s.back()};
    };
    for (size_t d = 0; d + 1 < a.size(); ++d)
      if (a[d] != y[d])
        return nullptr;
    a = collapse(a);
    y = collapse(y);
    b = Shape(b.end() - 2, b.end());
    c = c.empty() ? c : Shape{c.back()};
  }
  size_t rank = y.size();
  memory::desc src = matrixDesc(element(0), a, rank);
  if (op->transpose_a())
    src = transposed(src);
  memory::desc weights = matrixDesc(element(1), b, rank);
  if (op->transpose_b())
    weights = transposed(weights);
  memory::desc dst = denseDesc(request.kernel.results()->Get(0)->element(), y);
  // It has few layouts of 8-bit integers.
  memory::desc weightsWanted =
      request.isConstant(1) || multipliesBytes(request.kernel)
          ? anyLayout(weights)
          : weights;
  memory::desc bias =
      op->bias() ? matrixDesc(element(2), c, rank) : memory::desc();

  // oneDNN scales the bias too, ours does not: then it is added afterwards.
  bool scaled = op->alpha() != 1.0f, added = scaled && op->bias();
  dnnl::post_ops ops;
  if (added)
    ops.append_binary(algorithm::binary_add, bias);
  dnnl::primitive_attr attr =
      followedScratchpad(request, dst, /*channelDim=*/rank - 1, ops);
  if (scaled)
    attr.set_output_scales(0, {op->alpha()});
  using MatMul = dnnl::matmul;
  bool hasBias = op->bias() && !added;
  MatMul::primitive_desc desc;
  if (rank == 2 && !request.isConstant(1) &&
      element(0) == fb::ElementType::F32 &&
      element(1) == fb::ElementType::F32 &&
      prefersGemm(y[0], src.dims()[1], y[1], op->transpose_b()))
    desc = hasBias ? describeGemm(request, attr, src, weights, bias, dst)
                   : describeGemm(request, attr, src, weights, dst);
  if (!desc)
    desc = hasBias
               ? describe<MatMul>(request, attr, src, weightsWanted, bias, dst)
               : describe<MatMul>(request, attr, src, weightsWanted, dst);
  if (!desc)
    return nullptr;
  if (flat && !scaled && (c.empty() || c.back() == y.back()))
    if (Result result = makePointwise(request, a, y, op->transpose_b(),
                                      op->bias(), readsAsGiven(desc, weights)))
      return result;
  std::vector<memory::desc> user{src, weights},
      wanted{src, desc.weights_desc()};
  std::vector<int> arguments{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  if (op->bias()) {
    user.push_back(bias);
    wanted.push_back(bias);
    arguments.push_back(added
                            ? DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1
                            : DNNL_ARG_BIAS);
  }
  user.push_back(dst);
  wanted.push_back(dst);
  arguments.push_back(DNNL_ARG_DST);
  return single<MatMul>(request, desc, user, wanted, arguments);
}

//===----------------------------------------------------------------------===//
// One operand and its layouts
//===----------------------------------------------------------------------===//

/// Layouts of a [N, C, spatial...] tensor to try, its own one first.
static std::vector<memory::desc> layouts(const memory::desc &own) {
  using Tag = memory::format_tag;
  std::vector<memory::desc> result{own};
  auto add = [&](Tag tag) {
    result.emplace_back(own.dims(), own.data_type(), tag);
  };
  switch (own.dims().size()) {
  case 3:
    add(Tag::nCw16c);
    add(Tag::nwc);
    break;
  case 4:
    add(Tag::nChw16c);
    add(Tag::nhwc);
    break;
  case 5:
    add(Tag::nCdhw16c);
    add(Tag::ndhwc);
    break;
  default:
    break;
  }
  return result;
}

static Result makePool(const Request &request, const fb::Pool *op) {
  if (request.operands() != 1 || request.operand(0).size() < 3)
    return nullptr;
  algorithm kind = op->kind() == fb::PoolKind::Max ? algorithm::pooling_max
                   : op->count_include_pad()
                       ? algorithm::pooling_avg_include_padding
                       : algorithm::pooling_avg_exclude_padding;
  memory::dims dilation = gaps(op->dilations());
  bool dense = std::all_of(dilation.begin(), dilation.end(),
                           [](int64_t d) { return d == 0; });
  memory::desc src = request.operandDesc(0), dst = request.resultDesc();
  for (const memory::desc &layout : layouts(src)) {
    memory::desc dstWanted =
        layout == src && request.channelsLast() != 1 ? dst : anyLayout(dst);
    if (dense) {
      using Pool = dnnl::pooling_forward;
      auto desc = describe<Pool>(
          request, userScratchpad(), prop_kind::forward_inference, kind, layout,
          dstWanted, dims(op->strides()), dims(op->kernel()),
          dims(op->pads_lo()), dims(op->pads_hi()));
      if (desc)
        return single<Pool>(request, desc, {src, dst},
                            {layout, desc.dst_desc()},
                            {DNNL_ARG_SRC, DNNL_ARG_DST});
      continue;
    }
    using Pool = dnnl::pooling_v2_forward;
    auto desc = describe<Pool>(
        request, userScratchpad(), prop_kind::forward_inference, kind, layout,
        dstWanted, dims(op->strides()), dims(op->kernel()), dilation,
        dims(op->pads_lo()), dims(op->pads_hi()));
    if (desc)
      return single<Pool>(request, desc, {src, dst}, {layout, desc.dst_desc()},
                          {DNNL_ARG_SRC, DNNL_ARG_DST});
  }
  return nullptr;
}

static Result makeLrn(const Request &request, const fb::Lrn *op) {
  if (request.operands() != 1 || request.operand(0) != request.result() ||
      request.operand(0).size() < 3 || op->size() < 1 || op->size() % 2 == 0)
    return nullptr;
  using Lrn = dnnl::lrn_forward;
  memory::desc src = request.operandDesc(0), dst = request.resultDesc();
  for (const memory::desc &layout : layouts(src)) {
    auto desc =
        describe<Lrn>(request, userScratchpad(), prop_kind::forward_inference,
                      algorithm::lrn_across_channels, layout, op->size(),
                      op->alpha(), op->beta(), op->bias());
    if (desc)
      return single<Lrn>(request, desc, {src, dst}, {layout, layout},
                         {DNNL_ARG_SRC, DNNL_ARG_DST});
  }
  return nullptr;
}

template <typename Primitive>
static Result makeSoftmaxOf(const Request &request, int axis) {
  memory::desc src = request.operandDesc(0);
  auto desc = describe<Primitive>(request, userScratchpad(),
                                  prop_kind::forward_inference, src, axis);
  if (!desc)
    return nullptr;
  return single<Primitive>(request, desc, {src, src}, {src, src},
                           {DNNL_ARG_SRC, DNNL_ARG_DST});
}

static Result makeSoftmax(const Request &request, const fb::Softmax *op) {
  Shape shape = request.operand(0);
  if (request.operands() != 1 || shape != request.result() || op->axis() < 0 ||
      op->axis() >= static_cast<int>(shape.size()))
    return nullptr;
  return op->log()
             ? makeSoftmaxOf<dnnl::logsoftmax_forward>(request, op->axis())
             : makeSoftmaxOf<dnnl::softmax_forward>(request, op->axis());
}

/// The dims in front of the axis are rows of one matrix, the others its
/// columns.
static Result makeLayerNorm(const Request &request, const fb::LayerNorm *op) {
  Shape shape = request.operand(0);
  if (request.operands() != (op->bias() ? 3u : 2u) ||
      shape != request.result() || op->axis() < 0 ||
      op->axis() >= static_cast<int>(shape.size()))
    return nullptr;
  Shape outer(shape.begin(), shape.begin() + op->axis());
  Shape inner(shape.begin() + op->axis(), shape.end());
  for (size_t i = 1; i != request.operands(); ++i)
    if (request.operand(i) != inner)
      return nullptr;
  fb::ElementType element = request.kernel.operands()->Get(0)->element();
  memory::desc matrix =
      denseDesc(element, {elementCount(outer), elementCount(inner)});
  memory::desc row = denseDesc(element, {elementCount(inner)});
  using Norm = dnnl::layer_normalization_forward;
  using Flags = dnnl::normalization_flags;
  Flags flags = Flags::use_scale;
  if (op->bias())
    flags = flags | Flags::use_shift;
  auto desc =
      describe<Norm>(request, userScratchpad(), prop_kind::forward_inference,
                     matrix, op->epsilon(), flags);
  if (!desc)
    return nullptr;
  std::vector<memory::desc> tensors{matrix, row};
  std::vector<int> arguments{DNNL_ARG_SRC, DNNL_ARG_SCALE};
  if (op->bias()) {
    tensors.push_back(row);
    arguments.push_back(DNNL_ARG_SHIFT);
  }
  tensors.push_back(matrix);
  arguments.push_back(DNNL_ARG_DST);
  return single<Norm>(request, desc, tensors, tensors, arguments);
}

/// Whether oneDNN's kernel is exact where integers of 8 bits are multiplied.
/// With AVX512_VNNI those of unsigned by signed integers are; without it, sums
/// of two products saturate at 16 bits. Where both have a sign, a bias is
/// added, or its reference is used, sums pass through f32.
static bool multipliesExactly(const fb::Kernel &kernel, bool allowReference) {
  for (const auto *type : items(kernel.operands()))
    if (type->element() == fb::ElementType::I8 ||
        type->element() == fb::ElementType::U8) {
      constexpr auto needed =
          static_cast<unsigned>(dnnl::cpu_isa::avx512_core_vnni);
      auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
      return multipliesBytes(kernel) && !allowReference &&
             (isa & needed) == needed;
    }
  return true;
}

std::unique_ptr<Kernel>
runtime::makeDnnlKernel(const fb::Kernel &kernel,
                        const std::vector<bool> &constant,
                        bool allowReference) {
  for (const auto *list : {kernel.operands(), kernel.results()})
    for (const auto *type : items(list))
      if (dnnlType(type->element()) == memory::data_type::undef ||
          items(type->shape()).size() > 6)
        return nullptr;
  if (!multipliesExactly(kernel, allowReference))
    return nullptr;
  Request request{kernel, constant, allowReference};
  if (kernel.followers() && !canHaveFollowers(kernel))
    return nullptr;
  switch (kernel.op_type()) {
  case fb::KernelOp::Conv:
    return makeConv(request, kernel.op_as_Conv());
  case fb::KernelOp::ConvBackward:
    return makeConvBackward(request, kernel.op_as_ConvBackward());
  case fb::KernelOp::MatMul:
    return makeMatMul(request, kernel.op_as_MatMul());
  case fb::KernelOp::Pool:
    return makePool(request, kernel.op_as_Pool());
  case fb::KernelOp::Softmax:
    return makeSoftmax(request, kernel.op_as_Softmax());
  case fb::KernelOp::Lrn:
    return makeLrn(request, kernel.op_as_Lrn());
  case fb::KernelOp::LayerNorm:
    return makeLayerNorm(request, kernel.op_as_LayerNorm());
  case fb::KernelOp::Attention: // The runtime's own.
  case fb::KernelOp::Native:
  case fb::KernelOp::NONE:
    return nullptr;
  }
  return nullptr;
}
