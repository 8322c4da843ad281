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

Operation *Generator::input(StringRef) {
  return builder.create<InputOp>(loc, type(shape(1, 4)));
}

Operation *Generator::parameter(StringRef) {
  return builder.create<ParameterOp>(loc, type(shape(1, 4)),
                                     InitAttr::get(builder.getContext(), 0));
}

Operation *Generator::constant(StringRef) {
  auto constantType = type(shape(0, 3, 5));
  SmallVector<float> values;
  for (int64_t i = 0, e = constantType.getNumElements(); i != e; ++i)
    values.push_back(static_cast<float>(random.normal()));
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
  bool logical = kind == "nn.and" || kind == "nn.or" || kind == "nn.xor";
  Type element = logical ? Type(builder.getI1Type()) : builder.getF32Type();
  if ((logical || kind == "nn.compare" || kind == "nn.mod") && random.flip())
    element = builder.getI64Type();
  Value x = argument(a, element), y = argument(b, element);
  if (kind == "nn.compare")
    return builder.create<CompareOp>(
        loc, RankedTensorType::get(result, builder.getI1Type()), x, y,
        static_cast<Predicate>(random.in(0, 5)));
  if (kind == "nn.mod")
    return builder.create<ModOp>(loc, RankedTensorType::get(result, element), x,
                                 y, element.isF32() || random.flip());
  return create(kind, {x, y}, RankedTensorType::get(result, element));
}

Operation *Generator::unary(StringRef kind) {
  List size = shape(0, 4);
  if (kind == "nn.not") {
    Value x = argument(size, random.flip() ? builder.getI1Type()
                                           : builder.getI32Type());
    return create(kind, x, x.getType());
  }
  Value x = argument(size);
  if (kind == "nn.cast") {
    Type types[] = {builder.getI1Type(), builder.getI32Type(),
                    builder.getF64Type()};
    return create(kind, x, RankedTensorType::get(size, types[random.in(0, 2)]));
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
                               builder.getF32FloatAttr(0.25f));
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
  static const Entry table[] = {
      {"nn.input", &Generator::input},
      {"nn.parameter", &Generator::parameter},
      {"nn.constant", &Generator::constant},
      {"nn.conv", &Generator::conv},
      {"nn.matmul", &Generator::matmul},
      {"nn.max_pool", &Generator::pool},
      {"nn.avg_pool", &Generator::pool},
      {"nn.reduce", &Generator::reduce},
      {"nn.batch_norm", &Generator::batchNorm},
      {"nn.lrn", &Generator::lrn},
      {"nn.softmax", &Generator::softmax},
      {"nn.add", &Generator::binary},
      {"nn.sub", &Generator::binary},
      {"nn.mul", &Generator::binary},
      {"nn.div", &Generator::binary},
      {"nn.max", &Generator::binary},
      {"nn.min", &Generator::binary},
      {"nn.relu", &Generator::unary},
      {"nn.sigmoid", &Generator::unary},
      {"nn.tanh", &Generator::unary},
      {"nn.sqrt", &Generator::unary},
      {"nn.clip", &Generator::unary},
      {"nn.concat", &Generator::concat},
      {"nn.slice", &Generator::slice},
      {"nn.pad", &Generator::pad},
      {"nn.reshape", &Generator::reshape},
      {"nn.transpose", &Generator::transpose},
      {"nn.pow", &Generator::binary},
      {"nn.and", &Generator::binary},
      {"nn.or", &Generator::binary},
      {"nn.xor", &Generator::binary},
      {"nn.compare", &Generator::binary},
      {"nn.where", &Generator::where},
      {"nn.exp", &Generator::unary},
      {"nn.log", &Generator::unary},
      {"nn.erf", &Generator::unary},
      {"nn.sin", &Generator::unary},
      {"nn.cos", &Generator::unary},
      {"nn.reciprocal", &Generator::unary},
      {"nn.floor", &Generator::unary},
      {"nn.ceil", &Generator::unary},
      {"nn.round", &Generator::unary},
      {"nn.neg", &Generator::unary},
      {"nn.abs", &Generator::unary},
      {"nn.not", &Generator::unary},
      {"nn.gelu", &Generator::unary},
      {"nn.cast", &Generator::unary},
      {"nn.expand", &Generator::expand},
      {"nn.tile", &Generator::tile},
      {"nn.gather", &Generator::gather},
      {"nn.resize", &Generator::resize},
      {"nn.lstm", &Generator::lstm},
      {"nn.layer_norm", &Generator::layerNorm},
      {"nn.conv_backward_data", &Generator::convBackward},
      {"nn.mod", &Generator::binary},
      {"nn.sign", &Generator::unary},
      {"nn.tan", &Generator::unary},
      {"nn.asin", &Generator::unary},
      {"nn.acos", &Generator::unary},
      {"nn.atan", &Generator::unary},
      {"nn.sinh", &Generator::unary},
      {"nn.cosh", &Generator::unary},
      {"nn.asinh", &Generator::unary},
      {"nn.acosh", &Generator::unary},
      {"nn.atanh", &Generator::unary},
      {"nn.gather_elements", &Generator::gatherElements},
      {"nn.gather_nd", &Generator::gatherND},
      {"nn.scatter_elements", &Generator::scatterElements},
      {"nn.scatter_nd", &Generator::scatterND},
      {"nn.arg_max", &Generator::arg},
      {"nn.arg_min", &Generator::arg},
      {"nn.top_k", &Generator::topK},
      {"nn.cum_sum", &Generator::cumSum},
      {"nn.trilu", &Generator::trilu},
      {"nn.one_hot", &Generator::oneHot},
      {"nn.gru", &Generator::gru},
      {"nn.rnn", &Generator::rnn}};
  return table;
}

Operation *Generator::build(StringRef kind) {
  const Entry *entry = llvm::find_if(
      entries(), [&](const Entry &each) { return each.kind == kind; });
  assert(entry != entries().end() && "a kind without a method");
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
