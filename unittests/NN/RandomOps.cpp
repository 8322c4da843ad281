//===- RandomOps.cpp - Random nn operations -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomOps.h"
#include "mlir/IR/Builders.h"
#include <numeric>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

using List = SmallVector<int64_t, 4>;

namespace {

/// Builds one operation; arguments of the block are its operands.
class Generator {
public:
  Generator(Block &block, Random &random, MLIRContext *context)
      : random(random), builder(context), block(block),
        loc(UnknownLoc::get(context)) {
    builder.setInsertionPointToEnd(&block);
  }

  Operation *build(StringRef kind);

private:
  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  Value argument(ArrayRef<int64_t> shape, Type element = nullptr) {
    return block.addArgument(
        RankedTensorType::get(shape, element ? element : builder.getF32Type()),
        loc);
  }
  List shape(int64_t loRank, int64_t hiRank, int64_t hi = 6) {
    List result(random.in(loRank, hiRank));
    for (int64_t &size : result)
      size = random.in(1, hi);
    return result;
  }
  List list(size_t length, int64_t lo, int64_t hi) {
    List result(length);
    for (int64_t &entry : result)
      entry = random.in(lo, hi);
    return result;
  }
  /// A shape that broadcasts to `shape`: without leading dims, with ones.
  List narrowed(ArrayRef<int64_t> shape) {
    List result(shape.drop_front(
        random.in(0, 2) == 0 ? random.in(0, shape.size()) : 0));
    for (int64_t &size : result)
      if (random.in(0, 3) == 0)
        size = 1;
    return result;
  }

  Operation *conv(bool grouped);
  Operation *matmul();
  Operation *pool(bool average);
  Operation *reduce();
  Operation *reshape();
  Operation *binary(StringRef kind);
  Operation *unary(StringRef kind);
  Operation *convBackward(bool grouped);
  Operation *where();
  Operation *gather();
  Operation *resize();
  Operation *lstm();
  Operation *create(StringRef name, ValueRange operands, Type result);

  Random &random;
  OpBuilder builder;
  Block &block;
  Location loc;
};

Operation *Generator::create(StringRef name, ValueRange operands, Type result) {
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addTypes(result);
  return builder.create(state);
}

Operation *Generator::conv(bool grouped) {
  size_t spatial = random.in(1, 2);
  int64_t groups = grouped ? random.in(2, 5) : 1;
  int64_t most = grouped ? 3 : 5;
  int64_t inputs = random.in(1, most), outputs = random.in(1, most);
  List input = {random.in(1, 5), groups * inputs};
  List weight = {groups * outputs, inputs};
  List result = {input[0], groups * outputs};
  List strides = list(spatial, 1, 3), dilations = list(spatial, 1, 2);
  // Pads may be larger than a window.
  List padsLo = list(spatial, 0, 4), padsHi = list(spatial, 0, 4);
  for (size_t i = 0; i != spatial; ++i) {
    int64_t kernel = random.in(1, 3), extent = (kernel - 1) * dilations[i] + 1;
    int64_t size =
        random.in(std::max<int64_t>(1, extent - padsLo[i] - padsHi[i]), 9);
    weight.push_back(kernel);
    input.push_back(size);
    result.push_back((size + padsLo[i] + padsHi[i] - extent) / strides[i] + 1);
  }
  Value x = argument(input), w = argument(weight), b;
  if (random.flip())
    b = argument({groups * outputs});
  return builder.create<ConvOp>(loc, type(result), x, w, b, strides, dilations,
                                padsLo, padsHi, groups);
}

Operation *Generator::matmul() {
  List batch = shape(0, 2, 5);
  int64_t n = random.in(1, 6), f = random.in(1, 6), k = random.in(1, 6);
  bool transposeA = random.flip(), transposeB = random.flip();
  List a = narrowed(batch), b = narrowed(batch);
  // The operands must span the batch dimensions together.
  size_t rank = std::max(a.size(), b.size());
  List result;
  for (size_t i = rank; i != 0; --i)
    result.push_back(std::max(i <= a.size() ? a[a.size() - i] : 1,
                              i <= b.size() ? b[b.size() - i] : 1));
  a.append(transposeA ? List{k, n} : List{n, k});
  b.append(transposeB ? List{f, k} : List{k, f});
  result.append({n, f});
  Value x = argument(a), y = argument(b), bias;
  if (random.flip())
    bias = argument({f});
  return builder.create<MatMulOp>(loc, type(result), x, y, bias, transposeA,
                                  transposeB, llvm::APFloat(0.5f));
}

Operation *Generator::pool(bool average) {
  size_t spatial = random.in(1, 2);
  List input = {random.in(1, 5), random.in(1, 5)}, result = input;
  List kernel = list(spatial, 1, 4), strides = list(spatial, 1, 5),
       dilations = list(spatial, 1, 2), padsLo, padsHi, countedLo, countedHi;
  for (size_t i = 0; i != spatial; ++i) {
    int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    padsLo.push_back(random.in(0, extent - 1));
    padsHi.push_back(random.in(0, extent - 1));
    countedLo.push_back(random.in(0, padsLo[i]));
    countedHi.push_back(random.in(0, padsHi[i]));
    int64_t size =
        random.in(std::max<int64_t>(1, extent - padsLo[i] - padsHi[i]), 11);
    input.push_back(size);
    result.push_back((size + padsLo[i] + padsHi[i] - extent) / strides[i] + 1);
  }
  Value x = argument(input);
  if (average)
    return builder.create<AvgPoolOp>(loc, type(result), x, kernel, strides,
                                     dilations, padsLo, padsHi, countedLo,
                                     countedHi);
  return builder.create<MaxPoolOp>(loc, type(result), x, kernel, strides,
                                   dilations, padsLo, padsHi);
}

Operation *Generator::reduce() {
  List input = shape(1, 4, 5), axes, result;
  bool keepdims = random.flip();
  for (auto [i, size] : llvm::enumerate(input)) {
    if (random.flip()) {
      result.push_back(size);
      continue;
    }
    axes.push_back(i);
    if (keepdims)
      result.push_back(1);
  }
  auto kind = static_cast<ReduceKind>(random.in(0, 3));
  return builder.create<ReduceOp>(
      loc, type(result), argument(input), kind, axes, keepdims,
      llvm::APFloat(kind == ReduceKind::Sum ? 0.125f : 1.0f));
}

/// Two shapes of the same number of elements, from shuffled factors.
Operation *Generator::reshape() {
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

Operation *Generator::convBackward(bool grouped) {
  size_t spatial = random.in(1, 2);
  int64_t groups = grouped ? random.in(2, 5) : 1;
  int64_t most = grouped ? 3 : 5;
  int64_t inputs = random.in(1, most), outputs = random.in(1, most);
  List dy = {random.in(1, 5), groups * inputs};
  List weight = {groups * inputs, outputs};
  List result = {dy[0], groups * outputs};
  List strides = list(spatial, 1, 4), dilations = list(spatial, 1, 2);
  List pads = list(spatial, 0, 4);
  for (size_t i = 0; i != spatial; ++i) {
    weight.push_back(random.in(1, 3));
    dy.push_back(random.in(1, 5));
    // Any size: what no window reaches is the bias.
    result.push_back(random.in(1, 12));
  }
  Value x = argument(dy), w = argument(weight), b;
  if (random.flip())
    b = argument({groups * outputs});
  return builder.create<ConvBackwardDataOp>(loc, type(result), x, w, b, strides,
                                            dilations, pads, groups);
}

Operation *Generator::where() {
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

Operation *Generator::gather() {
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

Operation *Generator::resize() {
  List x = shape(1, 3), result = shape(x.size(), x.size(), 9);
  List numerators = list(x.size(), 1, 5), offsets = list(x.size(), -6, 6),
       denominators = list(x.size(), 1, 5);
  return builder.create<ResizeOp>(loc, type(result), argument(x),
                                  random.flip() ? ResizeMode::Nearest
                                                : ResizeMode::Linear,
                                  numerators, offsets, denominators);
}

Operation *Generator::lstm() {
  int64_t steps = random.in(1, 3), batch = random.in(1, 5);
  int64_t directions = random.in(1, 2), inputs = random.in(1, 3);
  int64_t hidden = random.in(1, 3);
  List state = {directions, batch, hidden};
  SmallVector<Value> operands = {argument({steps, batch, inputs}),
                                 argument({directions, 4, hidden, inputs}),
                                 argument({directions, 4, hidden, hidden}),
                                 argument({directions, 4, hidden}),
                                 argument(state),
                                 argument(state)};
  auto op = builder.create<LSTMOp>(
      loc, type({steps, directions, batch, hidden}), type(state), operands[0],
      operands[1], operands[2], operands[3], operands[4], operands[5],
      directions == 1 && random.flip());
  return op;
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
  if (kind == "nn.compare" && random.flip())
    element = builder.getI64Type();
  Value x = argument(a, element), y = argument(b, element);
  if (kind == "nn.compare")
    return builder.create<CompareOp>(
        loc, RankedTensorType::get(result, builder.getI1Type()), x, y,
        static_cast<Predicate>(random.in(0, 5)));
  return create(kind, {x, y}, RankedTensorType::get(result, element));
}

Operation *Generator::unary(StringRef kind) {
  List size = shape(0, 4);
  if (kind == "nn.not") {
    Value x = argument(size, builder.getI1Type());
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

Operation *Generator::build(StringRef kind) {
  if (kind == "nn.conv")
    return conv(random.in(0, 2) == 0);
  if (kind == "nn.matmul")
    return matmul();
  if (kind == "nn.max_pool" || kind == "nn.avg_pool")
    return pool(kind == "nn.avg_pool");
  if (kind == "nn.reduce")
    return reduce();
  if (kind == "nn.reshape")
    return reshape();
  if (kind == "nn.input")
    return builder.create<InputOp>(loc, type(shape(1, 4)));
  if (kind == "nn.parameter")
    return builder.create<ParameterOp>(loc, type(shape(1, 4)),
                                       InitAttr::get(builder.getContext(), 0));
  if (kind == "nn.constant") {
    auto constantType = type(shape(0, 3, 5));
    SmallVector<float> values;
    for (int64_t i = 0, e = constantType.getNumElements(); i != e; ++i)
      values.push_back(static_cast<float>(random.normal()));
    return builder.create<ConstantOp>(
        loc, cast<ElementsAttr>(
                 DenseElementsAttr::get(constantType, ArrayRef(values))));
  }
  if (kind == "nn.batch_norm") {
    List x = shape(2, 4);
    Value operands[5];
    operands[0] = argument(x);
    for (int i = 1; i != 5; ++i)
      operands[i] = argument(x[1]);
    return builder.create<BatchNormOp>(loc, type(x), operands[0], operands[1],
                                       operands[2], operands[3], operands[4],
                                       llvm::APFloat(1e-3f));
  }
  if (kind == "nn.lrn") {
    List x = shape(2, 4);
    x[1] = random.in(1, 9);
    return builder.create<LRNOp>(loc, argument(x), random.in(1, 6),
                                 llvm::APFloat(0.5f), llvm::APFloat(0.75f),
                                 llvm::APFloat(2.0f));
  }
  if (kind == "nn.softmax") {
    List x = shape(1, 4);
    return builder.create<SoftmaxOp>(loc, argument(x),
                                     random.in(0, x.size() - 1), random.flip());
  }
  if (kind == "nn.layer_norm") {
    List x = shape(1, 4);
    int64_t axis = random.in(0, x.size() - 1);
    Value input = argument(x), bias;
    ArrayRef<int64_t> inner = ArrayRef(x).drop_front(axis);
    Value scale = argument(inner);
    if (random.flip())
      bias = argument(inner);
    return builder.create<LayerNormOp>(loc, type(x), input, scale, bias, axis,
                                       llvm::APFloat(1e-3f));
  }
  if (kind == "nn.conv_backward_data")
    return convBackward(random.in(0, 2) == 0);
  if (kind == "nn.where")
    return where();
  if (kind == "nn.gather")
    return gather();
  if (kind == "nn.resize")
    return resize();
  if (kind == "nn.lstm")
    return lstm();
  if (kind == "nn.expand") {
    List result = shape(0, 4, 5);
    return create(kind, argument(narrowed(result)), type(result));
  }
  if (kind == "nn.tile") {
    List x = shape(1, 3, 4), result = x;
    for (int64_t &size : result)
      size *= random.flip() ? random.in(1, 5) : 1;
    return create(kind, argument(x), type(result));
  }
  if (kind == "nn.concat") {
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
  if (kind == "nn.slice") {
    List x = shape(1, 4, 9), result, starts, steps;
    for (int64_t size : x) {
      int64_t step = random.in(1, 3) * (random.flip() ? 1 : -1);
      int64_t start = random.in(0, size - 1);
      int64_t most = (step > 0 ? size - 1 - start : start) / std::abs(step) + 1;
      result.push_back(random.in(1, most));
      starts.push_back(start);
      steps.push_back(step);
    }
    return builder.create<SliceOp>(loc, type(result), argument(x), starts,
                                   steps);
  }
  if (kind == "nn.pad") {
    List x = shape(1, 3, 4), result;
    List lo = list(x.size(), 0, 4), hi = list(x.size(), 0, 4);
    for (auto [size, before, behind] : llvm::zip(x, lo, hi))
      result.push_back(size + before + behind);
    return builder.create<PadOp>(loc, type(result), argument(x), lo, hi,
                                 llvm::APFloat(0.25f));
  }
  if (kind == "nn.transpose") {
    List x = shape(1, 4), permutation(x.size()), result;
    std::iota(permutation.begin(), permutation.end(), 0);
    for (size_t i = permutation.size(); i > 1; --i)
      std::swap(permutation[i - 1], permutation[random.in(0, i - 1)]);
    for (int64_t dim : permutation)
      result.push_back(x[dim]);
    return builder.create<TransposeOp>(loc, type(result), argument(x),
                                       permutation);
  }
  static constexpr StringLiteral binaries[] = {
      "nn.add", "nn.sub", "nn.mul", "nn.div", "nn.max",    "nn.min",
      "nn.pow", "nn.and", "nn.or",  "nn.xor", "nn.compare"};
  return llvm::is_contained(binaries, kind) ? binary(kind) : unary(kind);
}

} // namespace

ArrayRef<StringRef> soap::nn::test::allKinds() {
  static const StringRef kinds[] = {
      "nn.input",    "nn.parameter",  "nn.constant",
      "nn.conv",     "nn.matmul",     "nn.max_pool",
      "nn.avg_pool", "nn.reduce",     "nn.batch_norm",
      "nn.lrn",      "nn.softmax",    "nn.add",
      "nn.sub",      "nn.mul",        "nn.div",
      "nn.max",      "nn.min",        "nn.relu",
      "nn.sigmoid",  "nn.tanh",       "nn.sqrt",
      "nn.clip",     "nn.concat",     "nn.slice",
      "nn.pad",      "nn.reshape",    "nn.transpose",
      "nn.pow",      "nn.and",        "nn.or",
      "nn.xor",      "nn.compare",    "nn.where",
      "nn.exp",      "nn.log",        "nn.erf",
      "nn.sin",      "nn.cos",        "nn.reciprocal",
      "nn.floor",    "nn.ceil",       "nn.round",
      "nn.neg",      "nn.abs",        "nn.not",
      "nn.gelu",     "nn.cast",       "nn.expand",
      "nn.tile",     "nn.gather",     "nn.resize",
      "nn.lstm",     "nn.layer_norm", "nn.conv_backward_data"};
  return kinds;
}

PartitionOpInterface soap::nn::test::buildRandomOp(Block &block, StringRef kind,
                                                   Random &random,
                                                   MLIRContext *context) {
  Operation *op = Generator(block, random, context).build(kind);
  setName(op, "op");
  return cast<PartitionOpInterface>(op);
}

ConvOp soap::nn::test::buildConv(Block &block, MLIRContext *context,
                                 ArrayRef<int64_t> input, int64_t outputs,
                                 int64_t kernel, int64_t stride, int64_t pad,
                                 bool bias) {
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&block);
  Location loc = builder.getUnknownLoc();
  auto type = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  };
  List weight = {outputs, input[1]}, result = {input[0], outputs};
  for (int64_t size : input.drop_front(2)) {
    weight.push_back(kernel);
    result.push_back((size + 2 * pad - kernel) / stride + 1);
  }
  size_t spatial = input.size() - 2;
  Value x = block.addArgument(type(input), loc);
  Value w = block.addArgument(type(weight), loc), b;
  if (bias)
    b = block.addArgument(type({outputs}), loc);
  auto op = builder.create<ConvOp>(
      loc, type(result), x, w, b, List(spatial, stride), List(spatial, 1),
      List(spatial, pad), List(spatial, pad), uint64_t(1));
  setName(op, "op");
  return op;
}
