//===- TaskCosts.cpp - Costs of tasks from their regions ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskCosts.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Search/KernelDescription.h"

using namespace mlir;

namespace soap {

static nn::GroupAttr getGroup(Operation *op) {
  return op->getAttrOfType<nn::GroupAttr>(
      soapir::SOAPDialect::getGroupAttrName());
}

SmallVector<DimTraits> TaskCosts::traitsOf(const Operands &operands) {
  SmallVector<DimTraits> traits;
  for (const Known &operand : operands)
    traits.push_back(operand.traits);
  return traits;
}

SmallVector<LoopKind, 6> TaskCosts::kindsOf(nn::PartitionOpInterface op,
                                            const PartitionSpec &spec,
                                            const Operands &operands) const {
  // The kinds of loops are those of the whole value, since a tile may be one
  // element wide.
  SmallVector<SmallVector<int64_t, 5>> shapes;
  for (const Known &operand : operands)
    shapes.push_back(operand.shape);
  SmallVector<LoopKind, 6> kinds =
      inferLoopKinds(spec, traitsOf(operands), shapes);
  if (nn::GroupAttr group = getGroup(op))
    if (auto leader = leaders_.find(group.getLeader());
        leader != leaders_.end())
      for (auto [loop, kind] : llvm::zip_equal(spec.loops, kinds))
        if (auto same = leader->second.find(group.getLeaderLoop(loop.name));
            same != leader->second.end())
          kind = same->second;
  return kinds;
}

template <typename Visit>
TaskCosts::Operands TaskCosts::walk(soapir::TaskOp task, Visit visit) const {
  llvm::DenseMap<Value, Known> inside;
  for (auto [argument, input] :
       llvm::zip_equal(task.getBlock().getArguments(), task.getInputs()))
    if (soapir::BoxAttr box = soapir::getBox(input))
      inside[argument] = values_.lookup({box.getValue(), box.getResult()});
  Operands returned;
  for (Operation &op : task.getBlock()) {
    Operands operands;
    for (Value operand : op.getOperands())
      operands.push_back(inside.lookup(operand));
    if (auto node = dyn_cast<nn::PartitionOpInterface>(op)) {
      visit(node, operands);
      SmallVector<DimTraits> given = traitsOf(operands);
      SmallVector<DimTraits, 2> traits = nn::inferTraits(node, given);
      if (getGroup(node)) {
        PartitionSpec spec = node.getPartitionSpec();
        auto kinds = kindsOf(node, spec, operands);
        for (auto [index, trait] : llvm::enumerate(traits))
          trait = inferResultTraits(spec, index, kinds, given);
      }
      auto shapes = nn::resultShapes(node);
      for (auto [index, trait] : llvm::enumerate(traits))
        inside[op.getResult(index)] = {trait, shapes[index]};
    } else if (isa<soapir::ReturnOp>(op)) {
      returned = std::move(operands);
    }
  }
  return returned;
}

TaskCosts::TaskCosts(Block &block, const CostModel &costs) : costs_(costs) {
  auto results = [](soapir::TaskOp task) {
    return llvm::map_range(task.getBoxes(), [](Attribute attribute) {
      return cast<soapir::BoxAttr>(attribute);
    });
  };
  for (auto task : block.getOps<soapir::TaskOp>())
    for (soapir::BoxAttr box : results(task)) {
      auto &shape = values_[{box.getValue(), box.getResult()}].shape;
      shape.resize(box.getRank());
      for (auto [size, range] : llvm::zip_equal(shape, box.getBox()))
        size = std::max(size, range.hi);
    }
  block.walk([&](Operation *op) {
    if (nn::GroupAttr group = getGroup(op))
      leaders_.try_emplace(group.getLeader());
  });
  auto findKinds = [&](nn::PartitionOpInterface op, const Operands &operands) {
    auto leader = leaders_.find(nn::getName(op));
    if (leader == leaders_.end() || !leader->second.empty() || getGroup(op))
      return;
    PartitionSpec spec = op.getPartitionSpec();
    for (auto [loop, kind] :
         llvm::zip_equal(spec.loops, kindsOf(op, spec, operands)))
      leader->second[loop.name] = kind;
  };
  for (auto task : block.getOps<soapir::TaskOp>()) {
    if (task.getReduce())
      continue;
    Operands returned = walk(task, findKinds);
    for (auto [box, value] : llvm::zip(results(task), returned))
      values_[{box.getValue(), box.getResult()}].traits = value.traits;
  }
}

/// True if the library applies `op` behind the kernel of another task: it reads
/// a whole tile that this task made on the same device.
static bool isJoined(Operation *op, soapir::TaskOp task) {
  auto followed =
      op->getAttrOfType<IntegerAttr>(soapir::SOAPDialect::getFollowsAttrName());
  if (!followed)
    return false;
  auto argument = dyn_cast<BlockArgument>(op->getOperand(followed.getInt()));
  if (!argument)
    return false;
  auto anchor =
      task.getInputs()[argument.getArgNumber()].getDefiningOp<soapir::TaskOp>();
  return anchor && !anchor.getReduce();
}

int64_t TaskCosts::ns(soapir::TaskOp task, const DeviceKind &kind) const {
  int64_t sum = 0;
  walk(task, [&](nn::PartitionOpInterface op, const Operands &operands) {
    if (isa<nn::ParameterOp, nn::ConstantOp>(*op) || isJoined(op, task))
      return;
    nn::LocalTile tile = nn::makeWholeTile(op);
    SmallVector<LoopKind, 6> kinds = kindsOf(op, tile.spec, operands);
    TaskWork work{nn::kernelKey(op, tile), op.getFlops(tile), op.getBytes(tile),
                  nn::precisionOf(op).value_or(Precision::F32)};
    KernelAccess access{tile.spec,        kinds, tile.tile, tile.operandBoxes,
                        tile.resultBoxes, {},    {}};
    auto bytesOf = [](Value value) {
      return static_cast<int32_t>(nn::elementBytes(
          cast<RankedTensorType>(value.getType()).getElementType()));
    };
    for (Value operand : op->getOperands())
      access.operandBytes.push_back(bytesOf(operand));
    for (Value result : op->getResults())
      access.resultBytes.push_back(bytesOf(result));
    sum += costs_.kernelNs(describeKernel(access, work), kind);
  });
  return sum;
}

} // namespace soap
