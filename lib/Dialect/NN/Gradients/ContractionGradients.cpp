//===- ContractionGradients.cpp - Gradients of products -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using llvm::BitVector;
using Build = GradientBuilder;

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// The gradient of a bias along dimension `dim`: the sum over all others.
static Value biasGradient(Build &b, Value dy, int64_t dim) {
  SmallVector<int64_t> axes;
  for (int64_t i = 0, rank = shapeOf(dy).size(); i < rank; ++i)
    if (i != dim)
      axes.push_back(i);
  return b.reshape(b.sum(dy, axes), shapeOf(dy)[dim]);
}

static MaybeGradients conv(ConvOp op, Build &b, ArrayRef<Value> results,
                           const BitVector &isNeeded) {
  Value dy = results[0];
  LoopNames loops = b.sameLoops();
  Gradients gradients(op->getNumOperands());
  if (isNeeded[0])
    gradients[0] = b.join(b.create<ConvBackwardDataOp>(
                              op.getInput().getType(), dy, op.getWeight(),
                              Value(), op.getStrides(), op.getDilations(),
                              op.getPadsLo(), op.getGroups(), op.getTf32()),
                          loops);
  if (isNeeded[1])
    gradients[1] = b.join(b.create<ConvBackwardFilterOp>(
                              op.getWeight().getType(), op.getInput(), dy,
                              op.getStrides(), op.getDilations(),
                              op.getPadsLo(), op.getGroups(), op.getTf32()),
                          loops);
  if (op.getBias() && isNeeded[2])
    gradients[2] = biasGradient(b, dy, 1);
  return gradients;
}

/// The transposed convolution of dy is the convolution's gradient, and its own
/// is the convolution.
static MaybeGradients convBackwardData(ConvBackwardDataOp op, Build &b,
                                       ArrayRef<Value> results,
                                       const BitVector &isNeeded) {
  Value dz = results[0];
  LoopNames loops = b.sameLoops();
  Gradients gradients(op->getNumOperands());
  if (isNeeded[0]) {
    // What the windows of all elements of dy reach, and no more.
    SmallVector<int64_t> padsHi;
    Shape reached(shapeOf(dz));
    for (auto [i, stride] : llvm::enumerate(op.getStrides())) {
      int64_t extent =
          (shapeOf(op.getWeight())[2 + i] - 1) * op.getDilations()[i] + 1;
      int64_t end = (shapeOf(op.getDy())[2 + i] - 1) * stride + extent -
                    op.getPadsLo()[i];
      reached[2 + i] = std::min(reached[2 + i], std::max<int64_t>(0, end));
      padsHi.push_back(end - reached[2 + i]);
    }
    // A result behind the last window is the bias alone.
    bool isReached = !llvm::is_contained(reached, 0);
    Value x = dz;
    if (isReached && ArrayRef<int64_t>(reached) != shapeOf(dz)) {
      x = b.join(
          b.create<SliceOp>(RankedTensorType::get(reached, elementType(dz)), dz,
                            SmallVector<int64_t>(reached.size(), 0),
                            SmallVector<int64_t>(reached.size(), 1)),
          b.resultAccess());
    }
    if (isReached)
      gradients[0] = b.join(
          b.create<ConvOp>(op.getDy().getType(), x, op.getWeight(), Value(),
                           op.getStrides(), op.getDilations(), op.getPadsLo(),
                           padsHi, op.getGroups(), op.getTf32()),
          loops);
  }
  if (isNeeded[1])
    gradients[1] = b.join(b.create<ConvBackwardFilterOp>(
                              op.getWeight().getType(), dz, op.getDy(),
                              op.getStrides(), op.getDilations(),
                              op.getPadsLo(), op.getGroups(), op.getTf32()),
                          loops);
  if (op.getBias() && isNeeded[2])
    gradients[2] = biasGradient(b, dz, 1);
  return gradients;
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

namespace {
/// Builds the gradients of `y(n, f) = alpha * a(n, k) x b(k, f)`. Loops of the
/// products are those of y's in other roles.
class MatMulGradients {
public:
  MatMulGradients(MatMulOp op, Build &b, Value dy) : op_(op), b_(b), dy_(dy) {}

  /// dy(n, f) x b(k, f), as a is stored.
  Value ofA() {
    auto role = roles("n", "k", "f");
    auto turned = roles("k", "n", "f");
    Value full = op_.getTransposeA()
                     ? product({op_.getB(), op_.getTransposeB()},
                               transposed(dy_), turned)
                     : product({dy_}, {op_.getB(), !op_.getTransposeB()}, role);
    return toOperand(full, 0);
  }

  /// a(n, k) x dy(n, f), as b is stored. Where b is one matrix for all of a
  /// batch, the rows of the whole batch are summed at once.
  Value ofB() {
    Value a = op_.getA(), dy = dy_;
    auto role = roles("k", "f", "n"), turned = roles("f", "k", "n");
    size_t rank = shapeOf(dy).size();
    if (shapeOf(op_.getB()).size() == 2 && rank > 2 && !op_.getTransposeA() &&
        shapeOf(a).drop_back(1) == shapeOf(dy).drop_back(1)) {
      int64_t rows = 1;
      StringRef longest = "n";
      for (int64_t size : shapeOf(dy).drop_back(1))
        rows *= size;
      // Rows run along the first dimension that has several.
      for (size_t dim = 0; dim + 1 < rank; ++dim)
        if (shapeOf(dy)[dim] > 1) {
          longest = b_.spec().loops[dim].name;
          break;
        }
      a = rowsOf(a, rows, longest, "k");
      dy = rowsOf(dy, rows, longest, "f");
      role = {{"n", "k"}, {"f", "f"}, {"k", longest.str()}};
      turned = {{"n", "f"}, {"f", "k"}, {"k", longest.str()}};
    }
    Value full = op_.getTransposeB()
                     ? product(transposed(dy), {a, op_.getTransposeA()}, turned)
                     : product({a, !op_.getTransposeA()}, {dy}, role);
    return toOperand(full, 1);
  }

private:
  /// Loops of a product whose rows, columns and sums run along these loops of
  /// y's.
  LoopNames roles(StringRef rows, StringRef columns, StringRef sums) {
    LoopNames names;
    size_t batch = shapeOf(dy_).size() - 2;
    for (size_t i = 0; i < batch; ++i) {
      std::string name = b_.spec().loops[i].name.str();
      names.push_back({name, name});
    }
    names.push_back({"n", rows.str()});
    names.push_back({"f", columns.str()});
    names.push_back({"k", sums.str()});
    return names;
  }

  Value product(Factor x, Factor y, const LoopNames &loops) {
    ArrayRef<int64_t> a = shapeOf(x.matrix), c = shapeOf(y.matrix);
    Shape shape;
    size_t rank = std::max(a.size(), c.size());
    for (size_t i = rank; i > 2; --i)
      shape.push_back(std::max(i <= a.size() ? a[a.size() - i] : 1,
                               i <= c.size() ? c[c.size() - i] : 1));
    shape.push_back(x.size(0));
    shape.push_back(y.size(1));
    return b_.join(
        b_.create<MatMulOp>(RankedTensorType::get(shape, elementType(x.matrix)),
                            x.matrix, y.matrix, Value(), x.isTransposed,
                            y.isTransposed, op_.getAlpha(), op_.getTf32()),
        loops);
  }

  /// The last dimension and, before it, all others as one.
  Value rowsOf(Value x, int64_t rows, StringRef rowLoop, StringRef lastLoop) {
    return b_.reshape(x, {rows, shapeOf(x).back()},
                      {{"d0", rowLoop.str()}, {"d1", lastLoop.str()}});
  }

  /// `full` summed over the batch dimensions along which an operand was
  /// broadcast.
  Value toOperand(Value full, unsigned index) {
    Value operand = op_->getOperand(index);
    if (full.getType() == operand.getType())
      return full;
    // Its last two dimensions are the operand's, the others are those of y.
    ValueAccess frame = b_.resultAccess();
    const ValueAccess &access = b_.operandAccess(index);
    frame.dims.pop_back_n(2);
    frame.dims.append(access.dims.end() - 2, access.dims.end());
    b_.setFrame(frame);
    Value sum = b_.sumToShape(full, operand.getType());
    b_.setFrame(b_.resultAccess());
    return sum;
  }

  MatMulOp op_;
  Build &b_;
  Value dy_;
};
} // namespace

static MaybeGradients matmul(MatMulOp op, Build &b, ArrayRef<Value> results,
                             const BitVector &isNeeded) {
  MatMulGradients of(op, b, results[0]);
  Gradients gradients(op->getNumOperands());
  if (isNeeded[0])
    gradients[0] = of.ofA();
  if (isNeeded[1])
    gradients[1] = of.ofB();
  if (op.getBias() && isNeeded[2])
    gradients[2] = biasGradient(
        b, results[0], static_cast<int64_t>(shapeOf(results[0]).size()) - 1);
  return gradients;
}

void soap::nn::attachContractionGradients(MLIRContext *context) {
  ConvOp::attachInterface<GradientModel<ConvOp, conv>>(*context);
  ConvBackwardDataOp::attachInterface<
      GradientModel<ConvBackwardDataOp, convBackwardData>>(*context);
  MatMulOp::attachInterface<GradientModel<MatMulOp, matmul>>(*context);
}
