//===- PartitionBuilder.cpp - Shards, copies, actions -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionBuilder.h"
#include "soap/CostModel/CostModel.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Partition/Buckets.h"
#include "soap/Partition/Needs.h"
#include "soap/Search/BucketActions.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "soap-partition"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

/// Devices of an operation in the ids of plans.
static SmallVector<int32_t> planDevices(Operation *op, int32_t host) {
  assert(getConfig(op) && "operations are configured");
  SmallVector<int32_t> devices;
  for (int32_t device : getConfig(op).getDevices())
    devices.push_back(deviceToPlan(device, host));
  return devices;
}

/// Whether an operation's results lie in memory before a step.
static bool isStored(Operation *op) {
  return isa_and_nonnull<nn::ParameterOp, nn::ConstantOp, nn::ScheduleOp>(op);
}

static Need needOfUse(OpOperand &use, int32_t host) {
  Operation *op = use.getOwner();
  ConfigAttr config = getConfig(op);
  PartitionSpec spec = cast<nn::PartitionOpInterface>(op).getPartitionSpec();
  Degrees degrees = config.toDegrees(spec);
  SmallVector<int32_t> devices = planDevices(op, host);
  unsigned operand = use.getOperandNumber();
  bool regather =
      llvm::is_contained(config.getRegather(), static_cast<int64_t>(operand));
  return soap::needOf({spec, operand, degrees, devices, regather,
                       isa<nn::OutputOp>(op),
                       isStored(use.get().getDefiningOp())},
                      cast<RankedTensorType>(use.get().getType()).getShape());
}

void PartitionBuilder::plan(OpResult result, ArrayRef<OpOperand *> uses) {
  Operation *op = result.getOwner();
  auto type = cast<RankedTensorType>(result.getType());
  PartitionSpec spec = cast<nn::PartitionOpInterface>(op).getPartitionSpec();
  Layout layout =
      makeLayout(spec, result.getResultNumber(), getConfig(op).toDegrees(spec),
                 planDevices(op, host_), type.getShape());
  std::vector<Need> needs;
  for (OpOperand *use : uses)
    needs.push_back(needOfUse(*use, host_));

  auto value = std::make_unique<PlannedValue>(op->getLoc());
  value->type = type;
  value->node = nn::getName(op);
  value->result = result.getResultNumber();
  value->combine = layout.combine;
  value->numParts = layout.parts;
  value->isFixed = nn::isFixed(op);
  auto route = [&](int32_t from, int32_t to) {
    return topology_->routeCost(from, to);
  };
  value->plan = planValue(layout, needs,
                          topology_ ? RouteCost(route) : RouteCost(), host_);
  LLVM_DEBUG({
    llvm::dbgs() << "'" << value->node << "':" << value->result << " in "
                 << value->plan.shards.size() << " shards, "
                 << value->plan.reductions.size() << " local reductions;";
    for (const Action &action : value->plan.actions)
      llvm::dbgs() << ' ' << stringify(action.kind) << " over "
                   << action.group.size();
    llvm::dbgs() << "\n";
  });

  MLIRContext *context = builder_.getContext();
  for (const Shard &shard : value->plan.shards) {
    SmallVector<int64_t> parts;
    if (shard.part >= 0)
      parts.push_back(shard.part);
    value->boxes.push_back(BoxAttr::get(context, value->node, value->result,
                                        shard.box, parts, layout.parts));
  }
  value->shards.resize(value->plan.shards.size());
  for (auto [i, read] : llvm::enumerate(value->plan.reads))
    value->reads[{read.consumer, read.task}] = i;
  value->startOfRound.emplace_back();
  for (auto [consumer, round] : llvm::enumerate(value->plan.rounds))
    if (round == static_cast<int32_t>(value->startOfRound.size()))
      value->startOfRound.push_back(nn::getName(uses[consumer]->getOwner()));
  values_[result] = std::move(value);
}

ShardType PartitionBuilder::shardType(const PlannedValue &value, BoxAttr box,
                                      int32_t device) const {
  return ShardType::get(value.type.clone(shapeOf(box.getBox())),
                        deviceFromPlan(device, host_),
                        box.isPartial() ? value.combine : Combine::None);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void PartitionBuilder::setRound(Operation *op, const PlannedValue &value,
                                int32_t round) {
  if (round == 0)
    return;
  StringRef reader = value.startOfRound[round];
  op->setAttr(SOAPDialect::getBeforeAttrName(), builder_.getStringAttr(reader));
  op->setAttr(SOAPDialect::getAheadAttrName(),
              builder_.getI64IntegerAttr(ahead_.lookup(reader) +
                                         (SOAP_FAULT("gather-early") ? 1 : 0)));
}

Value PartitionBuilder::materialize(PlannedValue &value, ArrayRef<Piece> pieces,
                                    const Box &box, int32_t device,
                                    int32_t round) {
  if (pieces.size() == 1 && pieces[0].box == box &&
      value.plan.shards[pieces[0].shard].box == box)
    return value.shards[pieces[0].shard];

  BoxAttr from = pieces.empty() ? BoxAttr::get(builder_.getContext(),
                                               value.node, value.result, box)
                                : value.boxes[pieces[0].shard];
  BoxAttr boxAttr = from.withBox(box);
  std::string key;
  llvm::raw_string_ostream os(key);
  os << device << ' ' << boxAttr << ' ' << round;
  for (const Piece &piece : pieces)
    os << ' ' << piece.shard << toString(piece.box);
  if (SOAP_FAULT("stale-copy"))
    key = std::to_string(device) + value.node.str() +
          toString(wholeBox(shapeOf(box)));
  Value &copy = copies_[key];
  if (copy)
    return copy;

  Type type = shardType(value, boxAttr, device);
  ArrayAttr boxes = builder_.getArrayAttr({boxAttr});
  bool isMadeOnce = value.isFixed && value.plan.actions.empty();
  if (pieces.size() == 1) {
    copy = builder_.create<SliceOp>(
        value.loc, type, value.shards[pieces[0].shard], boxes, isMadeOnce);
    setRound(copy.getDefiningOp(), value, round);
    return copy;
  }
  SmallVector<Value> inputs;
  SmallVector<Attribute> ranges;
  for (const Piece &piece : pieces) {
    inputs.push_back(value.shards[piece.shard]);
    ranges.push_back(RangesAttr::get(builder_.getContext(), piece.box));
  }
  copy = builder_.create<AssembleOp>(value.loc, type, inputs,
                                     builder_.getArrayAttr(ranges), boxes,
                                     isMadeOnce);
  setRound(copy.getDefiningOp(), value, round);
  return copy;
}

Value PartitionBuilder::read(Value graphValue, int32_t use, int32_t task) {
  PlannedValue &value = planned(graphValue);
  auto it = value.reads.find({use, task});
  if (it == value.reads.end())
    return nullptr;
  const Read &read = value.plan.reads[it->second];
  return materialize(value, read.pieces, read.box, read.device,
                     value.plan.roundOf(use));
}

//===----------------------------------------------------------------------===//
// Reductions and actions
//===----------------------------------------------------------------------===//

/// The nn operation that joins two parts, or an empty name.
static StringRef joinName(Combine combine) {
  switch (combine) {
  case Combine::Sum:
    return nn::AddOp::getOperationName();
  case Combine::Prod:
    return nn::MulOp::getOperationName();
  case Combine::Max:
    return nn::MaxOp::getOperationName();
  case Combine::Min:
    return nn::MinOp::getOperationName();
  default:
    return {};
  }
}

LogicalResult PartitionBuilder::writeReduction(PlannedValue &value,
                                               int64_t index) {
  const LocalReduction &reduction = value.plan.reductions[index];
  StringRef join = joinName(reduction.combine);
  if (join.empty())
    return emitError(value.loc)
           << "expected parts that are joined by sum, prod, max or min, got: "
           << stringify(reduction.combine) << "; run the parts of \""
           << value.node << "\" on several devices";
  SmallVector<Value> inputs;
  SmallVector<int64_t> parts;
  for (int32_t input : reduction.inputs) {
    inputs.push_back(value.shards[input]);
    llvm::append_range(parts, value.boxes[input].getParts());
  }
  llvm::sort(parts);
  if (static_cast<int64_t>(parts.size()) == value.numParts)
    parts.clear();
  const Shard &output = value.plan.shards[reduction.output];
  BoxAttr box = BoxAttr::get(builder_.getContext(), value.node, value.result,
                             output.box, parts, value.numParts);
  value.boxes[reduction.output] = box;
  auto task = builder_.create<TaskOp>(
      value.loc, shardType(value, box, output.device), box, inputs,
      TaskOrigin{value.node, index, Phase::Step, /*reduces=*/true});
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(&task.getBlock());
  Value joined = task.getBlock().getArgument(0);
  for (auto [i, part] : llvm::enumerate(task.getBlock().getArguments())) {
    if (i == 0 ||
        (SOAP_FAULT("part-lost") && i + 1 == task.getBlock().getNumArguments()))
      continue;
    OperationState state(value.loc, join, {joined, part}, {joined.getType()});
    Operation *op = builder_.create(state);
    nn::setName(op, value.node + Twine(".join") + Twine(i));
    joined = op->getResult(0);
  }
  builder_.create<ReturnOp>(value.loc, joined);
  value.shards[reduction.output] = task.getResult(0);
  return success();
}

CollectiveAlgorithm
PartitionBuilder::algorithmOf(ActionKind kind, ArrayRef<int32_t> group,
                              ArrayRef<int64_t> bytes) const {
  if (!topology_)
    return CollectiveAlgorithm::Direct;
  CollectiveAlgorithm chosen =
      CostModel::collective(kind, group, bytes, *topology_).algorithm;
  if (SOAP_FAULT("algorithm-differs"))
    for (CollectiveAlgorithm other : algorithmsOf(kind))
      if (other != chosen)
        return other;
  return chosen;
}

Phase PartitionBuilder::makeResults(PlannedValue &value, const Action &action,
                                    ArrayRef<Value> inputs,
                                    SmallVectorImpl<Type> &types,
                                    SmallVectorImpl<Attribute> &boxes) {
  bool toHost = true, fromHost = true;
  for (const Port &port : action.inputs)
    fromHost &= port.device == host_;
  bool moves = action.kind == ActionKind::Transfer ||
               action.kind == ActionKind::HaloExchange ||
               action.kind == ActionKind::Broadcast;
  for (auto [i, output] : llvm::enumerate(action.outputs)) {
    const Shard &shard = value.plan.shards[output];
    toHost &= shard.device == host_;
    // An action that only moves data keeps the parts that a shard names.
    if (moves) {
      Value input = inputs[action.kind == ActionKind::Broadcast ? 0 : i];
      value.boxes[output] = getBox(input);
    }
    boxes.push_back(value.boxes[output]);
    types.push_back(shardType(value, value.boxes[output], shard.device));
  }
  if (SOAP_FAULT("gathered-once") && action.kind == ActionKind::AllGather)
    return Phase::Init;
  return fromHost ? Phase::Feed : toHost ? Phase::Drain : Phase::Step;
}

LogicalResult PartitionBuilder::writeAction(PlannedValue &value, int64_t index,
                                            int32_t bucket) {
  const Action &action = value.plan.actions[index];
  SmallVector<Value> inputs;
  for (const Port &port : action.inputs)
    inputs.push_back(
        materialize(value, port.pieces, port.box, port.device, action.round));
  SmallVector<Type> types;
  SmallVector<Attribute> boxes;
  Phase when = makeResults(value, action, inputs, types, boxes);
  SmallVector<int32_t> group;
  for (int32_t device : action.group)
    group.push_back(deviceFromPlan(device, host_));

  MLIRContext *context = builder_.getContext();
  auto phase = PhaseAttr::get(context, when);
  auto number = builder_.getI64IntegerAttr(index);
  ArrayAttr boxArray = builder_.getArrayAttr(boxes);
  auto groupArray = builder_.getDenseI32ArrayAttr(group);
  CollectiveAlgorithmAttr algorithm;
  if (collectiveOf(action.kind))
    algorithm = CollectiveAlgorithmAttr::get(
        context, algorithmOf(action.kind, action.group,
                             movements(action, nn::elementBytes(
                                                   value.type.getElementType()))
                                 .front()
                                 .bytes));
  UnitAttr priority;
  if (when == Phase::Step && prioritizes(sizeInBytes(value.type)))
    priority = builder_.getUnitAttr();
  auto collective = [&](auto kind) -> Operation * {
    return builder_.create<decltype(kind)>(value.loc, types, inputs, groupArray,
                                           algorithm, priority, number, phase,
                                           boxArray);
  };
  auto reduction = [&](auto kind) -> Operation * {
    auto reduce = builder_.create<decltype(kind)>(
        value.loc, types, inputs, groupArray, algorithm, priority,
        IntegerAttr(), StringAttr(), number, phase, boxArray);
    if (bucket >= 0)
      joined_[{bucket,
               std::vector<int32_t>(action.group.begin(), action.group.end()),
               action.kind}]
          .push_back(reduce);
    return reduce;
  };
  Operation *op = nullptr;
  switch (action.kind) {
  case ActionKind::Transfer:
  case ActionKind::HaloExchange:
    op = builder_.create<TransferOp>(value.loc, types, inputs,
                                     action.kind == ActionKind::HaloExchange
                                         ? builder_.getUnitAttr()
                                         : UnitAttr(),
                                     number, phase, boxArray);
    break;
  case ActionKind::Broadcast:
    op = collective(BroadcastOp());
    break;
  case ActionKind::AllGather:
    op = collective(AllGatherOp());
    break;
  case ActionKind::AllToAll:
    op = collective(AllToAllOp());
    break;
  case ActionKind::AllReduce:
    op = reduction(AllReduceOp());
    break;
  case ActionKind::ReduceScatter:
    op = reduction(ReduceScatterOp());
    break;
  }
  setRound(op, value, action.round);
  for (auto [output, result] :
       llvm::zip_equal(action.outputs, op->getResults()))
    value.shards[output] = result;
  return success();
}

LogicalResult PartitionBuilder::writePlan(Value graphValue) {
  PlannedValue &value = planned(graphValue);
  for (size_t i = 0; i < value.plan.reductions.size(); ++i)
    if (failed(writeReduction(value, i)))
      return failure();
  auto bucket = bucketOf_.find(graphValue);
  SmallVector<int32_t, 2> late;
  if (bucket != bucketOf_.end())
    late = topology_
               ? joiningActions(value.plan,
                                nn::elementBytes(value.type.getElementType()),
                                *topology_)
               : bucketActions(value.plan);
  for (size_t i = 0; i < value.plan.actions.size(); ++i)
    if (failed(writeAction(value, i,
                           llvm::is_contained(late, static_cast<int32_t>(i))
                               ? bucket->second
                               : -1)))
      return failure();
  return success();
}

void PartitionBuilder::joinBuckets() {
  int64_t number = 0;
  for (auto &[key, ops] : joined_) {
    const auto &[bucket, devices, kind] = key;
    SmallVector<int64_t> bytes(devices.size(), bucketBytes(ops));
    if (SOAP_FAULT("bucket-member-lost") && ops.size() > 1)
      ops.pop_back();
    auto algorithm = CollectiveAlgorithmAttr::get(
        builder_.getContext(), algorithmOf(kind, devices, bytes));
    for (ReductionOpInterface op : ops) {
      op.setBucketAttr(builder_.getI64IntegerAttr(number));
      op.setBehindAttr(builder_.getStringAttr(buckets_[bucket].behind));
      op.setPriority(prioritizes(buckets_[bucket].bytes));
      op.setAlgorithmAttr(algorithm);
    }
    ++number;
  }
}
