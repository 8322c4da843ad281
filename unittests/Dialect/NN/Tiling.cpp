//===- Tiling.cpp - Compute an operation by its tiles ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

static bool near(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * (1 + std::abs(b)) ||
         (std::isnan(a) && std::isnan(b));
}

Scope::Scope(MLIRContext *context)
    : function(func::FuncOp::create(UnknownLoc::get(context), "f",
                                    FunctionType::get(context, {}, {}))),
      block(function->getBody().emplaceBlock()) {}

std::string soap::nn::test::describe(PartitionOpInterface op,
                                     const Degrees &degrees) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().assumeVerified());
  os << "\n  degrees";
  for (auto [loop, degree] :
       llvm::zip(op.getPartitionSpec().loops, degrees.loops))
    os << ' ' << loop.name << '=' << degree;
  return text;
}

Degrees soap::nn::test::splitOf(const PartitionSpec &spec, StringRef loop,
                                int32_t degree) {
  Degrees degrees;
  degrees.loops.assign(spec.loops.size(), 1);
  degrees.loops[spec.findLoop(loop)] = degree;
  return degrees;
}

PartitionOpInterface soap::nn::test::buildLocal(PartitionOpInterface op,
                                                const LocalTile &tile,
                                                Block &block) {
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> operands;
  for (auto [operand, box] :
       llvm::zip_equal(op->getOperands(), tile.operandBoxes))
    operands.push_back(
        isEmpty(box) ? Value()
                     : block.addArgument(localType(operand.getType(), box),
                                         op.getLoc()));
  EXPECT_TRUE(succeeded(op.buildLocal(builder, operands, tile)));
  for (Operation &local : block)
    if (local.getName() == op->getName())
      return cast<PartitionOpInterface>(&local);
  return nullptr;
}

Tiling::Tiling() {
  context.loadDialect<NNDialect, func::FuncDialect>();
  context.disableMultithreading();
}

bool Tiling::equal(const Tensor &a, const Tensor &b) {
  return a.shape == b.shape &&
         std::equal(a.data.begin(), a.data.end(), b.data.begin(), near);
}

std::vector<Tensor> Tiling::randomOperands(Operation *op, Random &random) {
  std::vector<Tensor> operands;
  // Indices count from the end too, and some name no row.
  int64_t rows = 2;
  if (auto gather = dyn_cast<GatherOp>(op))
    rows = gather.getData().getType().getDimSize(gather.getAxis()) + 1;
  if (isa<GatherElementsOp, GatherNDOp, ScatterElementsOp, ScatterNDOp,
          SparseSGDOp, OneHotOp>(op))
    rows = 4;
  for (auto [operand, shape] :
       llvm::zip_equal(op->getOperands(), operandShapes(op))) {
    Type element = getElementTypeOrSelf(operand);
    operands.emplace_back(shape);
    for (double &value : operands.back().data)
      value = element.isInteger(1) ? static_cast<double>(random.in(0, 1))
              : element.isInteger()
                  ? static_cast<double>(
                        random.in(isUnsigned(element) ? 0 : -rows, rows))
                  : random.normal();
  }
  for (auto [index, operand] : llvm::enumerate(operands))
    if (isPositive(op, index))
      for (double &value : operand.data)
        value = getElementTypeOrSelf(op->getOperand(index)).isInteger()
                    ? std::abs(value)
                    : 0.1 + std::abs(value);
  return operands;
}

std::optional<Tensor> Tiling::compute(PartitionOpInterface op,
                                      const LocalTile &tile,
                                      ArrayRef<Tensor> operands,
                                      Mistake mistake, unsigned result) {
  Scope scope(&context);
  Environment environment;
  SmallVector<Value> local;
  for (auto [i, box] : llvm::enumerate(tile.operandBoxes)) {
    // Empty: another task takes all of an operand that is not in parts.
    if (isEmpty(box) || operands[i].data.empty()) {
      local.push_back(nullptr);
      continue;
    }
    local.push_back(scope.block.addArgument(
        localType(op->getOperand(i).getType(), box), op.getLoc()));
    environment[local.back()] = operands[i].slice(box);
  }
  OpBuilder builder(&context);
  builder.setInsertionPointToEnd(&scope.block);
  FailureOr<SmallVector<Value>> results = op.buildLocal(builder, local, tile);
  if (failed(results) || results->size() != op->getNumResults())
    return std::nullopt;

  for (Operation &localOp : scope.block) {
    if (mistake == Mistake::GlobalPads && isa<ConvOp>(localOp)) {
      cast<ConvOp>(localOp).setPadsLo(cast<ConvOp>(*op).getPadsLo());
      cast<ConvOp>(localOp).setPadsHi(cast<ConvOp>(*op).getPadsHi());
    }
    if (mistake == Mistake::NoBase)
      for (StringRef attribute : {"base", "bases", "diagonal"}) {
        if (auto whole = op->getInherentAttr(attribute); whole && *whole)
          localOp.setInherentAttr(builder.getStringAttr(attribute), *whole);
        else if (localOp.getInherentAttr(attribute))
          localOp.setInherentAttr(builder.getStringAttr(attribute), nullptr);
      }
    if (mistake == Mistake::AlwaysForward)
      localOp.setInherentAttr(builder.getStringAttr("reverse"), nullptr);
    if (mistake == Mistake::GlobalOffsets && isa<ResizeOp>(localOp))
      cast<ResizeOp>(localOp).setOffsets(cast<ResizeOp>(*op).getOffsets());
    if (mistake == Mistake::GlobalPads && isa<ConvBackwardDataOp>(localOp))
      cast<ConvBackwardDataOp>(localOp).setPadsLo(
          cast<ConvBackwardDataOp>(*op).getPadsLo());
    if (mistake == Mistake::LocalMeanCount && isa<ReduceOp>(localOp)) {
      float ratio = static_cast<float>(volume(tile.operandBoxes[0])) /
                    static_cast<float>(volume(tile.resultBoxes[0]));
      cast<ReduceOp>(localOp).setScale(llvm::APFloat(1 / ratio));
    }
    if (mistake == Mistake::None) {
      EXPECT_TRUE(succeeded(verify(&localOp)));
      EXPECT_EQ(getName(&localOp).take_front(2), "op");
    }
  }
  evaluate(scope.block, environment);
  return environment.lookup((*results)[result]);
}

void soap::nn::test::declareParts(PartitionOpInterface op, Random &random) {
  if (auto pad = dyn_cast<PadOp>(op.getOperation()); pad && random.flip())
    pad->setAttr(
        "value",
        Builder(op.getContext()).getZeroAttr(getElementTypeOrSelf(pad.getX())));
  if (!isAdditive(op))
    return;
  SmallVector<int64_t> extents;
  for (int64_t i = random.in(0, 2); i > 0; --i)
    extents.push_back(random.in(2, 6));
  if (!extents.empty())
    op->setAttr(partsAttrName,
                DenseI64ArrayAttr::get(op->getContext(), extents));
}

/// What each part of an operation takes of its operands: parts that add up to
/// an unreduced operand, or all of it for the first one and nothing for others.
static std::vector<std::vector<Tensor>> splitInParts(PartitionOpInterface op,
                                                     const Degrees &degrees,
                                                     ArrayRef<Tensor> operands,
                                                     Mistake mistake) {
  PartitionSpec spec = op.getPartitionSpec();
  int64_t count = 1;
  for (auto [loop, degree] : llvm::enumerate(degrees.loops))
    if (!spec.results.empty() && spec.isReduction(loop))
      count *= degree;
  std::vector<std::vector<Tensor>> parts(count, operands.vec());
  Random random(count * 31 + operands.size());
  for (auto [index, access] : llvm::enumerate(spec.operands)) {
    if (!access.unreduced || count == 1)
      continue;
    bool isReduced = random.flip();
    for (int64_t part = 1; part < count; ++part) {
      Tensor &taken = parts[part][index];
      if (mistake == Mistake::WholeInEveryPart)
        continue;
      if (isReduced) {
        taken.data.clear();
        continue;
      }
      for (auto [value, rest] :
           llvm::zip_equal(taken.data, parts[0][index].data)) {
        value = random.normal();
        rest -= value;
      }
    }
  }
  return parts;
}

/// The part that a task makes: its place among the tasks along reductions.
static int64_t partOfTask(const PartitionSpec &spec, const Degrees &degrees,
                          int64_t task) {
  int64_t part = 0;
  for (auto [loop, index] : llvm::enumerate(taskIndices(degrees, task)))
    if (!spec.results.empty() && spec.isReduction(loop))
      part = part * degrees.loops[loop] + index;
  return part;
}

Tensor Tiling::combineTasks(PartitionOpInterface op, const Degrees &degrees,
                            ArrayRef<Tensor> operands, Mistake mistake,
                            unsigned number) {
  Shape shape = resultShapes(op)[number];
  std::vector<std::vector<Tensor>> taken =
      splitInParts(op, degrees, operands, mistake);
  Tensor sum(shape), parts(shape);
  Combine how = op.getPartitionSpec().results[number].combine;
  for (int64_t task = 0, e = degrees.numTasks(); task != e; ++task) {
    LocalTile tile = makeLocalTile(op, degrees, task);
    if (mistake == Mistake::BiasInEveryPart)
      for (auto [i, access] : llvm::enumerate(tile.spec.operands))
        if (access.firstOnly)
          tile.operandBoxes[i] =
              accessBox(access, tile.tile, operandShapes(op)[i]);
    if (mistake == Mistake::DroppedHalo) {
      // Each task keeps only the elements at its own positions.
      int h = tile.spec.findLoop("h");
      int64_t stride = tile.spec.operands[0].dims[2].mul;
      Range own = {tile.tile[h].lo * stride, tile.tile[h].hi * stride};
      tile.operandBoxes[0][2] = intersect(tile.operandBoxes[0][2], own);
    }
    std::optional<Tensor> result = compute(
        op, tile, taken[partOfTask(tile.spec, degrees, task)], mistake, number);
    if (!result) {
      ADD_FAILURE() << "task " << task << " cannot be built";
      return sum;
    }
    const Box &box = tile.resultBoxes[number];
    EXPECT_EQ(result->shape, Shape(soap::shapeOf(box)));
    forEachIndex(result->shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> to(index);
      for (auto [d, range] : llvm::enumerate(box))
        to[d] += range.lo;
      double &element = sum.at(to), value = result->at(index);
      element = parts.at(to) == 0 ? value : combine(how, element, value);
      parts.at(to) += 1;
    });
  }
  // Every element exists once per part.
  int64_t expected = 1;
  for (size_t i = 0; i != degrees.loops.size(); ++i)
    if (op.getPartitionSpec().isReduction(i, number))
      expected *= degrees.loops[i];
  for (double count : parts.data)
    if (count != static_cast<double>(expected)) {
      ADD_FAILURE() << "an element has " << count << " parts, expected "
                    << expected;
      break;
    }
  return sum;
}
