//===- DnnlRequest.h - What makers of oneDNN kernels share ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_DNNLREQUEST_H
#define SOAP_LIB_RUNTIME_CPU_DNNLREQUEST_H

#include "CPU/DnnlKernel.h"
#include "Followers.h"
#include <algorithm>
#include <mutex>

namespace soap::runtime::dnnlops {

/// What every maker below needs.
struct Request {
  const fb::Kernel &kernel;
  const std::vector<bool> &constant;
  bool allowReference;

  Shape operand(size_t i) const {
    return toVector(kernel.operands()->Get(i)->shape());
  }
  Shape result() const { return toVector(kernel.results()->Get(0)->shape()); }
  dnnl::memory::desc operandDesc(size_t i) const {
    return orderedDesc(*kernel.operands()->Get(i));
  }
  dnnl::memory::desc resultDesc() const {
    return orderedDesc(*kernel.results()->Get(0));
  }
  /// Whether an operand has channels last.
  bool isLast(uint32_t i) const {
    return kernel.operands()->Get(i)->order() == fb::ElementOrder::ChannelsLast;
  }
  /// How many of the first operand and the result have channels last.
  int channelsLast() const {
    return isLast(0) + (kernel.results()->Get(0)->order() ==
                        fb::ElementOrder::ChannelsLast);
  }
  /// Of the operation itself; those of followers stand behind them.
  size_t operands() const {
    return kernel.operands()->size() - followerOperands(kernel);
  }
  bool isConstant(size_t i) const { return i < constant.size() && constant[i]; }
};
using Result = std::unique_ptr<DnnlKernel>;

inline dnnl::primitive_attr userScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// The same, with the kernel's followers as post-operations behind `ops`, of a
/// primitive whose result is `dst`, with channels as dim `channelDim`.
dnnl::primitive_attr followedScratchpad(const Request &request,
                                        const dnnl::memory::desc &dst,
                                        size_t channelDim,
                                        dnnl::post_ops ops = {});

/// Whether an implementation computes the kernel's followers as they are meant.
bool computesFollowers(const Request &request,
                       const std::string &implementation);

/// Adds the operands of the followers in `ops`, which a primitive was described
/// with, to its kernel, whose result is slot `result`.
void addFollowers(const Request &request, const dnnl::post_ops &ops,
                  size_t result, DnnlKernel &kernel, DnnlKernel::Stage &stage);

inline dnnl::memory::desc anyLayout(const dnnl::memory::desc &desc) {
  return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any};
}

inline dnnl::memory::dims dims(const flatbuffers::Vector<int64_t> *list) {
  return toVector(list);
}

/// oneDNN counts the gaps between kernel elements.
inline dnnl::memory::dims gaps(const flatbuffers::Vector<int64_t> *dilations) {
  dnnl::memory::dims result = toVector(dilations);
  for (int64_t &d : result)
    --d;
  return result;
}

/// Held while oneDNN chooses an implementation: version 2.6 keeps how many
/// channels a block of a convolution has at least, which depends on the type of
/// the weights, in a static variable (brg_blocking_t::last_ic_block_size). Of
/// two threads that describe convolutions of different types at the same time,
/// one would get a primitive that computes something else.
std::mutex &describing();

/// The primitive descriptor that `make` makes, or an empty one if oneDNN has no
/// implementation (or only a reference one that is not allowed).
template <typename Make>
auto describeBy(const Request &request, Make make) -> decltype(make()) {
  std::lock_guard<std::mutex> lock(describing());
  try {
    auto result = make();
    if (result &&
        (request.allowReference || !isReference(result.impl_info_str())))
      return result;
  } catch (const dnnl::error &) { // NOLINT(bugprone-empty-catch)
    // The arguments describe no operation that oneDNN knows.
  }
  return {};
}

/// The same, of an operation that needs no other descriptor.
template <typename Primitive, typename... Ts>
typename Primitive::primitive_desc describe(const Request &request,
                                            const dnnl::primitive_attr &attr,
                                            const Ts &...arguments) {
  return describeBy(request, [&] {
    return typename Primitive::primitive_desc(
        typename Primitive::desc(arguments...), attr, dnnlEngine(),
        /*allow_empty=*/true);
  });
}

/// The kernel of one primitive whose operands are `wanted` (in order) under
/// `arguments`, and whose result is the last of both.
template <typename Primitive>
Result single(const Request &request,
              const typename Primitive::primitive_desc &desc,
              const std::vector<dnnl::memory::desc> &user,
              const std::vector<dnnl::memory::desc> &wanted,
              const std::vector<int> &arguments) {
  if (!computesFollowers(request, desc.impl_info_str()))
    return nullptr;
  auto kernel = std::make_unique<DnnlKernel>(desc.impl_info_str());
  DnnlKernel::Stage stage{
      [desc] { return Primitive(desc); }, desc.scratchpad_desc(), {}};
  for (size_t i = 0; i != user.size(); ++i) {
    bool result = i + 1 == user.size();
    size_t slot =
        kernel->addSlot({result, result ? 0 : i,
                         !result && request.isConstant(i), user[i], wanted[i]});
    stage.arguments.emplace_back(arguments[i], slot);
  }
  if (request.kernel.followers())
    addFollowers(request, desc.get_primitive_attr().get_post_ops(),
                 stage.arguments.back().second, *kernel, stage);
  kernel->addStage(std::move(stage));
  return kernel;
}

/// A dense tensor with leading ones up to `rank`.
inline dnnl::memory::desc matrixDesc(fb::ElementType element, Shape shape,
                                     size_t rank) {
  shape.insert(shape.begin(), rank - std::min(rank, shape.size()), 1);
  return denseDesc(element, shape);
}

/// The tensor `dense` with its last two dims swapped, as strides say.
inline dnnl::memory::desc transposed(const dnnl::memory::desc &dense) {
  auto rank = static_cast<size_t>(dense.data.ndims);
  dnnl::memory::dims dims = dense.dims();
  dnnl::memory::dims strides(dense.data.format_desc.blocking.strides,
                             dense.data.format_desc.blocking.strides + rank);
  std::swap(dims[rank - 1], dims[rank - 2]);
  std::swap(strides[rank - 1], strides[rank - 2]);
  return {dims, dense.data_type(), strides};
}

/// @{ Makers of DnnlConvolution.cpp. Null for what oneDNN does not have.
Result makeConv(const Request &request, const fb::Conv *op);
Result makeConvBackward(const Request &request, const fb::ConvBackward *op);
/// @}

/// The product of `a` (rows, sum) and the second operand, as `y` (rows,
/// columns), by a convolution; a bias has an element per column. `packs`: the
/// library's product reads the second operand as it is, and packs it in every
/// run. Null where that operand is not constant, and where this is not the
/// fastest way.
Result makePointwise(const Request &request, const Shape &a, const Shape &y,
                     bool transposesB, bool hasBias, bool packs);

} // namespace soap::runtime::dnnlops

#endif // SOAP_LIB_RUNTIME_CPU_DNNLREQUEST_H
