//===- NeighborReads.cpp - What neighbours have to do with each other -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NeighborReads.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

DimSide::DimSide(const DimAccess &access, const PartitionSpec &spec,
                 const NodeChoices &choices)
    : access(access) {
  if (access.loop < 0)
    return;
  extent = spec.loops[access.loop].extent;
  degrees = choices.degrees[access.loop];
}

static DimReads dimReads(const DimSide &consumer, int32_t consumerDegree,
                         const DimSide &producer, int32_t producerDegree,
                         int64_t size) {
  DimReads reads;
  SmallVector<Range, 16> tiles;
  for (int64_t tile = 0; tile < producerDegree; ++tile)
    tiles.push_back(producer.range(producerDegree, tile, size));
  for (int64_t task = 0; task < consumerDegree; ++task) {
    Range read = consumer.range(consumerDegree, task, size);
    int32_t count = 0;
    for (Range tile : tiles) {
      int64_t common = intersect(read, tile).size();
      count += common > 0;
      reads.overlap = std::max(reads.overlap, common);
    }
    reads.least = std::min(reads.least, read.size());
    reads.tiles = std::min(reads.tiles, count);
    if (task == consumerDegree - 1) {
      reads.last = !read.empty();
      reads.lastOfLast = !intersect(read, tiles.back()).empty();
    }
  }
  return reads;
}

Edge::Edge(const OperatorGraph &graph, int32_t node, int32_t operand,
           const NodeChoices &consumer, const NodeChoices &producer)
    : producer_(graph.value(graph.node(node).operands[operand]).producer) {
  const GraphValue &value = graph.value(graph.node(node).operands[operand]);
  const PartitionSpec &spec = graph.node(node).spec;
  const PartitionSpec &source = graph.node(producer_).spec;
  valueBytes_ = value.bytes();
  elementBytes_ = value.elementBytes;
  const ValueAccess &made = source.results[value.result];
  for (size_t loop = 0; loop < source.loops.size(); ++loop)
    if (source.isReduction(loop, value.result))
      (made.combine == Combine::Same ? copies_ : reductions_)
          .push_back(static_cast<int32_t>(loop));
  for (auto [read, made, size] :
       llvm::zip_equal(spec.operands[operand].dims, made.dims, value.shape)) {
    Dim &dim = dims_.emplace_back(Dim{
        DimSide(read, spec, consumer), DimSide(made, source, producer), {}});
    for (int32_t degree : dim.consumer.degrees)
      for (int32_t sourceDegree : dim.producer.degrees) {
        dim.reads.push_back(
            dimReads(dim.consumer, degree, dim.producer, sourceDegree, size));
        readsAlways_ &= dim.reads.back().least > 0;
      }
  }
}

Reads Edge::reads(const Choice &consumer, const Choice &producer) const {
  auto bytes = static_cast<double>(elementBytes_);
  Reads result{bytes, bytes, 1};
  for (const Dim &dim : dims_) {
    const DimReads &reads =
        dim.reads[dim.consumer.index(consumer) * dim.producer.degrees.size() +
                  dim.producer.index(producer)];
    result.bytes *= static_cast<double>(reads.least);
    result.overlapBytes *= static_cast<double>(reads.overlap);
    result.tasks *= reads.tiles;
    result.last &= reads.last;
    result.lastOfLast &= reads.lastOfLast;
  }
  // Any of equal copies will do.
  for (int32_t loop : copies_)
    result.lastOfLast &= producer.degrees.loops[loop] == 1;
  int64_t parts = 1;
  for (int32_t loop : reductions_)
    parts *= producer.degrees.loops[loop];
  if (parts > 1) {
    // A device has an element if it has all its parts. Where they are not,
    // a share of the sum comes that is cut evenly, not as it is read.
    result.tasks *= static_cast<double>(parts);
    result.overlapBytes /= static_cast<double>(parts);
    result.bytes /= 2;
    result.overlapBytes /= 2;
  }
  return result;
}
