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

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Checks one operation of the region, whose operands may be of any shape.
static LogicalResult verifyPart(FusedOp fused, Operation &part) {
  if (!part.hasTrait<PerElement>() || !isa<PartitionOpInterface>(part) ||
      isa<FusedOp>(part) || part.getNumOperands() == 0 ||
      part.getNumResults() != 1 || !isMemoryEffectFree(&part))
    return fused.emitOpError()
           << "expected operations per element with operands and one result in "
              "the region, got: "
           << part.getName();
  auto type = dyn_cast<RankedTensorType>(part.getResult(0).getType());
  if (!type || type.getShape() != shapeOf(fused.getResult()))
    return fused.emitOpError()
           << "expected results of the shape "
           << toString(shapeOf(fused.getResult()))
           << " in the region, got: " << part.getResult(0).getType() << " of "
           << part.getName();
  if (part.use_empty())
    return fused.emitOpError()
           << "expected results that are read, got: " << part.getName()
           << ", whose result nobody "
           << "reads; leave it out of the region";
  return success();
}

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "expected the types of the operands as those of "
                            "the region's arguments";
  for (BlockArgument argument : block.getArguments())
    if (argument.use_empty())
      return emitOpError() << "expected arguments that are read, got: argument "
                           << argument.getArgNumber()
                           << ", which nobody reads; leave out the operand";
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield || llvm::hasSingleElement(block))
    return emitOpError("expected operations and nn.yield in the region");
  for (Operation &part : getParts())
    if (failed(verifyPart(*this, part)))
      return failure();
  if (yield.getValue() != yield->getPrevNode()->getResult(0) ||
      yield.getValue().getType() != getResult().getType())
    return emitOpError() << "expected nn.yield to hand on the last result of "
                            "the region, of type "
                         << getResult().getType()
                         << ", got: " << yield.getValue().getType();
  return success();
}

/// How `use`, in the region of an nn.fused, reads its operand.
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

LogicalResult FusedOp::verifyRegions() {
  for (BlockArgument argument : getBody().getArguments()) {
    ValueAccess first = accessOf(*argument.use_begin());
    for (OpOperand &use : argument.getUses())
      if (!readAlike(first, accessOf(use)))
        return emitOpError()
               << "expected argument " << argument.getArgNumber()
               << " to be read in one way, got: two along other dimensions; "
                  "hand it over twice";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

PartitionSpec FusedOp::getPartitionSpec() {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(getResult());
  addDimLoops(spec, shape);
  for (BlockArgument argument : getBody().getArguments())
    spec.operands.push_back(accessOf(*argument.use_begin()));
  if (SOAP_FAULT("fused-before-sum"))
    spec.operands[0].unreduced = true;
  spec.results = {identityAccess(shape.size())};
  return spec;
}

/// The part of a tile of an nn.fused that `part` of its region computes: their
/// loops are the same.
static LocalTile tileOfPart(PartitionOpInterface part, const LocalTile &tile) {
  LocalTile local;
  local.spec = part.getPartitionSpec();
  local.tile = tile.tile;
  for (auto [access, operand] :
       llvm::zip_equal(local.spec.operands, part->getOperands()))
    local.operandBoxes.push_back(
        accessBox(access, local.tile, shapeOf(operand)));
  local.resultBoxes = tile.resultBoxes;
  return local;
}

FailureOr<SmallVector<Value>> FusedOp::buildLocal(OpBuilder &builder,
                                                  ArrayRef<Value> operands,
                                                  const LocalTile &tile) {
  if (llvm::is_contained(operands, Value()))
    return failure();
  Type type = localType(getResult().getType(), tile.resultBoxes[0]);
  OperationState state(getLoc(), getOperationName(), operands, type,
                       llvm::to_vector((*this)->getDiscardableAttrs()));
  Block &block = state.addRegion()->emplaceBlock();
  IRMapping local;
  for (auto [argument, operand] :
       llvm::zip_equal(getBody().getArguments(), operands))
    local.map(argument, block.addArgument(operand.getType(), getLoc()));
  OpBuilder inside(getContext());
  inside.setInsertionPointToStart(&block);
  Value last;
  for (Operation &part : getParts()) {
    SmallVector<Value> values;
    for (Value operand : part.getOperands())
      values.push_back(local.lookup(operand));
    if (SOAP_FAULT("fused-operands-swapped") && values.size() == 2 &&
        values[0].getType() == values[1].getType())
      std::swap(values[0], values[1]);
    if (SOAP_FAULT("fused-part-lost") && last &&
        isa<YieldOp>(part.getNextNode()) &&
        elementType(last) == elementType(part.getResult(0)))
      break;
    auto typed = cast<PartitionOpInterface>(part);
    auto made = typed.buildLocal(inside, values, tileOfPart(typed, tile));
    if (failed(made))
      return failure();
    last = (*made)[0];
    local.map(part.getResult(0), last);
  }
  inside.create<YieldOp>(getLoc(), last);
  return SmallVector<Value>(builder.create(state)->getResults());
}

double FusedOp::getFlops(const LocalTile &tile) {
  double flops = 0;
  for (Operation &part : getParts()) {
    auto typed = cast<PartitionOpInterface>(part);
    flops += typed.getFlops(tileOfPart(typed, tile));
  }
  return flops;
}

void FusedOp::printParts(llvm::raw_ostream &os) {
  llvm::DenseMap<Value, unsigned> numbers;
  for (BlockArgument argument : getBody().getArguments())
    numbers.try_emplace(argument, numbers.size());
  os << '{';
  llvm::interleave(
      getParts(), os,
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

void FusedOp::appendKernelKey(llvm::raw_ostream &os, const LocalTile &tile) {
  std::string text;
  llvm::raw_string_ostream parts(text);
  printParts(parts);
  appendKernel(os, *this, parts.str(), tile.operandBoxes, tile.resultBoxes);
}

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNFusedOps.cpp.inc"
