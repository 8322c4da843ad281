//===- FusedOps.cpp - Several operations as one ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Testing/PlantedFault.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

ReduceOp FusedReduceOp::getReduce() {
  return cast<ReduceOp>(getBody().front().getTerminator()->getPrevNode());
}

Block *soap::nn::getFusedBody(Operation *op) {
  return isa_and_nonnull<FusedOp, FusedReduceOp>(op) ? &op->getRegion(0).front()
                                                     : nullptr;
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Checks one operation per element of the region, whose operands may be of any
/// shape and whose result has `shape`.
static LogicalResult verifyPart(Operation *fused, Operation &part,
                                ArrayRef<int64_t> shape) {
  if (!part.hasTrait<PerElement>() || !isa<PartitionOpInterface>(part) ||
      isa<FusedOp>(part) || part.getNumOperands() == 0 ||
      part.getNumResults() != 1 || !isMemoryEffectFree(&part))
    return fused->emitOpError()
           << "expected operations per element with operands and one result in "
              "the region, got: "
           << part.getName();
  auto type = dyn_cast<RankedTensorType>(part.getResult(0).getType());
  if (!type || type.getShape() != shape)
    return fused->emitOpError()
           << "expected results of the shape " << toString(shape)
           << " in the region, got: " << part.getResult(0).getType() << " of "
           << part.getName();
  if (part.use_empty())
    return fused->emitOpError()
           << "expected results that are read, got: " << part.getName()
           << ", whose result nobody "
           << "reads; leave it out of the region";
  return success();
}

/// Checks the region but for its operations: it has `fewest` at least.
static LogicalResult verifyBody(Operation *fused, size_t fewest) {
  Block &block = *getFusedBody(fused);
  if (block.getArgumentTypes() != fused->getOperandTypes())
    return fused->emitOpError() << "expected the types of the operands as "
                                   "those of the region's arguments";
  for (BlockArgument argument : block.getArguments())
    if (argument.use_empty())
      return fused->emitOpError()
             << "expected arguments that are read, got: argument "
             << argument.getArgNumber()
             << ", which nobody reads; leave out the operand";
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield || yield->getNumOperands() != 1 ||
      block.getOperations().size() <= fewest)
    return fused->emitOpError()
           << "expected operations and nn.yield in the region";
  if (yield.getValue() != yield->getPrevNode()->getResult(0) ||
      yield.getValue().getType() != fused->getResult(0).getType())
    return fused->emitOpError()
           << "expected nn.yield to hand on the last result of the region, of "
              "type "
           << fused->getResult(0).getType()
           << ", got: " << yield.getValue().getType();
  return success();
}

LogicalResult FusedOp::verify() {
  if (failed(verifyBody(*this, 1)))
    return failure();
  for (Operation &part : getParts())
    if (failed(verifyPart(*this, part, shapeOf(getResult()))))
      return failure();
  return success();
}

LogicalResult FusedReduceOp::verify() {
  if (failed(verifyBody(*this, 2)))
    return failure();
  auto reduce =
      dyn_cast<ReduceOp>(getBody().front().getTerminator()->getPrevNode());
  if (!reduce || reduce.getInput() != reduce->getPrevNode()->getResult(0) ||
      !isa<Float32Type, Float64Type>(elementType(reduce.getInput())))
    return emitOpError("expected an nn.reduce of the result before it, of f32 "
                       "or f64, at the end of the region");
  for (Operation &part : getParts())
    if (failed(verifyPart(*this, part, shapeOf(reduce.getInput()))))
      return failure();
  return success();
}

/// How `use`, in the region, reads its operand.
static ValueAccess accessOf(OpOperand &use) {
  return cast<PartitionOpInterface>(use.getOwner())
      .getPartitionSpec()
      .operands[use.getOperandNumber()];
}

static bool readAlike(const ValueAccess &a, const ValueAccess &b) {
  return llvm::equal(
      a.dims, b.dims, [](const DimAccess &one, const DimAccess &other) {
        return one.loop == other.loop && one.mul == other.mul &&
               one.div == other.div && one.lo == other.lo && one.hi == other.hi;
      });
}

static LogicalResult verifyReaders(Operation *fused) {
  for (BlockArgument argument : getFusedBody(fused)->getArguments()) {
    ValueAccess first = accessOf(*argument.use_begin());
    for (OpOperand &use : argument.getUses())
      if (!readAlike(first, accessOf(use)))
        return fused->emitOpError()
               << "expected argument " << argument.getArgNumber()
               << " to be read in one way, got: two along other dimensions; "
                  "hand it over twice";
  }
  return success();
}

LogicalResult FusedOp::verifyRegions() { return verifyReaders(*this); }
LogicalResult FusedReduceOp::verifyRegions() { return verifyReaders(*this); }

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

/// The operands as the operations of the region read them. (One that nobody
/// reads is an error, which may not have been found yet.)
static void addOperands(PartitionSpec &spec, Block &body) {
  for (BlockArgument argument : body.getArguments())
    spec.operands.push_back(argument.use_empty()
                                ? identityAccess(shapeOf(argument).size())
                                : accessOf(*argument.use_begin()));
  if (SOAP_FAULT("fused-before-sum"))
    spec.operands[0].unreduced = true;
}

PartitionSpec FusedOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  addDimLoops(spec, shape);
  addOperands(spec, getBody().front());
  spec.results = {identityAccess(shape.size())};
  return spec;
}

PartitionSpec FusedReduceOp::getPartitionSpec() {
  PartitionSpec spec = getReduce().getPartitionSpec();
  spec.operands.clear();
  addOperands(spec, getBody().front());
  return spec;
}

/// The part of a tile that `part` of the region computes: their loops are the
/// same.
static LocalTile tileOfPart(PartitionOpInterface part, const Tile &tile) {
  LocalTile local;
  local.spec = part.getPartitionSpec();
  local.tile = tile;
  for (auto [access, operand] :
       llvm::zip_equal(local.spec.operands, part->getOperands()))
    local.operandBoxes.push_back(
        accessBox(access, local.tile, shapeOf(operand)));
  local.resultBoxes = {accessBox(local.spec.results[0], local.tile,
                                 shapeOf(part->getResult(0)))};
  return local;
}

/// Builds what `fused` is in a tile.
static FailureOr<SmallVector<Value>> buildFused(Operation *fused,
                                                OpBuilder &builder,
                                                ArrayRef<Value> operands,
                                                const LocalTile &tile) {
  if (llvm::is_contained(operands, Value()))
    return failure();
  Location loc = fused->getLoc();
  Block &body = *getFusedBody(fused);
  OperationState state(
      loc, fused->getName().getStringRef(), operands,
      localType(fused->getResult(0).getType(), tile.resultBoxes[0]),
      llvm::to_vector(fused->getDiscardableAttrs()));
  Block &block = state.addRegion()->emplaceBlock();
  IRMapping local;
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), operands))
    local.map(argument, block.addArgument(operand.getType(), loc));
  OpBuilder inside(fused->getContext());
  inside.setInsertionPointToStart(&block);
  Value last;
  for (Operation &part : body.without_terminator()) {
    SmallVector<Value> values;
    for (Value operand : part.getOperands())
      values.push_back(local.lookup(operand));
    if (SOAP_FAULT("fused-operands-swapped") && values.size() == 2 &&
        values[0].getType() == values[1].getType())
      std::swap(values[0], values[1]);
    if (SOAP_FAULT("fused-part-lost") && last && !isa<ReduceOp>(part) &&
        isa<YieldOp>(part.getNextNode()) &&
        elementType(last) == elementType(part.getResult(0)))
      break;
    auto typed = cast<PartitionOpInterface>(part);
    auto made = typed.buildLocal(inside, values, tileOfPart(typed, tile.tile));
    if (failed(made))
      return failure();
    last = (*made)[0];
    local.map(part.getResult(0), last);
  }
  inside.create<YieldOp>(loc, last);
  return SmallVector<Value>(builder.create(state)->getResults());
}

FailureOr<SmallVector<Value>> FusedOp::buildLocal(OpBuilder &builder,
                                                  ArrayRef<Value> operands,
                                                  const LocalTile &tile) {
  return buildFused(*this, builder, operands, tile);
}

FailureOr<SmallVector<Value>>
FusedReduceOp::buildLocal(OpBuilder &builder, ArrayRef<Value> operands,
                          const LocalTile &tile) {
  return buildFused(*this, builder, operands, tile);
}

static double flopsOfParts(Block &body, const Tile &tile) {
  double flops = 0;
  for (Operation &part : body.without_terminator()) {
    auto typed = cast<PartitionOpInterface>(part);
    flops += typed.getFlops(tileOfPart(typed, tile));
  }
  return flops;
}

double FusedOp::getFlops(const LocalTile &tile) {
  return flopsOfParts(getBody().front(), tile.tile);
}

double FusedReduceOp::getFlops(const LocalTile &tile) {
  return flopsOfParts(getBody().front(), tile.tile);
}

void soap::nn::printParts(llvm::raw_ostream &os, Block &body) {
  llvm::DenseMap<Value, unsigned> numbers;
  for (BlockArgument argument : body.getArguments())
    numbers.try_emplace(argument, numbers.size());
  os << '{';
  llvm::interleave(
      body.without_terminator(), os,
      [&](Operation &part) {
        os << part.getName();
        for (StringAttr name : part.getName().getAttributeNames())
          if (std::optional<Attribute> value = part.getInherentAttr(name);
              value && *value) {
            os << ' ' << name.getValue() << '=';
            appendAttribute(os, *value);
          }
        for (Value operand : part.getOperands())
          os << " %" << numbers.lookup(operand);
        os << ' ' << elementType(part.getResult(0));
        numbers.try_emplace(part.getResult(0), numbers.size());
      },
      "; ");
  os << '}';
}

static void appendFusedKey(llvm::raw_ostream &os, Operation *fused,
                           const LocalTile &tile) {
  std::string text;
  llvm::raw_string_ostream parts(text);
  printParts(parts, *getFusedBody(fused));
  appendKernel(os, fused, parts.str(), tile.operandBoxes, tile.resultBoxes);
}

void FusedOp::appendKernelKey(llvm::raw_ostream &os, const LocalTile &tile) {
  appendFusedKey(os, *this, tile);
}

void FusedReduceOp::appendKernelKey(llvm::raw_ostream &os,
                                    const LocalTile &tile) {
  appendFusedKey(os, *this, tile);
}

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNFusedOps.cpp.inc"
