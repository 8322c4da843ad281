//===- NarrowActivations.cpp - Results of products in 16 bits -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inference.h"
#include "NodeNames.h"
#include "ParameterExpressions.h"
#include "Shapes.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace soap::nn {
#define GEN_PASS_DEF_NARROWACTIVATIONSPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static bool isF32(Value value) { return getElementTypeOrSelf(value).isF32(); }

/// The narrow value that `value` was widened from, or null.
static Value sourceOf(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || !isF32(value) ||
      !isFloatOf16Bits(getElementTypeOrSelf(cast.getX())))
    return {};
  return cast.getX();
}

/// The type that `op` makes of f32, or null.
static Type narrowedType(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  if (!cast || !isF32(cast.getX()))
    return {};
  Type element = getElementTypeOrSelf(cast.getResult());
  return isFloatOf16Bits(element) ? element : Type();
}

/// Operations that compute with the bits of 16-bit floats as well as those that
/// made their operands did: they move elements, or are those that
/// torch.autocast, too, computes in the type of their operands.
static bool computesNarrow(Operation *op) {
  return isa<ReluOp, SigmoidOp, TanhOp, GeluOp, ClipOp, NegOp, AbsOp, AddOp,
             SubOp, MulOp, DivOp, MaxOp, MinOp, WhereOp, ExpandOp, ConcatOp,
             SliceOp, PadOp, ReshapeOp, TransposeOp, MaxPoolOp, AvgPoolOp>(op);
}

/// Operations that hand on all elements of one operand, each once.
static bool permutes(Operation *op) { return isa<ReshapeOp, TransposeOp>(op); }

/// Operations of f32 that may read and write floats of 16 bits.
static bool roundsResult(Operation *op) {
  return isa<SoftmaxOp, LayerNormOp>(op);
}

/// Whether only outputs of the model read `value`, or what they read is the
/// same elements in another order.
static bool isOnlyOutput(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<OutputOp>(user) ||
           (permutes(user) && isOnlyOutput(user->getResult(0)));
  });
}

static void setElementType(Value value, Type element) {
  value.setType(rankedTypeOf(value).clone(element));
}

namespace {
class Narrowing {
public:
  explicit Narrowing(func::FuncOp function)
      : function_(function), names_(function), expressions_(function) {}

  /// A cast to the type of its factors stands behind every product, whose bias
  /// is of this type without `followers`.
  unsigned narrowProducts(bool followers) {
    unsigned count = 0;
    for (Operation &op : function_.front()) {
      if (!isProduct(&op))
        continue;
      Value result = op.getResult(0);
      Type factor = getElementTypeOrSelf(op.getOperand(0));
      if (!isFloatOf16Bits(factor) || !isF32(result) || isOnlyOutput(result))
        continue;
      if (!followers)
        for (OpOperand &bias : op.getOpOperands().drop_front(2))
          bias.set(narrowed(bias.get(), factor));
      roundResult(&op, factor);
      ++count;
    }
    return count;
  }

  /// What only reads values that were widened computes without. Operations per
  /// element round their results if `followers`, and compute in f32.
  void handOn(bool followers) {
    for (Operation &op : function_.front())
      if (Type narrow = commonSource(&op)) {
        if (followers && op.hasTrait<PerElement>()) {
          roundResult(&op, narrow);
          continue;
        }
        for (OpOperand &operand : op.getOpOperands())
          if (isF32(operand.get()))
            operand.set(narrowed(operand.get(), narrow));
        if (auto pad = dyn_cast<PadOp>(&op))
          narrowFill(pad, narrow);
        narrowResult(&op, narrow);
      }
  }

  /// What only casts read is made in their type: casts go in front of what
  /// moves elements, and without `followers` a normalisation rounds what it
  /// writes.
  void castEarly(bool followers) {
    llvm::SmallSetVector<Operation *, 16> casts;
    for (Operation &op : function_.front())
      if (narrowedType(&op))
        casts.insert(&op);
    while (!casts.empty()) {
      auto cast = llvm::cast<CastOp>(casts.pop_back_val());
      Operation *producer = cast.getX().getDefiningOp();
      if (!producer || !cast.getX().hasOneUse())
        continue;
      Type narrow = narrowedType(cast);
      if (permutes(producer)) {
        Value earlier = narrowed(producer->getOperand(0), narrow);
        producer->setOperand(0, earlier);
        if (auto made = earlier.getDefiningOp<CastOp>();
            made && narrowedType(made))
          casts.insert(made);
      } else if (followers || !roundsResult(producer)) {
        continue;
      }
      setElementType(producer->getResult(0), narrow);
      replace(cast, producer->getResult(0));
    }
  }

  /// Who can read narrow values does. Of the others, an operation per element
  /// has a widening cast of its own, so that nn-fuse makes both one; others
  /// share one.
  void separateCasts() {
    for (Operation &op : llvm::make_early_inc_range(function_.front())) {
      Value wide = op.getNumResults() == 1 ? op.getResult(0) : Value();
      Value source = wide ? sourceOf(wide) : Value();
      if (!source)
        continue;
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : wide.getUses())
        uses.push_back(&use);
      for (OpOperand *use : uses) {
        Operation *reader = use->getOwner();
        if (roundsResult(reader) && use->getOperandNumber() == 0 &&
            (isF32(reader->getResult(0)) ||
             reader->getResult(0).getType() == source.getType())) {
          use->set(source);
        } else if (reader->hasTrait<PerElement>() && !wide.hasOneUse()) {
          Operation *copy = OpBuilder(reader).clone(op);
          setName(copy, names_.unique(nn::getName(&op)));
          use->set(copy->getResult(0));
        }
      }
      if (op.use_empty()) {
        names_.release(nn::getName(&op));
        op.erase();
      }
    }
  }

private:
  /// The type of the narrow values that all operands of f32 were widened from,
  /// biases apart; null if there are others, or none.
  Type commonSource(Operation *op) const {
    if (!computesNarrow(op) || op->getNumResults() != 1 ||
        !isF32(op->getResult(0)))
      return {};
    Type common;
    for (Value operand : op->getOperands()) {
      bool isBias = isa<AddOp>(op) && expressions_.contains(operand);
      if (!isF32(operand) || isBias)
        continue;
      Value source = sourceOf(operand);
      Type element = source ? getElementTypeOrSelf(source) : Type();
      if (!element || (common && common != element))
        return {};
      common = element;
    }
    return common;
  }

  static void narrowFill(PadOp pad, Type narrow) {
    auto value = cast<FloatAttr>(pad.getValue());
    APFloat fill = value.getValue();
    bool losesInfo = false;
    fill.convert(cast<FloatType>(narrow).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &losesInfo);
    pad.setValueAttr(cast<TypedAttr>(FloatAttr::get(narrow, fill)));
  }

  /// A cast stands behind `op`, whose result is read widened from there.
  void roundResult(Operation *op, Type narrow) {
    Value result = op->getResult(0), rounded = narrowed(result, narrow);
    Value wide = widen(result, rounded);
    for (Operation *user : llvm::make_early_inc_range(wide.getUsers()))
      if (narrowedType(user) == narrow)
        replace(user, rounded);
  }

  /// `op` makes a narrow value, which is widened for those that read it.
  void narrowResult(Operation *op, Type narrow) {
    Value result = op->getResult(0);
    setElementType(result, narrow);
    Value wide = widen(result, result);
    for (Operation *user : llvm::make_early_inc_range(wide.getUsers()))
      if (narrowedType(user) == narrow)
        replace(user, result);
  }

  /// All who read `value`, but for what makes `narrow` of it, read `narrow`,
  /// widened, which is returned.
  Value widen(Value value, Value narrow) {
    Operation *producer = narrow.getDefiningOp();
    OpBuilder builder(producer->getContext());
    builder.setInsertionPointAfter(producer);
    auto type = rankedTypeOf(narrow);
    auto wide = builder.create<CastOp>(
        producer->getLoc(), type.clone(builder.getF32Type()), narrow);
    setName(wide, names_.unique((nn::getName(producer) + ".f32").str()));
    llvm::SmallPtrSet<Operation *, 2> except = {wide, producer};
    value.replaceAllUsesExcept(wide.getResult(), except);
    return wide.getResult();
  }

  void replace(Operation *cast, Value value) {
    cast->getResult(0).replaceAllUsesWith(value);
    names_.release(nn::getName(cast));
    cast->erase();
  }

  /// `value` in the narrow type: what it was widened from, or a cast right
  /// behind what makes it.
  Value narrowed(Value value, Type narrow) {
    if (getElementTypeOrSelf(value) == narrow)
      return value;
    if (Value source = sourceOf(value);
        source && getElementTypeOrSelf(source) == narrow)
      return source;
    Operation *producer = value.getDefiningOp();
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    for (Operation *user : value.getUsers())
      if (narrowedType(user) == narrow) {
        user->moveBefore(builder.getInsertionBlock(),
                         builder.getInsertionPoint());
        return user->getResult(0);
      }
    auto cast = builder.create<CastOp>(
        value.getLoc(), rankedTypeOf(value).clone(narrow), value);
    std::string name;
    llvm::raw_string_ostream os(name);
    if (producer)
      os << nn::getName(producer);
    else
      os << "argument" << llvm::cast<BlockArgument>(value).getArgNumber();
    os << "." << narrow;
    setName(cast, names_.unique(name));
    return cast.getResult();
  }

  func::FuncOp function_;
  NodeNames names_;
  ParameterExpressions expressions_;
};

struct NarrowActivationsPass
    : soap::nn::impl::NarrowActivationsPassBase<NarrowActivationsPass> {
  using NarrowActivationsPassBase::NarrowActivationsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isInference(function))
      return;
    Narrowing narrowing(function);
    numProducts += narrowing.narrowProducts(followers);
    narrowing.handOn(followers);
    narrowing.castEarly(followers);
    narrowing.separateCasts();
  }
};
} // namespace
