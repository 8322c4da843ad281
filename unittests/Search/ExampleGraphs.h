//===- ExampleGraphs.h - Operator graphs without IR -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_SEARCH_EXAMPLEGRAPHS_H
#define SOAP_UNITTESTS_SEARCH_EXAMPLEGRAPHS_H

#include "soap/Search/OperatorGraph.h"
#include "soap/Search/Strategy.h"
#include "soap/Topology/Topology.h"

namespace soap::test {

using Shape = llvm::SmallVector<int64_t, 5>;

/// Builds graphs; every function returns the value it adds. Names are made
/// unique by the caller.
class GraphBuilder {
public:
  OperatorGraph graph;
  int32_t elementBytes = 4; ///< Of the values that are added.
  /// Whether relu() and add() follow what computes their first operand.
  bool followers = false;
  /// Whether parameters that are added are the same in every step.
  bool fixedParameters = false;

  int32_t input(std::string name, Shape shape);
  int32_t parameter(std::string name, Shape shape);
  /// x (n, k) times w (k, f): loops n, f and the reduction k.
  /// `group`: as GraphNode::group.
  int32_t matmul(std::string name, int32_t x, int32_t w, int32_t group = -1);
  /// A square kernel over x (n, c, h, w), weights and bias added as parameters.
  int32_t conv(std::string name, int32_t x, int64_t f, int64_t kernel,
               int64_t stride = 1, int64_t pad = 0, bool bias = false);
  int32_t pool(std::string name, int32_t x, int64_t kernel, int64_t stride,
               int64_t pad = 0);
  /// x (n, c, h, w) with every element of h and w `factor` times.
  int32_t upsample(std::string name, int32_t x, int64_t factor);
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
/// Two matrix products and, in their groups, the gradients by the weights and
/// by what is between them, which declare their loops in another order.
OperatorGraph trainedProducts();
/// The same with updates of the weights, and nodes that write them.
OperatorGraph updatedProducts();
/// Matrix products with the same weights, one behind the other, whose gradients
/// are added in parts before they are reduced for the update: the products are
/// one decision, or one each.
OperatorGraph sharedProducts(int32_t uses, bool oneGroup);
/// A chain of `layers` products with weights of different sizes, all gradients,
/// then all updates. Gradients are reduced in buckets of up to `bucketBytes`.
/// Layers have a few features times `scale`.
OperatorGraph deepProducts(int32_t layers, int64_t bucketBytes,
                           int64_t prefetchBytes = 0, int64_t scale = 1);
/// A chain of products, each of weights of its own, which move up to
/// `prefetchBytes` ahead.
OperatorGraph productsInARow(int32_t layers, int64_t prefetchBytes);
/// An update that the devices which would have copies of it share, in tiles
/// that may differ in size; none if it is split already, or has too few
/// elements along its dimensions.
std::optional<Configuration> unevenShards(const Strategy &strategy,
                                          const OperatorGraph &graph,
                                          int32_t update);
/// Data parallel on all devices, with updates in unevenShards().
Strategy shardedProducts(const OperatorGraph &graph, const Topology &topology);

/// A block of `blocks` modules with four branches each, like Inception.
OperatorGraph inception(int64_t batch, int32_t blocks);

/// Some ten to forty nodes of every kind, with values that several nodes read
/// near and far, parameters that several nodes share, and two outputs.
/// `followers`: as GraphBuilder::followers.
OperatorGraph randomGraph(uint64_t seed, bool followers = false);
/// The same with up to five nodes beside parameters, sizes `scale` times as
/// large, and element sizes of 2, 4 and 8: many strategies of few values, whose
/// communication is not hidden by that of others.
OperatorGraph randomSmallGraph(uint64_t seed, int64_t scale,
                               bool followers = false);

/// Two to four small layers, some in branches that meet: convolutions, pooling
/// and matrix products with whatever lies between them.
OperatorGraph randomLayers(uint64_t seed);
/// Two to four devices: equal or not, on links of their own or shared ones,
/// with a spare core or without.
Topology randomMachine(uint64_t seed);

/// The largest number of tasks of a node (ConfigurationSpace) with which there
/// are at most `limit` strategies; 0 if there are more of single tasks.
int32_t fewTasks(const OperatorGraph &graph, const Topology &topology,
                 double limit);

/// Equal devices whose kernels have no launch cost and whose copies are free;
/// every device takes in one byte per ns.
Topology plainMachine(int32_t devices, double flops = 1e9);
/// The same devices on one bus: one transfer at a time, whoever sends.
Topology plainBus(int32_t devices, double flops = 1e9);

} // namespace soap::test

#endif // SOAP_UNITTESTS_SEARCH_EXAMPLEGRAPHS_H
