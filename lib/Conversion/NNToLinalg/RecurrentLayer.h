//===- RecurrentLayer.h - The loops of a recurrent layer --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_NNTOLINALG_RECURRENTLAYER_H
#define SOAP_LIB_CONVERSION_NNTOLINALG_RECURRENTLAYER_H

#include "Patterns.h"

namespace soap::linalg_lowering {

/// One of ONNX's activations and its numbers.
struct Activation {
  nn::ActivationKind kind;
  double alpha, beta;
};

/// Builds a layer: for each direction products for all steps, then a loop over
/// the steps.
struct Layer {
  template <typename Op>
  Layer(mlir::OpBuilder &builder, Op op)
      : builder(builder), loc(op.getLoc()),
        element(tensorType(op.getX()).getElementType()), x(op.getX()),
        lengths(op.getLengths()), isReverse(op.getReverse()),
        steps(tensorType(op.getX()).getDimSize(0)),
        batch(tensorType(op.getX()).getDimSize(1)),
        directions(tensorType(op.getHidden()).getDimSize(1)),
        hidden(tensorType(op.getHidden()).getDimSize(3)),
        activations(op.getActivationsAttr()) {
    if (op.getClip())
      clip = op.getClip()->convertToDouble();
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type element;
  mlir::Value x, lengths; ///< Lengths may be null.
  bool isReverse;
  int64_t steps, batch, directions, hidden;
  mlir::ArrayAttr activations; ///< May be null.
  std::optional<double> clip;
  /// The direction that is being built. Directions with equal activations are
  /// one loop, in which it is a variable.
  mlir::OpFoldResult direction;

  mlir::OpFoldResult number(int64_t value) {
    return builder.getIndexAttr(value);
  }
  mlir::Value index(int64_t value);

  /// `tensor` at the given leading indices.
  mlir::Value entry(mlir::Value tensor,
                    llvm::ArrayRef<mlir::OpFoldResult> indices);
  mlir::Value entry(mlir::Value tensor, mlir::OpFoldResult index) {
    return entry(tensor, llvm::ArrayRef(index));
  }
  /// `tensor` with `value` at the given leading indices.
  mlir::Value withEntry(mlir::Value tensor, mlir::Value value,
                        llvm::ArrayRef<mlir::OpFoldResult> indices);
  /// Elements [first, first + count) of dimension `dim`.
  mlir::Value part(mlir::Value tensor, unsigned dim, int64_t first,
                   int64_t count);

  /// Adds `x` [rows..., k] times `weight` [gates, hidden, k] to `sums`
  /// [rows..., gates, hidden].
  mlir::Value addProduct(mlir::Value x, mlir::Value weight, mlir::Value sums);
  /// The same product alone.
  mlir::Value product(mlir::Value x, mlir::Value weight);
  /// `bias` [gates, hidden] for every row.
  mlir::Value repeated(mlir::Value bias, llvm::ArrayRef<int64_t> rows);

  /// What inputs and biases add to the gates of all steps: [steps, batch,
  /// gates, hidden].
  template <typename Op>
  mlir::Value fromInputs(Op op) {
    return addProduct(op.getX(), entry(op.getInputWeight(), direction),
                      repeated(entry(op.getBias(), direction), {steps, batch}));
  }

  /// What is read at [sample, unit]: a gate of [batch, gates, hidden], a row of
  /// [rows, hidden], an element of [batch, hidden].
  using Input = std::pair<mlir::Value, mlir::AffineMap>;
  Input gate(mlir::Value gates, int64_t which);
  Input row(mlir::Value rows, int64_t which);
  Input all(mlir::Value value);

  /// The states behind a step, and the hidden one once more: `states` are
  /// those before it, tensors [batch, hidden], and where the hidden state is
  /// stored, which take what `body` makes of the inputs and of the states.
  /// Samples whose sequence has ended keep their states.
  using StatesBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::Location, mlir::ValueRange inputs,
      mlir::ValueRange states)>;
  llvm::SmallVector<mlir::Value> updateStates(llvm::ArrayRef<Input> inputs,
                                              mlir::ValueRange states,
                                              mlir::Value step,
                                              StatesBuilder body);

  /// Several new tensors [batch, hidden], whose elements `body` makes of those
  /// of the inputs. With a `step` and lengths, `runs` says whether the step is
  /// one of the sample's; else it is null.
  using ElementsBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::Location, mlir::ValueRange, mlir::Value runs)>;
  llvm::SmallVector<mlir::Value> compute(llvm::ArrayRef<Input> inputs,
                                         size_t numOutputs, mlir::Value step,
                                         ElementsBuilder body);

  /// Activation `which` of the `count` that every direction has; `otherwise`
  /// if the layer has the default ones.
  struct Place {
    int64_t which, count;
    nn::ActivationKind otherwise;
  };
  mlir::Value activate(mlir::OpBuilder &nested, mlir::Location location,
                       mlir::Value value, Place place);

  /// The value of an activation and its derivative by what it is given.
  std::pair<mlir::Value, mlir::Value> activateWithSlope(mlir::OpBuilder &nested,
                                                        mlir::Location location,
                                                        mlir::Value value,
                                                        Place place);

  /// Builds all directions: `body` gives the results with those of `direction`
  /// in place.
  llvm::SmallVector<mlir::Value> forDirections(
      llvm::SmallVector<mlir::Value> results,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>
          body);

  /// Runs over the steps of `direction`, or, if it `isBack`, from the last one
  /// back: `step(number, values)` gives the values behind one. Returns the last
  /// ones.
  llvm::SmallVector<mlir::Value> forEachStep(
      bool isBack, llvm::ArrayRef<mlir::Value> values,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                        mlir::ValueRange)>
          step);
  /// Runs the steps of `direction`: `step(number, states)` gives what
  /// updateStates() does. The first state is the hidden one; the last value is
  /// where it is stored in `hiddens`. Returns the last states.
  llvm::SmallVector<mlir::Value>
  run(llvm::SmallVector<mlir::Value> states, mlir::Value &hiddens,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                        mlir::ValueRange)>
          step);

protected:
  /// A direction that has the activations of `direction`.
  int64_t knownDirection = 0;

private:
  Activation activationAt(Place place);
  /// `value` within the bounds, if there are any for it.
  mlir::Value bounded(mlir::OpBuilder &nested, mlir::Location location,
                      mlir::Value value, Place place);
  /// Number `step` of the steps, in the order of `direction` or, if it
  /// `isBack`, in the opposite one.
  mlir::Value inOrder(mlir::Value step, bool isBack);
};

/// Uninitialised tensors in the types of an operation's results.
llvm::SmallVector<mlir::Value> emptyResults(mlir::OpBuilder &builder,
                                            mlir::Operation *op);

} // namespace soap::linalg_lowering

#endif // SOAP_LIB_CONVERSION_NNTOLINALG_RECURRENTLAYER_H
