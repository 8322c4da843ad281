//===- IntegerProducts.cpp - Products of dequantized tensors --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteFactors.h"
#include "NamedBuilder.h"
#include "Unread.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace soap::nn {
#define GEN_PASS_DEF_INTEGERPRODUCTSPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// As many products of two differences of 8-bit integers fit into an i32.
static constexpr int64_t mostSummed = (int64_t{1} << 31) / (255 * 255);

static Type elementTypeOf(Value value) { return getElementTypeOrSelf(value); }

namespace {
/// A factor (bytes - zero) * scale. A null zero is 0.
struct Dequantized {
  Value bytes, zero, scale;
};

/// Replaces products of one function.
class QuantizedRewriter : NamedBuilder {
public:
  using NamedBuilder::NamedBuilder;

  bool rewrite(Operation *product);

private:
  /// One element per channel along dim 1 of `rank`, or the last one of them.
  Value alongResult(StringRef suffix, Value value, size_t rank, bool isConv);
  Value difference(StringRef suffix, const Dequantized &factor);

  std::string name_; ///< Of the product.
};
} // namespace

static std::optional<Dequantized> matchDequantized(Value value) {
  auto scaled = value.getDefiningOp<MulOp>();
  if (!scaled || shapeOf(scaled->getOperand(0)) != shapeOf(value))
    return std::nullopt;
  Dequantized factor;
  factor.scale = scaled->getOperand(1);
  value = scaled->getOperand(0);
  if (auto shifted = value.getDefiningOp<SubOp>()) {
    auto zero = shifted->getOperand(1).getDefiningOp<CastOp>();
    value = shifted->getOperand(0);
    if (!zero || !isByteTensor(zero.getX()) ||
        shapeOf(value) != shapeOf(shifted->getResult(0)))
      return std::nullopt;
    factor.zero = zero.getX();
  }
  auto wide = value.getDefiningOp<CastOp>();
  if (!wide || !isByteTensor(wide.getX()))
    return std::nullopt;
  factor.bytes = wide.getX();
  return factor;
}

/// Whether the scales of both factors can be taken out of the sum, and what is
/// summed fits into an i32.
static bool canRewrite(Operation *product, const Dequantized &a,
                       const Dequantized &b) {
  if (!variesOnlyAlong(a.scale, 0))
    return false;
  if (auto conv = dyn_cast<ConvOp>(product)) {
    ArrayRef<int64_t> weight = shapeOf(conv.getWeight());
    return variesOnlyAlong(b.scale, weight.size()) &&
           ShapedType::getNumElements(weight.drop_front()) <= mostSummed;
  }
  auto matmul = cast<MatMulOp>(product);
  ArrayRef<int64_t> shape = shapeOf(matmul.getA());
  int64_t summed =
      matmul.getTransposeA() ? shape[shape.size() - 2] : shape.back();
  return matmul.getAlpha().isExactlyValue(1.0) && summed <= mostSummed &&
         variesOnlyAlong(b.scale, matmul.getTransposeB() ? 2 : 1);
}

Value QuantizedRewriter::alongResult(StringRef suffix, Value value, size_t rank,
                                     bool isConv) {
  int64_t size = ShapedType::getNumElements(shapeOf(value));
  SmallVector<int64_t> shape;
  if (size != 1 && isConv)
    shape.assign(rank, 1);
  if (size != 1 && isConv)
    shape[1] = size;
  else if (size != 1)
    shape.push_back(size);
  return reshaped(name_ + suffix, value, shape);
}

Value QuantizedRewriter::difference(StringRef suffix,
                                    const Dequantized &factor) {
  Type i32 = builder_.getI32Type();
  Value wide = castTo(name_ + suffix + "_wide", factor.bytes, i32);
  if (!factor.zero)
    return wide;
  return join<SubOp>(name_ + suffix + "_centred", wide,
                     castTo(name_ + suffix + "_zero", factor.zero, i32));
}

bool QuantizedRewriter::rewrite(Operation *product) {
  std::optional<Dequantized> a = matchDequantized(product->getOperand(0));
  std::optional<Dequantized> b = matchDequantized(product->getOperand(1));
  if (!a || !b || !canRewrite(product, *a, *b))
    return false;
  name_ = nn::getName(product).str();
  setInsertionPoint(product);
  Value result = product->getResult(0);
  size_t rank = shapeOf(result).size();
  auto type = RankedTensorType::get(shapeOf(result), builder_.getI32Type());
  Value first = difference(".a", *a), second = difference(".b", *b), sum;
  auto conv = dyn_cast<ConvOp>(product);
  if (conv)
    sum =
        create<ConvOp>(name_ + ".product", type, first, second,
                       /*bias=*/Value(), conv.getStrides(), conv.getDilations(),
                       conv.getPadsLo(), conv.getPadsHi(), conv.getGroups());
  else
    sum = create<MatMulOp>(
        name_ + ".product", type, first, second, /*bias=*/Value(),
        cast<MatMulOp>(product).getTransposeA(),
        cast<MatMulOp>(product).getTransposeB(), APFloat(1.0f));
  Value scale = join<MulOp>(name_ + ".scale",
                            alongResult(".a_scale", a->scale, rank, conv),
                            alongResult(".b_scale", b->scale, rank, conv));
  Value made =
      join<MulOp>(name_ + ".scaled",
                  castTo(name_ + ".wide", sum, elementTypeOf(result)), scale);
  if (product->getNumOperands() > 2)
    made =
        join<AddOp>(name_ + ".biased", made,
                    alongResult(".bias", product->getOperand(2), rank, conv));
  result.replaceAllUsesWith(made);
  setName(made.getDefiningOp(), name_);
  eraseUnread(product);
  return true;
}

namespace {
struct IntegerProductsPass
    : soap::nn::impl::IntegerProductsPassBase<IntegerProductsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function.isPrivate())
      return;
    llvm::StringSet<> leaders;
    for (Operation &op : function.front())
      if (StringRef leader = getGroupLeader(&op); !leader.empty())
        leaders.insert(leader);
    QuantizedRewriter rewriter(function);
    SmallVector<Operation *> products;
    for (Operation &op : function.front())
      if (isa<ConvOp, MatMulOp>(op) &&
          elementTypeOf(op.getOperand(0)).isF32() &&
          !op.hasAttr("soap.config") && getGroupLeader(&op).empty() &&
          !leaders.contains(nn::getName(&op)))
        products.push_back(&op);
    for (Operation *product : products)
      numProducts += rewriter.rewrite(product);
    leaveLostGroups(function.front());
  }
};
} // namespace
