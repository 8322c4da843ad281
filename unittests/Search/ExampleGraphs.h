//===- ExampleGraphs.h - Operator graphs without IR -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_SEARCH_EXAMPLEGRAPHS_H
#define SOAP_UNITTESTS_SEARCH_EXAMPLEGRAPHS_H

#include "soap/CostModel/Topology.h"
#include "soap/Search/OperatorGraph.h"

namespace soap::test {

using Shape = llvm::SmallVector<int64_t, 5>;

/// Builds graphs; every function returns the value it adds. Names are made
/// unique by the caller.
class GraphBuilder {
public:
  OperatorGraph graph;

  int32_t input(std::string name, Shape shape);
  int32_t parameter(std::string name, Shape shape);
  /// x (n, k) times w (k, f): loops n, f and the reduction k.
  int32_t matmul(std::string name, int32_t x, int32_t w);
  /// A square kernel over x (n, c, h, w), weights and bias added as parameters.
  int32_t conv(std::string name, int32_t x, int64_t f, int64_t kernel,
               int64_t stride = 1, int64_t pad = 0, bool bias = false);
  int32_t pool(std::string name, int32_t x, int64_t kernel, int64_t stride,
               int64_t pad = 0);
  int32_t relu(std::string name, int32_t x);
  int32_t add(std::string name, int32_t a, int32_t b);
  /// Along dimension 1.
  int32_t concat(std::string name, llvm::ArrayRef<int32_t> values);
  void output(std::string name, int32_t value);
  /// Fills in what follows from the graph; aborts on a mistake.
  OperatorGraph finish();

private:
  int32_t elementwise(std::string name, std::string op, NodeRole role,
                      llvm::ArrayRef<int32_t> operands, Shape shape,
                      bool hasResult = true);
};

/// Two layers: conv and a matrix product's worth of parameters.
OperatorGraph smallChain(int64_t batch = 4);
/// A block of `blocks` modules with four branches each, like Inception.
OperatorGraph inception(int64_t batch, int32_t blocks);

/// Equal devices whose kernels have no launch cost and whose copies are free;
/// every device takes in one byte per ns.
Topology plainMachine(int32_t devices, double flops = 1e9);

} // namespace soap::test

#endif // SOAP_UNITTESTS_SEARCH_EXAMPLEGRAPHS_H
