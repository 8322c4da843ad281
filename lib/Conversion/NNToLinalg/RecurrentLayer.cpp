//===- RecurrentLayer.cpp - The loops of a recurrent layer ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecurrentLayer.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;
using Iterator = mlir::utils::IteratorType;

SmallVector<Value> linalg_lowering::emptyResults(OpBuilder &builder,
                                                 Operation *op) {
  SmallVector<Value> values;
  for (Value result : op->getResults())
    values.push_back(empty(builder, op->getLoc(), tensorType(result).getShape(),
                           tensorType(result).getElementType()));
  return values;
}

Value Layer::index(int64_t value) {
  return builder.create<arith::ConstantIndexOp>(loc, value);
}

Value Layer::entry(Value tensor, ArrayRef<OpFoldResult> indices) {
  ArrayRef<int64_t> shape = tensorType(tensor).getShape();
  SmallVector<OpFoldResult> offsets(indices), sizes(indices.size(), number(1));
  SmallVector<OpFoldResult> strides(shape.size(), number(1));
  shape = shape.drop_front(indices.size());
  for (int64_t size : shape) {
    offsets.push_back(number(0));
    sizes.push_back(number(size));
  }
  return builder.create<tensor::ExtractSliceOp>(
      loc, RankedTensorType::get(shape, element), tensor, offsets, sizes,
      strides);
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

Value Layer::product(Value x, Value weight) {
  SmallVector<int64_t> shape(tensorType(x).getShape().drop_back());
  llvm::append_range(shape, tensorType(weight).getShape().drop_back());
  Value zero = scalar(builder, loc, element, 0);
  return addProduct(x, weight, filled(builder, loc, shape, zero));
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

/// Whether `step` is one of a sample whose sequence has this length.
static Value isRunning(OpBuilder &builder, Location loc, Value step,
                       Value length) {
  Value here = builder.create<arith::IndexCastOp>(loc, length.getType(), step);
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, here,
                                       length);
}

SmallVector<Value> Layer::updateStates(ArrayRef<Input> inputs,
                                       ValueRange states, Value step,
                                       StatesBuilder body) {
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  for (auto [value, map] : inputs) {
    values.push_back(value);
    maps.push_back(map);
  }
  if (lengths) {
    values.push_back(lengths);
    maps.push_back(AffineMap::get(2, 0, builder.getAffineDimExpr(0)));
  }
  maps.append(states.size(), builder.getMultiDimIdentityMap(2));
  size_t numInputs = inputs.size();
  SmallVector<Iterator> iterators(2, Iterator::parallel);
  auto op = builder.create<linalg::GenericOp>(
      loc, states.getTypes(), values, states, maps, iterators,
      [&](OpBuilder &nested, Location location, ValueRange e) {
        ValueRange old = e.take_back(states.size());
        SmallVector<Value> next =
            body(nested, location, e.take_front(numInputs), old.drop_back());
        if (lengths) {
          Value runs = isRunning(nested, location, step, e[numInputs]);
          for (auto [value, before] : llvm::zip(next, old))
            value =
                nested.create<arith::SelectOp>(location, runs, value, before);
        }
        next.push_back(next.front());
        nested.create<linalg::YieldOp>(location, next);
      });
  return SmallVector<Value>(op.getResults());
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
        if (isMasked)
          runs = isRunning(nested, location, step, e[numInputs]);
        nested.create<linalg::YieldOp>(
            location, body(nested, location, e.take_front(numInputs), runs));
      });
  return SmallVector<Value>(op.getResults());
}

SmallVector<Value> Layer::forEachStep(
    bool isBack, ArrayRef<Value> values,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> step) {
  auto loop =
      builder.create<scf::ForOp>(loc, index(0), index(steps), index(1), values);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value at = inOrder(loop.getInductionVar(), isBack);
  builder.create<scf::YieldOp>(loc, step(at, loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value>
Layer::forDirections(SmallVector<Value> results,
                     llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
  bool areAlike = true;
  if (activations) {
    ArrayRef<Attribute> all = activations.getValue();
    size_t each = all.size() / static_cast<size_t>(directions);
    areAlike = llvm::equal(all.drop_front(each), all.drop_back(each));
  }
  if (directions == 1 || !areAlike) {
    for (knownDirection = 0; knownDirection != directions; ++knownDirection) {
      direction = number(knownDirection);
      results = body(results);
    }
    return results;
  }
  auto loop = builder.create<scf::ForOp>(loc, index(0), index(directions),
                                         index(1), results);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  direction = loop.getInductionVar();
  builder.create<scf::YieldOp>(loc, body(loop.getRegionIterArgs()));
  return llvm::to_vector(ValueRange(loop.getResults()));
}

Value Layer::inOrder(Value step, bool isBack) {
  auto reversed = [&]() -> Value {
    return builder.create<arith::SubIOp>(loc, index(steps - 1), step);
  };
  std::optional<int64_t> known = getConstantIntValue(direction);
  if (known || isReverse)
    return (isReverse || *known == 1) != isBack ? reversed() : step;
  Value isSecond = builder.create<arith::CmpIOp>(
      loc, arith::CmpIPredicate::eq, cast<Value>(direction), index(1));
  Value first = isBack ? reversed() : step, second = isBack ? step : reversed();
  return builder.create<arith::SelectOp>(loc, isSecond, second, first);
}

SmallVector<Value>
Layer::run(SmallVector<Value> states, Value &hiddens,
           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> step) {
  states.push_back(hiddens);
  SmallVector<Value> last = forEachStep(
      /*isBack=*/false, states, [&](Value at, ValueRange values) {
        SmallVector<OpFoldResult> indices = {OpFoldResult(at), direction};
        SmallVector<Value> before(values.drop_back());
        before.push_back(entry(values.back(), indices));
        SmallVector<Value> next = step(at, before);
        next.back() = withEntry(values.back(), next.back(), indices);
        return next;
      });
  hiddens = last.pop_back_val();
  return last;
}
