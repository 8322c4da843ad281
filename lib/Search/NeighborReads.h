//===- NeighborReads.h - What neighbours have to do with each other -*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the tasks of a node read those of the node that makes an operand, for all
// degrees of both: what a bound may rely on, wherever the tasks run.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_NEIGHBORREADS_H
#define SOAP_LIB_SEARCH_NEIGHBORREADS_H

#include "NodeChoices.h"

namespace soap::detail {

/// How the tiles of a consumer read those of a producer along one dimension,
/// under given degrees of both.
struct DimReads {
  int64_t least = INT64_MAX; ///< Elements that a tile reads.
  int64_t overlap = 0;       ///< Largest part of them from one producer's tile.
  int32_t tiles = INT32_MAX; ///< Fewest producer's tiles that a tile reads.
  bool last = false;         ///< The last tile reads something,
  bool lastOfLast = false;   ///< and of the producer's last tile.
};

/// The same for whole boxes, under given choices of both.
struct Reads {
  /// Least that a task reads, and most of it that one task of the producer
  /// makes. Of what is reduced on the way, half counts: a reduction is costed
  /// in even shares, which need not be those that are read.
  double bytes, overlapBytes;
  /// Fewest tasks of the producer that a task reads, parts of sums included.
  double tasks;
  bool last = true, lastOfLast = true; ///< As in DimReads.
};

/// One access of a loop that has one of several degrees.
struct DimSide {
  DimAccess access;
  int64_t extent = 1;
  llvm::SmallVector<int32_t, 8> degrees{1};

  DimSide(const DimAccess &access, const PartitionSpec &spec,
          const NodeChoices &choices);
  /// The elements of a tile, in a dimension of `size`.
  Range range(int32_t degree, int64_t tile, int64_t size) const {
    return accessRange(access, tileRange(extent, degree, tile), size);
  }
  /// Which of the degrees a choice has.
  size_t index(const Choice &choice) const {
    return access.loop < 0 ? 0 : choice.index[access.loop];
  }
};

/// One operand of a node that another compute node makes.
class Edge {
public:
  /// `operand` must be read by all tasks, not by the first of a sum alone.
  Edge(const OperatorGraph &graph, int32_t node, int32_t operand,
       const NodeChoices &consumer, const NodeChoices &producer);

  int32_t producer() const { return producer_; }
  /// Of the whole value.
  int64_t valueBytes() const { return valueBytes_; }
  /// Every task reads something, whatever the degrees.
  bool readsAlways() const { return readsAlways_; }
  Reads reads(const Choice &consumer, const Choice &producer) const;

private:
  struct Dim {
    DimSide consumer, producer;
    std::vector<DimReads> reads; ///< [degree of consumer][of producer].
  };
  int32_t producer_;
  int64_t valueBytes_ = 0;
  int32_t elementBytes_ = 1;
  bool readsAlways_ = true;
  llvm::SmallVector<Dim, 5> dims_;
  /// Loops of the producer that its result lacks, by how their parts are
  /// joined.
  llvm::SmallVector<int32_t, 2> reductions_, copies_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_NEIGHBORREADS_H
