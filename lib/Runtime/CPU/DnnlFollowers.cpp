//===- DnnlFollowers.cpp - Followers as oneDNN's post-operations ----------===//
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

/// `desc` of other elements.
static memory::desc ofElements(memory::desc desc, fb::ElementType element) {
  desc.data.data_type = static_cast<dnnl_data_type_t>(dnnlType(element));
  return desc;
}

/// What a follower reads, of the rank of the result: all of its elements in the
/// result's layout, or one per channel, or one.
static memory::desc followerDesc(const Request &request,
                                 const fb::Follower &follower,
                                 const memory::desc &dst, size_t channelDim) {
  const fb::TensorType *type =
      request.kernel.operands()->Get(follower.operand());
  Shape shape = toVector(type->shape());
  if (shape == request.result())
    return ofElements(dst, type->element());
  memory::dims dims(dst.dims().size(), 1);
  dims[channelDim] = elementCount(shape);
  return denseDesc(type->element(), dims);
}

static void append(const Request &request, const fb::Follower &follower,
                   const memory::desc &dst, size_t channelDim,
                   dnnl::post_ops &ops) {
  auto binary = [&](algorithm kind) {
    ops.append_binary(kind, followerDesc(request, follower, dst, channelDim));
  };
  auto eltwise = [&](algorithm kind) {
    ops.append_eltwise(1.0f, kind, follower.alpha(), follower.beta());
  };
  switch (follower.kind()) {
  case fb::FollowerKind::Relu:
    return eltwise(algorithm::eltwise_relu);
  case fb::FollowerKind::Clip:
    // The upper bound counts where the lower one is above it.
    return ops.append_eltwise(1.0f, algorithm::eltwise_clip,
                              std::min(follower.alpha(), follower.beta()),
                              follower.beta());
  case fb::FollowerKind::Gelu:
    return eltwise(algorithm::eltwise_gelu_erf);
  case fb::FollowerKind::GeluTanh:
    return eltwise(algorithm::eltwise_gelu_tanh);
  case fb::FollowerKind::Add:
    // What is overwritten lies where the result does.
    return follower.in_place() ? ops.append_sum(1.0f)
                               : binary(algorithm::binary_add);
  case fb::FollowerKind::Subtract:
    return binary(algorithm::binary_sub);
  case fb::FollowerKind::Multiply:
    return binary(algorithm::binary_mul);
  }
}

dnnl::primitive_attr dnnlops::followedScratchpad(const Request &request,
                                                 const memory::desc &dst,
                                                 size_t channelDim,
                                                 dnnl::post_ops ops) {
  for (const fb::Follower *follower : items(request.kernel.followers()))
    append(request, *follower, dst, channelDim, ops);
  dnnl::primitive_attr attr = userScratchpad();
  if (ops.len() != 0)
    attr.set_post_ops(ops);
  return attr;
}

/// oneDNN 2.6 takes elements of another tensor from wrong places where a
/// convolution with channels last is a product of matrices, as a test shows.
bool dnnlops::computesFollowers(const Request &request,
                                const std::string &implementation) {
  if (request.kernel.op_as_MatMul() || request.channelsLast() == 0 ||
      implementation.find("gemm") == std::string::npos)
    return true;
  for (const fb::Follower *follower : items(request.kernel.followers()))
    if (hasOperand(follower->kind()) && !follower->in_place() &&
        request.operand(follower->operand()) == request.result())
      return false;
  return true;
}

void dnnlops::addFollowers(const Request &request, const dnnl::post_ops &ops,
                           size_t result, DnnlKernel &kernel,
                           DnnlKernel::Stage &stage) {
  auto followers = items(request.kernel.followers());
  int number = ops.len() - static_cast<int>(followers.size());
  for (const fb::Follower *follower : followers) {
    int at = number++;
    if (!hasOperand(follower->kind()))
      continue;
    if (follower->in_place()) {
      kernel.slot(result).accumulates = true;
      continue;
    }
    algorithm kind;
    memory::desc wanted;
    ops.get_params_binary(at, kind, wanted);
    const fb::TensorType *type =
        request.kernel.operands()->Get(follower->operand());
    bool isWhole = toVector(type->shape()) == request.result();
    // Some implementations leave a layout of their choice open: it is that of
    // the result.
    if (isWhole)
      wanted = ofElements(kernel.slot(result).wanted, type->element());
    // As it lies in its buffer, which is as the result does in its own.
    memory::desc user =
        isWhole ? ofElements(kernel.slot(result).user, type->element())
                : wanted;
    size_t slot =
        kernel.addSlot({false, follower->operand(),
                        request.isConstant(follower->operand()), user, wanted});
    stage.arguments.emplace_back(
        DNNL_ARG_ATTR_MULTIPLE_POST_OP(at) | DNNL_ARG_SRC_1, slot);
  }
}
