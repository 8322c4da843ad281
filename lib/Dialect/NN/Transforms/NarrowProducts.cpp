//===- NarrowProducts.cpp - Products of 8-bit integers --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With U = A + a and S = B + b, integers of 8 bits and their zero points:
//
//   sum A B = sum U S - a sum B - b sum U
//
// where sums run over what a product sums, and, of a convolution, over the
// positions inside of the data. All is modulo 2^32, as i32 wraps around.
//
//===----------------------------------------------------------------------===//

#include "ByteFactors.h"
#include "NamedBuilder.h"
#include "Unread.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "soap/Testing/PlantedFault.h"

namespace soap::nn {
#define GEN_PASS_DEF_NARROWPRODUCTSPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

namespace {
/// How a convolution moves over its data.
struct Window {
  SmallVector<int64_t> lo, hi; ///< Pads.
  ArrayRef<int64_t> strides, dilations, result;
  SmallVector<int64_t> data; ///< The shape of the data.
};

/// Replaces products of one function.
class Narrowing : NamedBuilder {
public:
  using NamedBuilder::NamedBuilder;

  bool narrow(Operation *product);

private:
  Type i32() { return builder_.getI32Type(); }

  /// `number` as every element of a constant.
  Value number(const Twine &name, ArrayRef<int64_t> shape, Type element,
               int64_t number) {
    auto type = RankedTensorType::get(shape, element);
    auto value = DenseElementsAttr::get(
        type, APInt(element.getIntOrFloatBitWidth(), number, true));
    auto op = builder_.create<ConstantOp>(loc_, value);
    setName(op, names_.unique(name.str()));
    return op.getResult();
  }
  /// The sum of `value` along `axes`, which stay with size 1.
  Value summed(const Twine &name, Value value, ArrayRef<int64_t> axes) {
    SmallVector<int64_t> shape(shapeOf(value));
    for (int64_t axis : axes)
      shape[axis] = 1;
    return create<ReduceOp>(name, rankedTypeOf(value).clone(shape), value,
                            ReduceKind::Sum, axes, /*keepdims=*/true,
                            APFloat(1.0f));
  }

  void setSign(ByteFactor &factor, bool isSigned);
  Value zeroOf(const ByteFactor &factor, const Twine &name);
  void pad(ByteFactor &data, Window &window);
  Value convolution(const Twine &name, Value data, Value weight,
                    const Window &window);
  Value sumsOfWeights(const Window &window, Value weight);
  Value narrowed(ConvOp conv, ByteFactor &a, ByteFactor &b);
  Value narrowed(MatMulOp matmul, ByteFactor &a, ByteFactor &b);

  /// Sets the terms that are added to the product to a bias of this shape.
  void addBias(Value bias, ArrayRef<int64_t> shape) {
    if (bias)
      terms_ = reshaped(name_ + ".bias", bias, shape);
  }
  void subtract(Value zero, Value sums) {
    if (SOAP_FAULT("zero-term-lost"))
      return;
    Value term = join<MulOp>(name_ + ".zero_term", sums, zero);
    Value none = terms_ ? terms_ : number(name_ + ".no_bias", {}, i32(), 0);
    terms_ = join<SubOp>(name_ + ".terms", none, term);
  }
  Value addTerms(Value sum) {
    return terms_ ? join<AddOp>(name_ + ".sum", sum, terms_) : sum;
  }

  std::string name_; ///< Of the product.
  Value terms_;      ///< What is added to it, of parameters alone as a rule.
  /// 8-bit integers with their highest bit turned over.
  llvm::DenseMap<Value, Value> turned_;
};
} // namespace

/// Makes the bytes of a factor signed or not.
void Narrowing::setSign(ByteFactor &factor, bool isSigned) {
  Type element = rankedTypeOf(factor.bytes).getElementType();
  if (isUnsigned(element) != isSigned)
    return;
  std::string name =
      (nn::getName(factor.bytes.getDefiningOp()) + ".turned").str();
  Value &turned = turned_[factor.bytes];
  if (!turned) {
    OpBuilder::InsertionGuard guard(builder_);
    Operation *source = factor.bytes.getDefiningOp();
    builder_.setInsertionPointAfter(source);
    Value bit = number(name + "_bit", {}, element, isSigned ? 128 : -128);
    Value bits = join<XorOp>(name + "_bits", factor.bytes, bit);
    Type other = isSigned ? builder_.getI8Type()
                          : builder_.getIntegerType(8, /*isSigned=*/false);
    turned = create<BitCastOp>(name, rankedTypeOf(bits).clone(other), bits);
  }
  factor.bytes = turned;
  int64_t moved = isSigned ? -128 : 128;
  if (factor.known)
    *factor.known += moved;
  else
    factor.zero = join<AddOp>(name_ + ".zero", factor.zero,
                              number(name_ + ".moved", {}, i32(), moved));
}

Value Narrowing::zeroOf(const ByteFactor &factor, const Twine &name) {
  return factor.known ? number(name, {}, i32(), *factor.known) : factor.zero;
}

/// Puts the zero point around the data, where the window has pads and they do
/// not stand for 0; the window has none then.
void Narrowing::pad(ByteFactor &data, Window &window) {
  auto isZero = [](int64_t pad) { return pad == 0; };
  if (data.isZero() || !data.known || *data.known < 0 || *data.known > 255 ||
      (llvm::all_of(window.lo, isZero) && llvm::all_of(window.hi, isZero)))
    return;
  SmallVector<int64_t> shape(shapeOf(data.bytes)), before(2, 0), behind(2, 0);
  before.append(window.lo);
  behind.append(window.hi);
  for (auto [size, first, last] : llvm::zip_equal(shape, before, behind))
    size += first + last;
  RankedTensorType type = rankedTypeOf(data.bytes).clone(shape);
  data.bytes = create<PadOp>(
      name_ + ".padded", type, data.bytes, before, behind,
      builder_.getIntegerAttr(type.getElementType(), *data.known));
  window.lo.assign(window.lo.size(), 0);
  window.hi.assign(window.hi.size(), 0);
}

/// A convolution with `window` in as many groups as the weights say.
Value Narrowing::convolution(const Twine &name, Value data, Value weight,
                             const Window &window) {
  SmallVector<int64_t> shape(window.result);
  shape[0] = shapeOf(data)[0];
  shape[1] = shapeOf(weight)[0];
  return create<ConvOp>(name, RankedTensorType::get(shape, i32()), data, weight,
                        /*bias=*/Value(), window.strides, window.dilations,
                        window.lo, window.hi,
                        shapeOf(data)[1] / shapeOf(weight)[1]);
}

/// What a convolution with `window` sums of its weights: per channel, and per
/// position where pads leave some of them out.
Value Narrowing::sumsOfWeights(const Window &window, Value weight) {
  SmallVector<int64_t> shape(shapeOf(weight));
  auto isZero = [](int64_t pad) { return pad == 0; };
  if (llvm::all_of(window.lo, isZero) && llvm::all_of(window.hi, isZero)) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(1, shape.size()));
    Value sums = summed(name_ + ".weight_sums", weight, axes);
    SmallVector<int64_t> perChannel(shape.size(), 1);
    perChannel[1] = shape[0];
    return reshaped(name_ + ".sums_by_channel", sums, perChannel);
  }
  SmallVector<int64_t> inside(window.data);
  inside[0] = inside[1] = 1;
  return convolution(name_ + ".weight_sums",
                     number(name_ + ".inside", inside, i32(), 1),
                     summed(name_ + ".sums_by_position", weight, 1), window);
}

/// The product of a convolution without groups unless the zero point of its
/// weights is 0.
Value Narrowing::narrowed(ConvOp conv, ByteFactor &a, ByteFactor &b) {
  Window window{SmallVector<int64_t>(conv.getPadsLo()),
                SmallVector<int64_t>(conv.getPadsHi()),
                conv.getStrides(),
                conv.getDilations(),
                shapeOf(conv.getResult()),
                {}};
  pad(a, window);
  window.data.assign(shapeOf(a.bytes).begin(), shapeOf(a.bytes).end());
  size_t rank = window.data.size();
  Value sum = convolution(name_ + ".bytes", a.bytes, b.bytes, window);
  SmallVector<int64_t> perChannel(rank, 1);
  perChannel[1] = shapeOf(b.bytes)[0];
  addBias(conv.getBias(), perChannel);
  if (!a.isZero())
    subtract(zeroOf(a, name_ + ".data_zero"),
             sumsOfWeights(window, conv.getWeight()));
  sum = addTerms(sum);
  if (b.isZero())
    return sum;
  SmallVector<int64_t> ones(shapeOf(b.bytes));
  ones[0] = 1;
  Value sums = convolution(
      name_ + ".data_sums", a.bytes,
      number(name_ + ".ones", ones, rankedTypeOf(b.bytes).getElementType(), 1),
      window);
  Value zero = zeroOf(b, name_ + ".weight_zero");
  if (shapeOf(zero).size() == rank)
    zero = reshaped(name_ + ".zero_by_channel", zero, perChannel);
  return join<SubOp>(name_ + ".result", sum,
                     join<MulOp>(name_ + ".weight_term", sums, zero));
}

/// The same of a matrix product.
Value Narrowing::narrowed(MatMulOp matmul, ByteFactor &a, ByteFactor &b) {
  Value sum = create<MatMulOp>(
      name_ + ".bytes", rankedTypeOf(matmul.getResult()), a.bytes, b.bytes,
      /*bias=*/Value(), matmul.getTransposeA(), matmul.getTransposeB(),
      APFloat(1.0f));
  addBias(matmul.getBias(), {shapeOf(matmul.getResult()).back()});
  /// The sums of a matrix along k, as rows or columns of the result.
  auto sumsOf = [&](const Twine &name, Value matrix, bool isSecond,
                    bool transposed) {
    SmallVector<int64_t> shape(shapeOf(matrix));
    size_t row = shape.size() - 2, column = shape.size() - 1;
    size_t k = isSecond != transposed ? row : column, other = row + column - k;
    int64_t size = shape[other];
    // Of a square matrix, sums along the other axis have the same shape.
    if (SOAP_FAULT("zero-sums-turned") && shape[k] == size)
      std::swap(k, other);
    Value sums = summed(name, matrix, k);
    shape[row] = shape[column] = 1;
    shape[isSecond ? column : row] = size;
    return reshaped(name + "_turned", sums, shape);
  };
  if (!a.isZero())
    subtract(zeroOf(a, name_ + ".first_zero"),
             sumsOf(name_ + ".second_sums", matmul.getB(), true,
                    matmul.getTransposeB()));
  sum = addTerms(sum);
  if (b.isZero())
    return sum;
  Value sums = sumsOf(name_ + ".first_sums",
                      castTo(name_ + ".first_wide", a.bytes, i32()), false,
                      matmul.getTransposeA());
  return join<SubOp>(name_ + ".result", sum,
                     join<MulOp>(name_ + ".second_term", sums,
                                 zeroOf(b, name_ + ".second_zero")));
}

bool Narrowing::narrow(Operation *product) {
  std::optional<ByteFactor> a = matchByteFactor(product->getOperand(0));
  std::optional<ByteFactor> b = matchByteFactor(product->getOperand(1));
  if (!a || !b || !canMultiplyBytes(product, *a, *b))
    return false;
  name_ = nn::getName(product).str();
  setInsertionPoint(product);
  terms_ = nullptr;
  setSign(*a, /*isSigned=*/false);
  setSign(*b, /*isSigned=*/true);
  auto conv = dyn_cast<ConvOp>(product);
  Value result =
      conv ? narrowed(conv, *a, *b) : narrowed(cast<MatMulOp>(product), *a, *b);
  // The result is called as it was.
  product->getResult(0).replaceAllUsesWith(result);
  setName(result.getDefiningOp(), name_);
  return true;
}

namespace {
struct NarrowProductsPass
    : soap::nn::impl::NarrowProductsPassBase<NarrowProductsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function.isPrivate())
      return;
    Narrowing narrowing(function);
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      bool isOfI32 =
          isa<ConvOp, MatMulOp>(op) &&
          rankedTypeOf(op.getOperand(0)).getElementType().isInteger(32);
      if (!isOfI32 || op.hasAttr("soap.config") ||
          !getGroupLeader(&op).empty() || !narrowing.narrow(&op))
        continue;
      ++numProducts;
      eraseUnread(&op);
    }
    leaveLostGroups(function.front());
  }
};
} // namespace
