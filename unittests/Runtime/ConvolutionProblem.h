//===- ConvolutionProblem.h - Convolutions for loops of our own -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_RUNTIME_CONVOLUTIONPROBLEM_H
#define SOAP_UNITTESTS_RUNTIME_CONVOLUTIONPROBLEM_H

#include "Backend/Kernel.h"
#include "CPU/PointwiseKernel.h"
#include "Reference.h"
#include <random>

namespace soap::test {

/// Memory that is NaN at first, and is looked at behind its end.
class Guarded {
public:
  explicit Guarded(size_t bytes);
  float *data() { return begin_; }
  runtime::DevicePointer pointer() {
    return runtime::DevicePointer(reinterpret_cast<char *>(begin_));
  }
  bool isIntact() const;

private:
  std::vector<float> floats_;
  float *begin_ = nullptr;
  size_t size_ = 0;
};

/// What the launches of a device share.
struct Session {
  runtime::ConstantCache constants;
  std::vector<std::unique_ptr<Guarded>> operands;
};

/// The window of a convolution over two dims.
struct Window {
  std::vector<int64_t> kernel, strides, low, high, dilations = {1, 1};
};

/// A convolution with its operands, and what follows it; or a transposed one;
/// or the gradient of the weights, of which x and the gradient of y are the
/// operands.
struct ConvolutionProblem {
  enum class Kind : uint8_t { Forward, Transposed, Filter };

  Kind kind = Kind::Forward;
  fb::ConvT conv;
  std::vector<fb::FollowerT> followers;
  std::vector<Tensor> operands; ///< Those of followers come last.
  Shape result;
  /// Whether source and result have channels last; of the gradient of weights,
  /// both operands.
  bool sourceLast = false, resultLast = false;
  /// Whether weights are the same in every run.
  bool constantWeights = true;

  ConvolutionProblem(const Shape &x, int64_t filters, int64_t groups, bool bias,
                     const Window &window, uint32_t seed);
  /// A transposed one of x to a result of `filters` channels, whose strides are
  /// its window.
  static ConvolutionProblem transposed(const Shape &x, int64_t filters,
                                       int64_t groups, bool bias,
                                       const Shape &window, uint32_t seed);
  /// The gradient of the source or of the weights of this convolution, which
  /// has no followers.
  ConvolutionProblem gradient(Kind of, bool bias, uint32_t seed) const;

  /// Appends a follower with a random operand of `shape`, if it has one.
  void follow(fb::FollowerKind kind, const Shape &shape = {},
              bool inPlace = false);
  /// Appends up to three of any kind that loops know.
  void followAtRandom(std::mt19937 &random);

  /// Operands of the convolution alone.
  size_t own() const { return conv.bias ? 3 : 2; }
  /// The result, in double.
  Tensor expected() const;
  flatbuffers::DetachedBuffer table() const;
  std::string toString() const;

private:
  ConvolutionProblem() = default;
  void addOperands(const std::vector<Shape> &shapes, uint32_t seed);
};

using MakeKernel =
    std::function<std::unique_ptr<runtime::Kernel>(const fb::Kernel &)>;

/// Runs the kernel that `make` makes of the table twice, where it does not
/// overwrite what it reads, and returns the result, row-major.
Tensor runProblem(const ConvolutionProblem &problem, const MakeKernel &make,
                  Session *given = nullptr);

/// The same with so many threads.
Tensor runProblem(const ConvolutionProblem &problem, size_t threads,
                  const MakeKernel &make);

/// Expects that the table of a problem `fits`, and none that one of `damages`
/// has changed.
void expectDamageIsFound(const ConvolutionProblem &problem,
                         const std::function<bool(const fb::Kernel &)> &fits,
                         const std::vector<void (*)(fb::KernelT &)> &damages);

/// All loops of pointwise convolutions that can run here.
std::vector<const runtime::PointwiseLoops *> allPointwiseLoops();

/// The norm of the difference, relative to that of `expected`.
double errorOf(const Tensor &got, const Tensor &expected);

} // namespace soap::test

#endif // SOAP_UNITTESTS_RUNTIME_CONVOLUTIONPROBLEM_H
