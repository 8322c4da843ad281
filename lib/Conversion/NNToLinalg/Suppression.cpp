//===- Suppression.cpp - Selection of boxes to loops ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy selection, box by box: each pass over the boxes that are left takes
// out those that overlap with the box that was selected last, and finds the
// next one. So a box is compared with as many others as are selected.
//
//===----------------------------------------------------------------------===//

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

/// Builds the loops of one image and one class.
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
  Value score(Value box) const {
    return builder.create<tensor::ExtractOp>(loc, op.getScores(),
                                             ValueRange{image, group, box});
  }
  Corners corners(Value box) const;
  Value overlaps(const Corners &a, const Corners &b) const;
  Value candidates(Value left) const;
  scf::ValueVector pass(Value left, Value round, Value last) const;
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

/// Marks the boxes that take part.
Value Selection::candidates(Value left) const {
  int64_t count = tensorType(op.getScores()).getDimSize(2);
  auto loop = builder.create<scf::ForOp>(
      loc, index(0), index(count), index(1), left,
      [&](OpBuilder &nested, Location location, Value box, ValueRange state) {
        Selection inner{nested, location, op, image, group};
        Value takesPart = inner.flag(true);
        if (auto threshold = op.getScoreThreshold()) {
          Value own = inner.score(box);
          takesPart = inner.holds(F::OGT, own,
                                  scalar(nested, location, own.getType(),
                                         threshold->convertToDouble()));
        }
        Value mark = nested.create<arith::ExtUIOp>(location, nested.getI8Type(),
                                                   takesPart);
        nested.create<scf::YieldOp>(
            location, nested
                          .create<tensor::InsertOp>(location, mark, state[0],
                                                    ValueRange{box})
                          .getResult());
      });
  return loop.getResult(0);
}

/// Takes out of `left` what overlaps with box `last`, the one of the round
/// before. Returns what is left and the best of it, or -1.
scf::ValueVector Selection::pass(Value left, Value round, Value last) const {
  Type element = tensorType(op.getScores()).getElementType();
  int64_t count = tensorType(op.getScores()).getDimSize(2);
  Value isLater = holds(I::sgt, round, index(0));
  // In the first round, in which no box was selected before, any box will do.
  Corners reference = corners(select(isLater, last, index(0)));
  auto loop = builder.create<scf::ForOp>(
      loc, index(0), index(count), index(1),
      ValueRange{left, index(-1), scalar(builder, loc, element, 0)},
      [&](OpBuilder &nested, Location location, Value box, ValueRange state) {
        Value mark = nested.create<tensor::ExtractOp>(location, state[0],
                                                      ValueRange{box});
        Value isLeft = nested.create<arith::CmpIOp>(
            location, I::ne, mark, scalar(nested, location, mark.getType(), 0));
        auto branch = nested.create<scf::IfOp>(
            location, isLeft,
            [&](OpBuilder &deeper, Location at) {
              Selection s{deeper, at, op, image, group};
              Value stays = s.make<arith::AndIOp>(
                  isLater, s.overlaps(reference, s.corners(box)));
              stays = s.make<arith::XOrIOp>(stays, s.flag(true));
              Value own = s.score(box);
              Value isBetter =
                  s.make<arith::OrIOp>(s.holds(I::slt, state[1], s.index(0)),
                                       s.holds(F::OGT, own, state[2]));
              isBetter = s.make<arith::AndIOp>(isBetter, stays);
              Value kept =
                  deeper.create<arith::ExtUIOp>(at, deeper.getI8Type(), stays);
              Value marks = deeper.create<tensor::InsertOp>(at, kept, state[0],
                                                            ValueRange{box});
              deeper.create<scf::YieldOp>(
                  at, ValueRange{marks, s.select(isBetter, box, state[1]),
                                 s.select(isBetter, own, state[2])});
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
    Value left = filled(rewriter, loc, scores[2],
                        scalar(rewriter, loc, rewriter.getI8Type(), 0));
    auto index = [&](int64_t value) -> Value {
      return rewriter.create<arith::ConstantIndexOp>(loc, value);
    };
    scf::LoopNest nest = scf::buildLoopNest(
        rewriter, loc, {index(0), index(0)},
        {index(scores[0]), index(scores[1])}, {index(1), index(1)},
        {result, left},
        [&](OpBuilder &builder, Location location, ValueRange at,
            ValueRange state) -> scf::ValueVector {
          Selection selection{builder, location, op, at[0], at[1]};
          Value marked = selection.candidates(state[1]);
          return rounds(selection, state[0], marked, type.getDimSize(2));
        });
    rewriter.replaceOp(op, nest.results[0]);
    return success();
  }

private:
  /// Selects up to `count` boxes; once none is left, the rounds do nothing.
  static scf::ValueVector rounds(const Selection &selection, Value result,
                                 Value left, int64_t count) {
    OpBuilder &builder = selection.builder;
    Location loc = selection.loc;
    auto loop = builder.create<scf::ForOp>(
        loc, selection.index(0), selection.index(count), selection.index(1),
        ValueRange{result, left, selection.index(0)},
        [&](OpBuilder &nested, Location location, Value round,
            ValueRange state) {
          Selection s{nested, location, selection.op, selection.image,
                      selection.group};
          Value goesOn = s.holds(I::sge, state[2], s.index(0));
          auto branch = nested.create<scf::IfOp>(
              location, goesOn,
              [&](OpBuilder &deeper, Location at) {
                store(Selection{deeper, at, s.op, s.image, s.group}, round,
                      state);
              },
              [&](OpBuilder &deeper, Location at) {
                deeper.create<scf::YieldOp>(at, state);
              });
          nested.create<scf::YieldOp>(location, branch.getResults());
        });
    return {loop.getResult(0), loop.getResult(1)};
  }

  /// One round: yields the results, the boxes that are left, and the box that
  /// is selected, or -1.
  static void store(const Selection &s, Value round, ValueRange state) {
    scf::ValueVector found = s.pass(state[1], round, state[2]);
    Value best = found[1];
    Value number = s.builder.create<arith::IndexCastOp>(
        s.loc, s.builder.getI64Type(), best);
    Value result = s.builder.create<tensor::InsertOp>(
        s.loc, number, state[0], ValueRange{s.image, s.group, round});
    // The selected box is not left any more. If no box was selected, none is
    // left, so that marking the first one changes nothing.
    Value place = s.select(s.holds(I::sge, best, s.index(0)), best, s.index(0));
    Value out = scalar(s.builder, s.loc, s.builder.getI8Type(), 0);
    Value left = s.builder.create<tensor::InsertOp>(s.loc, out, found[0],
                                                    ValueRange{place});
    s.builder.create<scf::YieldOp>(s.loc, ValueRange{result, left, best});
  }
};
} // namespace

void linalg_lowering::populateSuppressionPatterns(RewritePatternSet &patterns) {
  patterns.add<NonMaxSuppressionLowering>(patterns.getContext());
}
