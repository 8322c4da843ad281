//===- LaunchPlaces.cpp - Where what moves is launched --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchPlaces.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Partition/Buckets.h"
#include "soap/Partition/Prefetches.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

/// True of what is a node of the step: neither an end of the graph nor what
/// devices make for themselves.
static bool computes(Operation *op) {
  return !isa<nn::InputOp, nn::OutputOp, nn::ParameterOp, nn::ConstantOp,
              nn::ScheduleOp>(op);
}

LaunchPlaces::LaunchPlaces(func::FuncOp main, ArrayRef<Operation *> nodes)
    : main_(main) {
  llvm::StringMap<size_t> order;
  if (auto names =
          main->getAttrOfType<ArrayAttr>(SOAPDialect::getOrderAttrName()))
    for (Attribute name : names)
      order.try_emplace(cast<StringAttr>(name).getValue(), order.size());
  std::vector<std::pair<size_t, Operation *>> launched;
  for (auto [index, op] : llvm::enumerate(nodes)) {
    if (!computes(op))
      continue;
    auto it = order.find(nn::getName(op));
    launched.push_back({it == order.end() ? index : it->second, op});
  }
  llvm::stable_sort(launched, llvm::less_first());
  for (auto [index, entry] : llvm::enumerate(launched)) {
    nodes_.push_back(entry.second);
    ranks_[entry.second] = static_cast<int32_t>(index);
  }
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

/// Operations whose results write parameters: OperatorGraph::updatingNodes().
static llvm::DenseSet<Operation *> updatesAmong(ArrayRef<Operation *> nodes) {
  llvm::DenseSet<Operation *> found;
  for (Operation *op : nodes)
    if (auto write = dyn_cast<nn::WriteOp>(op))
      for (Value written : write->getOperands())
        if (Operation *update = written.getDefiningOp();
            written != write.getParameter() && computes(update))
          found.insert(update);
  return found;
}

void LaunchPlaces::findBuckets(
    const llvm::DenseMap<Value, SmallVector<OpOperand *>> &uses,
    PartitionBuilder &builder) const {
  auto limit =
      main_->getAttrOfType<IntegerAttr>(SOAPDialect::getBucketBytesAttrName());
  if (!limit)
    return;
  llvm::DenseSet<Operation *> updates = updatesAmong(nodes_);
  SmallVector<Value> values;
  std::vector<BucketCandidate> candidates;
  auto add = [&](OpResult value, int32_t position) {
    BucketCandidate candidate;
    candidate.position = position;
    candidate.firstUse = INT32_MAX;
    candidate.isGradient = false;
    auto found = uses.find(value);
    for (OpOperand *use : found == uses.end() ? ArrayRef<OpOperand *>()
                                              : ArrayRef(found->second)) {
      if (!computes(use->getOwner()))
        continue;
      bool isUpdate = updates.contains(use->getOwner());
      candidate.isGradient |= isUpdate;
      if (int32_t rank = ranks_.lookup(use->getOwner());
          rank < candidate.firstUse) {
        candidate.firstUse = rank;
        candidate.isUpdatedFirst = isUpdate;
      }
    }
    auto type = cast<RankedTensorType>(value.getType());
    candidate.bytes = sizeInBytes(type);
    candidate.elementBytes =
        static_cast<int32_t>(nn::elementBytes(type.getElementType()));
    if (!candidate.isGradient && candidate.bytes > smallSumBytes)
      return;
    values.push_back(value);
    candidates.push_back(candidate);
  };
  for (auto [position, op] : llvm::enumerate(nodes_))
    if (auto producer = dyn_cast<nn::PartitionOpInterface>(op)) {
      PartitionSpec spec = producer.getPartitionSpec();
      for (OpResult value : op->getResults())
        if (spec.results[value.getResultNumber()].combine == Combine::Sum)
          add(value, static_cast<int32_t>(position));
    }
  llvm::DenseMap<Value, int32_t> bucketOf;
  std::vector<PartitionBuilder::Bucket> buckets;
  for (const Bucket &bucket : formBuckets(candidates, limit.getInt())) {
    for (int32_t member : bucket)
      bucketOf[values[member]] = static_cast<int32_t>(buckets.size());
    buckets.push_back({nn::getName(values[bucket.back()].getDefiningOp()),
                       bytesOfMembers(bucket, candidates)});
  }
  builder.setBuckets(std::move(bucketOf), std::move(buckets));
}

//===----------------------------------------------------------------------===//
// Prefetches
//===----------------------------------------------------------------------===//

/// Bytes of parameters and constants that an operation reads.
static int64_t parameterBytes(Operation *op) {
  int64_t bytes = 0;
  for (Value value :
       llvm::SetVector<Value>(op->operand_begin(), op->operand_end()))
    if (!computes(value.getDefiningOp()) &&
        !isa<nn::InputOp>(value.getDefiningOp())) {
      auto type = cast<RankedTensorType>(value.getType());
      bytes += type.getNumElements() * nn::elementBytes(type.getElementType());
    }
  return bytes;
}

void LaunchPlaces::findPrefetches(PartitionBuilder &builder) const {
  auto limit = main_->getAttrOfType<IntegerAttr>(
      SOAPDialect::getPrefetchBytesAttrName());
  // Updates read shards.
  llvm::StringSet<> updates;
  for (Operation *op : nodes_)
    if (StringRef leader = nn::getUpdateLeader(op); !leader.empty()) {
      updates.insert(leader);
      updates.insert(nn::getName(op));
    }
  SmallVector<int64_t> bytesRead;
  for (Operation *op : nodes_)
    bytesRead.push_back(updates.contains(nn::getName(op)) ? 0
                                                          : parameterBytes(op));
  llvm::StringMap<int64_t> ahead;
  for (auto [rank, position] : llvm::enumerate(
           prefetchPositions(bytesRead, limit ? limit.getInt() : 0)))
    ahead[nn::getName(nodes_[rank])] = static_cast<int64_t>(rank) - position;
  builder.setAhead(std::move(ahead));
}
