//===- Convolution.h - Convolutions as cuDNN describes them -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_CONVOLUTION_H
#define SOAP_LIB_RUNTIME_CUDA_CONVOLUTION_H

#include "CUDA/Cudnn.h"
#include "Types.h"
#include <optional>

namespace soap::runtime::cuda {

/// A convolution y of x and w, or one of its gradients. It has two spatial dims
/// at least, as the library wants them, and pads of the same size on both
/// sides.
struct ConvolutionShape {
  enum Kind { Forward, OfData, OfFilter };
  Kind kind = Forward;
  /// Of both factors, and of the result and a bias.
  fb::ElementType factors = fb::ElementType::F32, result = fb::ElementType::F32;
  bool tf32 = false; ///< Factors of f32 may be rounded to TF32.
  Shape x, w, y;
  std::vector<int64_t> strides, dilations, pads;

  /// Nothing for what cuDNN is not asked for.
  static std::optional<ConvolutionShape> of(const fb::Kernel &kernel);
};

/// The plans that cuDNN proposes for a convolution, best first.
class ConvolutionPlans {
public:
  /// What is added to y: nothing, a bias of an element per channel, or what y
  /// holds.
  enum class Adds { Nothing, Bias, Result };

  /// Tensors by the numbers that the library knows them by. The result of a
  /// gradient is X or W.
  enum Tensor : int64_t { X = 1, W, Y, BiasRow, Product };

  ConvolutionPlans(const Gpu &gpu, const ConvolutionShape &shape, Adds adds,
                   uint64_t workspaceBytes);

  size_t size() const { return plans_.size(); }
  Adds adds() const { return adds_; }
  size_t workspaceBytes() const;
  /// What one run works on.
  CudnnDescriptor bind(size_t plan, const std::vector<int64_t> &tensors,
                       const std::vector<void *> &addresses,
                       void *workspace) const;
  void enqueue(CUstream stream, size_t plan, const CudnnDescriptor &data) const;

private:
  struct Plan {
    CudnnDescriptor descriptor;
    size_t workspaceBytes;
  };
  CudnnDescriptor makeTensor(Tensor number, const Shape &shape,
                             bool isVirtual = false) const;
  fb::ElementType elementOf(Tensor number) const;
  CudnnDescriptor makeOperation(const ConvolutionShape &shape);
  CudnnDescriptor makeAddition(const ConvolutionShape &shape);
  void propose(cudnnBackendHeurMode_t mode, uint64_t workspaceBytes);
  bool isPreciseEnough(const CudnnDescriptor &config) const;

  const Gpu &gpu_;
  const ConvolutionShape shape_;
  Adds adds_;
  /// What others refer to stays.
  std::vector<CudnnDescriptor> parts_;
  std::optional<CudnnDescriptor> graph_;
  std::vector<CudnnDescriptor> configs_;
  std::vector<Plan> plans_;
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_CONVOLUTION_H
