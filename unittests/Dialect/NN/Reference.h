//===- Reference.h - Naive evaluator of nn operations -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes nn operations one element at a time, in double, straight from the
// ONNX specification. It shares nothing with partition specs: what they say is
// tested against it.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_NN_REFERENCE_H
#define SOAP_UNITTESTS_NN_REFERENCE_H

#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/NNRecurrentGradients.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <vector>

namespace soap::nn::test {

/// A dense tensor in row-major order.
struct Tensor {
  Shape shape;
  std::vector<double> data;

  Tensor() = default;
  explicit Tensor(llvm::ArrayRef<int64_t> shape, double value = 0);

  int64_t linear(llvm::ArrayRef<int64_t> index) const;
  double &at(llvm::ArrayRef<int64_t> index) { return data[linear(index)]; }
  double at(llvm::ArrayRef<int64_t> index) const { return data[linear(index)]; }
  /// The part of the tensor in `box`.
  Tensor slice(const Box &box) const;
};

/// Calls `body` with every index of `shape`, in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);

/// Two parts of one element as one. NaN if `how` joins none.
double combine(Combine how, double a, double b);

/// The first result of `op`, shaped as its result type. Inputs and parameters
/// have the values that `sourceValue` gives their global elements.
Tensor evaluate(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);

/// All results of `op`.
std::vector<Tensor> evaluateAll(mlir::Operation *op,
                                llvm::ArrayRef<Tensor> operands);

/// Element `linear` of a whole input or parameter.
double sourceValue(int64_t linear);

/// The block of Philox-4x32 with ten rounds for a counter and a key.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

/// Values of an SSA graph.
using Environment = llvm::DenseMap<mlir::Value, Tensor>;
/// Evaluates all nn operations of a block, in order.
void evaluate(mlir::Block &block, Environment &environment);

} // namespace soap::nn::test

#endif // SOAP_UNITTESTS_NN_REFERENCE_H
