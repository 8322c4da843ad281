//===- Losses.cpp - What a training step minimises ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static ArrayRef<int64_t> dimsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

llvm::ArrayRef<llvm::StringRef> soap::nn::lossKinds() {
  static constexpr llvm::StringRef kinds[] = {
      "softmax-cross-entropy", "negative-log-likelihood", "mean-squared-error",
      "binary-cross-entropy", "output"};
  return kinds;
}

LossBuilder::LossBuilder(OpBuilder &builder, Location loc, NodeNames &names,
                         OutputParts parts, const LossOptions &options)
    : builder_(builder), loc_(loc), names_(names), parts_(parts),
      options_(options),
      unique_([this](StringRef base) { return names_.unique(base); }),
      b_(builder, nullptr, "loss.terms", unique_) {}

template <typename Op>
Value LossBuilder::named(Op op) {
  setName(op, names_.unique("loss.terms"));
  return op.getResult();
}

LogicalResult LossBuilder::fail(const Twine &text) {
  return emitError(loc_, text);
}

FailureOr<Value> LossBuilder::build(Value x, int64_t number) {
  auto type = cast<RankedTensorType>(x.getType());
  element_ = type.getElementType();
  if (options_.kind == "softmax-cross-entropy")
    return ofClasses(x, number, /*areLogs=*/false);
  if (options_.kind == "negative-log-likelihood")
    return ofClasses(x, number, /*areLogs=*/true);
  if (options_.kind == "mean-squared-error") {
    FailureOr<Value> label = labelOf(type, parts_.dim, number);
    if (failed(label))
      return failure();
    Value error = b_.sub(x, *label);
    return meanOf(b_.mul(error, error));
  }
  if (options_.kind == "binary-cross-entropy") {
    FailureOr<Value> label = labelOf(type, parts_.dim, number);
    if (failed(label))
      return failure();
    Value decay = b_.unary<ExpOp>(b_.unary<NegOp>(b_.unary<AbsOp>(x)));
    Value tail = b_.unary<LogOp>(b_.add(decay, 1));
    Value hinge = b_.sub(b_.unary<ReluOp>(x), b_.mul(x, *label));
    return meanOf(b_.add(hinge, tail));
  }
  if (options_.kind == "output") {
    if (type.getNumElements() != 1)
      return fail("expected an output of one element for the loss 'output'");
    return b_.reshape(x, {});
  }
  return fail("expected a loss of " + llvm::join(lossKinds(), ", ") +
              ", got: '" + options_.kind + "'");
}

/// The labels of a part, of type `part`, whose dimension `dim` runs over
/// samples.
FailureOr<Value> LossBuilder::labelOf(RankedTensorType part, unsigned dim,
                                      int64_t number) {
  Shape shape(part.getShape());
  if (parts_.count > 1)
    shape[dim] *= parts_.count;
  if (!label_) {
    if (names_.unique(options_.label) != options_.label)
      return fail("expected a name for labels that no node has, got: '" +
                  options_.label + "'; choose another one with 'label'");
    auto input = builder_.create<InputOp>(loc_, part.clone(shape));
    setName(input, options_.label);
    if (parts_.count > 1)
      input.setSampleDims({static_cast<int64_t>(dim)});
    label_ = input.getResult();
  }
  if (parts_.count == 1)
    return label_;
  SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  starts[dim] = number * part.getDimSize(dim);
  auto slice = builder_.create<SliceOp>(loc_, part, label_, starts, steps);
  setName(slice, names_.unique((options_.label + ".part").str()));
  return slice.getResult();
}

Value LossBuilder::sumOf(Value x) {
  auto rank = static_cast<int64_t>(dimsOf(x).size());
  return b_.sum(x, llvm::to_vector(llvm::seq<int64_t>(rank)));
}

FailureOr<Value> LossBuilder::meanOf(Value values) {
  auto count = static_cast<double>(
      cast<RankedTensorType>(values.getType()).getNumElements());
  if (!SOAP_FAULT("mean-of-micro-batch"))
    count *= static_cast<double>(parts_.count);
  return b_.reshape(b_.mul(sumOf(values), 1 / count), {});
}

/// 1 for labels that count, 0 for the others.
Value LossBuilder::countingOf(Value label) {
  auto ignored = builder_.create<ConstantOp>(
      loc_,
      DenseElementsAttr::get(RankedTensorType::get({}, builder_.getI64Type()),
                             *options_.ignoreIndex));
  setName(ignored, names_.unique("loss.ignored"));
  Value counts = b_.compare(Predicate::Ne, label, ignored);
  return b_.where(counts, b_.scalar(element_, 1), b_.scalar(element_, 0));
}

/// The loss of classes by index, for scores or logarithms of probabilities.
FailureOr<Value> LossBuilder::ofClasses(Value x, int64_t number, bool areLogs) {
  ArrayRef<int64_t> shape = dimsOf(x);
  int64_t axis = options_.classAxis, rank = shape.size();
  if (rank == 0)
    return fail("expected scores of classes, got: an output of rank 0; one "
                "that is a loss is trained with loss=output (soap-compile "
                "--loss=output)");
  if (axis < 0)
    axis += rank;
  if (axis < 0 || axis >= rank)
    return fail("expected a class-axis inside of the output's rank " +
                Twine(rank) + ", got: " + Twine(options_.classAxis));
  if (parts_.count > 1 && axis == parts_.dim)
    return fail("expected a class-axis other than the batch, got: " +
                Twine(axis));
  double smoothing = options_.labelSmoothing;
  if (!(smoothing >= 0 && smoothing < 1))
    return fail("expected label-smoothing in [0, 1), got: " +
                llvm::formatv("{0}", smoothing).str());
  Shape labelShape(shape);
  labelShape.erase(labelShape.begin() + axis);
  FailureOr<Value> label =
      labelOf(RankedTensorType::get(labelShape, builder_.getI64Type()),
              parts_.dim - (axis < parts_.dim ? 1 : 0), number);
  if (failed(label))
    return failure();
  Value logs = x;
  if (!areLogs)
    logs = named(
        builder_.create<SoftmaxOp>(loc_, x.getType(), x, axis, /*log=*/true));
  Value perClass = weighted(logs, *label, axis);
  int64_t samples = parts_.count;
  for (int64_t size : labelShape)
    samples *= size;
  if (!options_.ignoreIndex)
    return b_.reshape(
        b_.mul(sumOf(perClass), -1.0 / static_cast<double>(samples)), {});
  Value weight = countingOf(*label);
  if (!number_) {
    number_ =
        b_.reshape(sumOf(parts_.count > 1 ? countingOf(label_) : weight), {});
    // A batch in which no label counts has a loss and gradients of 0.
    number_ = b_.max(number_, b_.scalar(element_, 1));
  }
  Shape column(shape);
  column[axis] = 1;
  Value sum =
      b_.reshape(sumOf(b_.mul(perClass, b_.reshape(weight, column))), {});
  return b_.div(b_.unary<NegOp>(sum), number_);
}

/// Logarithms times the share of the label that their class has.
Value LossBuilder::weighted(Value logs, Value label, int64_t axis) {
  auto hot = [&](Value marks) {
    Type element = cast<RankedTensorType>(marks.getType()).getElementType();
    return named(builder_.create<OneHotOp>(
        loc_, RankedTensorType::get(dimsOf(logs), element), label, marks, axis,
        /*base=*/0, /*table_size=*/nullptr));
  };
  if (double smoothing = options_.labelSmoothing; smoothing > 0) {
    double spread = smoothing / static_cast<double>(dimsOf(logs)[axis]);
    return b_.mul(
        logs, hot(b_.numbers({2}, element_, {spread, 1 - smoothing + spread})));
  }
  // Not a product: the logarithm of another class may be infinite.
  auto type = RankedTensorType::get({2}, builder_.getI1Type());
  Value isHot = hot(named(builder_.create<ConstantOp>(
      loc_, DenseElementsAttr::get(type, ArrayRef{false, true}))));
  return b_.where(isHot, logs, b_.scalar(element_, 0));
}
