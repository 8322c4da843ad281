//===- MaxPoolGradient.cpp - Gradients of maximum pools to linalg ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For every window, the number of its first largest element; then for every
// element of the result the sum of dy over the windows that have it for that.
// Loop bodies have all elements of a window, and write each result once.
//
// With stride s, results i * s to i * s + s - 1 have the same windows, of which
// each result is another element. The innermost loop of row-major tensors would
// divide by s for every result: there, every s-th result has a loop of its own.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

/// Of elements of a window that one loop body reads. Larger windows take
/// several loops.
static constexpr size_t mostElements = 32;

namespace {
/// Along a dimension, or all of them: results are elements `number` of windows
/// that are `moved` behind those with the number of the result. Where a loop
/// divides, the number of the result divided by the stride is meant, and the
/// remainder is part of the element's number.
struct WindowElement {
  int64_t number = 0;
  SmallVector<int64_t, 3> moved;
};

/// Elements of a tensor along the spatial dimensions, `steps` apart.
struct Places {
  SmallVector<int64_t, 3> from, counts, steps;
};

/// Results of one loop.
struct Kind {
  Places places;
  SmallVector<int64_t, 3> windows; ///< How many it has, along each dimension.
  SmallVector<WindowElement> elements;
};

class MaxPoolGradient {
public:
  MaxPoolGradient(OpBuilder &builder, nn::MaxPoolBackwardOp op)
      : builder_(builder), loc_(op.getLoc()), op_(op), kernel_(op.getKernel()),
        strides_(op.getStrides()), dilations_(op.getDilations()),
        spatial_(op.getKernel().size()),
        channelsLast_(op->hasAttr(channelsLastAttr)),
        windows_(tensorType(op.getDy()).getShape().drop_front(2)),
        shape_(tensorType(op.getResult()).getShape()),
        element_(tensorType(op.getResult()).getElementType()) {
    SmallVector<int64_t> elements;
    for (unsigned i = 0; i != spatial_; ++i) {
      int64_t stride = strides_[i];
      bool isInnermost = !channelsLast_ && i + 1 == spatial_;
      bool divides = stride != 1 && dilations_[i] == 1 && !isInnermost;
      divisors_.push_back(divides ? stride : 1);
      steps_.push_back(divides ? 1 : stride);
      int64_t origin =
          op.getPadsLo()[i] + (op.getOffsets() ? (*op.getOffsets())[i] : 0);
      origins_.push_back(origin);
      remainders_.push_back(llvm::mod(origin, divisors_[i]));
      elements.push_back(llvm::alignTo(kernel_[i], divisors_[i]));
    }
    numbering_ = computeStrides(elements);
    number_ =
        builder.getIntegerType(computeProduct(elements) <= INT8_MAX ? 8 : 32);
    findKinds();
    findRims();
  }

  Value build() {
    findLargest();
    Value result =
        empty(builder_, loc_, ordered(shape_.drop_front(2)), element_);
    bool isOne = computeProduct(steps_) == 1;
    for (const Kind &kind : kinds_) {
      Value some = sumOf(kind, isOne ? result : extracted(result, kind.places));
      result = isOne ? some : inserted(some, result, kind.places);
    }
    return reshaped(builder_, loc_, result, shape_);
  }

private:
  using Body =
      llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)>;

  /// What belongs to the samples, the channels and the spatial dimensions, in
  /// the order of a tensor's elements.
  SmallVector<int64_t> ordered(int64_t sample, int64_t channel,
                               ArrayRef<int64_t> spatial) const {
    SmallVector<int64_t> result = {sample};
    llvm::append_range(result, spatial);
    result.insert(channelsLast_ ? result.end() : result.begin() + 1, channel);
    return result;
  }
  /// The shape of a tensor of these sizes along the spatial dimensions.
  SmallVector<int64_t> ordered(ArrayRef<int64_t> spatial) const {
    return ordered(shape_[0], shape_[1], spatial);
  }
  SmallVector<OpFoldResult> numbers(ArrayRef<int64_t> values) const {
    return getAsIndexOpFoldResult(builder_.getContext(), values);
  }
  Value extracted(Value tensor, const Places &places) const {
    return builder_.create<tensor::ExtractSliceOp>(
        loc_, tensor, numbers(ordered(0, 0, places.from)),
        numbers(ordered(places.counts)), numbers(ordered(1, 1, places.steps)));
  }
  Value inserted(Value some, Value tensor, const Places &places) const {
    return builder_.create<tensor::InsertSliceOp>(
        loc_, some, tensor, numbers(ordered(0, 0, places.from)),
        numbers(ordered(places.counts)), numbers(ordered(1, 1, places.steps)));
  }

  /// The number of the spatial dimension's loop.
  unsigned loopOf(unsigned dim) const { return (channelsLast_ ? 1 : 2) + dim; }

  /// A loop over all elements of the outputs, which reads the inputs by
  /// `access`.
  SmallVector<Value> loop(ValueRange inputs, AffineMap access,
                          ValueRange outputs, Body body) const {
    int64_t rank = spatial_ + 2;
    SmallVector<AffineMap> maps(inputs.size(), access);
    maps.append(outputs.size(), builder_.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    auto loops = builder_.create<linalg::GenericOp>(
        loc_, outputs.getTypes(), inputs, outputs, maps, iterators,
        [&](OpBuilder &inner, Location loc, ValueRange elements) {
          inner.create<linalg::YieldOp>(loc, body(inner, loc, elements));
        });
    return llvm::to_vector_of<Value>(loops.getResults());
  }

  void findKinds() {
    for (int64_t k = 0, kinds = computeProduct(steps_); k != kinds; ++k) {
      Kind kind;
      kind.places.from = delinearize(k, computeStrides(steps_));
      kind.places.steps = steps_;
      for (auto [from, size, step] :
           llvm::zip_equal(kind.places.from, shape_.drop_front(2), steps_))
        kind.places.counts.push_back((size - from + step - 1) / step);
      if (llvm::any_of(kind.places.counts,
                       [](int64_t count) { return count <= 0; }))
        continue;
      kind.elements.emplace_back();
      for (unsigned i = 0; i != spatial_; ++i) {
        kind.windows.push_back(
            (kind.places.counts[i] - 1 + remainders_[i]) / divisors_[i] + 1);
        SmallVector<WindowElement> all;
        for (const WindowElement &outer : kind.elements)
          for (const WindowElement &inner : elementsAlong(i, kind)) {
            all.push_back(outer);
            all.back().number += inner.number * numbering_[i];
            all.back().moved.append(inner.moved);
          }
        kind.elements = all;
      }
      kinds_.push_back(std::move(kind));
    }
  }

  /// The elements of windows along dimension `i` that results of the kind may
  /// be, the first one first.
  SmallVector<WindowElement> elementsAlong(unsigned i, const Kind &kind) const {
    SmallVector<WindowElement> result;
    for (int64_t element = 0; element < kernel_[i]; element += divisors_[i]) {
      int64_t start = kind.places.from[i] + origins_[i] - remainders_[i] -
                      element * dilations_[i];
      int64_t moved = start / strides_[i];
      if (moved * strides_[i] == start && moved + kind.windows[i] > 0 &&
          moved < windows_[i])
        result.push_back({element, {moved}});
    }
    return result;
  }

  /// How many windows loops ask for that would be before the first and behind
  /// the last one.
  void findRims() {
    lo_.assign(spatial_, 0);
    hi_.assign(spatial_, 0);
    for (const Kind &kind : kinds_)
      for (const WindowElement &element : kind.elements)
        for (unsigned i = 0; i != spatial_; ++i) {
          int64_t end = element.moved[i] + kind.windows[i];
          lo_[i] = std::max(lo_[i], -element.moved[i]);
          hi_[i] = std::max(hi_[i], end - windows_[i]);
        }
  }

  /// Makes first_ and dy_, with rims of windows that have no largest element.
  void findLargest() {
    SmallVector<int64_t> around;
    for (unsigned i = 0; i != spatial_; ++i)
      around.push_back(lo_[i] + windows_[i] + hi_[i]);
    dy_ = reshaped(builder_, loc_, op_.getDy(), ordered(windows_));
    if (ArrayRef(around) == windows_) {
      first_ = numbersOfLargest(
          {empty(builder_, loc_, ordered(windows_), number_)})[0];
      return;
    }
    Places middle{lo_, llvm::to_vector<3>(windows_),
                  SmallVector<int64_t, 3>(spatial_, 1)};
    Value firsts = filled(builder_, loc_, ordered(around),
                          scalar(builder_, loc_, number_, -1));
    // Nothing takes what is in its rims, as these windows have no element.
    Value gradients = empty(builder_, loc_, ordered(around), element_);
    SmallVector<Value> found = numbersOfLargest(
        {extracted(firsts, middle), extracted(gradients, middle)});
    first_ = inserted(found[0], firsts, middle);
    dy_ = inserted(found[1], gradients, middle);
  }

  /// Writes for every window the number of its first largest element, and dy if
  /// there is a second output.
  SmallVector<Value> numbersOfLargest(SmallVector<Value> outputs) {
    Reach reach{op_.getPadsLo(), windows_, strides_, {}};
    for (unsigned i = 0; i != spatial_; ++i)
      reach.extents.push_back((kernel_[i] - 1) * dilations_[i] + 1);
    Value x = reached(
        builder_, loc_,
        reshaped(builder_, loc_, op_.getX(),
                 ordered(tensorType(op_.getX()).getShape().drop_front(2))),
        reach, neutral(builder_, loc_, nn::ReduceKind::Max, element_),
        loopOf(0));
    SmallVector<Value> elements;
    SmallVector<int64_t> elementNumbers;
    for (int64_t e = 0, all = computeProduct(kernel_); e != all; ++e) {
      SmallVector<int64_t> element = delinearize(e, computeStrides(kernel_));
      elementNumbers.push_back(linearize(element, numbering_));
      Places places{
          {}, llvm::to_vector<3>(windows_), llvm::to_vector<3>(strides_)};
      for (auto [at, dilation] : llvm::zip_equal(element, dilations_))
        places.from.push_back(at * dilation);
      elements.push_back(extracted(x, places));
    }
    bool copies = outputs.size() == 2;
    bool isOneLoop = elements.size() <= mostElements;
    if (!isOneLoop)
      outputs.push_back(empty(builder_, loc_, ordered(windows_), element_));
    for (size_t begin = 0; begin < elements.size(); begin += mostElements) {
      ArrayRef<Value> some = ArrayRef(elements).drop_front(begin);
      some = some.take_front(mostElements);
      SmallVector<Value> inputs(some);
      if (copies)
        inputs.push_back(dy_);
      auto body = [&](OpBuilder &inner, Location loc, ValueRange values) {
        Value number, largest;
        if (begin != 0) {
          number = values[inputs.size()];
          largest = values.back();
        }
        for (size_t i = 0; i != some.size(); ++i) {
          Value here = scalar(inner, loc, number_,
                              static_cast<double>(elementNumbers[begin + i]));
          if (!largest) {
            number = here;
            largest = values[i];
            continue;
          }
          Value isLarger = inner.create<arith::CmpFOp>(
              loc, arith::CmpFPredicate::OGT, values[i], largest);
          number = inner.create<arith::SelectOp>(loc, isLarger, here, number);
          largest =
              inner.create<arith::SelectOp>(loc, isLarger, values[i], largest);
        }
        SmallVector<Value> results = {number};
        if (copies)
          results.push_back(values[some.size()]);
        if (!isOneLoop)
          results.push_back(largest);
        return results;
      };
      outputs = loop(inputs, builder_.getMultiDimIdentityMap(spatial_ + 2),
                     outputs, body);
    }
    return outputs;
  }

  /// The results of a kind, written to `output`.
  Value sumOf(const Kind &kind, Value output) const {
    if (kind.elements.empty())
      return builder_
          .create<linalg::FillOp>(loc_, scalar(builder_, loc_, element_, 0),
                                  output)
          .getResult(0);
    for (size_t begin = 0; begin < kind.elements.size();
         begin += mostElements) {
      ArrayRef<WindowElement> some = ArrayRef(kind.elements).drop_front(begin);
      some = some.take_front(mostElements);
      SmallVector<Value> inputs;
      for (const WindowElement &element : some) {
        Places places{{}, kind.windows, SmallVector<int64_t, 3>(spatial_, 1)};
        for (auto [moved, lo] : llvm::zip_equal(element.moved, lo_))
          places.from.push_back(lo + moved);
        inputs.append({extracted(first_, places), extracted(dy_, places)});
      }
      auto body = [&](OpBuilder &inner, Location loc, ValueRange values) {
        Value sum = begin == 0 ? Value() : values.back();
        Value none = scalar(inner, loc, element_, 0);
        Value remainder = remainderNumber(inner, loc);
        for (auto [i, element] : llvm::enumerate(some)) {
          Value number =
              scalar(inner, loc, number_, static_cast<double>(element.number));
          if (remainder)
            number = inner.create<arith::AddIOp>(loc, number, remainder);
          Value isIt = inner.create<arith::CmpIOp>(
              loc, arith::CmpIPredicate::eq, values[2 * i], number);
          Value share =
              inner.create<arith::SelectOp>(loc, isIt, values[2 * i + 1], none);
          sum = sum ? inner.create<arith::AddFOp>(loc, sum, share) : share;
        }
        return SmallVector<Value>{sum};
      };
      output = loop(inputs, windowAccess(), output, body)[0];
    }
    return output;
  }

  /// The windows that a loop over results reads.
  AffineMap windowAccess() const {
    SmallVector<AffineExpr> exprs;
    for (unsigned dim = 0; dim != spatial_ + 2; ++dim)
      exprs.push_back(builder_.getAffineDimExpr(dim));
    for (unsigned i = 0; i != spatial_; ++i)
      if (divisors_[i] != 1)
        exprs[loopOf(i)] =
            (exprs[loopOf(i)] + remainders_[i]).floorDiv(divisors_[i]);
    return AffineMap::get(spatial_ + 2, 0, exprs, builder_.getContext());
  }

  /// What a result adds to the numbers of its elements of windows; null if no
  /// loop divides.
  Value remainderNumber(OpBuilder &builder, Location loc) const {
    auto index = [&](int64_t value) {
      return builder.create<arith::ConstantIndexOp>(loc, value);
    };
    Value sum;
    for (unsigned i = 0; i != spatial_; ++i) {
      if (divisors_[i] == 1)
        continue;
      Value at = builder.create<linalg::IndexOp>(loc, loopOf(i));
      at = builder.create<arith::AddIOp>(loc, at, index(remainders_[i]));
      at = builder.create<arith::RemUIOp>(loc, at, index(divisors_[i]));
      at = builder.create<arith::MulIOp>(loc, at, index(numbering_[i]));
      sum = sum ? builder.create<arith::AddIOp>(loc, sum, at) : at;
    }
    return sum ? builder.create<arith::IndexCastOp>(loc, number_, sum) : sum;
  }

  OpBuilder &builder_;
  Location loc_;
  nn::MaxPoolBackwardOp op_;
  ArrayRef<int64_t> kernel_, strides_, dilations_;
  unsigned spatial_;
  bool channelsLast_;
  ArrayRef<int64_t> windows_; ///< Along each spatial dimension.
  ArrayRef<int64_t> shape_;   ///< Of the result.
  Type element_;
  Type number_; ///< Of an element in its window; small ones are less to load.
  /// Along each dimension: by what a loop over results divides, and how far the
  /// results of a loop are apart. One of them is the stride, the other 1.
  SmallVector<int64_t, 3> divisors_, steps_;
  /// How far the result is behind the start of the first window, and what is
  /// left of it when it is divided.
  SmallVector<int64_t, 3> origins_, remainders_;
  /// What the number of an element of a window grows by along each dimension.
  SmallVector<int64_t> numbering_;
  SmallVector<Kind> kinds_;
  SmallVector<int64_t, 3> lo_, hi_; ///< Windows that there are not.
  /// The number of the first largest element of every window, or -1, and dy.
  Value first_, dy_;
};

struct MaxPoolBackwardLowering
    : public OpRewritePattern<nn::MaxPoolBackwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::MaxPoolBackwardOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, MaxPoolGradient(rewriter, op).build());
    return success();
  }
};
} // namespace

void linalg_lowering::populateMaxPoolGradientPatterns(
    RewritePatternSet &patterns) {
  patterns.add<MaxPoolBackwardLowering>(patterns.getContext());
}
