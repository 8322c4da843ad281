//===- PartitionInterface.cpp - How an op can be split --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include "soap/Dialect/NN/IR/LaunchedLate.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

#include "soap/Dialect/NN/IR/PartitionInterface.cpp.inc"

//===----------------------------------------------------------------------===//
// Shapes and tiles
//===----------------------------------------------------------------------===//

template <typename ValueRange>
static SmallVector<Shape, 4> shapesOf(ValueRange &&values) {
  SmallVector<Shape, 4> shapes;
  for (Value value : values)
    shapes.emplace_back(shapeOf(value).begin(), shapeOf(value).end());
  return shapes;
}

SmallVector<Shape, 4> soap::nn::operandShapes(Operation *op) {
  return shapesOf(op->getOperands());
}

SmallVector<Shape, 2> soap::nn::resultShapes(Operation *op) {
  return SmallVector<Shape, 2>(shapesOf(op->getResults()));
}

RankedTensorType soap::nn::localType(Type type, const Box &box) {
  return cast<RankedTensorType>(type).clone(soap::shapeOf(box));
}

LocalTile soap::nn::makeLocalTile(PartitionOpInterface op,
                                  const Degrees &degrees, int64_t task) {
  LocalTile local;
  local.spec = op.getPartitionSpec();
  local.tile = tileOfTask(local.spec, degrees, task);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    local.operandBoxes.push_back(
        operandBox(local.spec, i, degrees, task, shapeOf(operand)));
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    local.resultBoxes.push_back(
        resultBox(local.spec, i, degrees, task, shapeOf(result)));
  return local;
}

LocalTile soap::nn::makeWholeTile(PartitionOpInterface op) {
  Degrees degrees;
  degrees.loops.assign(op.getPartitionSpec().loops.size(), 1);
  return makeLocalTile(op, degrees, 0);
}

LocalTile soap::nn::makeLocalTileForBox(PartitionOpInterface op,
                                        unsigned result, const Box &demanded) {
  LocalTile local = makeWholeTile(op);
  for (auto [access, range] :
       llvm::zip_equal(local.spec.results[result].dims, demanded)) {
    if (access.loop < 0)
      continue;
    // Result windows abut: unit i is [mul*i+lo, mul*(i+1)+lo).
    local.tile[access.loop] = {(range.lo - access.lo) / access.mul,
                               (range.hi - 1 - access.lo) / access.mul + 1};
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    local.operandBoxes[i] =
        accessBox(local.spec.operands[i], local.tile, shapeOf(operand));
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    local.resultBoxes[i] =
        accessBox(local.spec.results[i], local.tile, shapeOf(value));
  return local;
}

/// Traits of a value without operands: where bits start to flow.
static std::optional<DimTraits> sourceTraits(Operation *op) {
  DimTraits source;
  if (auto input = dyn_cast<InputOp>(op)) {
    unsigned rank = shapeOf(input.getResult()).size();
    for (int64_t dim : input.getSampleDims())
      if (dim < rank)
        source.sampleDims |= uint32_t(1) << dim;
    return source;
  }
  source.parameterOnly = isa<ParameterOp, ConstantOp>(op);
  return source.parameterOnly ? std::optional(source) : std::nullopt;
}

SmallVector<LoopKind, 6>
soap::nn::inferKinds(PartitionOpInterface op,
                     ArrayRef<DimTraits> operandTraits) {
  PartitionSpec spec = op.getPartitionSpec();
  std::optional<DimTraits> source = sourceTraits(op);
  if (!source)
    return inferLoopKinds(spec, operandTraits, operandShapes(op));
  // The result stands for what the op reads from outside.
  PartitionSpec reader;
  reader.loops = spec.loops;
  reader.operands = spec.results;
  return inferLoopKinds(reader, *source, resultShapes(op));
}

SmallVector<DimTraits, 2>
soap::nn::inferTraits(PartitionOpInterface op,
                      ArrayRef<DimTraits> operandTraits) {
  if (std::optional<DimTraits> source = sourceTraits(op))
    return {*source};
  PartitionSpec spec = op.getPartitionSpec();
  SmallVector<LoopKind, 6> kinds =
      inferLoopKinds(spec, operandTraits, operandShapes(op));
  SmallVector<DimTraits, 2> results;
  for (unsigned i = 0, e = op->getNumResults(); i != e; ++i)
    results.push_back(inferResultTraits(spec, i, kinds, operandTraits));
  return results;
}

//===----------------------------------------------------------------------===//
// Parts of sums
//===----------------------------------------------------------------------===//

bool soap::nn::isAdditive(Operation *op) {
  // Attributes of a dialect are verified before the operation is.
  if (!op->hasTrait<Additive>() || op->getNumOperands() == 0 ||
      op->getNumResults() != 1)
    return false;
  // Parts of half precision would lose digits.
  Type element = elementType(op->getResult(0));
  if (!element.isF32() && !element.isF64())
    return false;
  auto pad = dyn_cast<PadOp>(op);
  auto fill = pad ? dyn_cast_or_null<FloatAttr>(pad.getValueAttr()) : nullptr;
  return !pad || (fill && fill.getValue().isPosZero());
}

StringRef soap::nn::partLoopName(unsigned index) {
  static constexpr StringLiteral names[maxParts] = {
      "part0", "part1", "part2", "part3", "part4", "part5", "part6", "part7"};
  return names[index];
}

void soap::nn::detail::addPartLoops(Operation *op, PartitionSpec &spec) {
  auto parts = op->getAttrOfType<DenseI64ArrayAttr>(partsAttrName);
  if (!parts)
    return;
  for (auto [index, extent] : llvm::enumerate(parts.asArrayRef()))
    spec.loops.push_back({partLoopName(index), extent});
  for (ValueAccess &access : spec.operands)
    access.unreduced = true;
  for (ValueAccess &access : spec.results)
    access.combine = Combine::Sum;
}

//===----------------------------------------------------------------------===//
// Defaults of the interface
//===----------------------------------------------------------------------===//

/// A planted fault: the scale of an update, which skips no step.
static Value neverZero(OpBuilder &builder, Operation *op, Value scale) {
  auto type = cast<RankedTensorType>(scale.getType());
  Value least = createSplat(builder, op, ".least", type,
                            builder.getFloatAttr(type.getElementType(), 1e-30));
  auto positive = builder.create<MaxOp>(op->getLoc(), type, scale, least);
  setName(positive, (getName(op) + ".scale").str());
  return positive;
}

SmallVector<Value> soap::nn::detail::withZeros(Operation *op,
                                               OpBuilder &builder,
                                               ArrayRef<Value> operands,
                                               const LocalTile &tile) {
  SmallVector<Value> present(operands);
  for (auto [index, operand] : llvm::enumerate(present))
    if (!operand && tile.spec.operands[index].unreduced &&
        !isEmpty(tile.operandBoxes[index])) {
      Type type = op->getOperand(index).getType();
      operand = createSplat(
          builder, op, (".zero" + Twine(index)).str(),
          localType(type, tile.operandBoxes[index]),
          builder.getZeroAttr(cast<RankedTensorType>(type).getElementType()));
    }
  return present;
}

FailureOr<SmallVector<Value>>
soap::nn::detail::cloneLocal(Operation *op, OpBuilder &builder,
                             ArrayRef<Value> operands, const LocalTile &tile) {
  SmallVector<Value> present = withZeros(op, builder, operands, tile);
  // Only the last operands of an op may be left out (a bias).
  while (!present.empty() && !present.back())
    present.pop_back();
  if (llvm::is_contained(present, Value()))
    return failure();
  SmallVector<Type> types;
  for (auto [result, box] : llvm::zip_equal(op->getResults(), tile.resultBoxes))
    types.push_back(localType(result.getType(), box));
  if (auto update = dyn_cast<SGDOp>(op);
      update && update.getScale() && !tile.tile.empty() &&
      tile.tile.front().lo > 0 && SOAP_FAULT("update-not-skipped"))
    present.back() = neverZero(builder, op, present.back());

  NamedAttrList attributes(op->getDiscardableAttrDictionary());
  attributes.erase(partsAttrName); // A task is one part.
  OperationState state(op->getLoc(), op->getName(), present, types, attributes);
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Operation *clone = builder.create(state);
  cast<PartitionOpInterface>(clone).setLocalAccess(tile);
  if (auto reduce = dyn_cast<ReduceOp>(clone);
      reduce && SOAP_FAULT("mean-of-tile"))
    reduce.setScale(APFloat(
        reduce.getScale().convertToFloat() *
        static_cast<float>(volume(wholeBox(shapeOf(op->getOperand(0))))) /
        static_cast<float>(volume(tile.operandBoxes[0]))));
  return SmallVector<Value>(clone->getResults());
}

double soap::nn::detail::defaultFlops(const LocalTile &tile) {
  double flops = 0;
  for (const Box &box : tile.resultBoxes)
    flops += static_cast<double>(volume(box));
  return flops;
}

double soap::nn::detail::boxBytes(Operation *op, const LocalTile &tile) {
  double bytes = 0;
  for (auto [operand, box] :
       llvm::zip_equal(op->getOperands(), tile.operandBoxes))
    bytes += nn::boxBytes(operand, box);
  for (auto [result, box] : llvm::zip_equal(op->getResults(), tile.resultBoxes))
    bytes += nn::boxBytes(result, box);
  return bytes;
}

void soap::nn::detail::appendDefaultKernelKey(llvm::raw_ostream &os,
                                              Operation *op,
                                              const LocalTile &tile) {
  appendKernel(os, op, costAttributes(op), tile.operandBoxes, tile.resultBoxes);
}

std::string soap::nn::kernelKey(PartitionOpInterface op,
                                const LocalTile &tile) {
  std::string key;
  llvm::raw_string_ostream os(key);
  op.appendKernelKey(os, tile);
  return key;
}

std::string soap::nn::kernelKey(PartitionOpInterface localOp) {
  return kernelKey(localOp, makeWholeTile(localOp));
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// True if no nn op stands before `op` in its block: it checks for all.
static bool isFirstInBlock(Operation *op) {
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode())
    if (isa<PartitionOpInterface>(before))
      return false;
  return true;
}

/// Checks the leader of the group of `op`, given the operations of the block.
static LogicalResult
verifyGroup(Operation *op,
            const llvm::DenseMap<StringRef, Operation *> &known) {
  StringRef name = getGroupLeader(op);
  if (name.empty())
    return success();
  if (isa<InputOp, OutputOp, ParameterOp, ConstantOp>(op))
    return op->emitOpError() << "expected no 'nn.group' on ends of the graph";
  Operation *leader = known.lookup(name);
  if (!leader)
    return op->emitOpError()
           << "expected an operation of the block to lead the group, got: '"
           << name << "', which names none";
  if (isa<InputOp, OutputOp, ParameterOp, ConstantOp>(leader) ||
      !getGroupLeader(leader).empty())
    return op->emitOpError()
           << "expected an operation that computes and is in no other group to "
              "lead a group, got: '"
           << name << "'";
  return success();
}

/// Checks the leader of the update that `op` is part of: it is in the group of
/// `op`, and part of no other update.
static LogicalResult
verifyUpdate(Operation *op,
             const llvm::DenseMap<StringRef, Operation *> &known) {
  StringRef name = getUpdateLeader(op);
  if (name.empty())
    return success();
  Operation *leader = known.lookup(name);
  if (!leader || !getUpdateLeader(leader).empty() ||
      getGroupLeader(leader).empty() ||
      getGroupLeader(leader) != getGroupLeader(op))
    return op->emitOpError()
           << "expected '" << updateAttrName
           << "' to name a member of the same group that is part of no other "
              "update, got: '"
           << name << "'";
  return success();
}

/// Checks what an operation is launched behind: it computes, before `op`.
static LogicalResult
verifyAfter(Operation *op,
            const llvm::DenseMap<StringRef, Operation *> &known) {
  StringRef name = getAfter(op);
  if (name.empty())
    return success();
  Operation *before = known.lookup(name);
  if (!before || isa<InputOp, OutputOp, ParameterOp, ConstantOp>(before) ||
      !before->isBeforeInBlock(op))
    return op->emitOpError()
           << "expected '" << afterAttrName
           << "' to name an operation before it that computes, got: '" << name
           << "'";
  return success();
}

/// Checks the names of all nn ops from `first` to the end of the block: no two
/// are equal, all groups and updates have leaders, and what operations are
/// launched behind is there.
static LogicalResult verifyNames(Operation *first) {
  llvm::DenseMap<StringRef, Operation *> seen;
  for (Operation *op = first; op; op = op->getNextNode()) {
    if (!isa<PartitionOpInterface>(op))
      continue;
    StringRef name = getName(op);
    if (name.empty())
      continue;
    auto [it, inserted] = seen.try_emplace(name, op);
    if (inserted)
      continue;
    InFlightDiagnostic diagnostic =
        op->emitOpError()
        << "expected a name that is unique in the block, got: '" << name
        << "'; rename one of the operations";
    diagnostic.attachNote(it->second->getLoc()) << "also named so";
    return diagnostic;
  }
  for (Operation *op = first; op; op = op->getNextNode())
    if (isa<PartitionOpInterface>(op) &&
        (failed(verifyGroup(op, seen)) || failed(verifyUpdate(op, seen)) ||
         failed(verifyAfter(op, seen))))
      return failure();
  return success();
}

/// True if no nn op stands behind `op` in its block: all others are verified.
static bool isLastInBlock(Operation *op) {
  for (Operation *behind = op->getNextNode(); behind;
       behind = behind->getNextNode())
    if (isa<PartitionOpInterface>(behind))
      return false;
  return true;
}

/// Checks along which loops of their leaders the members of groups run.
static LogicalResult verifyLeaderLoops(Block &block) {
  llvm::DenseMap<StringRef, PartitionSpec> specs;
  for (Operation &op : block)
    if (StringRef leader = getGroupLeader(&op); !leader.empty())
      specs.try_emplace(leader);
  if (specs.empty())
    return success();
  // A leader may stand behind its members.
  for (auto op : block.getOps<PartitionOpInterface>())
    if (auto it = specs.find(getName(op)); it != specs.end())
      it->second = op.getPartitionSpec();
  for (auto op : block.getOps<PartitionOpInterface>())
    if (auto it = specs.find(getGroupLeader(op));
        it != specs.end() &&
        failed(getLeaderLoops(op, op.getPartitionSpec(), it->second)))
      return failure();
  return success();
}

LogicalResult soap::nn::detail::verifyPartitionOp(Operation *op) {
  if (!op->hasAttrOfType<StringAttr>("nn.name"))
    return op->emitOpError()
           << "expected a name, got none; add the attribute 'nn.name'";
  if (op->getBlock() && isFirstInBlock(op) && failed(verifyNames(op)))
    return failure();
  PartitionSpec spec = cast<PartitionOpInterface>(op).getPartitionSpec();
  if (llvm::Error error =
          soap::verify(spec, operandShapes(op), resultShapes(op)))
    return op->emitOpError()
           << "has an invalid partition spec: " << toString(std::move(error));
  if (op->getBlock() && isLastInBlock(op))
    return verifyLeaderLoops(*op->getBlock());
  return success();
}
