//===- Order.cpp - Places and orders of nn to linalg
//-----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Heap.h"
#include "Patterns.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

static Value number(OpBuilder &builder, Location loc, int64_t value) {
  return builder.create<arith::ConstantIndexOp>(loc, value);
}

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

/// Adds one slice after the other, or element after element where slices have
/// no elements side by side.
struct CumSumLowering : public OpRewritePattern<nn::CumSumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::CumSumOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = tensorType(op.getX()).getShape();
    bool isAlongRows =
        ShapedType::getNumElements(shape.drop_front(op.getAxis() + 1)) == 1;
    rewriter.replaceOp(op, isAlongRows ? addElements(rewriter, op)
                                       : addSlices(rewriter, op));
    return success();
  }

private:
  static Value added(OpBuilder &builder, Location loc, Value a, Value b) {
    if (isa<FloatType>(a.getType()))
      return builder.create<arith::AddFOp>(loc, a, b);
    return builder.create<arith::AddIOp>(loc, a, b);
  }

  /// A loop along the axis, in which `body` gets the index, the sum so far and
  /// the result so far, and makes the next ones. Returns the result.
  static Value
  alongAxis(OpBuilder &builder, Location loc, nn::CumSumOp op, Value zero,
            Value all,
            llvm::function_ref<scf::ValueVector(OpBuilder &, Value, ValueRange)>
                body) {
    int64_t size = tensorType(op.getX()).getDimSize(op.getAxis());
    auto loop = builder.create<scf::ForOp>(
        loc, number(builder, loc, 0), number(builder, loc, size),
        number(builder, loc, 1), ValueRange{zero, all},
        [&](OpBuilder &nested, Location, Value step, ValueRange state) {
          if (op.getReverse())
            step = nested.create<arith::SubIOp>(
                loc, number(nested, loc, size - 1), step);
          nested.create<scf::YieldOp>(loc, body(nested, step, state));
        });
    return loop.getResult(1);
  }

  static Value addElements(OpBuilder &builder, nn::CumSumOp op) {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getX());
    Value output = empty(builder, loc, type.getShape(), type.getElementType());
    SmallVector<Value> lows, highs, steps;
    for (int64_t dim = 0; dim != type.getRank(); ++dim) {
      lows.push_back(number(builder, loc, 0));
      highs.push_back(number(builder, loc,
                             dim == static_cast<int64_t>(op.getAxis())
                                 ? 1
                                 : type.getDimSize(dim)));
      steps.push_back(number(builder, loc, 1));
    }
    auto row = [&](OpBuilder &nested, Location, ValueRange at,
                   ValueRange state) -> scf::ValueVector {
      SmallVector<Value> position(at);
      Value zero = scalar(nested, loc, type.getElementType(), 0);
      return {alongAxis(
          nested, loc, op, zero, state[0],
          [&](OpBuilder &inner, Value step,
              ValueRange sums) -> scf::ValueVector {
            position[op.getAxis()] = step;
            Value x = inner.create<tensor::ExtractOp>(loc, op.getX(), position);
            Value now = added(inner, loc, sums[0], x);
            return {now, inner.create<tensor::InsertOp>(
                             loc, op.getExclusive() ? sums[0] : now, sums[1],
                             position)};
          })};
    };
    return scf::buildLoopNest(builder, loc, lows, highs, steps, output, row)
        .results.front();
  }

  static Value addSlices(OpBuilder &builder, nn::CumSumOp op) {
    Location loc = op.getLoc();
    RankedTensorType type = tensorType(op.getX());
    Type element = type.getElementType();
    SmallVector<int64_t> shape(type.getShape());
    shape[op.getAxis()] = 1;
    auto slice = RankedTensorType::get(shape, element);
    Value zeros = filled(builder, loc, shape, scalar(builder, loc, element, 0));
    Value output = empty(builder, loc, type.getShape(), element);
    SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0)),
        strides(shape.size(), builder.getIndexAttr(1)), sizes;
    for (int64_t extent : shape)
      sizes.push_back(builder.getIndexAttr(extent));
    SmallVector<AffineMap> maps(3,
                                builder.getMultiDimIdentityMap(type.getRank()));
    SmallVector<Iterator> iterators(type.getRank(), Iterator::parallel);
    auto next = [&](OpBuilder &nested, Value step,
                    ValueRange state) -> scf::ValueVector {
      offsets[op.getAxis()] = step;
      Value x = nested.create<tensor::ExtractSliceOp>(loc, slice, op.getX(),
                                                      offsets, sizes, strides);
      Value here = nested.create<tensor::ExtractSliceOp>(
          loc, slice, state[1], offsets, sizes, strides);
      auto sums = nested.create<linalg::GenericOp>(
          loc, TypeRange{slice, slice}, x, ValueRange{state[0], here}, maps,
          iterators, [&](OpBuilder &inner, Location, ValueRange e) {
            Value now = added(inner, loc, e[1], e[0]);
            inner.create<linalg::YieldOp>(
                loc, ValueRange{now, op.getExclusive() ? e[1] : now});
          });
      return {sums.getResult(0),
              nested.create<tensor::InsertSliceOp>(
                  loc, sums.getResult(1), state[1], offsets, sizes, strides)};
    };
    return alongAxis(builder, loc, op, zeros, output, next);
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

/// Insertion into a sorted list: an element that comes before the last entry
/// goes to its place, and those behind it move by one. Long lists are taken
/// from a heap of all elements in place of that.
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
    SmallVector<Value> lists = {values, places};
    bool takesHeap = usesHeap(sizeOf(op), countOf(op));
    if (takesHeap)
      lists.push_back(
          empty(rewriter, loc, x.getShape(), rewriter.getI32Type()));
    // All rows, then the elements of a row.
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < x.getRank(); ++dim)
      if (dim != axis)
        dims.push_back(dim);
    SmallVector<Value> lows, highs, steps;
    for (unsigned dim : dims) {
      lows.push_back(number(rewriter, loc, 0));
      highs.push_back(number(rewriter, loc, x.getDimSize(dim)));
      steps.push_back(number(rewriter, loc, 1));
    }
    auto body = [&](OpBuilder &builder, Location location, ValueRange counters,
                    ValueRange lists) -> scf::ValueVector {
      SmallVector<Value> at(x.getRank());
      for (auto [dim, counter] : llvm::zip_equal(dims, counters))
        at[dim] = counter;
      return takesHeap ? takeRow(builder, location, op, at, lists)
                       : insertRow(builder, location, op, at, lists);
    };
    scf::LoopNest nest =
        scf::buildLoopNest(rewriter, loc, lows, highs, steps, lists, body);
    rewriter.replaceOp(
        op, {nest.results[0], asIntegers(rewriter, loc, nest.results[1])});
    return success();
  }

private:
  static int64_t sizeOf(nn::TopKOp op) {
    return tensorType(op.getX()).getDimSize(op.getAxis());
  }
  static int64_t countOf(nn::TopKOp op) {
    return tensorType(op.getValues()).getDimSize(op.getAxis());
  }
  /// `row` with `index` along the axis: a place in x, or in a list.
  static SmallVector<Value> placeOf(nn::TopKOp op, ArrayRef<Value> row,
                                    Value index) {
    SmallVector<Value> place(row);
    place[op.getAxis()] = index;
    return place;
  }

  /// Whether a row of `size` elements is made a heap for a list of `count`:
  /// that looks at every element a few times, where insertion goes through the
  /// list for each element that enters it, which are `count` at least.
  static bool usesHeap(int64_t size, int64_t count) {
    constexpr int64_t fewEntries = 64;
    return count > fewEntries && count / 2 > size / count;
  }

  /// `state`: the lists of values and places, and all elements of the row as a
  /// heap, to begin with empty.
  static scf::ValueVector takeRow(OpBuilder &builder, Location loc,
                                  nn::TopKOp op, ArrayRef<Value> row,
                                  ValueRange state) {
    auto at = [&](Value index) { return placeOf(op, row, index); };
    Heap heap(
        [&](OpBuilder &, Location, Value entry) { return at(entry); },
        [&](OpBuilder &inner, Location, Value a, Value b) -> Value {
          ElementOrder order = {isUnsigned(op), op.getSmallest(), false};
          Value x = inner.create<tensor::ExtractOp>(loc, op.getX(), at(a));
          Value y = inner.create<tensor::ExtractOp>(loc, op.getX(), at(b));
          Value isFirst = comesBefore(inner, loc, x, y, order);
          Value isLater = comesBefore(inner, loc, y, x, order);
          Value isEarlier =
              inner.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a, b);
          // Of equals, the one of the smaller index.
          return inner.create<arith::SelectOp>(
              loc, inner.create<arith::OrIOp>(loc, isFirst, isLater), isFirst,
              isEarlier);
        });
    Value zero = number(builder, loc, 0), one = number(builder, loc, 1),
          all = number(builder, loc, sizeOf(op));
    auto entries = builder.create<scf::ForOp>(
        loc, zero, all, one, state[2],
        [&](OpBuilder &inner, Location, Value i, ValueRange list) {
          inner.create<scf::YieldOp>(loc, heap.put(inner, loc, list[0], i, i));
        });
    Value made = heap.make(builder, loc, entries.getResult(0), all);
    auto taken = builder.create<scf::ForOp>(
        loc, zero, number(builder, loc, countOf(op)), one,
        ValueRange{state[0], state[1], made},
        [&](OpBuilder &inner, Location, Value i, ValueRange lists) {
          Value left = inner.create<arith::SubIOp>(loc, all, i);
          auto [item, rest] = heap.take(inner, loc, lists[2], left);
          Value element =
              inner.create<tensor::ExtractOp>(loc, op.getX(), at(item));
          inner.create<scf::YieldOp>(
              loc,
              ValueRange{
                  inner.create<tensor::InsertOp>(loc, element, lists[0], at(i)),
                  inner.create<tensor::InsertOp>(loc, item, lists[1], at(i)),
                  rest});
        });
    return {taken.getResult(0), taken.getResult(1), taken.getResult(2)};
  }

  /// All elements of a row go into the lists. Most of many do not enter: they
  /// are looked at in groups first, which a processor does at once.
  static scf::ValueVector insertRow(OpBuilder &builder, Location loc,
                                    nn::TopKOp op, ArrayRef<Value> row,
                                    ValueRange lists) {
    constexpr int64_t group = 16;
    int64_t size = sizeOf(op);
    int64_t groups = size / group / 4 < countOf(op) ? 0 : size / group;
    auto insertFrom = [&](OpBuilder &outer, Value from, int64_t elements,
                          ValueRange before) -> scf::ValueVector {
      auto loop = outer.create<scf::ForOp>(
          loc, number(outer, loc, 0), number(outer, loc, elements),
          number(outer, loc, 1), before,
          [&](OpBuilder &inner, Location, Value i, ValueRange state) {
            Value index = inner.create<arith::AddIOp>(loc, from, i);
            inner.create<scf::YieldOp>(
                loc, insert(inner, loc, op, placeOf(op, row, index), state));
          });
      return {loop.getResult(0), loop.getResult(1)};
    };
    scf::ValueVector state(lists.begin(), lists.end());
    if (groups != 0) {
      auto loop = builder.create<scf::ForOp>(
          loc, number(builder, loc, 0), number(builder, loc, groups),
          number(builder, loc, 1), lists,
          [&](OpBuilder &outer, Location, Value i, ValueRange before) {
            Value from =
                outer.create<arith::MulIOp>(loc, i, number(outer, loc, group));
            auto branch = outer.create<scf::IfOp>(
                loc, oneEnters(outer, loc, op, row, from, group, before),
                [&](OpBuilder &inner, Location) {
                  inner.create<scf::YieldOp>(
                      loc, insertFrom(inner, from, group, before));
                },
                [&](OpBuilder &inner, Location) {
                  inner.create<scf::YieldOp>(loc, before);
                });
            outer.create<scf::YieldOp>(loc, branch.getResults());
          });
      state = {loop.getResult(0), loop.getResult(1)};
    }
    int64_t done = groups * group;
    if (done == size)
      return state;
    return insertFrom(builder, number(builder, loc, done), size - done, state);
  }

  /// Whether one of `group` elements of a row, from `from` on, comes before the
  /// last entry of the lists.
  static Value oneEnters(OpBuilder &builder, Location loc, nn::TopKOp op,
                         ArrayRef<Value> row, Value from, int64_t group,
                         ValueRange lists) {
    SmallVector<Value> last =
        placeOf(op, row, number(builder, loc, countOf(op) - 1));
    Value value = builder.create<tensor::ExtractOp>(loc, lists[0], last);
    Value place = builder.create<tensor::ExtractOp>(loc, lists[1], last);
    Value isFree = builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::slt, place, number(builder, loc, 0));
    auto loop = builder.create<scf::ForOp>(
        loc, number(builder, loc, 0), number(builder, loc, group),
        number(builder, loc, 1), isFree,
        [&](OpBuilder &inner, Location, Value i, ValueRange state) {
          Value index = inner.create<arith::AddIOp>(loc, from, i);
          Value element = inner.create<tensor::ExtractOp>(
              loc, op.getX(), placeOf(op, row, index));
          Value enters = comesBefore(inner, loc, element, value,
                                     {isUnsigned(op), op.getSmallest(), false});
          inner.create<scf::YieldOp>(
              loc,
              inner.create<arith::OrIOp>(loc, state[0], enters).getResult());
        });
    return loop.getResult(0);
  }

  /// Element `at` of x goes into the lists of values and places, unless the
  /// last of them comes before it.
  static scf::ValueVector insert(OpBuilder &builder, Location loc,
                                 nn::TopKOp op, ArrayRef<Value> at,
                                 ValueRange lists) {
    Value element = builder.create<tensor::ExtractOp>(loc, op.getX(), at);
    SmallVector<Value> last =
        placeOf(op, at, number(builder, loc, countOf(op) - 1));
    Value enters = precedes(builder, loc, op, element, lists, last);
    auto branch = builder.create<scf::IfOp>(
        loc, enters,
        [&](OpBuilder &nested, Location location) {
          nested.create<scf::YieldOp>(
              location, insertBehind(nested, location, op, element, at, lists,
                                     entriesBefore(nested, location, op,
                                                   element, at, lists)));
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
    Value isFree = builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::slt, place, number(builder, loc, 0));
    return builder.create<arith::OrIOp>(
        loc, isFree,
        comesBefore(builder, loc, element, value,
                    {isUnsigned(op), op.getSmallest(), /*orEqual=*/false}));
  }

  /// How many entries of the lists `element` does not come before: the first
  /// ones, as the lists are sorted.
  static Value entriesBefore(OpBuilder &builder, Location loc, nn::TopKOp op,
                             Value element, ArrayRef<Value> at,
                             ValueRange lists) {
    auto loop = builder.create<scf::ForOp>(
        loc, number(builder, loc, 0), number(builder, loc, countOf(op)),
        number(builder, loc, 1), number(builder, loc, 0),
        [&](OpBuilder &inner, Location, Value entry, ValueRange state) {
          Value isBehind =
              precedes(inner, loc, op, element, lists, placeOf(op, at, entry));
          Value next =
              inner.create<arith::AddIOp>(loc, state[0], number(inner, loc, 1));
          inner.create<scf::YieldOp>(
              loc, inner.create<arith::SelectOp>(loc, isBehind, state[0], next)
                       .getResult());
        });
    return loop.getResult(0);
  }

  /// Puts `element`, with its index in `at`, behind the first `before` entries.
  /// The last entry is lost.
  static scf::ValueVector insertBehind(OpBuilder &builder, Location loc,
                                       nn::TopKOp op, Value element,
                                       ArrayRef<Value> at, ValueRange lists,
                                       Value before) {
    int64_t last = countOf(op) - 1;
    Value moved =
        builder.create<arith::SubIOp>(loc, number(builder, loc, last), before);
    auto loop = builder.create<scf::ForOp>(
        loc, number(builder, loc, 0), moved, number(builder, loc, 1), lists,
        [&](OpBuilder &inner, Location, Value i, ValueRange state) {
          Value to =
              inner.create<arith::SubIOp>(loc, number(inner, loc, last), i);
          Value from =
              inner.create<arith::SubIOp>(loc, to, number(inner, loc, 1));
          SmallVector<Value> results;
          for (Value list : state)
            results.push_back(inner.create<tensor::InsertOp>(
                loc,
                inner.create<tensor::ExtractOp>(loc, list,
                                                placeOf(op, at, from)),
                list, placeOf(op, at, to)));
          inner.create<scf::YieldOp>(loc, results);
        });
    SmallVector<Value> place = placeOf(op, at, before);
    return {builder.create<tensor::InsertOp>(loc, element, loop.getResult(0),
                                             place),
            builder.create<tensor::InsertOp>(loc, at[op.getAxis()],
                                             loop.getResult(1), place)};
  }
};
} // namespace

void linalg_lowering::populateOrderPatterns(RewritePatternSet &patterns) {
  patterns.add<ArgLowering<nn::ArgMaxOp>, ArgLowering<nn::ArgMinOp>,
               CumSumLowering, TriluLowering, OneHotLowering, TopKLowering>(
      patterns.getContext());
}
