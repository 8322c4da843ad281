//===- Reordering.h - Tensors that are reordered in every run ---*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_REORDERING_H
#define SOAP_LIB_RUNTIME_CPU_REORDERING_H

#include "CPU/DnnlKernel.h"

namespace soap::runtime {

/// A tensor that is reordered in every run.
class Reordering {
public:
  Reordering(const dnnl::memory &from, const dnnl::memory &to)
      : from_(from), to_(to),
        primitive_(dnnl::reorder::primitive_desc(from, to)) {}
  void run() { primitive_.execute(dnnlStream(), from_, to_); }

private:
  dnnl::memory from_, to_;
  dnnl::reorder primitive_;
};

/// How a tensor lies in its buffer, and with channels last.
struct ChannelsLastLayouts {
  dnnl::memory::desc own, channelsLast;

  explicit ChannelsLastLayouts(const fb::TensorType &type)
      : own(orderedDesc(type)), channelsLast(channelsLastDesc(type)) {}
  bool differ() const { return own != channelsLast; }
  /// Of the reordered tensor, if there is one.
  size_t bytes() const { return differ() ? alignedBytes(own.get_size()) : 0; }
  /// From its buffer to one with channels last.
  Reordering before(char *from, char *to) const {
    return {dnnl::memory(own, dnnlEngine(), from),
            dnnl::memory(channelsLast, dnnlEngine(), to)};
  }
  /// And back.
  Reordering after(char *from, char *to) const {
    return {dnnl::memory(channelsLast, dnnlEngine(), from),
            dnnl::memory(own, dnnlEngine(), to)};
  }
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_REORDERING_H
