//===- RandomOps.cpp - Random nn operations -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include <numeric>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

Operation *Generator::create(StringRef name, ValueRange operands, Type result) {
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addTypes(result);
  return builder.create(state);
}

Type Generator::elementType(Elements elements) {
  // Most of the time what most networks have.
  if (random.in(0, 2) == 0 && elements <= Elements::Floats)
    return builder.getF32Type();
  Type floats[] = {builder.getF16Type(), builder.getBF16Type(),
                   builder.getF32Type(), builder.getF64Type()};
  if (elements == Elements::Floats ||
      (elements <= Elements::Numbers && random.in(0, 2) == 0))
    return floats[random.in(0, 3)];
  if (elements == Elements::Any && random.flip()) {
    Type stored[] = {builder.getFloat8E4M3FNType(),
                     builder.getFloat8E5M2Type(),
                     builder.getFloat8E4M3FNUZType(),
                     builder.getFloat8E5M2FNUZType(),
                     builder.getI1Type(),
                     builder.getIntegerType(4),
                     builder.getIntegerType(4, /*isSigned=*/false)};
    return stored[random.in(0, 6)];
  }
  if (elements == Elements::Bits && random.in(0, 2) == 0)
    return builder.getI1Type();
  unsigned width = 8u << random.in(0, 3);
  if (elements == Elements::Unsigned || random.flip())
    return builder.getIntegerType(width, /*isSigned=*/false);
  return builder.getIntegerType(width);
}

/// `value` as an element.
TypedAttr Generator::number(double value) {
  if (isa<FloatType>(element))
    return builder.getFloatAttr(element, value);
  auto integer = static_cast<int64_t>(value);
  return builder.getIntegerAttr(element,
                                element.isInteger(1) ? integer & 1 : integer);
}

Operation *Generator::input(StringRef) {
  return builder.create<InputOp>(loc, type(shape(1, 4)));
}

Operation *Generator::parameter(StringRef) {
  return builder.create<ParameterOp>(loc, type(shape(1, 4)),
                                     InitAttr::get(builder.getContext(), 0));
}

Operation *Generator::constant(StringRef) {
  auto constantType = type(shape(0, 3, 5));
  SmallVector<Attribute> values;
  for (int64_t i = 0, e = constantType.getNumElements(); i != e; ++i)
    values.push_back(
        number(isUnsigned(element) ? random.in(0, 7) : 4 * random.normal()));
  return builder.create<ConstantOp>(
      loc, cast<ElementsAttr>(
               DenseElementsAttr::get(constantType, ArrayRef(values))));
}

Operation *Generator::binary(StringRef kind) {
  List result = shape(0, 4, 5), a = narrowed(result), b = narrowed(result);
  size_t rank = std::max(a.size(), b.size());
  result.clear();
  for (size_t i = rank; i != 0; --i)
    result.push_back(std::max(i <= a.size() ? a[a.size() - i] : 1,
                              i <= b.size() ? b[b.size() - i] : 1));
  Value x = argument(a), y = argument(b);
  if (kind == "nn.compare")
    return builder.create<CompareOp>(
        loc, RankedTensorType::get(result, builder.getI1Type()), x, y,
        static_cast<Predicate>(random.in(0, 5)));
  if (kind == "nn.mod")
    return builder.create<ModOp>(loc, type(result), x, y,
                                 isa<FloatType>(element) || random.flip());
  return create(kind, {x, y}, type(result));
}

Operation *Generator::unary(StringRef kind) {
  List size = shape(0, 4);
  Value x = argument(size);
  if (kind == "nn.cast")
    return create(kind, x,
                  RankedTensorType::get(size, elementType(Elements::Any)));
  if (kind == "nn.bit_cast") {
    auto bits = [](Type each) {
      return each.isInteger(1) ? 8 : each.getIntOrFloatBitWidth();
    };
    Type other = elementType(Elements::Any);
    while (bits(other) != bits(element))
      other = elementType(Elements::Any);
    return create(kind, x, RankedTensorType::get(size, other));
  }
  if (kind == "nn.clip")
    return builder.create<ClipOp>(loc, x, llvm::APFloat(-0.5f),
                                  llvm::APFloat(0.5f));
  if (kind == "nn.gelu")
    return builder.create<GeluOp>(loc, x, random.flip());
  return create(kind, x, x.getType());
}

Operation *Generator::where(StringRef) {
  List shapes[3], result = shape(0, 3, 5);
  size_t rank = 0;
  for (List &each : shapes) {
    each = narrowed(result);
    rank = std::max(rank, each.size());
  }
  result.assign(rank, 1);
  for (const List &each : shapes)
    for (size_t i = 1; i <= each.size(); ++i)
      result[rank - i] = std::max(result[rank - i], each[each.size() - i]);
  Value condition = argument(shapes[0], builder.getI1Type());
  Value a = argument(shapes[1]), b = argument(shapes[2]);
  return builder.create<WhereOp>(loc, type(result), condition, a, b);
}

Operation *Generator::expand(StringRef kind) {
  List result = shape(0, 4, 5);
  return create(kind, argument(narrowed(result)), type(result));
}

Operation *Generator::tile(StringRef kind) {
  List x = shape(1, 3, 4), result = x;
  for (int64_t &size : result)
    size *= random.flip() ? random.in(1, 5) : 1;
  return create(kind, argument(x), type(result));
}

Operation *Generator::gather(StringRef) {
  List data = shape(1, 3, 6), indices = shape(0, 2, 5);
  auto axis = static_cast<size_t>(random.in(0, data.size() - 1));
  List result(ArrayRef(data).take_front(axis));
  llvm::append_range(result, indices);
  llvm::append_range(result, ArrayRef(data).drop_front(axis + 1));
  Value table = argument(data);
  Value at = argument(indices, random.flip() ? builder.getI64Type()
                                             : builder.getI32Type());
  return builder.create<GatherOp>(loc, type(result), table, at, axis,
                                  uint64_t(0), IntegerAttr());
}

Operation *Generator::resize(StringRef) {
  List x = shape(1, 3), result = shape(x.size(), x.size(), 9);
  List numerators = list(x.size(), 1, 5), offsets = list(x.size(), -6, 6),
       denominators = list(x.size(), 1, 5);
  auto mode = static_cast<ResizeMode>(random.in(0, 2));
  // Without the elements outside, one inside needs a weight.
  bool excludes = mode == ResizeMode::Cubic;
  for (size_t i = 0; i != x.size(); ++i) {
    int64_t last = numerators[i] * (result[i] - 1) + offsets[i];
    excludes &= offsets[i] >= 0 && last < x[i] * denominators[i];
  }
  return builder.create<ResizeOp>(loc, type(result), argument(x), mode,
                                  numerators, offsets, denominators,
                                  llvm::APFloat(-0.5f), excludes);
}

Operation *Generator::concat(StringRef) {
  List result = shape(1, 4);
  int64_t axis = random.in(0, result.size() - 1);
  SmallVector<Value> inputs;
  int64_t sum = 0;
  for (int64_t i = 0, e = random.in(1, 4); i != e; ++i) {
    result[axis] = random.in(1, 4);
    sum += result[axis];
    inputs.push_back(argument(result));
  }
  result[axis] = sum;
  return builder.create<ConcatOp>(loc, type(result), inputs, axis);
}

Operation *Generator::slice(StringRef) {
  List x = shape(1, 4, 9), result, starts, steps;
  for (int64_t size : x) {
    int64_t step = random.in(1, 3) * (random.flip() ? 1 : -1);
    int64_t start = random.in(0, size - 1);
    int64_t most = (step > 0 ? size - 1 - start : start) / std::abs(step) + 1;
    result.push_back(random.in(1, most));
    starts.push_back(start);
    steps.push_back(step);
  }
  return builder.create<SliceOp>(loc, type(result), argument(x), starts, steps);
}

Operation *Generator::pad(StringRef) {
  List x = shape(1, 3, 4), result;
  List lo = list(x.size(), 0, 4), hi = list(x.size(), 0, 4);
  for (auto [size, before, behind] : llvm::zip(x, lo, hi))
    result.push_back(size + before + behind);
  return builder.create<PadOp>(loc, type(result), argument(x), lo, hi,
                               number(2.25));
}

/// Two shapes of the same number of elements, from shuffled factors.
Operation *Generator::reshape(StringRef) {
  auto random1 = [&] { return random.in(0, 4) == 0 ? 1 : 0; };
  List primes, from, to;
  for (int64_t i = 0, e = random.in(1, 6); i != e; ++i)
    primes.push_back(random.flip() ? 2 : 3);
  auto grouped = [&](List &out) {
    int64_t product = 1;
    for (int64_t prime : primes) {
      product *= prime;
      if (random.flip()) {
        out.push_back(product);
        product = 1;
      }
      if (random1())
        out.push_back(1);
    }
    if (product != 1 || out.empty())
      out.push_back(product);
  };
  grouped(from);
  // Now and then other factors, so that no dimension matches: [6, 4] to [8, 3].
  if (random.flip())
    for (size_t i = primes.size(); i > 1; --i)
      std::swap(primes[i - 1], primes[random.in(0, i - 1)]);
  grouped(to);
  if (from.size() > maxRank || to.size() > maxRank)
    from = to = primes;
  return builder.create<ReshapeOp>(loc, type(to), argument(from));
}

Operation *Generator::transpose(StringRef) {
  List x = shape(1, 4), permutation(x.size()), result;
  std::iota(permutation.begin(), permutation.end(), 0);
  for (size_t i = permutation.size(); i > 1; --i)
    std::swap(permutation[i - 1], permutation[random.in(0, i - 1)]);
  for (int64_t dim : permutation)
    result.push_back(x[dim]);
  return builder.create<TransposeOp>(loc, type(result), argument(x),
                                     permutation);
}

ArrayRef<Generator::Entry> Generator::entries() {
  using E = Elements;
  static const Entry table[] = {
      {"nn.input", &Generator::input, E::Any},
      {"nn.parameter", &Generator::parameter, E::Any},
      {"nn.constant", &Generator::constant, E::Any},
      {"nn.conv", &Generator::conv, E::Numbers},
      {"nn.matmul", &Generator::matmul, E::Numbers},
      {"nn.max_pool", &Generator::pool, E::Numbers},
      {"nn.avg_pool", &Generator::pool, E::Floats},
      {"nn.reduce", &Generator::reduce, E::Numbers},
      {"nn.batch_norm", &Generator::batchNorm, E::Floats},
      {"nn.lrn", &Generator::lrn, E::Floats},
      {"nn.softmax", &Generator::softmax, E::Floats},
      {"nn.add", &Generator::binary, E::Numbers},
      {"nn.sub", &Generator::binary, E::Numbers},
      {"nn.mul", &Generator::binary, E::Numbers},
      {"nn.div", &Generator::binary, E::Numbers},
      {"nn.max", &Generator::binary, E::Numbers},
      {"nn.min", &Generator::binary, E::Numbers},
      {"nn.relu", &Generator::unary, E::Numbers},
      {"nn.sigmoid", &Generator::unary, E::Floats},
      {"nn.tanh", &Generator::unary, E::Floats},
      {"nn.sqrt", &Generator::unary, E::Floats},
      {"nn.clip", &Generator::unary, E::Floats},
      {"nn.concat", &Generator::concat, E::Any},
      {"nn.slice", &Generator::slice, E::Any},
      {"nn.pad", &Generator::pad, E::Any},
      {"nn.reshape", &Generator::reshape, E::Any},
      {"nn.transpose", &Generator::transpose, E::Any},
      {"nn.pow", &Generator::binary, E::Numbers},
      {"nn.and", &Generator::binary, E::Bits},
      {"nn.or", &Generator::binary, E::Bits},
      {"nn.xor", &Generator::binary, E::Bits},
      {"nn.compare", &Generator::binary, E::Numbers},
      {"nn.where", &Generator::where, E::Any},
      {"nn.exp", &Generator::unary, E::Floats},
      {"nn.log", &Generator::unary, E::Floats},
      {"nn.erf", &Generator::unary, E::Floats},
      {"nn.sin", &Generator::unary, E::Floats},
      {"nn.cos", &Generator::unary, E::Floats},
      {"nn.reciprocal", &Generator::unary, E::Floats},
      {"nn.floor", &Generator::unary, E::Floats},
      {"nn.ceil", &Generator::unary, E::Floats},
      {"nn.round", &Generator::unary, E::Floats},
      {"nn.neg", &Generator::unary, E::Numbers},
      {"nn.abs", &Generator::unary, E::Numbers},
      {"nn.not", &Generator::unary, E::Bits},
      {"nn.gelu", &Generator::unary, E::Floats},
      {"nn.cast", &Generator::unary, E::Any},
      {"nn.expand", &Generator::expand, E::Any},
      {"nn.tile", &Generator::tile, E::Any},
      {"nn.gather", &Generator::gather, E::Any},
      {"nn.resize", &Generator::resize, E::Floats},
      {"nn.lstm", &Generator::lstm, E::Floats},
      {"nn.layer_norm", &Generator::layerNorm, E::Floats},
      {"nn.conv_backward_data", &Generator::convBackward, E::Numbers},
      {"nn.mod", &Generator::binary, E::Numbers},
      {"nn.sign", &Generator::unary, E::Numbers},
      {"nn.tan", &Generator::unary, E::Floats},
      {"nn.asin", &Generator::unary, E::Floats},
      {"nn.acos", &Generator::unary, E::Floats},
      {"nn.atan", &Generator::unary, E::Floats},
      {"nn.sinh", &Generator::unary, E::Floats},
      {"nn.cosh", &Generator::unary, E::Floats},
      {"nn.asinh", &Generator::unary, E::Floats},
      {"nn.acosh", &Generator::unary, E::Floats},
      {"nn.atanh", &Generator::unary, E::Floats},
      {"nn.gather_elements", &Generator::gatherElements, E::Any},
      {"nn.gather_nd", &Generator::gatherND, E::Any},
      {"nn.scatter_elements", &Generator::scatterElements, E::Any},
      {"nn.scatter_nd", &Generator::scatterND, E::Any},
      {"nn.arg_max", &Generator::arg, E::Numbers},
      {"nn.arg_min", &Generator::arg, E::Numbers},
      {"nn.top_k", &Generator::topK, E::Numbers},
      {"nn.cum_sum", &Generator::cumSum, E::Numbers},
      {"nn.trilu", &Generator::trilu, E::Any},
      {"nn.one_hot", &Generator::oneHot, E::Any},
      {"nn.gru", &Generator::gru, E::Floats},
      {"nn.rnn", &Generator::rnn, E::Floats},
      {"nn.shift_left", &Generator::binary, E::Unsigned},
      {"nn.shift_right", &Generator::binary, E::Unsigned},
      {"nn.bit_cast", &Generator::unary, E::Any},
      {"nn.non_max_suppression", &Generator::suppression, E::Floats},
      {"nn.conv_backward_filter", &Generator::convBackwardFilter, E::Numbers},
      {"nn.max_pool_backward", &Generator::maxPoolBackward, E::Floats},
      {"nn.lstm_backward", &Generator::recurrentBackward, E::Floats},
      {"nn.gru_backward", &Generator::recurrentBackward, E::Floats},
      {"nn.rnn_backward", &Generator::recurrentBackward, E::Floats},
      {"nn.write", &Generator::write, E::Any},
      {"nn.schedule", &Generator::schedule, E::Floats},
      {"nn.sgd", &Generator::update, E::Floats},
      {"nn.momentum", &Generator::update, E::Floats},
      {"nn.adam", &Generator::update, E::Floats},
      {"nn.dropout", &Generator::dropout, E::Floats},
      {"nn.fused", &Generator::fused, E::Floats},
      {"nn.attention", &Generator::attention, E::Floats},
      {"nn.fused_reduce", &Generator::fused, E::Floats},
      {"nn.sparse_sgd", &Generator::sparseSGD, E::Floats}};
  return table;
}

Operation *Generator::build(StringRef kind) {
  const Entry *entry = llvm::find_if(
      entries(), [&](const Entry &each) { return each.kind == kind; });
  assert(entry != entries().end() && "a kind without a method");
  element = elementType(entry->elements);
  return (this->*entry->draw)(kind);
}

ArrayRef<StringRef> soap::nn::test::allKinds() {
  static const SmallVector<StringRef> kinds(llvm::map_range(
      Generator::entries(), [](const auto &entry) { return entry.kind; }));
  return kinds;
}

PartitionOpInterface soap::nn::test::buildRandomOp(Block &block, StringRef kind,
                                                   Random &random,
                                                   MLIRContext *context) {
  Operation *op = Generator(block, random, context).build(kind);
  setName(op, "op");
  return cast<PartitionOpInterface>(op);
}
