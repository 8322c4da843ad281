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

/// Whether a value may be reduced in a bucket: OperatorGraph::gradients().
static bool isGradient(Value value) {
  auto producer = value.getDefiningOp<nn::PartitionOpInterface>();
  return producer && computes(producer) &&
         producer.getPartitionSpec()
                 .results[cast<OpResult>(value).getResultNumber()]
                 .combine == Combine::Sum;
}

/// The gradients of parameters that nodes write, as they are launched.
SmallVector<Value> LaunchPlaces::gradients() const {
  llvm::SetVector<Value> found;
  for (Operation *op : nodes_) {
    auto write = dyn_cast<nn::WriteOp>(op);
    if (!write)
      continue;
    for (Value written : write->getOperands()) {
      Operation *update = written.getDefiningOp();
      if (written == write.getParameter() || !computes(update))
        continue;
      for (Value operand : update->getOperands())
        if (isGradient(operand))
          found.insert(operand);
    }
  }
  SmallVector<Value> gradients = found.takeVector();
  llvm::sort(gradients, [&](Value a, Value b) {
    auto key = [&](Value value) {
      return std::pair(ranks_.lookup(value.getDefiningOp()),
                       cast<OpResult>(value).getResultNumber());
    };
    return key(a) < key(b);
  });
  return gradients;
}

void LaunchPlaces::findBuckets(
    const llvm::DenseMap<Value, SmallVector<OpOperand *>> &uses,
    PartitionBuilder &builder) const {
  auto limit =
      main_->getAttrOfType<IntegerAttr>(SOAPDialect::getBucketBytesAttrName());
  if (!limit)
    return;
  SmallVector<Value> gradients = this->gradients();
  std::vector<BucketCandidate> candidates;
  for (Value value : gradients) {
    auto type = cast<RankedTensorType>(value.getType());
    BucketCandidate &candidate = candidates.emplace_back();
    candidate.position = ranks_.lookup(value.getDefiningOp());
    candidate.firstUse = INT32_MAX;
    for (OpOperand *use : uses.find(value)->second)
      if (computes(use->getOwner()))
        candidate.firstUse =
            std::min(candidate.firstUse, ranks_.lookup(use->getOwner()));
    candidate.elementBytes =
        static_cast<int32_t>(nn::elementBytes(type.getElementType()));
    candidate.bytes = type.getNumElements() * candidate.elementBytes;
  }
  llvm::DenseMap<Value, int32_t> bucketOf;
  std::vector<StringRef> behind;
  for (const Bucket &bucket : formBuckets(candidates, limit.getInt())) {
    for (int32_t member : bucket)
      bucketOf[gradients[member]] = static_cast<int32_t>(behind.size());
    behind.push_back(nn::getName(gradients[bucket.back()].getDefiningOp()));
  }
  builder.setBuckets(std::move(bucketOf), std::move(behind));
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
