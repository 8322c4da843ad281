//===- RandomLayers.cpp - Random layers of networks -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

Generator::Factors Generator::factors() {
  bool isByte = isa<IntegerType>(element) && elementBytes(element) == 1;
  if (!isByte || random.in(0, 2) == 0)
    return {element, element, accumulatorType(element)};
  auto byte = [&] { return builder.getIntegerType(8, random.flip()); };
  auto signless = [&](Type type) -> Type {
    return isUnsigned(type) ? type : builder.getI8Type();
  };
  Type a = signless(byte()), b = signless(byte());
  return {a, b, builder.getI32Type()};
}

Operation *Generator::conv(StringRef) {
  bool grouped = random.in(0, 2) == 0;
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
  Factors types = factors();
  Value x = argument(input, types.a), w = argument(weight, types.b), b;
  if (random.flip())
    b = argument({groups * outputs}, types.sum);
  return builder.create<ConvOp>(loc, RankedTensorType::get(result, types.sum),
                                x, w, b, strides, dilations, padsLo, padsHi,
                                groups);
}

Operation *Generator::convBackward(StringRef) {
  bool grouped = random.in(0, 2) == 0;
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
  return builder.create<ConvBackwardDataOp>(loc, sumType(result), x, w, b,
                                            strides, dilations, pads, groups);
}

Operation *Generator::matmul(StringRef) {
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
  Factors types = factors();
  Value x = argument(a, types.a), y = argument(b, types.b), bias;
  if (random.flip())
    bias = argument({f}, types.sum);
  return builder.create<MatMulOp>(
      loc, RankedTensorType::get(result, types.sum), x, y, bias, transposeA,
      transposeB, llvm::APFloat(isa<FloatType>(element) ? 0.5f : 1.0f));
}

Operation *Generator::pool(StringRef kind) {
  size_t spatial = random.in(1, 2);
  // A target may have other kernels for few channels than for many.
  int64_t channels = random.in(0, 2) == 0 ? random.in(1, 5) : random.in(16, 34);
  List input = {random.in(1, 5), channels}, result = input;
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
  if (kind == "nn.avg_pool")
    return builder.create<AvgPoolOp>(loc, type(result), x, kernel, strides,
                                     dilations, padsLo, padsHi, countedLo,
                                     countedHi);
  return builder.create<MaxPoolOp>(loc, type(result), x, kernel, strides,
                                   dilations, padsLo, padsHi);
}

/// `count` activations, or none.
ArrayAttr Generator::activations(int64_t count) {
  if (random.flip())
    return {};
  SmallVector<Attribute> chosen;
  for (int64_t i = 0; i != count; ++i)
    chosen.push_back(ActivationAttr::get(
        builder.getContext(), static_cast<ActivationKind>(random.in(0, 10)),
        0.25 * random.in(1, 4), 0.25 * random.in(1, 4)));
  return builder.getArrayAttr(chosen);
}

Operation *Generator::lstm(StringRef) {
  int64_t steps = random.in(1, 3), batch = random.in(1, 5);
  int64_t directions = random.in(1, 2), inputs = random.in(1, 3);
  int64_t hidden = random.in(1, 3);
  List state = {directions, batch, hidden};
  Value x = argument({steps, batch, inputs});
  Value w = argument({directions, 4, hidden, inputs});
  Value r = argument({directions, 4, hidden, hidden});
  Value b = argument({directions, 4, hidden});
  Value h = argument(state), c = argument(state), lengths, peephole;
  bool isReverse = directions == 1 && random.flip();
  if (random.flip())
    lengths = argument({batch}, indexType());
  if (random.flip())
    peephole = argument({directions, 3, hidden});
  UnitAttr reverse, inputForget;
  if (isReverse)
    reverse = builder.getUnitAttr();
  if (random.in(0, 3) == 0)
    inputForget = builder.getUnitAttr();
  FloatAttr clip;
  if (random.in(0, 3) == 0)
    clip = builder.getF32FloatAttr(0.5f);
  return builder.create<LSTMOp>(loc, type({steps, directions, batch, hidden}),
                                type(state), x, w, r, b, h, c, lengths,
                                peephole, reverse, inputForget, clip,
                                activations(3 * directions), UnitAttr());
}

Operation *Generator::gru(StringRef) {
  int64_t steps = random.in(1, 3), batch = random.in(1, 5);
  int64_t directions = random.in(1, 2), inputs = random.in(1, 3);
  int64_t hidden = random.in(1, 3);
  Value x = argument({steps, batch, inputs});
  Value w = argument({directions, 3, hidden, inputs});
  Value r = argument({directions, 3, hidden, hidden});
  Value b = argument({directions, 4, hidden});
  Value h = argument({directions, batch, hidden}), lengths;
  if (random.flip())
    lengths = argument({batch}, indexType());
  UnitAttr reverse, linear;
  if (directions == 1 && random.flip())
    reverse = builder.getUnitAttr();
  if (random.flip())
    linear = builder.getUnitAttr();
  FloatAttr clip;
  if (random.in(0, 3) == 0)
    clip = builder.getF32FloatAttr(0.5f);
  return builder.create<GRUOp>(loc, type({steps, directions, batch, hidden}), x,
                               w, r, b, h, lengths, reverse, linear, clip,
                               activations(2 * directions), UnitAttr());
}

Operation *Generator::rnn(StringRef) {
  int64_t steps = random.in(1, 3), batch = random.in(1, 5);
  int64_t directions = random.in(1, 2), inputs = random.in(1, 3);
  int64_t hidden = random.in(1, 3);
  Value x = argument({steps, batch, inputs});
  Value w = argument({directions, 1, hidden, inputs});
  Value r = argument({directions, 1, hidden, hidden});
  Value b = argument({directions, 1, hidden});
  Value h = argument({directions, batch, hidden}), lengths;
  if (random.flip())
    lengths = argument({batch}, indexType());
  UnitAttr reverse;
  if (directions == 1 && random.flip())
    reverse = builder.getUnitAttr();
  FloatAttr clip;
  if (random.in(0, 3) == 0)
    clip = builder.getF32FloatAttr(0.5f);
  return builder.create<RNNOp>(loc, type({steps, directions, batch, hidden}), x,
                               w, r, b, h, lengths, reverse, clip,
                               activations(directions), UnitAttr());
}

Operation *Generator::batchNorm(StringRef) {
  List x = shape(2, 4);
  Value operands[5];
  operands[0] = argument(x);
  for (int i = 1; i != 5; ++i)
    operands[i] = argument(x[1]);
  return builder.create<BatchNormOp>(loc, type(x), operands[0], operands[1],
                                     operands[2], operands[3], operands[4],
                                     llvm::APFloat(1e-3f));
}

Operation *Generator::layerNorm(StringRef) {
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

Operation *Generator::lrn(StringRef) {
  List x = shape(2, 4);
  x[1] = random.in(1, 9);
  return builder.create<LRNOp>(loc, argument(x), random.in(1, 6),
                               llvm::APFloat(0.5f), llvm::APFloat(0.75f),
                               llvm::APFloat(2.0f));
}

Operation *Generator::attention(StringRef) {
  List batch = shape(0, 2, 6);
  auto with = [&](int64_t a, int64_t b) {
    List all = batch;
    all.append({a, b});
    return all;
  };
  int64_t rows = random.in(1, 7), steps = random.in(1, 7),
          depth = random.in(1, 4), features = random.in(1, 4);
  bool isTransposed = random.flip();
  Value query = argument(with(rows, depth));
  Value keys = argument(isTransposed ? with(depth, steps) : with(steps, depth));
  Value values = argument(with(steps, features)), mask;
  if (random.flip()) {
    List scores = narrowed(with(rows, steps));
    mask = random.flip() ? argument(scores)
                         : argument(scores, builder.getI1Type());
  }
  return builder.create<AttentionOp>(
      loc, type(with(rows, features)), query, keys, values, mask, isTransposed,
      random.flip(), llvm::APFloat(0.5F), llvm::APFloat(-1.5F));
}

Operation *Generator::softmax(StringRef) {
  List x = shape(1, 4);
  return builder.create<SoftmaxOp>(loc, type(x), argument(x),
                                   random.in(0, x.size() - 1), random.flip());
}

Operation *Generator::reduce(StringRef) {
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
  bool isSummed = kind == ReduceKind::Sum || kind == ReduceKind::Prod;
  bool isScaled = kind == ReduceKind::Sum && isa<FloatType>(element);
  return builder.create<ReduceOp>(
      loc, isSummed ? sumType(result) : type(result), argument(input), kind,
      axes, keepdims, llvm::APFloat(isScaled ? 0.125f : 1.0f));
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
