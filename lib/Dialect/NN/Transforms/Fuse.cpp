//===- Fuse.cpp - One operation of several per element --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inference.h"
#include "Shapes.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Dialect/NN/IR/LaunchedLate.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "nn-fuse"

namespace soap::nn {
#define GEN_PASS_DEF_FUSEPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// Whether all that is read of a block argument or value by `set` is read along
/// the same dimensions: an nn.fused has one access per operand.
static bool isReadAlike(Value operand,
                        const llvm::SetVector<Operation *> &set) {
  std::optional<bool> ofVector;
  for (OpOperand &use : operand.getUses()) {
    if (!set.contains(use.getOwner()))
      continue;
    bool vector =
        isa<BatchNormOp>(use.getOwner()) && use.getOperandNumber() > 0;
    if (ofVector.value_or(vector) != vector)
      return false;
    ofVector = vector;
  }
  return true;
}

/// Whether `op` rounds the sum of a product to the type of its factors: that is
/// left to the library that sums.
static bool roundsProduct(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  Operation *product = cast ? cast.getX().getDefiningOp() : nullptr;
  return product && isProduct(product) && cast.getX().hasOneUse() &&
         getElementTypeOrSelf(cast.getResult()) ==
             getElementTypeOrSelf(product->getOperand(0));
}

namespace {
/// The group that operations decide in, by its leader's name, and the leader's
/// loop that each dimension of what they compute per element runs along; null:
/// none.
struct GroupPlace {
  StringAttr leader;
  SmallVector<StringAttr, 6> loops;

  bool operator==(const GroupPlace &other) const {
    return leader == other.leader && loops == other.loops;
  }
  /// Whether what has `shape` can be split along all dimensions there.
  bool splitsAll(ArrayRef<int64_t> shape) const {
    return llvm::all_of(llvm::zip_equal(shape, loops), [](const auto &dim) {
      return std::get<0>(dim) == 1 || std::get<1>(dim);
    });
  }
};

/// Operations that become one: the last of them comes first.
struct FusedSet {
  llvm::SetVector<Operation *> parts;
  /// Of all members of groups among them; none if there is none.
  std::optional<GroupPlace> place;
  bool hasProduct = false; ///< One part rounds the result of a product.

  Operation *root() const { return parts.front(); }
};

struct FusePass : soap::nn::impl::FusePassBase<FusePass> {
  using FusePassBase::FusePassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isPrivate() || !function.getBody().hasOneBlock())
      return;
    dropsRounding_ = dropRounding && isInference(function);
    Block &block = function.getBody().front();
    for (Operation &op : block) {
      if (StringRef other = getAfter(&op); !other.empty())
        waitedFor_.insert(other);
      if (StringRef update = getUpdateLeader(&op); !update.empty())
        updates_.insert(update);
    }
    // What takes over the group of another operation may have made that of
    // operations behind it the same.
    do {
      hasMergedGroups_ = false;
      fuseAll(block);
    } while (hasMergedGroups_);
  }

private:
  void fuseAll(Block &block) {
    members_.clear();
    for (Operation &op : block)
      if (StringRef leader = getGroupLeader(&op); !leader.empty())
        members_[leader].push_back(&op);
    SmallVector<Operation *> roots;
    for (Operation &op : llvm::reverse(block))
      roots.push_back(&op);
    llvm::DenseSet<Operation *> taken;
    for (Operation *root : roots) {
      if (taken.contains(root) || !canBeRoot(root))
        continue;
      FusedSet set = findParts(root);
      if (set.parts.size() < 2)
        continue;
      taken.insert(set.parts.begin(), set.parts.end());
      fuse(set);
    }
  }

  bool isLeader(Operation *op) const {
    return members_.contains(nn::getName(op));
  }

  bool canFuse(Operation *op) const {
    return op->hasTrait<PerElement>() && isa<PartitionOpInterface>(op) &&
           !isa<FusedOp>(op) && isFusable(op) &&
           !(leaveRounding && roundsProduct(op));
  }

  bool isFusable(Operation *op) const {
    return op->getNumOperands() > 0 && op->getNumResults() == 1 &&
           isMemoryEffectFree(op) && !op->hasAttr(partsAttrName) &&
           getUpdateLeader(op).empty() && !updates_.contains(nn::getName(op));
  }

  /// Reductions take what they reduce in training steps.
  bool canBeRoot(Operation *op) const {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!reduce)
      return canFuse(op);
    Type element = getElementTypeOrSelf(reduce.getResult());
    return isFusable(op) && !reduce.getAxes().empty() &&
           (!getGroupLeader(op).empty() || isLeader(op)) &&
           (element.isF32() || element.isF64()) &&
           element == getElementTypeOrSelf(reduce.getInput());
  }

  /// The shape of what `root`, the last operation, and all others compute per
  /// element.
  static ArrayRef<int64_t> shapeOfParts(Operation *root) {
    return shapeOf(isa<ReduceOp>(root) ? root->getOperand(0)
                                       : root->getResult(0));
  }

  /// Of a member of a group.
  static std::optional<GroupPlace> placeOf(Operation *op) {
    auto group = op->getAttrOfType<GroupAttr>(groupAttrName);
    if (!group)
      return std::nullopt;
    GroupPlace place;
    place.leader = StringAttr::get(op->getContext(), group.getLeader());
    PartitionSpec spec = cast<PartitionOpInterface>(op).getPartitionSpec();
    for (const LoopSpec &loop : spec.loops)
      place.loops.push_back(loop.extent > 1 ? leaderLoop(group, loop)
                                            : StringAttr());
    return place;
  }

  /// The leader's loop that a loop of a member runs along, or null.
  static StringAttr leaderLoop(GroupAttr group, const LoopSpec &loop) {
    StringRef name = group.getLeaderLoop(loop.name);
    return name.empty() ? StringAttr()
                        : StringAttr::get(group.getContext(), name);
  }

  /// Makes an operation a member of the group that `leader` leads: `loops` says
  /// along which of its loops those of the member run, by their names.
  static void setGroup(Operation *member, StringAttr leader,
                       ArrayRef<NamedAttribute> loops) {
    MLIRContext *context = member->getContext();
    member->setAttr(
        groupAttrName,
        GroupAttr::get(context, leader, DictionaryAttr::get(context, loops)));
  }

  /// Whether the set is launched behind what `op` is launched behind: it is in
  /// front of the last operation, too, or read by one.
  static bool waits(const FusedSet &set, Operation *op) {
    StringRef after = getAfter(op);
    if (after.empty() || after == getAfter(set.root()))
      return true;
    return llvm::any_of(operandsOf(set.parts), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return producer && nn::getName(producer) == after;
    });
  }

  /// Takes `op` into the set, if the members of groups in it are still members
  /// of one, along the same loops, those that are in no group can be split as
  /// before there, and the members of groups that it leads stand behind the
  /// last operation.
  bool add(FusedSet &set, Operation *op) const {
    auto led = members_.find(nn::getName(op));
    if (led != members_.end() &&
        llvm::any_of(led->second, [&](Operation *member) {
          return !set.root()->isBeforeInBlock(member);
        }))
      return false;
    std::optional<GroupPlace> place = placeOf(op);
    if ((place && set.place && !(*place == *set.place)) || !waits(set, op))
      return false;
    const std::optional<GroupPlace> &joined = place ? place : set.place;
    bool isMember = place && llvm::all_of(set.parts, [](Operation *part) {
                      return !getGroupLeader(part).empty();
                    });
    if (joined && !isMember && !joined->splitsAll(shapeOfParts(set.root())))
      return false;
    set.parts.insert(op);
    if (!fits(set.parts)) {
      set.parts.pop_back();
      return false;
    }
    if (place)
      set.place = place;
    return true;
  }

  /// Whether `op` is left to the product that it rounds, as the library applies
  /// the set to the result of a later one.
  bool isLeft(const FusedSet &set, Operation *op) const {
    return dropsRounding_ && set.hasProduct && roundsProduct(op);
  }

  /// The operations that become one with `root`, the last of them. Later
  /// operations are looked at first, so that all readers of a value are known
  /// when its producer is.
  FusedSet findParts(Operation *root) const {
    FusedSet set;
    set.parts.insert(root);
    set.place = placeOf(root);
    set.hasProduct = roundsProduct(root);
    llvm::SetVector<Operation *> candidates;
    auto addProducers = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          candidates.insert(producer);
    };
    addProducers(root);
    while (!candidates.empty() &&
           static_cast<int64_t>(set.parts.size()) < maxParts) {
      Operation *latest =
          *llvm::max_element(candidates, [](Operation *a, Operation *b) {
            return a->isBeforeInBlock(b);
          });
      candidates.remove(latest);
      if (canFuse(latest) && !waitedFor_.contains(nn::getName(latest)) &&
          shapeOf(latest->getResult(0)) == shapeOfParts(root) &&
          llvm::all_of(
              latest->getUsers(),
              [&](Operation *user) { return set.parts.contains(user); }) &&
          !isLeft(set, latest) && add(set, latest)) {
        set.hasProduct |= roundsProduct(latest);
        addProducers(latest);
      }
    }
    return set;
  }

  static llvm::SetVector<Value>
  operandsOf(const llvm::SetVector<Operation *> &set) {
    llvm::SetVector<Value> operands;
    for (Operation *op : llvm::reverse(set))
      for (Value operand : op->getOperands())
        if (!set.contains(operand.getDefiningOp()))
          operands.insert(operand);
    return operands;
  }

  bool fits(const llvm::SetVector<Operation *> &set) const {
    llvm::SetVector<Value> operands = operandsOf(set);
    return static_cast<int64_t>(operands.size()) <= maxOperands &&
           llvm::all_of(operands, [&](Value operand) {
             return isReadAlike(operand, set);
           });
  }

  /// Lets the members of the group that `part` leads, an operation that becomes
  /// a part of another, follow `place` in place of it.
  void moveMembers(Operation *part, const GroupPlace &place) {
    auto led = members_.find(nn::getName(part));
    if (led == members_.end())
      return;
    SmallVector<Operation *> members = std::move(led->second);
    members_.erase(led);
    PartitionSpec spec = cast<PartitionOpInterface>(part).getPartitionSpec();
    for (Operation *member : members) {
      auto group = member->getAttrOfType<GroupAttr>(groupAttrName);
      NamedAttrList loops;
      PartitionSpec own = cast<PartitionOpInterface>(member).getPartitionSpec();
      for (const LoopSpec &loop : own.loops)
        if (StringAttr name = leaderLoop(group, loop))
          if (int dim = spec.findLoop(name); dim >= 0 && place.loops[dim])
            loops.set(loop.name, place.loops[dim]);
      setGroup(member, place.leader, loops);
    }
    llvm::append_range(members_[place.leader], members);
    hasMergedGroups_ = true;
  }

  /// What `part` widens, as it was before it was rounded, among the clones
  /// that are `inside`. Null if it widens nothing, or what is stored.
  Value unrounded(Operation *part, const IRMapping &inside) const {
    auto widening = dyn_cast<CastOp>(part);
    if (!dropsRounding_ || !widening ||
        !getElementTypeOrSelf(widening.getResult()).isF32())
      return {};
    auto rounding =
        inside.lookup(widening.getX()).template getDefiningOp<CastOp>();
    return rounding &&
                   isFloatOf16Bits(
                       getElementTypeOrSelf(rounding.getResult())) &&
                   getElementTypeOrSelf(rounding.getX()).isF32()
               ? rounding.getX()
               : Value();
  }

  /// The only operation that is left in a body of arguments for `operands`, in
  /// the place of `root`.
  static Operation *takeOut(Operation *part, ArrayRef<Value> operands,
                            Operation *root) {
    IRMapping outside;
    outside.map(part->getBlock()->getArguments(), operands);
    Operation *made = OpBuilder(root).clone(*part, outside);
    made->setDiscardableAttrs(root->getDiscardableAttrDictionary());
    return made;
  }

  void fuse(const FusedSet &set) {
    Operation *root = set.root();
    LLVM_DEBUG({
      llvm::dbgs() << "'" << nn::getName(root) << "' takes";
      for (Operation *op : llvm::drop_begin(set.parts))
        llvm::dbgs() << " '" << nn::getName(op) << "'";
      llvm::dbgs() << "\n";
    });
    llvm::SetVector<Value> operands = operandsOf(set.parts);
    OperationState state(root->getLoc(),
                         isa<ReduceOp>(root) ? FusedReduceOp::getOperationName()
                                             : FusedOp::getOperationName(),
                         operands.getArrayRef(), root->getResultTypes(),
                         llvm::to_vector(root->getDiscardableAttrs()));
    Block &body = state.addRegion()->emplaceBlock();
    IRMapping inside;
    for (Value operand : operands)
      inside.map(operand,
                 body.addArgument(operand.getType(), operand.getLoc()));
    OpBuilder builder(root->getContext());
    builder.setInsertionPointToStart(&body);
    SmallVector<Operation *> parts(set.parts.begin(), set.parts.end());
    llvm::sort(parts, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *part : parts) {
      if (Value source = unrounded(part, inside)) {
        inside.map(part->getResult(0), source);
        continue;
      }
      Operation *made = builder.clone(*part, inside);
      leaveGroup(made);
      made->removeAttr(afterAttrName);
    }
    Value made = inside.lookup(root->getResult(0));
    builder.create<YieldOp>(root->getLoc(), made);
    for (Operation &part : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&part))
        part.erase();
    Operation *last = made.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(made)) {
      // It was rounded and widened again, and nothing else.
      root->replaceAllUsesWith(ValueRange(operands[argument.getArgNumber()]));
    } else {
      Operation *fused = last == &body.front()
                             ? takeOut(last, operands.getArrayRef(), root)
                             : OpBuilder(root).create(state);
      takeGroups(set, fused);
      root->replaceAllUsesWith(fused);
    }
    for (Operation *part : llvm::reverse(parts))
      part->erase();
    ++numMade;
    numFused += parts.size();
  }

  /// Makes `fused` a member of the group of its parts, or, if they are in none,
  /// the leader of those that they lead.
  void takeGroups(const FusedSet &set, Operation *fused) {
    MLIRContext *context = fused->getContext();
    auto dimLoop = [&](size_t dim) {
      return StringAttr::get(context, "d" + Twine(dim));
    };
    GroupPlace place;
    if (set.place) {
      place = *set.place;
      SmallVector<Operation *> &members = members_[place.leader];
      llvm::erase_if(members, [&](Operation *member) {
        return set.parts.contains(member);
      });
      members.push_back(fused);
      NamedAttrList loops;
      for (auto [dim, loop] : llvm::enumerate(place.loops))
        if (loop)
          loops.set(dimLoop(dim), loop);
      setGroup(fused, place.leader, loops);
    } else {
      place.leader = StringAttr::get(context, nn::getName(fused));
      for (size_t dim = 0; dim < shapeOfParts(set.root()).size(); ++dim)
        place.loops.push_back(dimLoop(dim));
    }
    for (Operation *part : set.parts)
      moveMembers(part, place);
  }

  llvm::StringMap<SmallVector<Operation *>> members_; ///< By their leader.
  llvm::StringSet<> waitedFor_;                       ///< As nn.after says.
  llvm::StringSet<> updates_;                         ///< Of parameters.
  bool hasMergedGroups_ = false;
  bool dropsRounding_ = false;
};
} // namespace
