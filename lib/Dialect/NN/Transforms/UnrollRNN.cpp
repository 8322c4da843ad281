//===- UnrollRNN.cpp - Split recurrent layers along their steps -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSlices.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/Support/Regex.h"

namespace soap::nn {
#define GEN_PASS_DEF_NNUNROLLRNN
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap::nn;
using soap::Box;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

namespace {

/// One layer in parts.
class LayerUnroller {
public:
  LayerUnroller(LSTMOp op, int64_t chunk, StepSlices &slices)
      : op(op), builder(op), slices(slices), name(getName(op)),
        numSteps(shapeOf(op.getX())[0]) {
    for (int64_t lo = 0; lo < numSteps; lo += chunk)
      chunks.push_back({lo, std::min(lo + chunk, numSteps)});
  }

  /// Replaces the layer. Returns the number of parts.
  size_t run();

private:
  /// The hidden states of all parts of one direction, by their steps, and the
  /// last cell state.
  struct Direction {
    SmallVector<Value> hidden;
    Value lastCell;
  };
  Direction runDirection(int64_t direction, StringRef prefix);
  Value lastState(Value hidden, bool backwards, const Twine &part);

  LSTMOp op;
  OpBuilder builder;
  StepSlices &slices;
  std::string name;
  int64_t numSteps;
  SmallVector<soap::Range> chunks;
  SmallVector<Value> inputs; ///< Steps of x, by chunk.
};

class NNUnrollRNN : public soap::nn::impl::NNUnrollRNNBase<NNUnrollRNN> {
public:
  using NNUnrollRNNBase::NNUnrollRNNBase;
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;
};

} // namespace

/// The state behind a part that ends with the last of its `hidden` states.
Value LayerUnroller::lastState(Value hidden, bool backwards,
                               const Twine &part) {
  Box box = soap::wholeBox(shapeOf(hidden));
  box[0].lo = backwards ? 0 : box[0].hi - 1;
  box[0].hi = box[0].lo + 1;
  Value last = slices.slice(builder, hidden, box, part + ".last");
  return slices.reshape(builder, last, shapeOf(hidden).drop_front(),
                        part + ".state");
}

LayerUnroller::Direction LayerUnroller::runDirection(int64_t direction,
                                                     StringRef prefix) {
  bool backwards = op.getReverse() || direction == 1;
  // x has no directions.
  SmallVector<Value, 6> operands = {nullptr};
  static constexpr llvm::StringLiteral operandNames[] = {
      "input_weight", "recurrent_weight", "bias", "first_hidden", "first_cell"};
  for (auto [operand, operandName] :
       llvm::zip_equal(op.getOperands().drop_front(), operandNames)) {
    Box box = soap::wholeBox(shapeOf(operand));
    box[0] = {direction, direction + 1};
    if (shapeOf(operand)[0] == 1)
      box[0] = {0, 1};
    operands.push_back(
        slices.slice(builder, operand, box, prefix + "." + operandName));
  }

  Direction result;
  result.hidden.resize(chunks.size());
  for (size_t i = 0; i != chunks.size(); ++i) {
    size_t number = backwards ? chunks.size() - 1 - i : i;
    soap::Range steps = chunks[number];
    operands[0] = inputs[number];
    SmallVector<int64_t, 4> hidden(shapeOf(op.getHidden()));
    hidden[0] = steps.size();
    hidden[1] = 1;
    std::string part = prefix.str() + stepSuffix(steps);
    auto layer =
        slices.create<LSTMOp>(builder, op.getLoc(), part,
                              TypeRange{op.getHidden().getType().clone(hidden),
                                        op.getLastCell().getType().clone(
                                            ArrayRef(hidden).drop_front())},
                              operands);
    // One step has no direction.
    layer.setReverse(backwards && steps.size() > 1);
    result.hidden[number] = layer.getHidden();
    result.lastCell = operands[5] = layer.getLastCell();
    if (i + 1 != chunks.size())
      operands[4] = lastState(layer.getHidden(), backwards, part);
  }
  return result;
}

size_t LayerUnroller::run() {
  for (soap::Range steps : chunks)
    inputs.push_back(slices.stepsFor(builder, op.getX(), steps,
                                     name + stepSuffix(steps) + ".x"));
  SmallVector<Direction> directions;
  if (shapeOf(op.getLastCell())[0] == 1) {
    directions.push_back(runDirection(0, name));
  } else {
    directions.push_back(runDirection(0, name + ".forward"));
    directions.push_back(runDirection(1, name + ".reverse"));
  }

  Location loc = op.getLoc();
  SmallVector<Value> parts, cells;
  for (auto [i, steps] : llvm::enumerate(chunks)) {
    SmallVector<Value> both;
    for (const Direction &direction : directions)
      both.push_back(direction.hidden[i]);
    Value part = both[0];
    if (both.size() == 2) {
      SmallVector<int64_t, 4> shape(shapeOf(op.getHidden()));
      shape[0] = steps.size();
      part = slices.create<ConcatOp>(builder, loc, name + stepSuffix(steps),
                                     op.getHidden().getType().clone(shape),
                                     both, /*axis=*/1);
    }
    slices.setStepDim(part, 0);
    parts.push_back(part);
  }
  for (const Direction &direction : directions)
    cells.push_back(direction.lastCell);
  Value cell = cells[0];
  if (cells.size() == 2)
    cell = slices.create<ConcatOp>(builder, loc, name + ".cell",
                                   op.getLastCell().getType(), cells,
                                   /*axis=*/0);
  auto hidden = slices.create<ConcatOp>(builder, loc, name,
                                        op.getHidden().getType(), parts,
                                        /*axis=*/0);
  slices.setStepDim(hidden, 0);
  op.getHidden().replaceAllUsesWith(hidden);
  op.getLastCell().replaceAllUsesWith(cell);
  op.erase();
  setName(hidden, name);
  return chunks.size() * directions.size();
}

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
                                   : wave + isa<LSTMOp>(op);
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

LogicalResult NNUnrollRNN::initialize(MLIRContext *context) {
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

void NNUnrollRNN::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  llvm::Regex regex("^(" + only + ")$");
  SmallVector<LSTMOp> layers;
  for (auto op : function.front().getOps<LSTMOp>())
    if (regex.match(soap::nn::getName(op)))
      layers.push_back(op);

  StepSlices slices(function);
  bool changed = false;
  for (LSTMOp op : layers) {
    int64_t steps = shapeOf(op.getX())[0];
    auto keep = [&](const Twine &why) {
      emitRemark(op.getLoc())
          << "'" << soap::nn::getName(op) << "' stays one operation: " << why;
      ++numKept;
    };
    if (steps <= chunk) {
      keep("a chunk of " + Twine(chunk) + " steps holds all " + Twine(steps));
    } else if (!isPlain(op)) {
      keep("it has attributes besides its name, as a configuration; unroll "
           "before choosing a strategy");
    } else {
      numParts += LayerUnroller(op, chunk, slices).run();
      ++numUnrolled;
      changed = true;
    }
  }
  if (!changed)
    return;
  numCut += slices.moveUp();
  orderDiagonally(function.front());
}
