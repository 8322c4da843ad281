//===- PartitionBuilder.h - Shards, copies, actions -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the communication plan of one value after the other as soap
// operations.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TRANSFORMS_PARTITIONBUILDER_H
#define SOAP_LIB_TRANSFORMS_PARTITIONBUILDER_H

#include "mlir/IR/Builders.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Topology/Topology.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <memory>
#include <optional>
#include <tuple>

namespace soap {

/// A value of the operator graph, its plan, and the shards that exist so far.
struct PlannedValue {
  explicit PlannedValue(mlir::Location loc) : loc(loc) {}

  mlir::Location loc;
  mlir::RankedTensorType type; ///< Of the whole value.
  llvm::StringRef node;        ///< Name of the producer.
  int64_t result = 0;          ///< Which of its results.
  Combine combine = Combine::None;
  int64_t numParts = 1;
  bool isFixed = false; ///< nn::isFixed()
  ValuePlan plan;
  /// Per shard of the plan: its box with parts, and the value once it exists.
  llvm::SmallVector<soapir::BoxAttr> boxes;
  llvm::SmallVector<mlir::Value> shards;
  /// Per round of the plan, the node that starts it; none for round 0.
  llvm::SmallVector<llvm::StringRef, 1> startOfRound;
  /// (consumer, task) -> index of the read.
  std::map<std::pair<int32_t, int32_t>, size_t> reads;
};

class PartitionBuilder {
public:
  /// `topology` may be null: then all devices are equally far, and the host
  /// follows the highest device `numDevices - 1`.
  PartitionBuilder(mlir::OpBuilder builder, const Topology *topology,
                   int32_t numDevices)
      : builder_(builder), topology_(topology),
        host_(topology ? topology->host() : numDevices) {}

  mlir::OpBuilder &builder() { return builder_; }
  int32_t host() const { return host_; }

  /// Plans result `result` of `producer` for all its uses. Consumer k of the
  /// plan is use k of the value, in order of nodes, then of operands.
  void plan(mlir::OpResult result, llvm::ArrayRef<mlir::OpOperand *> uses);
  PlannedValue &planned(mlir::Value value) {
    assert(values_.contains(value) && "plan() comes before the tasks");
    return *values_[value];
  }

  /// The type of a shard of `value` with box `box` on a device (an id of the
  /// plan).
  soapir::ShardType shardType(const PlannedValue &value, soapir::BoxAttr box,
                              int32_t device) const;
  /// What `task` reads as use `use` of a value; null if it reads nothing.
  mlir::Value read(mlir::Value value, int32_t use, int32_t task);
  /// Values that are reduced together.
  struct Bucket {
    llvm::StringRef behind; ///< The node behind which it stands.
    int64_t bytes;          ///< Of the whole values.
  };
  /// Says that reductions of some values run in buckets: the number of the
  /// bucket of each.
  void setBuckets(llvm::DenseMap<mlir::Value, int32_t> bucketOf,
                  std::vector<Bucket> buckets) {
    bucketOf_ = std::move(bucketOf);
    buckets_ = std::move(buckets);
  }
  /// Says how many nodes before a node a round is launched that it starts.
  void setAhead(llvm::StringMap<int64_t> ahead) { ahead_ = std::move(ahead); }
  /// Joins the reductions of a bucket that are of one kind and have the same
  /// devices. All plans are written.
  void joinBuckets();
  /// Writes reductions and actions of a value whose tasks exist.
  llvm::LogicalResult writePlan(mlir::Value value);

private:
  mlir::Value materialize(PlannedValue &value, llvm::ArrayRef<Piece> pieces,
                          const Box &box, int32_t device, int32_t round);
  /// Says where an operation of a round is launched.
  void setRound(mlir::Operation *op, const PlannedValue &value, int32_t round);
  llvm::LogicalResult writeReduction(PlannedValue &value, int64_t index);
  /// Types and boxes of an action's results, and the phase it is in.
  Phase makeResults(PlannedValue &value, const Action &action,
                    llvm::ArrayRef<mlir::Value> inputs,
                    llvm::SmallVectorImpl<mlir::Type> &types,
                    llvm::SmallVectorImpl<mlir::Attribute> &boxes);
  llvm::LogicalResult writeAction(PlannedValue &value, int64_t index,
                                  int32_t bucket);
  CollectiveAlgorithm algorithmOf(ActionKind kind,
                                  llvm::ArrayRef<int32_t> group,
                                  llvm::ArrayRef<int64_t> bytes) const;
  /// True if collectives of so many bytes run on priority streams.
  bool prioritizes(int64_t bytes) const {
    return topology_ && topology_->prioritizes(bytes);
  }

  mlir::OpBuilder builder_;
  const Topology *topology_;
  int32_t host_;
  llvm::DenseMap<mlir::Value, std::unique_ptr<PlannedValue>> values_;
  llvm::StringMap<mlir::Value> copies_;
  llvm::DenseMap<mlir::Value, int32_t> bucketOf_;
  std::vector<Bucket> buckets_;
  llvm::StringMap<int64_t> ahead_;
  /// By bucket, devices and kind, as the task graph orders them.
  std::map<std::tuple<int32_t, std::vector<int32_t>, ActionKind>,
           llvm::SmallVector<soapir::ReductionOpInterface>>
      joined_;
};

} // namespace soap

#endif // SOAP_LIB_TRANSFORMS_PARTITIONBUILDER_H
