//===- UnrollRNN.cpp - Split recurrent layers along their steps -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"
#include "StepSlices.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/Regex.h"

namespace soap::nn {
#define GEN_PASS_DEF_UNROLLRNNPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

#define DEBUG_TYPE "nn-unroll-rnn"

using namespace mlir;
using namespace soap::nn;
using soap::Box;

namespace {

/// One layer in parts: an LSTMOp, GRUOp or RNNOp.
template <typename Op>
class LayerUnroller {
public:
  LayerUnroller(Op op, int64_t chunk, StepSlices &slices)
      : op_(op), builder_(op), slices_(slices), name_(getName(op)),
        numSteps_(shapeOf(op.getX())[0]) {
    for (int64_t lo = 0; lo < numSteps_; lo += chunk)
      chunks_.push_back({lo, std::min(lo + chunk, numSteps_)});
  }

  /// Replaces the layer. Returns the number of parts.
  size_t run();

private:
  static constexpr bool hasCell = std::is_same_v<Op, LSTMOp>;

  /// The hidden states of all parts of one direction, by their steps, and the
  /// last cell state.
  struct Direction {
    SmallVector<Value> hidden;
    Value lastCell;
  };
  Direction runDirection(int64_t direction, StringRef prefix);
  SmallVector<Value> operandsOf(int64_t direction, StringRef prefix);
  Op createPart(int64_t direction, soap::Range steps, const Twine &part,
                ValueRange operands);
  Value lastState(Value hidden, bool backwards, const Twine &part);
  Value lengthsFrom(int64_t step, const Twine &part);
  void replace(ArrayRef<Direction> directions);

  Op op_;
  OpBuilder builder_;
  StepSlices &slices_;
  std::string name_;
  int64_t numSteps_;
  SmallVector<soap::Range> chunks_;
  SmallVector<Value> inputs_;  ///< Steps of x, by chunk.
  SmallVector<Value> lengths_; ///< What is left of them, by chunk; or empty.
};

class UnrollRNNPass : public soap::nn::impl::UnrollRNNPassBase<UnrollRNNPass> {
public:
  using UnrollRNNPassBase::UnrollRNNPassBase;
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;
};

} // namespace

/// The state behind a part that ends with the last of its `hidden` states.
template <typename Op>
Value LayerUnroller<Op>::lastState(Value hidden, bool backwards,
                                   const Twine &part) {
  Box box = soap::wholeBox(shapeOf(hidden));
  box[0].lo = backwards ? 0 : box[0].hi - 1;
  box[0].hi = box[0].lo + 1;
  Value last = slices_.slice(builder_, hidden, box, part + ".last");
  return slices_.reshape(builder_, last, shapeOf(hidden).drop_front(),
                         part + ".state");
}

/// What is left of the sequences from `step` on; 0 or less where nothing is.
template <typename Op>
Value LayerUnroller<Op>::lengthsFrom(int64_t step, const Twine &part) {
  Value whole = op_.getLengths();
  if (step == 0)
    return whole;
  auto type = cast<RankedTensorType>(whole.getType());
  auto number = RankedTensorType::get({}, type.getElementType());
  auto start = slices_.create<ConstantOp>(
      builder_, op_.getLoc(), part + ".start",
      cast<ElementsAttr>(DenseElementsAttr::get(
          number,
          Attribute(builder_.getIntegerAttr(type.getElementType(), step)))));
  return slices_.create<SubOp>(builder_, op_.getLoc(), part + ".lengths", type,
                               whole, start);
}

/// The operands of one direction, but x and lengths, which have none.
template <typename Op>
SmallVector<Value> LayerUnroller<Op>::operandsOf(int64_t direction,
                                                 StringRef prefix) {
  SmallVector<StringRef> names = {"input_weight", "recurrent_weight", "bias",
                                  "first_hidden"};
  if (hasCell)
    names.push_back("first_cell");
  if (op_.getLengths())
    names.push_back("lengths");
  if (op_->getNumOperands() > names.size() + 1)
    names.push_back("peephole");
  SmallVector<Value> operands = {nullptr};
  for (auto [operand, operandName] :
       llvm::zip_equal(op_->getOperands().drop_front(), names)) {
    if (operandName == "lengths") {
      operands.push_back(operand);
      continue;
    }
    Box box = soap::wholeBox(shapeOf(operand));
    box[0] = {direction, direction + 1};
    if (shapeOf(operand)[0] == 1)
      box[0] = {0, 1};
    operands.push_back(
        slices_.slice(builder_, operand, box, prefix + "." + operandName));
  }
  return operands;
}

template <typename Op>
Op LayerUnroller<Op>::createPart(int64_t direction, soap::Range steps,
                                 const Twine &part, ValueRange operands) {
  SmallVector<int64_t, 4> hidden(shapeOf(op_.getHidden()));
  int64_t directions = hidden[1];
  hidden[0] = steps.size();
  hidden[1] = 1;
  SmallVector<Type> types = {
      cast<RankedTensorType>(op_.getHidden().getType()).clone(hidden)};
  if (hasCell)
    types.push_back(
        cast<RankedTensorType>(types[0]).clone(ArrayRef(hidden).drop_front()));
  auto layer =
      slices_.create<Op>(builder_, op_.getLoc(), part, TypeRange(types),
                         operands, op_->getAttrDictionary().getValue());
  // A part of one step has no direction.
  layer.setReverse((op_.getReverse() || direction == 1) && steps.size() > 1);
  if (ArrayAttr activations = op_.getActivationsAttr()) {
    size_t count = activations.size() / directions;
    layer.setActivationsAttr(builder_.getArrayAttr(
        activations.getValue().slice(direction * count, count)));
  }
  return layer;
}

template <typename Op>
typename LayerUnroller<Op>::Direction
LayerUnroller<Op>::runDirection(int64_t direction, StringRef prefix) {
  bool backwards = op_.getReverse() || direction == 1;
  SmallVector<Value> operands = operandsOf(direction, prefix);
  constexpr size_t firstHidden = 4, firstCell = 5;
  constexpr size_t lengthsAt = hasCell ? 6 : 5;
  Direction result;
  result.hidden.resize(chunks_.size());
  for (size_t i = 0; i != chunks_.size(); ++i) {
    size_t number = backwards ? chunks_.size() - 1 - i : i;
    operands[0] = inputs_[number];
    if (!lengths_.empty())
      operands[lengthsAt] = lengths_[number];
    std::string part = prefix.str() + stepSuffix(chunks_[number]);
    Op layer = createPart(direction, chunks_[number], part, operands);
    result.hidden[number] = layer.getHidden();
    if constexpr (hasCell)
      result.lastCell = operands[firstCell] = layer.getLastCell();
    if (i + 1 != chunks_.size())
      operands[firstHidden] = lastState(layer.getHidden(), backwards, part);
  }
  return result;
}

/// Joins the parts in place of the layer.
template <typename Op>
void LayerUnroller<Op>::replace(ArrayRef<Direction> directions) {
  Location loc = op_.getLoc();
  auto type = cast<RankedTensorType>(op_.getHidden().getType());
  SmallVector<Value> parts;
  for (auto [i, steps] : llvm::enumerate(chunks_)) {
    SmallVector<Value> both;
    for (const Direction &direction : directions)
      both.push_back(direction.hidden[i]);
    Value part = both[0];
    if (both.size() == 2) {
      SmallVector<int64_t, 4> shape(type.getShape());
      shape[0] = steps.size();
      part = slices_.create<ConcatOp>(builder_, loc, name_ + stepSuffix(steps),
                                      type.clone(shape), both, /*axis=*/1);
    }
    slices_.setStepDim(part, 0);
    parts.push_back(part);
  }
  if constexpr (hasCell) {
    Value cell = directions[0].lastCell;
    if (directions.size() == 2)
      cell = slices_.create<ConcatOp>(
          builder_, loc, name_ + ".cell", op_.getLastCell().getType(),
          ValueRange{cell, directions[1].lastCell}, /*axis=*/0);
    op_.getLastCell().replaceAllUsesWith(cell);
  }
  auto hidden = slices_.create<ConcatOp>(builder_, loc, name_, type, parts,
                                         /*axis=*/0);
  slices_.setStepDim(hidden, 0);
  op_.getHidden().replaceAllUsesWith(hidden);
  op_.erase();
  setName(hidden, name_);
}

template <typename Op>
size_t LayerUnroller<Op>::run() {
  for (soap::Range steps : chunks_) {
    std::string part = name_ + stepSuffix(steps);
    inputs_.push_back(
        slices_.stepsFor(builder_, op_.getX(), steps, part + ".x"));
    if (op_.getLengths())
      lengths_.push_back(lengthsFrom(steps.lo, part));
  }
  SmallVector<Direction> directions;
  if (shapeOf(op_.getHidden())[1] == 1) {
    directions.push_back(runDirection(0, name_));
  } else {
    directions.push_back(runDirection(0, name_ + ".forward"));
    directions.push_back(runDirection(1, name_ + ".reverse"));
  }
  replace(directions);
  return chunks_.size() * directions.size();
}

static bool isLayer(Operation *op) { return isa<LSTMOp, GRUOp, RNNOp>(op); }

/// Puts operations in the order in which they could run with a device for every
/// layer: a step of one layer beside an earlier step of the next. Devices
/// launch and communicate in block order, so that layer by layer the third
/// would wait for the end of the first. What no layer precedes stands before
/// its first reader; inputs stay in front and outputs at the end, in their
/// order.
static void orderDiagonally(Block &block) {
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> waves;
  for (Operation &op : block.without_terminator()) {
    unsigned wave = 0;
    for (Value operand : op.getOperands())
      if (Operation *definition = operand.getDefiningOp())
        wave = std::max(wave, waves.lookup(definition));
    waves[&op] = isa<OutputOp>(op) ? std::numeric_limits<unsigned>::max()
                                   : wave + isLayer(&op);
    ops.push_back(&op);
  }
  for (Operation *op : llvm::reverse(ops)) {
    if (waves[op] != 0 || isa<InputOp>(op) || op->use_empty())
      continue;
    unsigned first = std::numeric_limits<unsigned>::max();
    for (Operation *user : op->getUsers())
      first = std::min(first, waves.lookup(user));
    waves[op] = first;
  }
  llvm::stable_sort(ops, [&](Operation *a, Operation *b) {
    return waves.lookup(a) < waves.lookup(b);
  });
  for (Operation *op : ops)
    op->moveBefore(block.getTerminator());
}

LogicalResult UnrollRNNPass::initialize(MLIRContext *context) {
  if (chunk < 1)
    return emitError(UnknownLoc::get(context))
           << "nn-unroll-rnn: expected a chunk of at least 1 step, got: "
           << chunk.getValue();
  std::string problem;
  if (!llvm::Regex(only).isValid(problem))
    return emitError(UnknownLoc::get(context))
           << "nn-unroll-rnn: expected a regular expression in 'only', got: '"
           << only.getValue() << "' (" << problem << ")";
  return success();
}

void UnrollRNNPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  llvm::Regex regex("^(" + only + ")$");
  SmallVector<Operation *> layers;
  for (Operation &op : function.front())
    if (isLayer(&op) && regex.match(soap::nn::getName(&op)))
      layers.push_back(&op);

  StepSlices slices(function);
  bool changed = false;
  for (Operation *op : layers) {
    int64_t steps = shapeOf(op->getOperand(0))[0];
    auto keep = [&](const Twine &why) {
      emitRemark(op->getLoc())
          << "'" << soap::nn::getName(op) << "' stays one operation: " << why;
      ++numKept;
    };
    if (steps <= chunk) {
      keep("a chunk of " + Twine(chunk) + " steps holds all " + Twine(steps));
    } else if (!isPlain(op)) {
      keep("it has attributes besides its name, as a configuration; unroll "
           "before choosing a strategy");
    } else {
      LLVM_DEBUG(llvm::dbgs()
                 << "'" << soap::nn::getName(op) << "' of " << steps
                 << " steps is split every " << chunk << " steps\n");
      numParts +=
          TypeSwitch<Operation *, size_t>(op).Case<LSTMOp, GRUOp, RNNOp>(
              [&](auto layer) {
                return LayerUnroller(layer, chunk, slices).run();
              });
      ++numUnrolled;
      changed = true;
    }
  }
  if (!changed)
    return;
  numCut += slices.moveUp();
  orderDiagonally(function.front());
  soap::nn::leaveLostGroups(function.front());
}
