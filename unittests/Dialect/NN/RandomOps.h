//===- RandomOps.h - Random nn operations -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One random operation of a given kind, with random shapes and attributes: odd
// sizes, strides beyond the kernel, pads beyond the window, dilations, groups,
// broadcasts.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_NN_RANDOMOPS_H
#define SOAP_UNITTESTS_NN_RANDOMOPS_H

#include "soap/Dialect/NN/IR/NN.h"
#include <random>

namespace soap::nn::test {

/// Draws small numbers from a seed.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// A number in [lo, hi].
  int64_t in(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(engine() % uint64_t(hi - lo + 1));
  }
  bool flip() { return in(0, 1) == 1; }
  double normal() { return distribution(engine); }

private:
  std::mt19937_64 engine;
  std::normal_distribution<double> distribution;
};

/// Names of all kinds of operations, as `nn.conv`.
llvm::ArrayRef<llvm::StringRef> allKinds();

/// Builds an operation of `kind` at the end of `block`; adds its operands as
/// arguments of the block.
PartitionOpInterface buildRandomOp(mlir::Block &block, llvm::StringRef kind,
                                   Random &random, mlir::MLIRContext *context);

/// Whether the elements of an operand have to be positive, so that results are
/// finite numbers.
bool isPositive(mlir::Operation *op, unsigned operand);

/// A convolution with given windows, without dilation, for tests that need to
/// know where windows reach.
ConvOp buildConv(mlir::Block &block, mlir::MLIRContext *context,
                 llvm::ArrayRef<int64_t> input, int64_t outputs, int64_t kernel,
                 int64_t stride, int64_t pad, bool bias);

} // namespace soap::nn::test

#endif // SOAP_UNITTESTS_NN_RANDOMOPS_H
