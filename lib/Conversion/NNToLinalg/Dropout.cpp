//===- Dropout.cpp - Random masks to linalg -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox-4x32 (Salmon et al. 2011, section 3.3), once per element, of which the
// first word counts: without state or branches, so that it vectorises.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

namespace {
/// A generator in the body of a linalg.generic.
class Philox {
public:
  Philox(OpBuilder &builder, Location loc, uint64_t key)
      : builder_(builder), loc_(loc), key_(key) {}

  /// The first word of the block of a counter of four words, the lower half of
  /// `low` first.
  Value firstWord(Value low, Value high) {
    constexpr uint32_t multipliers[] = {0xD2511F53, 0xCD9E8D57};
    constexpr uint32_t weyl[] = {0x9E3779B9, 0xBB67AE85};
    constexpr unsigned rounds = 10;
    Value words[] = {lower(low), upper(low), lower(high), upper(high)};
    uint32_t keys[] = {static_cast<uint32_t>(key_),
                       static_cast<uint32_t>(key_ >> 32)};
    for (unsigned round = 0; round < rounds; ++round) {
      auto a = multiply(words[0], multipliers[0]);
      auto b = multiply(words[2], multipliers[1]);
      words[0] = mix(b.second, words[1], keys[0]);
      words[1] = b.first;
      words[2] = mix(a.second, words[3], keys[1]);
      words[3] = a.first;
      keys[0] += weyl[0];
      keys[1] += weyl[1];
    }
    return words[0];
  }

  Value word(uint32_t value) {
    return builder_.create<arith::ConstantOp>(
        loc_, builder_.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

private:
  Value lower(Value wide) {
    return builder_.create<arith::TruncIOp>(loc_, builder_.getI32Type(), wide);
  }
  Value upper(Value wide) {
    Value bits = builder_.create<arith::ConstantOp>(
        loc_, builder_.getI64IntegerAttr(32));
    return lower(builder_.create<arith::ShRUIOp>(loc_, wide, bits));
  }
  /// The lower and the upper word of a product.
  std::pair<Value, Value> multiply(Value a, uint32_t multiplier) {
    Type wide = builder_.getI64Type();
    Value factor = builder_.create<arith::ConstantOp>(
        loc_, builder_.getI64IntegerAttr(multiplier));
    Value product = builder_.create<arith::MulIOp>(
        loc_, builder_.create<arith::ExtUIOp>(loc_, wide, a), factor);
    return {lower(product), upper(product)};
  }
  Value mix(Value a, Value b, uint32_t key) {
    Value mixed = builder_.create<arith::XOrIOp>(loc_, a, b);
    return builder_.create<arith::XOrIOp>(loc_, mixed, word(key));
  }

  OpBuilder &builder_;
  Location loc_;
  uint64_t key_;
};

struct DropoutLowering : public OpRewritePattern<nn::DropoutOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The number of an element of the whole value, in row-major order.
  static Value numberOf(OpBuilder &builder, Location loc, nn::DropoutOp op) {
    ArrayRef<int64_t> shape = tensorType(op.getX()).getShape();
    ArrayRef<int64_t> whole = op.getGlobalShape().value_or(shape);
    int64_t origin = 0, stride = 1;
    Type i64 = builder.getI64Type();
    auto number = [&](int64_t value) -> Value {
      return builder.create<arith::ConstantOp>(
          loc, builder.getI64IntegerAttr(value));
    };
    Value sum;
    for (size_t dim = shape.size(); dim-- > 0; stride *= whole[dim]) {
      if (op.getOffsets())
        origin += (*op.getOffsets())[dim] * stride;
      if (shape[dim] == 1)
        continue;
      Value index = builder.create<arith::IndexCastOp>(
          loc, i64, builder.create<linalg::IndexOp>(loc, dim));
      Value term = stride == 1 ? index
                               : Value(builder.create<arith::MulIOp>(
                                     loc, index, number(stride)));
      sum = sum ? Value(builder.create<arith::AddIOp>(loc, sum, term)) : term;
    }
    Value first = number(origin);
    return sum ? Value(builder.create<arith::AddIOp>(loc, sum, first)) : first;
  }

  LogicalResult matchAndRewrite(nn::DropoutOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getX());
    Type element = type.getElementType();
    Value output = empty(rewriter, loc, type.getShape(), element);
    auto build = [&](OpBuilder &builder, Location location,
                     ValueRange elements) -> Value {
      if (!op.getStep())
        return elements[0];
      Philox philox(builder, location, op.getSeed());
      Value word =
          philox.firstWord(numberOf(builder, location, op), elements[1]);
      Value isKept =
          builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::uge,
                                        word, philox.word(op.getThreshold()));
      double factor = 1 / (1 - op.getRatio().convertToDouble());
      Value scaled = builder.create<arith::MulFOp>(
          location, elements[0], scalar(builder, location, element, factor));
      return builder.create<arith::SelectOp>(
          location, isKept, scaled, scalar(builder, location, element, 0));
    };
    unsigned rank = type.getRank();
    SmallVector<AffineMap> maps(op->getNumOperands() + 1,
                                rewriter.getMultiDimIdentityMap(rank));
    if (op.getStep())
      maps[1] = AffineMap::get(rank, 0, {}, rewriter.getContext());
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    rewriter.replaceOp(op, generic(rewriter, loc, op->getOperands(), output,
                                   {maps, iterators}, build));
    return success();
  }
};
} // namespace

void linalg_lowering::populateDropoutPatterns(RewritePatternSet &patterns) {
  patterns.add<DropoutLowering>(patterns.getContext());
}
