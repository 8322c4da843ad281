//===- Parts.cpp - Gradients that are added before they are reduced -------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of weights is a sum over samples. Where a group splits samples,
// it makes partial results, which are reduced when somebody reads them. Members
// of the group that are additive in their operands declare loops of parts
// (nn.parts) along the same loops of the leader, so that they take the partial
// results as they are, whatever the leader's configuration.
//
//===----------------------------------------------------------------------===//

#include "GradientSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// The loop of the group's leader that a loop of a member runs along; empty:
/// none.
static StringRef leaderLoop(Operation *member, const PartitionSpec &spec,
                            int loop) {
  // A loop of one unit is never split.
  if (loop < 0 || spec.loops[loop].extent == 1)
    return {};
  return member->getAttrOfType<GroupAttr>(groupAttrName)
      .getLeaderLoop(spec.loops[loop].name);
}

/// True if a member has a loop, of whatever extent, that runs along this loop
/// of the leader.
static bool namesLeaderLoop(Operation *member, const PartitionSpec &spec,
                            StringRef leaderLoop) {
  auto group = member->getAttrOfType<GroupAttr>(groupAttrName);
  return llvm::any_of(spec.loops, [&](const LoopSpec &loop) {
    return group.getLeaderLoop(loop.name) == leaderLoop;
  });
}

/// True if the members of one group cut a dimension in the same way, whatever
/// the leader's configuration.
static bool cutAlike(Operation *maker, const PartitionSpec &makerSpec,
                     const DimAccess &made, Operation *reader,
                     const PartitionSpec &readerSpec, const DimAccess &read) {
  StringRef loop = leaderLoop(maker, makerSpec, made.loop);
  if (loop != leaderLoop(reader, readerSpec, read.loop))
    return false;
  if (loop.empty())
    return true;
  return makerSpec.loops[made.loop].extent ==
             readerSpec.loops[read.loop].extent &&
         made.mul == read.mul && made.lo == read.lo && made.hi == read.hi &&
         made.div == read.div;
}

namespace {
/// A loop of parts: the loop of the group's leader that it runs along.
struct PartLoop {
  StringRef leaderLoop;
  int64_t extent;
};
} // namespace

/// The loops over which the maker of an operand sums up, if it is in the group
/// of `reader` and makes the tiles that `reader` takes.
static SmallVector<PartLoop, 2> partLoopsOf(Operation *reader,
                                            unsigned operand) {
  auto value = dyn_cast<OpResult>(reader->getOperand(operand));
  StringRef group = getGroupLeader(reader);
  if (!value || group.empty() || getGroupLeader(value.getOwner()) != group)
    return {};
  Operation *maker = value.getOwner();
  PartitionSpec made = cast<PartitionOpInterface>(maker).getPartitionSpec();
  PartitionSpec spec = cast<PartitionOpInterface>(reader).getPartitionSpec();
  unsigned result = value.getResultNumber();
  if (made.results[result].combine != Combine::Sum)
    return {};
  for (auto [from, to] :
       llvm::zip_equal(made.results[result].dims, spec.operands[operand].dims))
    if (!cutAlike(maker, made, from, reader, spec, to))
      return {};
  SmallVector<PartLoop, 2> loops;
  for (unsigned loop = 0; loop < made.loops.size(); ++loop)
    if (StringRef name = leaderLoop(maker, made, loop);
        !name.empty() && made.isReduction(loop, result))
      loops.push_back({name, made.loops[loop].extent});
  // A loop that the reader runs along otherwise splits it in other ways.
  if (loops.size() > maxParts || llvm::any_of(loops, [&](const PartLoop &part) {
        return namesLeaderLoop(reader, spec, part.leaderLoop);
      }))
    return {};
  return loops;
}

bool GradientBuilder::takeParts(Operation *op) {
  // A constant would be added to every part.
  if (!isAdditive(op) || llvm::any_of(op->getOperands(), [](Value operand) {
        return operand.getDefiningOp<ConstantOp>() != nullptr;
      }))
    return false;
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
    SmallVector<PartLoop, 2> loops = partLoopsOf(op, operand);
    if (loops.empty())
      continue;
    auto group = op->getAttrOfType<GroupAttr>(groupAttrName);
    NamedAttrList entries(group.getLoops());
    SmallVector<int64_t, 2> extents;
    for (auto [index, loop] : llvm::enumerate(loops)) {
      entries.set(partLoopName(index), builder_.getStringAttr(loop.leaderLoop));
      extents.push_back(loop.extent);
    }
    op->setAttr(groupAttrName,
                GroupAttr::get(op->getContext(), group.getLeader(),
                               entries.getDictionary(op->getContext())));
    op->setAttr(partsAttrName, builder_.getDenseI64ArrayAttr(extents));
    return true;
  }
  return false;
}

/// Makes an operation a member of the group of what makes an operand, along the
/// loops along which that is made; false if that is in none.
static bool joinMaker(Operation *op, unsigned operand) {
  auto value = dyn_cast<OpResult>(op->getOperand(operand));
  StringRef leader = value ? getGroupLeader(value.getOwner()) : StringRef();
  if (leader.empty())
    return false;
  Operation *maker = value.getOwner();
  PartitionSpec made = cast<PartitionOpInterface>(maker).getPartitionSpec();
  PartitionSpec own = cast<PartitionOpInterface>(op).getPartitionSpec();
  MLIRContext *context = op->getContext();
  NamedAttrList entries;
  for (auto [from, to] :
       llvm::zip_equal(made.results[value.getResultNumber()].dims,
                       own.operands[operand].dims))
    if (StringRef loop = leaderLoop(maker, made, from.loop);
        !loop.empty() && to.loop >= 0)
      entries.set(own.loops[to.loop].name, StringAttr::get(context, loop));
  op->setAttr(groupAttrName,
              GroupAttr::get(context, leader, entries.getDictionary(context)));
  return true;
}

bool GradientBuilder::followMaker(Operation *op) {
  if (!isAdditive(op) || op->hasAttr(partsAttrName))
    return false;
  Attribute group = op->getAttr(groupAttrName);
  for (unsigned operand = op->getNumOperands(); operand-- != 0;)
    if (joinMaker(op, operand) && takeParts(op))
      return true;
  op->removeAttr(groupAttrName);
  if (group)
    op->setAttr(groupAttrName, group);
  return false;
}
