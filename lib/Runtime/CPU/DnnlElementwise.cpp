//===- DnnlElementwise.cpp - Element by element ---------------------------===//
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

static algorithm binaryAlgorithm(fb::BinaryKind kind) {
  switch (kind) {
  case fb::BinaryKind::Add:
    return algorithm::binary_add;
  case fb::BinaryKind::Sub:
    return algorithm::binary_sub;
  case fb::BinaryKind::Mul:
    return algorithm::binary_mul;
  case fb::BinaryKind::Div:
    return algorithm::binary_div;
  case fb::BinaryKind::Max:
    return algorithm::binary_max;
  case fb::BinaryKind::Min:
    return algorithm::binary_min;
  }
  return algorithm::undef;
}

/// One binary operation after the other, in the operands' order. Only the first
/// operand must have the result's shape.
Result dnnlops::makeBinary(const Request &request, fb::BinaryKind kind) {
  using Binary = dnnl::binary;
  Shape y = request.result();
  size_t count = request.operands();
  bool commutes = kind != fb::BinaryKind::Sub && kind != fb::BinaryKind::Div;
  if (count < 2 || y.size() > 6 || (!commutes && count != 2))
    return nullptr;
  std::vector<size_t> order(count);
  for (size_t i = 0; i != count; ++i)
    order[i] = i;
  if (request.operand(0) != y && commutes && request.operand(1) == y)
    std::swap(order[0], order[1]);
  if (request.operand(order[0]) != y)
    return nullptr;
  memory::desc dst = request.resultDesc();
  std::vector<memory::desc> descs;
  std::vector<Binary::primitive_desc> primitives;
  for (size_t operand : order) {
    descs.push_back(
        matrixDesc(request.kernel.operands()->Get(operand)->element(),
                   request.operand(operand), dst.dims().size(), false));
    if (descs.size() == 1)
      continue;
    primitives.push_back(describe<Binary>(request, userScratchpad(),
                                          binaryAlgorithm(kind), descs[0],
                                          descs.back(), dst));
    if (!primitives.back())
      return nullptr;
  }
  auto kernel = std::make_unique<DnnlKernel>(primitives[0].impl_info_str());
  size_t result = kernel->addSlot({true, 0, false, dst, dst});
  size_t left = kernel->addSlot({false, order[0], false, descs[0], descs[0]});
  for (size_t i = 1; i != count; ++i) {
    size_t right =
        kernel->addSlot({false, order[i], false, descs[i], descs[i]});
    kernel->addStage({[desc = primitives[i - 1]] { return Binary(desc); },
                      primitives[i - 1].scratchpad_desc(),
                      {{DNNL_ARG_SRC_0, left},
                       {DNNL_ARG_SRC_1, right},
                       {DNNL_ARG_DST, result}}});
    left = result;
  }
  return kernel;
}

Result dnnlops::makeUnary(const Request &request, const fb::Unary *op) {
  if (request.operands() != 1 ||
      elementCount(request.operand(0)) != elementCount(request.result()))
    return nullptr;
  algorithm kind = algorithm::undef;
  float alpha = op->alpha(), beta = op->beta();
  switch (op->kind()) {
  case fb::UnaryKind::Relu:
    kind = algorithm::eltwise_relu;
    break;
  case fb::UnaryKind::Sigmoid:
    kind = algorithm::eltwise_logistic;
    break;
  case fb::UnaryKind::Tanh:
    kind = algorithm::eltwise_tanh;
    break;
  case fb::UnaryKind::Clip:
    kind = algorithm::eltwise_clip;
    break;
  case fb::UnaryKind::Exp:
    kind = algorithm::eltwise_exp;
    break;
  case fb::UnaryKind::Log:
    kind = algorithm::eltwise_log;
    break;
  case fb::UnaryKind::Sqrt:
    kind = algorithm::eltwise_sqrt;
    break;
  case fb::UnaryKind::Abs:
    kind = algorithm::eltwise_abs;
    break;
  case fb::UnaryKind::Square:
    kind = algorithm::eltwise_square;
    break;
  case fb::UnaryKind::Elu:
    kind = algorithm::eltwise_elu;
    break;
  case fb::UnaryKind::Gelu:
    kind = algorithm::eltwise_gelu_erf;
    break;
  case fb::UnaryKind::Linear:
    kind = algorithm::eltwise_linear;
    break;
  case fb::UnaryKind::Identity:
    return nullptr;
  }
  using Eltwise = dnnl::eltwise_forward;
  // The shape does not matter: one long vector.
  memory::desc flat = denseDesc(request.kernel.operands()->Get(0)->element(),
                                {elementCount(request.result())});
  auto desc =
      describe<Eltwise>(request, userScratchpad(), prop_kind::forward_inference,
                        kind, flat, alpha, beta);
  if (!desc)
    return nullptr;
  return single<Eltwise>(request, desc, {flat, flat}, {flat, flat},
                         {DNNL_ARG_SRC, DNNL_ARG_DST});
}
