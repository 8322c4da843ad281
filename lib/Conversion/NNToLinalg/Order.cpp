//===- Order.cpp - Places and orders of nn to linalg
//-----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

namespace {
/// An order of elements: the largest come first, or the smallest.
struct ElementOrder {
  bool isUnsigned, smallest;
  bool orEqual; ///< The later one of equals comes first.
};
} // namespace

/// Whether `x` comes before `best` of smaller indices: it is larger (smaller if
/// `smallest`) or, of floats, the first NaN. With `orEqual` also if it is
/// equal.
static Value comesBefore(OpBuilder &builder, Location loc, Value x, Value best,
                         ElementOrder order) {
  auto [isUnsigned, smallest, orEqual] = order;
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  if (!isa<FloatType>(x.getType())) {
    I larger = orEqual ? (isUnsigned ? I::uge : I::sge)
                       : (isUnsigned ? I::ugt : I::sgt);
    I smaller = orEqual ? (isUnsigned ? I::ule : I::sle)
                        : (isUnsigned ? I::ult : I::slt);
    return builder.create<arith::CmpIOp>(loc, smallest ? smaller : larger, x,
                                         best);
  }
  F predicate =
      smallest ? (orEqual ? F::ULE : F::ULT) : (orEqual ? F::UGE : F::UGT);
  // Unordered comparisons hold where one is NaN: x must be, if best is.
  Value isBefore = builder.create<arith::CmpFOp>(loc, predicate, x, best);
  Value isNumber = builder.create<arith::CmpFOp>(loc, F::ORD, best, best);
  if (orEqual)
    isNumber = builder.create<arith::OrIOp>(
        loc, isNumber, builder.create<arith::CmpFOp>(loc, F::UNO, x, x));
  return builder.create<arith::AndIOp>(loc, isBefore, isNumber);
}

/// A value that every element comes before or is equal to.
static Value worst(OpBuilder &builder, Location loc, bool smallest,
                   Type element) {
  return neutral(builder, loc,
                 smallest ? nn::ReduceKind::Min : nn::ReduceKind::Max, element);
}

/// Places as i64. Until then they are of type index, and then of a higher rank:
/// two results whose destinations begin as empty tensors of one type would
/// share a buffer.
static Value asIntegers(OpBuilder &builder, Location loc, Value places) {
  Type integer = builder.getI64Type();
  ArrayRef<int64_t> shape = tensorType(places).getShape();
  SmallVector<int64_t> higher(shape);
  higher.insert(higher.begin(), 1);
  Value output = empty(builder, loc, higher, integer);
  Value cast = elementwise(
      builder, loc, reshaped(builder, loc, places, higher), output,
      [&](OpBuilder &nested, Location location, ValueRange e) -> Value {
        return nested.create<arith::IndexCastOp>(location, integer, e[0]);
      });
  return reshaped(builder, loc, cast, shape);
}

namespace {
/// A reduction of pairs: the best element so far, and its index.
template <typename Op>
struct ArgLowering : public OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    constexpr bool smallest = std::is_same_v<Op, nn::ArgMinOp>;
    Location loc = op.getLoc();
    RankedTensorType x = tensorType(op.getX());
    unsigned rank = x.getRank(), axis = op.getAxis();
    SmallVector<int64_t> shape(x.getShape());
    shape.erase(shape.begin() + axis);
    SmallVector<Iterator> iterators(rank, Iterator::parallel);
    iterators[axis] = Iterator::reduction;
    AffineMap all = rewriter.getMultiDimIdentityMap(rank);
    AffineMap kept = all.dropResult(axis);
    Type index = rewriter.getIndexType();
    Value best = filled(rewriter, loc, shape,
                        worst(rewriter, loc, smallest, elementTypeOf(op, 0)));
    Value place = filled(rewriter, loc, shape, scalar(rewriter, loc, index, 0));
    bool last = op.getSelectLast();
    auto pairs = rewriter.create<linalg::GenericOp>(
        loc, TypeRange{best.getType(), place.getType()}, op.getX(),
        ValueRange{best, place}, ArrayRef<AffineMap>{all, kept, kept},
        iterators, [&](OpBuilder &builder, Location location, ValueRange e) {
          Value is = comesBefore(builder, location, e[0], e[1],
                                 {isUnsigned(op), smallest, last});
          Value here = builder.create<linalg::IndexOp>(location, axis);
          builder.create<linalg::YieldOp>(
              location,
              ValueRange{
                  builder.create<arith::SelectOp>(location, is, e[0], e[1]),
                  builder.create<arith::SelectOp>(location, is, here, e[2])});
        });
    Value places = asIntegers(rewriter, loc, pairs.getResult(1));
    rewriter.replaceOp(op, reshaped(rewriter, loc, places,
                                    tensorType(op.getResult()).getShape()));
    return success();
  }
};

/// Adds one slice after the other.
struct CumSumLowering : public OpRewritePattern<nn::CumSumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::CumSumOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getX());
    Type element = type.getElementType();
    int64_t axis = op.getAxis(), size = type.getDimSize(axis);
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 1;
    auto slice = RankedTensorType::get(shape, element);
    auto number = [&](int64_t value) -> Value {
      return rewriter.create<arith::ConstantIndexOp>(loc, value);
    };
    Value zeros =
        filled(rewriter, loc, shape, scalar(rewriter, loc, element, 0));
    Value output = empty(rewriter, loc, type.getShape(), element);
    auto loop = rewriter.create<scf::ForOp>(
        loc, number(0), number(size), number(1), ValueRange{zeros, output});
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    if (op.getReverse())
      step = rewriter.create<arith::SubIOp>(loc, number(size - 1), step);
    SmallVector<OpFoldResult> offsets(shape.size(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> sizes,
        strides(shape.size(), rewriter.getIndexAttr(1));
    for (int64_t extent : shape)
      sizes.push_back(rewriter.getIndexAttr(extent));
    offsets[axis] = step;
    Value x = rewriter.create<tensor::ExtractSliceOp>(loc, slice, op.getX(),
                                                      offsets, sizes, strides);
    Value sum = loop.getRegionIterArg(0), all = loop.getRegionIterArg(1);
    auto insert = [&](Value value) {
      all = rewriter.create<tensor::InsertSliceOp>(loc, value, all, offsets,
                                                   sizes, strides);
    };
    if (op.getExclusive())
      insert(sum);
    sum = elementwise(
        rewriter, loc, x, sum,
        [](OpBuilder &builder, Location location, ValueRange e) -> Value {
          if (isa<FloatType>(e[0].getType()))
            return builder.create<arith::AddFOp>(location, e[1], e[0]);
          return builder.create<arith::AddIOp>(location, e[1], e[0]);
        });
    if (!op.getExclusive())
      insert(sum);
    rewriter.create<scf::YieldOp>(loc, ValueRange{sum, all});
    rewriter.replaceOp(op, loop.getResult(1));
    return success();
  }
};

struct TriluLowering : public OpRewritePattern<nn::TriluOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::TriluOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getX());
    unsigned rank = type.getRank();
    Value output = empty(rewriter, loc, type.getShape(), type.getElementType());
    auto element = [&](OpBuilder &builder, Location location,
                       ValueRange e) -> Value {
      Value row = builder.create<linalg::IndexOp>(location, rank - 2);
      Value column = builder.create<linalg::IndexOp>(location, rank - 1);
      Value distance = builder.create<arith::SubIOp>(location, column, row);
      Value isKept = builder.create<arith::CmpIOp>(
          location,
          op.getUpper() ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle,
          distance,
          builder.create<arith::ConstantIndexOp>(location, op.getDiagonal()));
      return builder.create<arith::SelectOp>(
          location, isKept, e[0],
          scalar(builder, location, type.getElementType(), 0));
    };
    rewriter.replaceOp(op,
                       elementwise(rewriter, loc, op.getX(), output, element));
    return success();
  }
};

struct OneHotLowering : public OpRewritePattern<nn::OneHotOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::OneHotOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getResult());
    unsigned rank = type.getRank(), axis = op.getAxis();
    int64_t size = type.getDimSize(axis);
    AffineMap all = rewriter.getMultiDimIdentityMap(rank);
    SmallVector<AffineMap> maps = {all.dropResult(axis), all};
    SmallVector<Iterator> iterators(rank, Iterator::parallel);
    auto element = [&](OpBuilder &builder, Location location,
                       ValueRange e) -> Value {
      Row row = rowOf(builder, location, e[0], op.getBase(), size,
                      op.getTableSize().value_or(size));
      Value here = builder.create<linalg::IndexOp>(location, axis);
      Value isHere = builder.create<arith::CmpIOp>(
          location, arith::CmpIPredicate::eq, here, row.index);
      isHere = builder.create<arith::AndIOp>(location, isHere, row.isInside);
      auto value = [&](int64_t i) -> Value {
        return builder.create<tensor::ExtractOp>(
            location, op.getValues(),
            ValueRange{builder.create<arith::ConstantIndexOp>(location, i)});
      };
      return builder.create<arith::SelectOp>(location, isHere, value(1),
                                             value(0));
    };
    Value output = empty(rewriter, loc, type.getShape(), type.getElementType());
    rewriter.replaceOp(op, generic(rewriter, loc, op.getIndices(), output,
                                   {maps, iterators}, element));
    return success();
  }
};

/// Insertion into a sorted list: an element goes from the end to its place, as
/// long as it comes before the one that is there.
struct TopKLowering : public OpRewritePattern<nn::TopKOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::TopKOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType x = tensorType(op.getX());
    RankedTensorType type = tensorType(op.getValues());
    unsigned axis = op.getAxis();
    Value values =
        filled(rewriter, loc, type.getShape(),
               worst(rewriter, loc, op.getSmallest(), elementTypeOf(op, 0)));
    Value places = filled(rewriter, loc, type.getShape(),
                          scalar(rewriter, loc, rewriter.getIndexType(), -1));
    // All elements but along the axis, then the elements along it.
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < x.getRank(); ++dim)
      if (dim != axis)
        dims.push_back(dim);
    dims.push_back(axis);
    SmallVector<Value> lows, highs, steps;
    for (unsigned dim : dims) {
      lows.push_back(rewriter.create<arith::ConstantIndexOp>(loc, 0));
      highs.push_back(
          rewriter.create<arith::ConstantIndexOp>(loc, x.getDimSize(dim)));
      steps.push_back(rewriter.create<arith::ConstantIndexOp>(loc, 1));
    }
    auto body = [&](OpBuilder &builder, Location location, ValueRange counters,
                    ValueRange lists) -> scf::ValueVector {
      SmallVector<Value> at(dims.size());
      for (auto [dim, counter] : llvm::zip_equal(dims, counters))
        at[dim] = counter;
      return insert(builder, location, op, at, lists);
    };
    scf::LoopNest nest = scf::buildLoopNest(rewriter, loc, lows, highs, steps,
                                            {values, places}, body);
    rewriter.replaceOp(
        op, {nest.results[0], asIntegers(rewriter, loc, nest.results[1])});
    return success();
  }

private:
  /// Element `at` of x goes into the lists of values and places, unless the
  /// last of them comes before it.
  static scf::ValueVector insert(OpBuilder &builder, Location loc,
                                 nn::TopKOp op, ArrayRef<Value> at,
                                 ValueRange lists) {
    unsigned axis = op.getAxis();
    int64_t count = tensorType(op.getValues()).getDimSize(axis);
    Value element = builder.create<tensor::ExtractOp>(loc, op.getX(), at);
    Value place = at[axis];
    auto number = [&](int64_t value) -> Value {
      return builder.create<arith::ConstantIndexOp>(loc, value);
    };
    SmallVector<Value> last(at);
    last[axis] = number(count - 1);
    Value enters = precedes(builder, loc, op, element, lists, last);
    auto branch = builder.create<scf::IfOp>(
        loc, enters,
        [&](OpBuilder &nested, Location location) {
          Value isShifting = scalar(nested, location, nested.getI1Type(), 0);
          auto loop = nested.create<scf::ForOp>(
              location, number(0), number(count), number(1),
              ValueRange{lists[0], lists[1], element, place, isShifting},
              [&](OpBuilder &inner, Location l, Value entry, ValueRange state) {
                shift(inner, l, op, at, entry, state);
              });
          nested.create<scf::YieldOp>(location,
                                      loop.getResults().take_front(2));
        },
        [&](OpBuilder &nested, Location location) {
          nested.create<scf::YieldOp>(location, lists);
        });
    return {branch.getResult(0), branch.getResult(1)};
  }

  /// Whether `element` comes before the entry `at` of the lists, or the entry
  /// is still free.
  static Value precedes(OpBuilder &builder, Location loc, nn::TopKOp op,
                        Value element, ValueRange lists, ArrayRef<Value> at) {
    Value value = builder.create<tensor::ExtractOp>(loc, lists[0], at);
    Value place = builder.create<tensor::ExtractOp>(loc, lists[1], at);
    Value isFree =
        builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, place,
                                      scalar(builder, loc, place.getType(), 0));
    return builder.create<arith::OrIOp>(
        loc, isFree,
        comesBefore(builder, loc, element, value,
                    {isUnsigned(op), op.getSmallest(), /*orEqual=*/false}));
  }

  /// `state`: both lists, and the element that looks for its place, with its
  /// index; from there on all move by one entry.
  static void shift(OpBuilder &builder, Location loc, nn::TopKOp op,
                    ArrayRef<Value> at, Value entry, ValueRange state) {
    SmallVector<Value> here(at);
    here[op.getAxis()] = entry;
    Value values = state[0], places = state[1], value = state[2],
          place = state[3];
    Value moves = builder.create<arith::OrIOp>(
        loc, state[4], precedes(builder, loc, op, value, state, here));
    Value oldValue = builder.create<tensor::ExtractOp>(loc, values, here);
    Value oldPlace = builder.create<tensor::ExtractOp>(loc, places, here);
    auto select = [&](Value a, Value b) -> Value {
      return builder.create<arith::SelectOp>(loc, moves, a, b);
    };
    values = builder.create<tensor::InsertOp>(loc, select(value, oldValue),
                                              values, here);
    places = builder.create<tensor::InsertOp>(loc, select(place, oldPlace),
                                              places, here);
    builder.create<scf::YieldOp>(
        loc, ValueRange{values, places, select(oldValue, value),
                        select(oldPlace, place), moves});
  }
};
} // namespace

void linalg_lowering::populateOrderPatterns(RewritePatternSet &patterns) {
  patterns.add<ArgLowering<nn::ArgMaxOp>, ArgLowering<nn::ArgMinOp>,
               CumSumLowering, TriluLowering, OneHotLowering, TopKLowering>(
      patterns.getContext());
}
