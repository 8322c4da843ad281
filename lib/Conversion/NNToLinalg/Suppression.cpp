//===- Suppression.cpp - Selection of boxes to loops ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy selection, as it is defined: the box that comes next by its score is
// compared with those that are selected. The boxes that are left are a heap, so
// that those that nobody asks for are never sorted.
//
//===----------------------------------------------------------------------===//

#include "Heap.h"
#include "Patterns.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using F = arith::CmpFPredicate;
using I = arith::CmpIPredicate;

namespace {
/// A box by its lower and upper bounds, and its area.
struct Corners {
  Value lo[2], hi[2], area;
};

/// Builds the loops of one image and one class. Lists are of all images and
/// classes, so that these do not depend on each other.
struct Selection {
  OpBuilder &builder;
  Location loc;
  mutable nn::NonMaxSuppressionOp op; ///< Its accessors are not const.
  Value image, group;

  Value index(int64_t value) const {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  }
  Value flag(bool value) const {
    return scalar(builder, loc, builder.getI1Type(), value);
  }
  template <typename Op>
  Value make(Value a, Value b) const {
    return builder.create<Op>(loc, a, b);
  }
  Value holds(F predicate, Value a, Value b) const {
    return builder.create<arith::CmpFOp>(loc, predicate, a, b);
  }
  Value holds(I predicate, Value a, Value b) const {
    return builder.create<arith::CmpIOp>(loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return builder.create<arith::SelectOp>(loc, condition, a, b);
  }
  /// Of a box of this image and class.
  SmallVector<Value> place(Value box) const { return {image, group, box}; }
  Value score(Value box) const {
    return builder.create<tensor::ExtractOp>(loc, op.getScores(), place(box));
  }
  Corners corners(Value box) const;
  Value overlaps(const Corners &a, const Corners &b) const;
  Value comesFirst(Value a, Value b) const;
  scf::ValueVector candidates(Value list) const;
  Heap heap() const;
  Value isFree(Value box, Value result, Value selected) const;
  void take(ValueRange state, Value count) const;
  scf::ValueVector takeAll(Value result, Value heap, Value count) const;
};
} // namespace

Corners Selection::corners(Value box) const {
  auto coordinate = [&](int64_t i) -> Value {
    return builder.create<tensor::ExtractOp>(loc, op.getBoxes(),
                                             ValueRange{image, box, index(i)});
  };
  Corners result;
  for (int64_t d = 0; d != 2; ++d) {
    Value a = coordinate(d), b = coordinate(d + 2);
    if (op.getCenterPointBox()) {
      Value half = make<arith::DivFOp>(b, scalar(builder, loc, b.getType(), 2));
      result.lo[d] = make<arith::SubFOp>(a, half);
      result.hi[d] = make<arith::AddFOp>(a, half);
    } else {
      Value isOrdered = holds(F::OLT, a, b);
      result.lo[d] = select(isOrdered, a, b);
      result.hi[d] = select(isOrdered, b, a);
    }
  }
  result.area =
      make<arith::MulFOp>(make<arith::SubFOp>(result.hi[1], result.lo[1]),
                          make<arith::SubFOp>(result.hi[0], result.lo[0]));
  return result;
}

/// Whether the intersection of two boxes, over their union, is above the
/// threshold. Boxes without an area overlap with none.
Value Selection::overlaps(const Corners &a, const Corners &b) const {
  Type type = a.area.getType();
  Value zero = scalar(builder, loc, type, 0);
  Value sides[2], meets = flag(true);
  for (int d = 0; d != 2; ++d) {
    Value lo = select(holds(F::OGT, a.lo[d], b.lo[d]), a.lo[d], b.lo[d]);
    Value hi = select(holds(F::OLT, a.hi[d], b.hi[d]), a.hi[d], b.hi[d]);
    meets = make<arith::AndIOp>(meets, holds(F::OGT, hi, lo));
    sides[d] = make<arith::SubFOp>(hi, lo);
  }
  Value intersection = make<arith::MulFOp>(sides[1], sides[0]);
  Value all =
      make<arith::SubFOp>(make<arith::AddFOp>(a.area, b.area), intersection);
  for (Value area : {intersection, a.area, b.area, all})
    meets = make<arith::AndIOp>(meets, holds(F::OGT, area, zero));
  Value ratio = make<arith::DivFOp>(intersection, all);
  Value threshold =
      scalar(builder, loc, type, op.getIouThreshold().convertToDouble());
  return make<arith::AndIOp>(meets, holds(F::OGT, ratio, threshold));
}

//===----------------------------------------------------------------------===//
// The boxes that are left
//===----------------------------------------------------------------------===//

/// Whether box `a` has a higher score than `b`, or the same one and a smaller
/// index.
Value Selection::comesFirst(Value a, Value b) const {
  Value own = score(a), other = score(b);
  Value isEarlier =
      make<arith::AndIOp>(holds(F::OEQ, own, other), holds(I::slt, a, b));
  return make<arith::OrIOp>(holds(F::OGT, own, other), isEarlier);
}

/// The boxes that take part: a list, and how many.
scf::ValueVector Selection::candidates(Value list) const {
  int64_t boxes = tensorType(op.getScores()).getDimSize(2);
  auto loop = builder.create<scf::ForOp>(
      loc, index(0), index(boxes), index(1), ValueRange{list, index(0)},
      [&](OpBuilder &nested, Location location, Value box, ValueRange state) {
        Selection s{nested, location, op, image, group};
        Value takesPart = s.flag(true);
        if (auto threshold = op.getScoreThreshold()) {
          Value own = s.score(box);
          takesPart = s.holds(F::OGT, own,
                              scalar(nested, location, own.getType(),
                                     threshold->convertToDouble()));
        }
        // One that does not is overwritten.
        Value one = nested.create<arith::IndexCastUIOp>(
            location, nested.getIndexType(), takesPart);
        nested.create<scf::YieldOp>(
            location,
            ValueRange{s.heap().put(nested, location, state[0], state[1], box),
                       s.make<arith::AddIOp>(state[1], one)});
      });
  return {loop.getResult(0), loop.getResult(1)};
}

/// Boxes with the next one first.
Heap Selection::heap() const {
  return Heap(
      [image = image, group = group](OpBuilder &, Location, Value entry) {
        return SmallVector<Value>{image, group, entry};
      },
      [selection = *this](OpBuilder &inner, Location location, Value a,
                          Value b) {
        return Selection{inner, location, selection.op, selection.image,
                         selection.group}
            .comesFirst(a, b);
      });
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// Whether `box` overlaps with none of the first `selected` ones of the result.
Value Selection::isFree(Value box, Value result, Value selected) const {
  Corners own = corners(box);
  auto loop = builder.create<scf::ForOp>(
      loc, index(0), selected, index(1), flag(true),
      [&](OpBuilder &nested, Location location, Value i, ValueRange state) {
        Selection s{nested, location, op, image, group};
        Value meets = s.overlaps(
            own, s.corners(s.heap().get(nested, location, result, i)));
        nested.create<scf::YieldOp>(
            location,
            s.make<arith::AndIOp>(state[0],
                                  s.make<arith::XOrIOp>(meets, s.flag(true))));
      });
  return loop.getResult(0);
}

/// Takes the first one of a heap of `count` boxes. `state`: the result, the
/// heap, and how many are selected; yields what they become.
void Selection::take(ValueRange state, Value count) const {
  Value result = state[0], selected = state[2];
  auto [box, left] = heap().take(builder, loc, state[1], count);
  Value joins = isFree(box, result, selected);
  Value one =
      builder.create<arith::IndexCastUIOp>(loc, builder.getIndexType(), joins);
  result =
      heap().put(builder, loc, result, selected, select(joins, box, index(-1)));
  builder.create<scf::YieldOp>(
      loc, ValueRange{result, left, make<arith::AddIOp>(selected, one)});
}

/// The result with what is selected of a heap of `count` boxes, and the heap.
scf::ValueVector Selection::takeAll(Value result, Value heap,
                                    Value count) const {
  int64_t most = tensorType(result).getDimSize(2);
  auto loop = builder.create<scf::ForOp>(
      loc, index(0), count, index(1), ValueRange{result, heap, index(0)},
      [&](OpBuilder &nested, Location location, Value taken, ValueRange state) {
        Selection s{nested, location, op, image, group};
        Value goesOn = s.holds(I::slt, state[2], s.index(most));
        auto branch = nested.create<scf::IfOp>(
            location, goesOn,
            [&](OpBuilder &deeper, Location at) {
              Selection{deeper, at, op, image, group}.take(
                  state, s.make<arith::SubIOp>(count, taken));
            },
            [&](OpBuilder &deeper, Location at) {
              deeper.create<scf::YieldOp>(at, state);
            });
        nested.create<scf::YieldOp>(location, branch.getResults());
      });
  return {loop.getResult(0), loop.getResult(1)};
}

namespace {
struct NonMaxSuppressionLowering
    : public OpRewritePattern<nn::NonMaxSuppressionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::NonMaxSuppressionOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ArrayRef<int64_t> scores = tensorType(op.getScores()).getShape();
    RankedTensorType type = tensorType(op.getResult());
    Value none = scalar(rewriter, loc, type.getElementType(), -1);
    Value result = filled(rewriter, loc, type.getShape(), none);
    Value lists = empty(rewriter, loc, scores, rewriter.getI32Type());
    auto index = [&](int64_t value) -> Value {
      return rewriter.create<arith::ConstantIndexOp>(loc, value);
    };
    scf::LoopNest nest = scf::buildLoopNest(
        rewriter, loc, {index(0), index(0)},
        {index(scores[0]), index(scores[1])}, {index(1), index(1)},
        {result, lists},
        [&](OpBuilder &builder, Location location, ValueRange at,
            ValueRange state) -> scf::ValueVector {
          Selection selection{builder, location, op, at[0], at[1]};
          scf::ValueVector list = selection.candidates(state[1]);
          Value heap =
              selection.heap().make(builder, location, list[0], list[1]);
          return selection.takeAll(state[0], heap, list[1]);
        });
    rewriter.replaceOp(op, nest.results[0]);
    return success();
  }
};
} // namespace

void linalg_lowering::populateSuppressionPatterns(RewritePatternSet &patterns) {
  patterns.add<NonMaxSuppressionLowering>(patterns.getContext());
}
