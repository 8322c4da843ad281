//===- MicroBatches.cpp - A model once per part of the batch --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation on a part of the batch is a tile of the operation, which its
// partition spec describes.
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

void soap::nn::joinGroup(PartitionOpInterface op, StringRef leader) {
  Builder builder(op.getContext());
  SmallVector<NamedAttribute> loops;
  for (const LoopSpec &loop : op.getPartitionSpec().loops)
    loops.push_back(
        builder.getNamedAttr(loop.name, builder.getStringAttr(loop.name)));
  op->setAttr(groupAttrName, GroupAttr::get(op.getContext(), leader,
                                            builder.getDictionaryAttr(loops)));
}

namespace {
class BatchSplitter {
public:
  BatchSplitter(func::FuncOp function, NodeNames &names, int64_t count,
                bool takesSums)
      : function_(function), names_(names), count_(count),
        takesSums_(takesSums),
        builder_(OpBuilder::atBlockTerminator(&function.front())) {}

  FailureOr<MicroBatches> run(Value x);

private:
  LogicalResult splitInputs();
  LogicalResult split(PartitionOpInterface op);
  bool readsSums(Operation *op) const;
  bool keepsSums(Operation *op) const;
  Value partOf(Value value, const Box &has, const Box &needs, const Twine &name,
               int64_t batch);
  LogicalResult copy(PartitionOpInterface op, int64_t batch);
  void finish(Operation *op, const Twine &name, int64_t batch);

  func::FuncOp function_;
  NodeNames &names_;
  int64_t count_;
  bool takesSums_;
  OpBuilder builder_;
  SmallVector<InputOp> inputs_; ///< Those that have samples.
  /// Operations that depend on them, and their tiles by micro-batch.
  llvm::MapVector<Operation *, std::vector<LocalTile>> tiles_;
  /// Of the results of all these, what a micro-batch has.
  llvm::DenseMap<Value, SmallVector<Box>> boxes_;
  /// Of these, those that are sums of samples, whole: a micro-batch has its
  /// share of every element, and the sum of all shares is the value.
  llvm::DenseSet<Value> sums_;
  llvm::DenseMap<Value, Value> parts_; ///< Of the micro-batch that is built.
  /// Of the first micro-batch, by what the others are called after.
  llvm::StringMap<std::string> leaders_;
};
} // namespace

LogicalResult BatchSplitter::splitInputs() {
  std::optional<int64_t> size;
  for (auto input : function_.getOps<InputOp>()) {
    RankedTensorType type = typeOf(input.getResult());
    if (input->use_empty() || input.getSampleDims().empty() ||
        type.getRank() == 0)
      continue;
    int64_t dim = input.getSampleDims().front();
    // What has another size has no sample of its own per sample of the batch.
    if (!size)
      size = type.getDimSize(dim);
    if (type.getDimSize(dim) != *size)
      continue;
    // A multiple has all of its micro-batches in memory below.
    if (*size % count_ != 0)
      return emitError(function_.getLoc(),
                       "expected a batch that is a multiple of the ")
             << count_ << " micro-batches, got: " << *size;
    inputs_.push_back(input);
    for (int64_t batch = 0; batch < count_; ++batch) {
      Box box = wholeBox(type.getShape());
      box[dim] = tileRange(*size, count_, batch);
      boxes_[input.getResult()].push_back(box);
    }
  }
  if (!size)
    return emitError(function_.getLoc(), "expected an input with a batch to "
                                         "accumulate over, got none");
  return success();
}

bool BatchSplitter::readsSums(Operation *op) const {
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return sums_.contains(operand); });
}

/// True if what `op` makes of all shares of sums adds up to what it makes of
/// the sums: it is linear in them, and has no other operand of the micro-batch.
bool BatchSplitter::keepsSums(Operation *op) const {
  auto isSum = [&](Value value) { return sums_.contains(value); };
  auto isShared = [&](Value value) { return !boxes_.contains(value); };
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value));
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<NegOp>([](auto) { return true; })
      .Case([&](CastOp cast) { return isFloat(cast.getResult()); })
      .Case([](ReduceOp reduce) { return reduce.getKind() == ReduceKind::Sum; })
      .Case([&](MulOp mul) {
        return isShared(mul.getOperand(isSum(mul.getOperand(0)) ? 1 : 0));
      })
      .Case([&](DivOp div) { return isShared(div.getOperand(1)); })
      .Default([&](Operation *other) {
        return isAdditive(other) && llvm::all_of(other->getOperands(), isSum);
      });
}

LogicalResult BatchSplitter::split(PartitionOpInterface op) {
  auto mixes = [&] {
    return op.emitOpError("expected operations that compute every sample by "
                          "itself for micro-batches, got: '")
           << getName(op) << "'; leave 'accumulate' out";
  };
  LocalTile whole = makeWholeTile(op);
  std::optional<int16_t> loop;
  for (auto [operand, access] :
       llvm::zip_equal(op->getOperands(), whole.spec.operands))
    if (auto it = boxes_.find(operand); it != boxes_.end())
      for (auto [dim, range] : llvm::enumerate(it->second.front()))
        if (range.size() != typeOf(operand).getDimSize(dim)) {
          // Samples are along one loop.
          if (loop.value_or(access.dims[dim].loop) != access.dims[dim].loop)
            return mixes();
          loop = access.dims[dim].loop;
        }
  if (readsSums(op)) {
    if (loop || !keepsSums(op))
      return mixes();
    tiles_[op].assign(count_, whole);
    for (Value result : op->getResults()) {
      boxes_[result].assign(count_, wholeBox(typeOf(result).getShape()));
      sums_.insert(result);
    }
    return success();
  }
  if (!loop)
    return success();
  if (*loop < 0 || whole.spec.loops[*loop].extent % count_ != 0)
    return mixes();
  std::vector<LocalTile> &tiles = tiles_[op];
  for (int64_t batch = 0; batch < count_; ++batch) {
    LocalTile &tile = tiles.emplace_back(whole);
    tile.tile[*loop] = tileRange(whole.spec.loops[*loop].extent, count_, batch);
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      tile.operandBoxes[index] = accessBox(tile.spec.operands[index], tile.tile,
                                           typeOf(operand).getShape());
      auto it = boxes_.find(operand);
      if (it != boxes_.end() &&
          !contains(it->second[batch], tile.operandBoxes[index]))
        return mixes();
    }
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      if (tile.spec.isReduction(*loop, index)) {
        if (!takesSums_ || tile.spec.results[index].combine != Combine::Sum)
          return mixes();
        sums_.insert(result);
      }
      tile.resultBoxes[index] = accessBox(tile.spec.results[index], tile.tile,
                                          typeOf(result).getShape());
      boxes_[result].push_back(tile.resultBoxes[index]);
    }
  }
  return success();
}

/// Names an operation of a micro-batch after one of the model. Those of all
/// micro-batches are one group, led by that of the first.
void BatchSplitter::finish(Operation *op, const Twine &name, int64_t batch) {
  std::string base = name.str();
  if (batch == 0) {
    leaders_[base] = names_.unique(base);
    setName(op, leaders_[base]);
    return;
  }
  setName(op, names_.unique((base + "#" + Twine(batch)).str()));
  joinGroup(cast<PartitionOpInterface>(op), leaders_[base]);
}

/// The box `needs` of a value that `value` has the box `has` of.
Value BatchSplitter::partOf(Value value, const Box &has, const Box &needs,
                            const Twine &name, int64_t batch) {
  if (needs == has)
    return value;
  SmallVector<int64_t> starts, steps(needs.size(), 1);
  for (auto [range, whole] : llvm::zip_equal(needs, has))
    starts.push_back(range.lo - whole.lo);
  auto slice = builder_.create<SliceOp>(
      value.getLoc(), localType(value.getType(), needs), value, starts, steps);
  finish(slice, name, batch);
  return slice;
}

LogicalResult BatchSplitter::copy(PartitionOpInterface op, int64_t batch) {
  const LocalTile &tile = tiles_[op][batch];
  std::string name = getName(op).str();
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const Box &box = tile.operandBoxes[index];
    auto it = boxes_.find(operand);
    bool isPart = it != boxes_.end();
    operands.push_back(
        isEmpty(box) ? Value()
                     : partOf(isPart ? parts_.lookup(operand) : operand,
                              isPart ? it->second[batch]
                                     : wholeBox(typeOf(operand).getShape()),
                              box, name + ".part" + Twine(index), batch));
  }
  Operation *terminator = function_.front().getTerminator();
  Operation *before = terminator->getPrevNode();
  FailureOr<SmallVector<Value>> results =
      op.buildLocal(builder_, operands, tile);
  if (failed(results) || terminator->getPrevNode()->getPrevNode() != before)
    return op.emitOpError("expected one operation per micro-batch; leave "
                          "'accumulate' out");
  if (batch == 0)
    names_.release(name);
  finish(terminator->getPrevNode(), name, batch);
  for (auto [result, part] : llvm::zip_equal(op->getResults(), *results))
    parts_[result] = part;
  return success();
}

FailureOr<MicroBatches> BatchSplitter::run(Value x) {
  if (!function_.getBody().hasOneBlock())
    return emitError(function_.getLoc(),
                     "expected one block to split into micro-batches, got: "
                     "more");
  if (failed(splitInputs()))
    return failure();
  MicroBatches result;
  for (Operation &op : function_.front().without_terminator()) {
    auto node = dyn_cast<PartitionOpInterface>(op);
    if (!node)
      return op.emitOpError("expected nn operations to split into "
                            "micro-batches, got another one");
    if (!isa<InputOp>(op) && failed(split(node)))
      return failure();
    if (!tiles_.contains(&op))
      result.shared.push_back(&op);
  }
  // x depends on all inputs that are left, or it mixes samples.
  auto found = boxes_.find(x);
  assert(found != boxes_.end() && "an output with a value per sample");
  for (auto [dim, range] : llvm::enumerate(found->second.front()))
    if (range.size() != typeOf(x).getDimSize(dim))
      result.dim = dim;
  for (int64_t batch = 0; batch < count_; ++batch) {
    Operation *before = function_.front().getTerminator()->getPrevNode();
    for (InputOp input : inputs_) {
      Value whole = input.getResult();
      parts_[whole] =
          partOf(whole, wholeBox(typeOf(whole).getShape()),
                 boxes_[whole][batch], getName(input) + ".part", batch);
    }
    for (auto &[op, tiles] : tiles_)
      if (failed(copy(cast<PartitionOpInterface>(op), batch)))
        return failure();
    result.firsts.push_back(before->getNextNode());
    result.outputs.push_back(
        builder_.create<OutputOp>(x.getLoc(), parts_.lookup(x)));
    setName(result.outputs.back(), names_.unique("loss.input"));
  }
  for (auto &[op, tiles] : llvm::reverse(tiles_))
    op->erase();
  return result;
}

FailureOr<MicroBatches> soap::nn::splitBatch(func::FuncOp function,
                                             NodeNames &names, Value x,
                                             int64_t count, bool takesSums) {
  return BatchSplitter(function, names, count, takesSums).run(x);
}
