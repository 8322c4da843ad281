//===- LaunchOrder.cpp - Block order is launch order ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

/// A task of the strategy that costs time: neither an end of the graph nor a
/// local reduction.
static bool isCompute(TaskOp task) {
  return task.getPhase() == Phase::Step && !task.getReduce() &&
         task.getDevice() != kHostDevice;
}

namespace {
/// Where an operation stands: position of a node, then what comes first there,
/// then the order before.
enum class Place : int64_t { Prefetch, Unpack, Compute, Produce, Bucket };
using Key = std::tuple<int64_t, int64_t, int64_t, int64_t>;

class LaunchOrder {
public:
  explicit LaunchOrder(func::FuncOp func)
      : func_(func), block_(func.getBody().front()) {}

  LogicalResult write(ArrayRef<StringRef> nodes) {
    for (auto [i, op] : llvm::enumerate(block_.without_terminator())) {
      index_[&op] = i;
      ops_.push_back(&op);
    }
    if (failed(rankNodes(nodes)))
      return failure();
    findFirstConsumers();
    placeBuckets();
    // Goes from the back, since the place of a copy follows from its users.
    for (Operation *op : llvm::reverse(ops_))
      if (!isa<DiscardOp>(op))
        keys_[op] = keyOf(op);
    for (Operation *op : ops_)
      if (isa<DiscardOp>(op))
        keys_[op] = behindOperands(op);
    llvm::sort(ops_, [&](Operation *a, Operation *b) {
      return std::pair(keys_[a], index_[a]) < std::pair(keys_[b], index_[b]);
    });
    if (failed(checkOperands()))
      return failure();
    for (Operation *op : ops_)
      op->moveBefore(block_.getTerminator());
    return success();
  }

private:
  LogicalResult rankNodes(ArrayRef<StringRef> nodes) {
    llvm::StringMap<bool> known;
    SmallVector<StringRef> inBlock;
    for (auto task : block_.getOps<TaskOp>())
      if (isCompute(task) && known.try_emplace(task.getNode(), false).second)
        inBlock.push_back(task.getNode());
    if (nodes.empty())
      nodes = inBlock;
    for (StringRef name : nodes) {
      auto it = known.find(name);
      if (it == known.end())
        continue; // Ends of the graph have their fixed places.
      if (it->second)
        return emitError(func_.getLoc())
               << "expected every node once in the launch order, got: \""
               << name << "\" twice";
      it->second = true;
      int64_t rank = rank_.size();
      rank_[name] = rank;
    }
    for (StringRef name : inBlock)
      if (!rank_.count(name))
        return emitError(func_.getLoc())
               << "expected all compute nodes in the launch order, got none "
                  "called \""
               << name << "\"; add it to soap.order";
    return success();
  }

  void findFirstConsumers() {
    for (auto task : block_.getOps<TaskOp>()) {
      if (task.getReduce())
        continue;
      for (auto [i, box] : llvm::enumerate(task.getBoxes()))
        producers_.try_emplace(valueOf(cast<BoxAttr>(box)), task);
      if (isCompute(task))
        for (Value input : task.getInputs())
          if (BoxAttr box = getBox(input)) {
            auto [it, isNew] =
                first_.try_emplace(valueOf(box), rank_[task.getNode()]);
            it->second = std::min(it->second, rank_[task.getNode()]);
          }
    }
  }

  /// A bucket stands behind the node that it names, and the producers of all
  /// that it reduces; not where that is read before: then its members stand
  /// behind their own producers.
  void placeBuckets() {
    struct Bucket {
      int64_t position = -1, firstUse = INT64_MAX;
    };
    std::map<int64_t, Bucket> buckets; // Of any numbers.
    for (auto op : block_.getOps<ReductionOpInterface>()) {
      if (!op.getBucket())
        continue;
      Bucket &bucket = buckets[*op.getBucket()];
      auto value = valueOf(getBox(op->getResult(0)));
      auto raise = [&](StringRef node) {
        if (auto it = rank_.find(node); it != rank_.end())
          bucket.position = std::max(bucket.position, it->second);
      };
      raise(*op.getBehind());
      if (TaskOp producer = producers_.lookup(value))
        raise(producer.getNode());
      if (auto it = first_.find(value); it != first_.end())
        bucket.firstUse = std::min(bucket.firstUse, it->second);
    }
    for (auto [number, bucket] : buckets)
      if (bucket.position >= 0 && bucket.position < bucket.firstUse)
        buckets_[number] = bucket.position;
  }

  static std::pair<StringAttr, int64_t> valueOf(BoxAttr box) {
    return {box.getValue(), box.getResult()};
  }

  Key keyOf(Operation *op) {
    int64_t index = index_[op], last = rank_.size();
    auto at = [](int64_t position, Place place, int64_t major, int64_t minor) {
      return Key{position, static_cast<int64_t>(place), major, minor};
    };
    if (auto task = dyn_cast<TaskOp>(op); task && !task.getReduce()) {
      if (isCompute(task))
        return at(rank_[task.getNode()], Place::Compute, index, 0);
      // Outputs stand at the end, and what costs no time at the beginning.
      return task.getNumResults() == 0 ? at(last, Place::Compute, index, 0)
                                       : at(-1, Place::Compute, index, 0);
    }
    if (isa<SliceOp, AssembleOp>(op)) {
      // Unpacks stand at their first consumer; the others are packed for an
      // action or a reduction and follow their value.
      std::optional<Key> unpack;
      bool packed = false;
      for (Operation *user : op->getUsers()) {
        auto task = dyn_cast<TaskOp>(user);
        if (!task || task.getReduce()) {
          packed |= !isa<DiscardOp>(user);
          continue;
        }
        Key key = at(isCompute(task) ? rank_[task.getNode()] : last,
                     Place::Unpack, index, 0);
        unpack = unpack ? std::min(*unpack, key) : key;
      }
      if (unpack && !packed)
        return *unpack;
    }
    auto shards = dyn_cast<ShardOpInterface>(op);
    if (!shards || op->getNumResults() == 0)
      return at(last, Place::Produce, index, 0);
    if (auto reduce = dyn_cast<ReductionOpInterface>(op);
        reduce && reduce.getBucket())
      if (auto it = buckets_.find(*reduce.getBucket()); it != buckets_.end())
        return at(it->second, Place::Bucket, *reduce.getBucket(), index);
    auto value = valueOf(shards.getBox(0));
    TaskOp producer = producers_.lookup(value);
    if (!producer)
      return at(-1, Place::Produce, index, 0);
    if (isCompute(producer))
      return at(rank_[producer.getNode()], Place::Produce, index, 0);
    auto first = first_.find(value);
    int64_t position =
        first == first_.end() ? last : std::max<int64_t>(0, first->second - 1);
    int64_t reader = position + 1;
    if (auto before =
            op->getAttrOfType<StringAttr>(SOAPDialect::getBeforeAttrName()))
      if (auto it = rank_.find(before.getValue()); it != rank_.end()) {
        auto ahead =
            op->getAttrOfType<IntegerAttr>(SOAPDialect::getAheadAttrName());
        position =
            std::max<int64_t>(0, it->second - (ahead ? ahead.getInt() : 1));
        reader = std::max(position + 1, it->second);
      }
    return at(position, Place::Prefetch, reader, index_[producer]);
  }

  /// It stands right behind the last of its operands.
  Key behindOperands(Operation *op) {
    Key key{-1, 0, 0, 0};
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        key = std::max(key, keys_[maker]);
    return key;
  }

  /// Every operand is made before it is used.
  LogicalResult checkOperands() {
    llvm::DenseMap<Operation *, int64_t> position;
    for (auto [i, op] : llvm::enumerate(ops_))
      position[op] = i;
    for (Operation *op : ops_)
      for (Value operand : op->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        if (!maker || position[maker] < position[op])
          continue;
        InFlightDiagnostic diag =
            op->emitOpError()
            << "expected a launch order in which a node follows its operands; "
               "change soap.order";
        diag.attachNote(maker->getLoc()) << "the operand would come later";
        return diag;
      }
    return success();
  }

  func::FuncOp func_;
  Block &block_;
  SmallVector<Operation *> ops_;
  llvm::DenseMap<Operation *, int64_t> index_;
  llvm::DenseMap<Operation *, Key> keys_;
  llvm::StringMap<int64_t> rank_;
  std::map<int64_t, int64_t> buckets_; ///< Positions.
  llvm::DenseMap<std::pair<StringAttr, int64_t>, TaskOp> producers_;
  llvm::DenseMap<std::pair<StringAttr, int64_t>, int64_t> first_;
};
} // namespace

bool soapir::isPartitioned(func::FuncOp func) {
  return !func.isDeclaration() && func.getBody().hasOneBlock() &&
         !func.getBody().front().getOps<TaskOp>().empty();
}

LogicalResult soapir::writeLaunchOrder(func::FuncOp func,
                                       ArrayRef<StringRef> nodes) {
  return LaunchOrder(func).write(nodes);
}

LogicalResult soapir::writeSimulatedOrder(func::FuncOp func) {
  Block &block = func.getBody().front();
  // An operation stands behind those that it reads, also where its own time is
  // earlier: a transfer waits for the last of its members, a reader for one.
  SmallVector<std::tuple<int64_t, size_t, Operation *>> ops;
  llvm::DenseMap<Operation *, int64_t> starts;
  bool any = false;
  for (Operation &op : block.without_terminator()) {
    int64_t start = INT64_MIN;
    if (auto time = op.getAttrOfType<IntegerAttr>("soap.start")) {
      start = time.getInt();
      any = true;
    }
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        start = std::max(start, starts.lookup(maker));
    starts[&op] = start;
    ops.push_back({start, ops.size(), &op});
  }
  if (!any)
    return emitError(func.getLoc())
           << "expected simulated times (soap.start), got none; run "
              "soap-simulate first or use policy=program";
  llvm::sort(ops);
  for (auto [start, index, op] : ops)
    op->moveBefore(block.getTerminator());
  return success();
}
