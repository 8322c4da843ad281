//===- Losses.cpp - What a training step minimises ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

llvm::ArrayRef<llvm::StringRef> soap::nn::lossKinds() {
  static constexpr llvm::StringRef kinds[] = {
      "softmax-cross-entropy", "negative-log-likelihood", "mean-squared-error",
      "binary-cross-entropy", "output"};
  return kinds;
}

namespace {
class LossBuilder {
public:
  LossBuilder(OpBuilder &builder, Location loc, NodeNames &names, Value x,
              const LossOptions &options)
      : builder_(builder), loc_(loc), names_(names), x_(x), options_(options),
        element_(cast<RankedTensorType>(x.getType()).getElementType()),
        unique_([this](StringRef base) { return names_.unique(base); }),
        b_(builder, nullptr, "loss.terms", unique_) {}

  FailureOr<Value> build() {
    for (int64_t dim = 0, rank = shapeOf(x_).size(); dim < rank; ++dim)
      all_.push_back(dim);
    if (options_.kind == "softmax-cross-entropy")
      return ofClasses(/*areLogs=*/false);
    if (options_.kind == "negative-log-likelihood")
      return ofClasses(/*areLogs=*/true);
    if (options_.kind == "mean-squared-error") {
      FailureOr<Value> label = createLabel(x_.getType());
      if (failed(label))
        return failure();
      Value error = b_.sub(x_, *label);
      return meanOf(b_.mul(error, error));
    }
    if (options_.kind == "binary-cross-entropy") {
      FailureOr<Value> label = createLabel(x_.getType());
      if (failed(label))
        return failure();
      Value decay = b_.unary<ExpOp>(b_.unary<NegOp>(b_.unary<AbsOp>(x_)));
      Value tail = b_.unary<LogOp>(b_.add(decay, 1));
      Value hinge = b_.sub(b_.unary<ReluOp>(x_), b_.mul(x_, *label));
      return meanOf(b_.add(hinge, tail));
    }
    if (options_.kind == "output") {
      if (cast<RankedTensorType>(x_.getType()).getNumElements() != 1)
        return fail("expected an output of one element for the loss 'output'");
      return b_.reshape(x_, {});
    }
    return fail("expected a loss of " + llvm::join(lossKinds(), ", ") +
                ", got: '" + options_.kind + "'");
  }

private:
  LogicalResult fail(const Twine &text) { return emitError(loc_, text); }

  FailureOr<Value> createLabel(Type type) {
    auto op = builder_.create<InputOp>(loc_, type);
    if (names_.unique(options_.label) != options_.label)
      return fail("expected a name for labels that no node has, got: '" +
                  options_.label + "'; choose another one with 'label'");
    setName(op, options_.label);
    return op.getResult();
  }

  FailureOr<Value> meanOf(Value values) {
    double count = static_cast<double>(
        cast<RankedTensorType>(x_.getType()).getNumElements());
    return b_.reshape(b_.mul(b_.sum(values, all_), 1 / count), {});
  }

  /// The loss of classes by index, for scores or logarithms of probabilities.
  FailureOr<Value> ofClasses(bool areLogs) {
    ArrayRef<int64_t> shape = shapeOf(x_);
    int64_t axis = options_.classAxis, rank = shape.size();
    if (axis < 0)
      axis += rank;
    if (axis < 0 || axis >= rank)
      return fail("expected a class-axis inside of the output's rank " +
                  Twine(rank) + ", got: " + Twine(options_.classAxis));
    double smoothing = options_.labelSmoothing;
    if (!(smoothing >= 0 && smoothing < 1))
      return fail("expected label-smoothing in [0, 1), got: " +
                  llvm::formatv("{0}", smoothing).str());
    Shape labelShape(shape);
    labelShape.erase(labelShape.begin() + axis);
    Type index = builder_.getI64Type();
    FailureOr<Value> label =
        createLabel(RankedTensorType::get(labelShape, index));
    if (failed(label))
      return failure();
    Value logs = x_;
    if (!areLogs)
      logs = named(builder_.create<SoftmaxOp>(loc_, x_.getType(), x_, axis,
                                              /*log=*/true));
    Value perClass = weighted(logs, *label, axis);
    int64_t samples = 1;
    for (int64_t size : labelShape)
      samples *= size;
    if (!options_.ignoreIndex)
      return b_.reshape(
          b_.mul(b_.sum(perClass, all_), -1.0 / static_cast<double>(samples)),
          {});
    // What counts is 1, the rest is 0.
    auto ignored = builder_.create<ConstantOp>(
        loc_, DenseElementsAttr::get(RankedTensorType::get({}, index),
                                     *options_.ignoreIndex));
    setName(ignored, names_.unique("loss.ignored"));
    Value counts = b_.compare(Predicate::Ne, *label, ignored);
    Value weight =
        b_.where(counts, b_.scalar(element_, 1), b_.scalar(element_, 0));
    SmallVector<int64_t> labelDims;
    for (int64_t dim = 0; dim + 1 < rank; ++dim)
      labelDims.push_back(dim);
    Value number = b_.reshape(b_.sum(weight, labelDims), {});
    Shape column(shape);
    column[axis] = 1;
    Value sum = b_.reshape(
        b_.sum(b_.mul(perClass, b_.reshape(weight, column)), all_), {});
    return b_.div(b_.unary<NegOp>(sum), number);
  }

  /// Logarithms times the share of the label that their class has.
  Value weighted(Value logs, Value label, int64_t axis) {
    auto hot = [&](Value marks) {
      Type element = cast<RankedTensorType>(marks.getType()).getElementType();
      return named(builder_.create<OneHotOp>(
          loc_, RankedTensorType::get(shapeOf(logs), element), label, marks,
          axis, /*base=*/0, /*table_size=*/nullptr));
    };
    if (double smoothing = options_.labelSmoothing; smoothing > 0) {
      double spread = smoothing / static_cast<double>(shapeOf(logs)[axis]);
      return b_.mul(logs, hot(b_.numbers({2}, element_,
                                         {spread, 1 - smoothing + spread})));
    }
    // Not a product: the logarithm of another class may be infinite.
    auto type = RankedTensorType::get({2}, builder_.getI1Type());
    Value isHot = hot(named(builder_.create<ConstantOp>(
        loc_, DenseElementsAttr::get(type, ArrayRef{false, true}))));
    return b_.where(isHot, logs, b_.scalar(element_, 0));
  }

  template <typename Op>
  Value named(Op op) {
    setName(op, names_.unique("loss.terms"));
    return op.getResult();
  }

  OpBuilder &builder_;
  Location loc_;
  NodeNames &names_;
  Value x_;
  const LossOptions &options_;
  Type element_;
  std::function<std::string(StringRef)> unique_;
  GradientBuilder b_;
  SmallVector<int64_t> all_;
};
} // namespace

FailureOr<Value> soap::nn::buildLoss(OpBuilder &builder, Location loc,
                                     NodeNames &names, Value x,
                                     const LossOptions &options) {
  return LossBuilder(builder, loc, names, x, options).build();
}
