//===- RecurrentLayer.cpp - One direction of a recurrent layer --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecurrentLayer.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

Value Layer::index(int64_t value) {
  return builder.create<arith::ConstantIndexOp>(loc, value);
}

Value Layer::entry(Value tensor, OpFoldResult index) {
  ArrayRef<int64_t> shape = tensorType(tensor).getShape();
  SmallVector<OpFoldResult> offsets(shape.size(), number(0));
  SmallVector<OpFoldResult> sizes, strides(shape.size(), number(1));
  for (int64_t size : shape)
    sizes.push_back(number(size));
  offsets[0] = index;
  sizes[0] = number(1);
  return builder.create<tensor::ExtractSliceOp>(
      loc, RankedTensorType::get(shape.drop_front(), element), tensor, offsets,
      sizes, strides);
}

Value Layer::withEntry(Value tensor, Value value,
                       ArrayRef<OpFoldResult> indices) {
  ArrayRef<int64_t> shape = tensorType(tensor).getShape();
  SmallVector<OpFoldResult> offsets(indices), sizes(indices.size(), number(1));
  SmallVector<OpFoldResult> strides(shape.size(), number(1));
  for (int64_t size : shape.drop_front(indices.size())) {
    offsets.push_back(number(0));
    sizes.push_back(number(size));
  }
  return builder.create<tensor::InsertSliceOp>(loc, value, tensor, offsets,
                                               sizes, strides);
}

Value Layer::part(Value tensor, unsigned dim, int64_t first, int64_t count) {
  SmallVector<int64_t> shape(tensorType(tensor).getShape());
  SmallVector<OpFoldResult> offsets(shape.size(), number(0));
  SmallVector<OpFoldResult> sizes, strides(shape.size(), number(1));
  shape[dim] = count;
  for (int64_t size : shape)
    sizes.push_back(number(size));
  offsets[dim] = number(first);
  return builder.create<tensor::ExtractSliceOp>(
      loc, RankedTensorType::get(shape, element), tensor, offsets, sizes,
      strides);
}

/// A row of the weight stays in the cache while all rows of x meet it.
Value Layer::addProduct(Value x, Value weight, Value sums) {
  unsigned rows = tensorType(x).getRank() - 1;
  auto dim = [&](unsigned i) { return builder.getAffineDimExpr(i); };
  AffineExpr gate = dim(0), unit = dim(1), k = dim(2 + rows);
  SmallVector<AffineExpr> ofX, ofSums;
  for (unsigned i = 0; i < rows; ++i) {
    ofX.push_back(dim(2 + i));
    ofSums.push_back(dim(2 + i));
  }
  ofX.push_back(k);
  ofSums.append({gate, unit});
  MLIRContext *context = builder.getContext();
  SmallVector<AffineMap> maps = {
      AffineMap::get(3 + rows, 0, ofX, context),
      AffineMap::get(3 + rows, 0, {gate, unit, k}, context),
      AffineMap::get(3 + rows, 0, ofSums, context)};
  SmallVector<Iterator> iterators(3 + rows, Iterator::parallel);
  iterators.back() = Iterator::reduction;
  return generic(builder, loc, {x, weight}, sums, {maps, iterators},
                 [](OpBuilder &nested, Location location, ValueRange elements) {
                   return multiplyAdd(nested, location, elements[0],
                                      elements[1], elements[2]);
                 });
}

Value Layer::repeated(Value bias, ArrayRef<int64_t> rows) {
  SmallVector<int64_t> shape(rows), added;
  llvm::append_range(shape, tensorType(bias).getShape());
  for (size_t i = 0; i < rows.size(); ++i)
    added.push_back(i);
  return builder
      .create<linalg::BroadcastOp>(loc, bias,
                                   empty(builder, loc, shape, element), added)
      .getResult()[0];
}

Layer::Input Layer::gate(Value gates, int64_t which) {
  return {gates, AffineMap::get(2, 0,
                                {builder.getAffineDimExpr(0),
                                 builder.getAffineConstantExpr(which),
                                 builder.getAffineDimExpr(1)},
                                builder.getContext())};
}

Layer::Input Layer::row(Value rows, int64_t which) {
  return {rows, AffineMap::get(2, 0,
                               {builder.getAffineConstantExpr(which),
                                builder.getAffineDimExpr(1)},
                               builder.getContext())};
}

Layer::Input Layer::all(Value value) {
  return {value, builder.getMultiDimIdentityMap(2)};
}

Value Layer::update(ArrayRef<Input> inputs, Value output, Value step,
                    ElementBuilder body) {
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  for (auto [value, map] : inputs) {
    values.push_back(value);
    maps.push_back(map);
  }
  if (step && lengths) {
    values.push_back(lengths);
    maps.push_back(AffineMap::get(2, 0, builder.getAffineDimExpr(0)));
  }
  maps.push_back(builder.getMultiDimIdentityMap(2));
  return generic(
      builder, loc, values, output,
      {maps, {Iterator::parallel, Iterator::parallel}},
      [&](OpBuilder &nested, Location location, ValueRange e) -> Value {
        if (!step || !lengths)
          return body(nested, location, e);
        SmallVector<Value> others(e);
        Value length = others[others.size() - 2], old = others.back();
        others.erase(others.end() - 2);
        Value here =
            nested.create<arith::IndexCastOp>(location, length.getType(), step);
        Value runs = nested.create<arith::CmpIOp>(
            location, arith::CmpIPredicate::slt, here, length);
        return nested.create<arith::SelectOp>(
            location, runs, body(nested, location, others), old);
      });
}

SmallVector<Value> Layer::compute(ArrayRef<Input> inputs, size_t numOutputs,
                                  Value step, ElementsBuilder body) {
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  for (auto [value, map] : inputs) {
    values.push_back(value);
    maps.push_back(map);
  }
  bool isMasked = step && lengths;
  if (isMasked) {
    values.push_back(lengths);
    maps.push_back(AffineMap::get(2, 0, builder.getAffineDimExpr(0)));
  }
  size_t numInputs = inputs.size();
  maps.append(numOutputs, builder.getMultiDimIdentityMap(2));
  SmallVector<Value> outputs;
  for (size_t i = 0; i != numOutputs; ++i)
    outputs.push_back(empty(builder, loc, {batch, hidden}, element));
  SmallVector<Iterator> iterators(2, Iterator::parallel);
  auto op = builder.create<linalg::GenericOp>(
      loc, ValueRange(outputs).getTypes(), values, outputs, maps, iterators,
      [&](OpBuilder &nested, Location location, ValueRange e) {
        Value runs;
        if (isMasked) {
          Value here = nested.create<arith::IndexCastOp>(
              location, e[numInputs].getType(), step);
          runs = nested.create<arith::CmpIOp>(
              location, arith::CmpIPredicate::slt, here, e[numInputs]);
        }
        nested.create<linalg::YieldOp>(
            location, body(nested, location, e.take_front(numInputs), runs));
      });
  return SmallVector<Value>(op.getResults());
}

SmallVector<Value> Layer::forEachStep(
    int64_t direction, bool isBack, ArrayRef<Value> values,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> step) {
  auto loop =
      builder.create<scf::ForOp>(loc, index(0), index(steps), index(1), values);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value at = loop.getInductionVar();
  if ((isReverse || direction == 1) != isBack)
    at = builder.create<arith::SubIOp>(loc, index(steps - 1), at);
  builder.create<scf::YieldOp>(loc, step(at, loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value>
Layer::run(int64_t direction, SmallVector<Value> states, Value &hiddens,
           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> step) {
  states.push_back(hiddens);
  SmallVector<Value> last = forEachStep(
      direction, /*isBack=*/false, states, [&](Value at, ValueRange values) {
        SmallVector<Value> next = step(at, values.drop_back());
        next.push_back(withEntry(values.back(), next.front(),
                                 {OpFoldResult(at), number(direction)}));
        return next;
      });
  hiddens = last.pop_back_val();
  return last;
}

/// ONNX's activations, of one number.
static Value activation(OpBuilder &builder, Location loc, Value x,
                        nn::ActivationKind kind, double alpha, double beta) {
  Type type = x.getType();
  auto number = [&](double value) { return scalar(builder, loc, type, value); };
  auto add = [&](Value a, Value b) -> Value {
    return builder.create<arith::AddFOp>(loc, a, b);
  };
  auto mul = [&](Value a, Value b) -> Value {
    return builder.create<arith::MulFOp>(loc, a, b);
  };
  auto exp = [&](Value a) -> Value {
    return builder.create<math::ExpOp>(loc, a);
  };
  /// `a` where x `predicate` bound holds, else `b`.
  auto choose = [&](arith::CmpFPredicate predicate, double bound, Value a,
                    Value b) -> Value {
    Value holds =
        builder.create<arith::CmpFOp>(loc, predicate, x, number(bound));
    return builder.create<arith::SelectOp>(loc, holds, a, b);
  };
  using P = arith::CmpFPredicate;
  using K = nn::ActivationKind;
  switch (kind) {
  case K::Relu:
    return choose(P::OLT, 0, number(0), x);
  case K::Tanh:
    return builder.create<math::TanhOp>(loc, x);
  case K::Sigmoid:
    return sigmoid(builder, loc, x);
  case K::Affine:
    return add(mul(number(alpha), x), number(beta));
  case K::LeakyRelu:
    return choose(P::OLT, 0, mul(number(alpha), x), x);
  case K::ThresholdedRelu:
    return choose(P::OLT, alpha, number(0), x);
  case K::ScaledTanh:
    return mul(number(alpha),
               builder.create<math::TanhOp>(loc, mul(number(beta), x)));
  case K::HardSigmoid: {
    Value line = add(mul(number(alpha), x), number(beta));
    Value low = builder.create<arith::MaximumFOp>(loc, line, number(0));
    return builder.create<arith::MinimumFOp>(loc, low, number(1));
  }
  case K::Elu:
    return choose(P::OLT, 0, mul(number(alpha), add(exp(x), number(-1))), x);
  case K::Softsign: {
    Value magnitude = builder.create<math::AbsFOp>(loc, x);
    return builder.create<arith::DivFOp>(loc, x, add(number(1), magnitude));
  }
  case K::Softplus: {
    // log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), which does not overflow.
    Value magnitude = builder.create<math::AbsFOp>(loc, x);
    Value small = exp(builder.create<arith::NegFOp>(loc, magnitude));
    return add(choose(P::OLT, 0, number(0), x),
               builder.create<math::Log1pOp>(loc, small));
  }
  }
  return x;
}

/// The derivative of an activation at x, where its value is y. Where there is
/// none: 0 for Relu and HardSigmoid, else what it is to the right.
static Value slope(OpBuilder &builder, Location loc, Value x, Value y,
                   nn::ActivationKind kind, double alpha, double beta) {
  Type type = x.getType();
  auto number = [&](double value) { return scalar(builder, loc, type, value); };
  auto sub = [&](Value a, Value b) -> Value {
    return builder.create<arith::SubFOp>(loc, a, b);
  };
  auto mul = [&](Value a, Value b) -> Value {
    return builder.create<arith::MulFOp>(loc, a, b);
  };
  auto choose = [&](arith::CmpFPredicate predicate, Value value, double bound,
                    Value a, Value b) -> Value {
    Value holds =
        builder.create<arith::CmpFOp>(loc, predicate, value, number(bound));
    return builder.create<arith::SelectOp>(loc, holds, a, b);
  };
  using P = arith::CmpFPredicate;
  using K = nn::ActivationKind;
  switch (kind) {
  case K::Relu:
    return choose(P::OGT, x, 0, number(1), number(0));
  case K::Tanh:
    return sub(number(1), mul(y, y));
  case K::Sigmoid:
    return mul(y, sub(number(1), y));
  case K::Affine:
    return number(alpha);
  case K::LeakyRelu:
    return choose(P::OLT, x, 0, number(alpha), number(1));
  case K::ThresholdedRelu:
    return choose(P::OLT, x, alpha, number(0), number(1));
  case K::ScaledTanh: {
    Value t = builder.create<math::TanhOp>(loc, mul(number(beta), x));
    return mul(number(alpha * beta), sub(number(1), mul(t, t)));
  }
  case K::HardSigmoid: {
    Value isAbove = choose(P::OGT, y, 0, number(alpha), number(0));
    return choose(P::OLT, y, 1, isAbove, number(0));
  }
  case K::Elu:
    return choose(P::OLT, x, 0,
                  mul(number(alpha), builder.create<math::ExpOp>(loc, x)),
                  number(1));
  case K::Softsign: {
    Value magnitude = builder.create<math::AbsFOp>(loc, x);
    Value sum = builder.create<arith::AddFOp>(loc, magnitude, number(1));
    return builder.create<arith::DivFOp>(loc, number(1), mul(sum, sum));
  }
  case K::Softplus:
    return sigmoid(builder, loc, x);
  }
  return x;
}

std::pair<Value, Value> Layer::activateWithSlope(OpBuilder &nested,
                                                 Location location, Value value,
                                                 Place place) {
  auto [kind, alpha, beta] = chosen(place);
  Value within = bounded(nested, location, value, place);
  Value result = activation(nested, location, within, kind, alpha, beta);
  Value derivative = slope(nested, location, within, result, kind, alpha, beta);
  if (within != value) {
    // 1 at the bounds themselves, as for nn.clip.
    Value isWithin = nested.create<arith::CmpFOp>(
        location, arith::CmpFPredicate::OEQ, within, value);
    derivative = nested.create<arith::SelectOp>(
        location, isWithin, derivative,
        scalar(nested, location, value.getType(), 0));
  }
  return {result, derivative};
}

Layer::Chosen Layer::chosen(Place place) {
  if (!activations)
    return {place.otherwise, 0, 0};
  auto attribute = cast<nn::ActivationAttr>(
      activations[place.direction * place.count + place.which]);
  return {attribute.getKind(), attribute.getAlpha().convertToDouble(),
          attribute.getBeta().convertToDouble()};
}

Value Layer::bounded(OpBuilder &nested, Location location, Value value,
                     Place place) {
  // The third activation, that of an LSTM's cell, is not one of a gate.
  if (!clip || place.which == 2)
    return value;
  Type type = value.getType();
  value = nested.create<arith::MaximumFOp>(
      location, value, scalar(nested, location, type, -*clip));
  return nested.create<arith::MinimumFOp>(
      location, value, scalar(nested, location, type, *clip));
}

Value Layer::activate(OpBuilder &nested, Location location, Value value,
                      Place place) {
  auto [kind, alpha, beta] = chosen(place);
  return activation(nested, location, bounded(nested, location, value, place),
                    kind, alpha, beta);
}
