//===- Communication.cpp - Transfers and collectives ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoxVerifier.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

LogicalResult soapir::verifyDisjoint(Operation *op, StringRef what,
                                     ArrayRef<Box> boxes) {
  for (size_t i = 0; i < boxes.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (!isEmpty(boxes[i]) && !isEmpty(boxes[k]) &&
          !isEmpty(intersect(boxes[i], boxes[k])))
        return op->emitOpError()
               << "expected disjoint " << what
               << ", got: " << toString(boxes[k]) << " and "
               << toString(boxes[i]) << "; every element comes from one place";
  return success();
}

LogicalResult soapir::verifyCover(Operation *op, StringRef what,
                                  ArrayRef<Box> boxes, const Box &box) {
  int64_t covered = 0;
  for (const Box &inner : boxes) {
    if (inner.size() != box.size() || !contains(box, inner))
      return op->emitOpError() << "expected " << what << " inside of "
                               << toString(box) << ", got: " << toString(inner);
    covered += volume(inner);
  }
  if (failed(verifyDisjoint(op, what, boxes)))
    return failure();
  if (covered != volume(box))
    return op->emitOpError()
           << "expected " << what << " that cover " << toString(box)
           << ", got: " << covered << " of " << volume(box) << " elements";
  return success();
}

LogicalResult soapir::detail::verifyShardOp(Operation *op) {
  auto shards = cast<ShardOpInterface>(op);
  if (shards.getBoxes().size() != op->getNumResults())
    return op->emitOpError()
           << "expected one box per result, got: " << shards.getBoxes().size()
           << " for " << op->getNumResults();
  for (OpResult result : op->getResults()) {
    BoxAttr box = shards.getBox(result.getResultNumber());
    ShardType type = getShardType(result);
    if (ArrayRef<int64_t>(shapeOf(box.getBox())) != type.getShape())
      return op->emitOpError() << "expected result " << result.getResultNumber()
                               << " to have the extents of " << box
                               << ", got: " << type.getTensor();
    if (box.isPartial() != type.isPartial())
      return op->emitOpError()
             << "expected result " << result.getResultNumber()
             << " to be partial if and only if its box names parts, got: "
             << type << " as " << box;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Rules of all actions
//===----------------------------------------------------------------------===//

/// All shards are of one value and element type; the phase is that of the
/// devices.
static LogicalResult verifyAction(CommunicationOpInterface op) {
  BoxAttr first = cast<ShardOpInterface>(op.getOperation()).getBox(0);
  Type element = getShardType(op->getResult(0)).getElementType();
  auto check = [&](Value value) -> LogicalResult {
    BoxAttr box = getBox(value);
    if (box && (!box.isSameValue(first) || box.getRank() != first.getRank()))
      return op->emitOpError() << "expected shards of one value, got: " << first
                               << " and " << box;
    if (getShardType(value).getElementType() != element)
      return op->emitOpError() << "expected shards of " << element
                               << ", got: " << value.getType();
    return success();
  };
  for (Value operand : op->getOperands())
    if (failed(check(operand)))
      return failure();
  for (Value result : op->getResults())
    if (failed(check(result)))
      return failure();

  auto onHost = [](Value value) { return getShardType(value).isOnHost(); };
  Phase expected = Phase::Step;
  if (llvm::all_of(op->getOperands(), onHost))
    expected = Phase::Feed;
  else if (llvm::all_of(op->getResults(), onHost))
    expected = Phase::Drain;
  if (op.getPhase() != expected)
    return op->emitOpError()
           << "expected phase " << stringify(expected)
           << ", since only transfers from the host are of phase feed and only "
              "transfers to it of phase drain, got: "
           << stringify(op.getPhase());
  return success();
}

/// Value i is on member i of the group.
static LogicalResult verifyMembers(Operation *op, StringRef what,
                                   ValueRange values, ArrayRef<int32_t> group) {
  if (values.size() != group.size())
    return op->emitOpError() << "expected one " << what << " per member ("
                             << group.size() << "), got: " << values.size();
  for (auto [i, value] : llvm::enumerate(values))
    if (getShardType(value).getDevice() != group[i])
      return op->emitOpError()
             << "expected " << what << ' ' << i << " on device " << group[i]
             << ", got: " << value.getType() << "; members stand in the "
             << "order of `over`";
  return success();
}

static LogicalResult verifyGroup(Operation *op, ArrayRef<int32_t> group) {
  if (group.size() < 2)
    return op->emitOpError()
           << "expected at least two members in `over`, got: " << group.size();
  for (size_t i = 0; i < group.size(); ++i)
    if (llvm::is_contained(group.take_front(i), group[i]))
      return op->emitOpError()
             << "expected distinct members in `over`, got: " << group[i]
             << " twice";
  return success();
}

static LogicalResult verifyAlgorithm(CommunicationOpInterface op,
                                     CollectiveAlgorithm algorithm) {
  ArrayRef<CollectiveAlgorithm> known =
      algorithmsOf(*collectiveOf(op.getActionKind()));
  if (llvm::is_contained(known, algorithm))
    return success();
  auto diagnostic = op->emitOpError() << "expected algorithm ";
  llvm::interleave(
      known, [&](CollectiveAlgorithm one) { diagnostic << stringify(one); },
      [&] { diagnostic << " or "; });
  return diagnostic << ", got: " << stringify(algorithm);
}

static LogicalResult verifyComplete(Operation *op, ValueRange values) {
  for (Value value : values)
    if (getShardType(value).isPartial())
      return op->emitOpError()
             << "expected complete shards, got: " << value.getType()
             << "; reduce the parts with soap.all_reduce or "
                "soap.reduce_scatter";
  return success();
}

static SmallVector<Box> boxesOf(ValueRange values) {
  SmallVector<Box> boxes;
  for (Value value : values)
    if (BoxAttr box = getBox(value))
      boxes.push_back(box.getBox());
  return boxes;
}

/// Operands are the parts of one box, each once; results are complete.
static LogicalResult verifyReduction(Operation *op, BoxAttr &whole) {
  SmallVector<int64_t> parts;
  for (Value operand : op->getOperands()) {
    ShardType type = getShardType(operand);
    if (!type.isPartial() ||
        type.getPartial() != getShardType(op->getOperand(0)).getPartial())
      return op->emitOpError()
             << "expected operands that are partial in the same way, got: "
             << type;
    BoxAttr box = getBox(operand);
    if (!box)
      continue;
    if (whole && (box.withoutParts() != whole.withoutParts() ||
                  box.getNumParts() != whole.getNumParts()))
      return op->emitOpError()
             << "expected parts of one box, got: " << whole << " and " << box;
    whole = box;
    llvm::append_range(parts, box.getParts());
  }
  llvm::sort(parts);
  if (whole)
    for (int64_t part = 0; part < whole.getNumParts(); ++part)
      if (llvm::count(parts, part) != 1)
        return op->emitOpError()
               << "expected every one of " << whole.getNumParts()
               << " parts exactly once, got: part " << part << ' '
               << llvm::count(parts, part) << " times";
  return verifyComplete(op, op->getResults());
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

LogicalResult TransferOp::verify() {
  if (getInputs().empty() || getInputs().size() != getNumResults())
    return emitOpError() << "expected as many results as operands, at least "
                            "one, got: "
                         << getInputs().size() << " operands and "
                         << getNumResults() << " results";
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    ShardType from = getShardType(input), to = getShardType(getResult(i));
    if (from.getDevice() == to.getDevice())
      return emitOpError() << "expected result " << i
                           << " on another device than its operand, got: " << to
                           << "; use the operand itself";
    if (from.getTensor() != to.getTensor() ||
        from.getPartial() != to.getPartial())
      return emitOpError() << "expected result " << i
                           << " to be the operand on another device, got: "
                           << from << " and " << to;
    if (BoxAttr box = soapir::getBox(input); box && box != getBox(i))
      return emitOpError() << "expected result " << i << " to have the box "
                           << box << " of its operand, got: " << getBox(i);
  }
  return verifyAction(*this);
}

ActionKind TransferOp::getActionKind() {
  return getHalo() ? ActionKind::HaloExchange : ActionKind::Transfer;
}

SmallVector<int32_t> TransferOp::getGroup() {
  SmallVector<int32_t> group;
  for (Value value : (*this)->getOperands())
    group.push_back(getShardType(value).getDevice());
  for (Value value : (*this)->getResults())
    group.push_back(getShardType(value).getDevice());
  llvm::sort(group);
  group.erase(std::unique(group.begin(), group.end()), group.end());
  return group;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  ArrayRef<int32_t> group = getOver();
  if (failed(verifyGroup(*this, group)) ||
      failed(
          verifyMembers(*this, "operand", getInputs(), group.take_front(1))) ||
      failed(verifyMembers(*this, "result", getOutputs(), group.drop_front())))
    return failure();
  Value input = getInputs().front();
  for (auto [i, output] : llvm::enumerate(getOutputs())) {
    BoxAttr box = soapir::getBox(input);
    if (getShardType(output).getPartial() != getShardType(input).getPartial() ||
        (box && box != getBox(i)))
      return emitOpError() << "expected result " << i << " to have the box "
                           << box << " of the operand, got: " << getBox(i);
  }
  return verifyAction(*this);
}

/// What all-gather and all-to-all have in common: every member puts a complete
/// shard in and gets one.
template <typename Op>
static LogicalResult verifyExchange(Op op) {
  return failure(
      failed(verifyGroup(op, op.getOver())) ||
      failed(verifyAlgorithm(op, op.getAlgorithm())) ||
      failed(verifyMembers(op, "operand", op.getInputs(), op.getOver())) ||
      failed(verifyMembers(op, "result", op.getOutputs(), op.getOver())) ||
      failed(verifyComplete(op, op->getOperands())) ||
      failed(verifyComplete(op, op.getOutputs())) || failed(verifyAction(op)));
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyExchange(*this)))
    return failure();
  SmallVector<Box> tiles = boxesOf(getInputs());
  if (tiles.size() == getInputs().size())
    for (const Box &gathered : boxesOf(getOutputs()))
      if (failed(verifyCover(*this, "operands", tiles, gathered)))
        return failure();
  return success();
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyExchange(*this)))
    return failure();
  SmallVector<Box> tiles = boxesOf(getInputs());
  if (tiles.size() != getInputs().size())
    return success();
  if (failed(verifyDisjoint(*this, "operands", tiles)))
    return failure();
  for (const Box &result : boxesOf(getOutputs())) {
    SmallVector<Box> pieces;
    for (const Box &tile : tiles)
      pieces.push_back(intersect(tile, result));
    llvm::erase_if(pieces, [](const Box &piece) { return isEmpty(piece); });
    if (failed(verifyCover(*this, "operands", pieces, result)))
      return failure();
  }
  return success();
}

LogicalResult AllReduceOp::verify() {
  BoxAttr whole;
  if (failed(verifyGroup(*this, getOver())) ||
      failed(verifyMembers(*this, "operand", getInputs(), getOver())) ||
      failed(verifyMembers(*this, "result", getOutputs(), getOver())) ||
      failed(verifyReduction(*this, whole)))
    return failure();
  for (unsigned i = 0; whole && i < getNumResults(); ++i)
    if (getBox(i) != whole.withoutParts())
      return emitOpError() << "expected result " << i << " to have the box "
                           << whole.withoutParts() << ", got: " << getBox(i);
  return failure(failed(verifyAction(*this)) || failed(verifyBucket(*this)));
}

LogicalResult ReduceScatterOp::verify() {
  BoxAttr whole;
  if (failed(verifyGroup(*this, getOver())) ||
      failed(verifyAlgorithm(*this, getAlgorithm())) ||
      failed(verifyMembers(*this, "operand", getInputs(), getOver())) ||
      failed(verifyMembers(*this, "result", getOutputs(), getOver())) ||
      failed(verifyReduction(*this, whole)) || failed(verifyAction(*this)) ||
      failed(verifyBucket(*this)))
    return failure();
  if (!whole)
    return success();
  SmallVector<Box> results = boxesOf(getOutputs());
  llvm::erase_if(results, [](const Box &box) { return isEmpty(box); });
  return verifyCover(*this, "results", results, whole.getBox());
}

#define SOAP_COLLECTIVE(Op, Kind)                                              \
  ActionKind Op::getActionKind() { return ActionKind::Kind; }                  \
  SmallVector<int32_t> Op::getGroup() {                                        \
    return SmallVector<int32_t>(getOver());                                    \
  }
SOAP_COLLECTIVE(BroadcastOp, Broadcast)
SOAP_COLLECTIVE(AllGatherOp, AllGather)
SOAP_COLLECTIVE(AllToAllOp, AllToAll)
SOAP_COLLECTIVE(AllReduceOp, AllReduce)
SOAP_COLLECTIVE(ReduceScatterOp, ReduceScatter)
#undef SOAP_COLLECTIVE

SmallVector<Movement, 4> soapir::detail::movementsOf(Operation *op,
                                                     int32_t host) {
  auto communication = cast<CommunicationOpInterface>(op);
  SmallVector<Movement, 4> result;
  // The first of a bucket counts for all.
  auto reduction = dyn_cast<ReductionOpInterface>(op);
  if (reduction && reduction.joinsPrevious())
    return result;
  if (isa<TransferOp>(op)) {
    for (auto [from, to] : llvm::zip_equal(op->getOperands(), op->getResults()))
      result.push_back({ActionKind::Transfer,
                        {deviceToPlan(getShardType(from).getDevice(), host),
                         deviceToPlan(getShardType(to).getDevice(), host)},
                        {getShardType(from).getSizeInBytes()}});
    return result;
  }
  Movement &movement = result.emplace_back();
  movement.kind = communication.getActionKind();
  for (int32_t device : communication.getGroup())
    movement.devices.push_back(deviceToPlan(device, host));
  for (Value operand : op->getOperands())
    movement.bytes.push_back(getShardType(operand).getSizeInBytes());
  // Members that put nothing in, and reductions, whose members all put in the
  // whole box, count as soap::movements says.
  movement.bytes.resize(movement.devices.size(), 0);
  if (reduction)
    movement.bytes.assign(movement.devices.size(),
                          bucketBytes(bucketFrom(reduction)));
  return result;
}
