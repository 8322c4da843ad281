//===- RandomGradients.cpp - Random gradient operations -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "soap/Dialect/NN/IR/NNRecurrentGradients.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

Operation *Generator::convBackwardFilter(StringRef) {
  bool grouped = random.in(0, 2) == 0;
  size_t spatial = random.in(1, 2);
  int64_t groups = grouped ? random.in(2, 5) : 1;
  int64_t most = grouped ? 3 : 5;
  int64_t inputs = random.in(1, most), outputs = random.in(1, most);
  List x = {random.in(1, 5), groups * inputs};
  List dy = {x[0], groups * outputs}, result = {groups * outputs, inputs};
  List strides = list(spatial, 1, 3), dilations = list(spatial, 1, 2);
  List pads = list(spatial, 0, 4);
  for (size_t i = 0; i != spatial; ++i) {
    result.push_back(random.in(1, 3));
    // Any sizes: windows may lie in the padding, and x may go on behind them.
    x.push_back(random.in(1, 9));
    dy.push_back(random.in(1, 6));
  }
  Value operand = argument(x), gradient = argument(dy);
  return builder.create<ConvBackwardFilterOp>(loc, sumType(result), operand,
                                              gradient, strides, dilations,
                                              pads, groups);
}

Operation *Generator::maxPoolBackward(StringRef) {
  size_t spatial = random.in(1, 2);
  List x = {random.in(1, 5), random.in(1, 5)}, dy = x;
  // Few windows are large.
  List kernel = list(spatial, 1, random.in(0, 3) ? 4 : 12),
       strides = list(spatial, 1, 5), dilations = list(spatial, 1, 2), pads;
  for (size_t i = 0; i != spatial; ++i) {
    int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    pads.push_back(random.in(0, extent - 1));
    int64_t behind = random.in(0, extent - 1);
    int64_t size = random.in(std::max<int64_t>(1, extent - pads[i] - behind),
                             std::max<int64_t>(11, extent));
    x.push_back(size);
    dy.push_back((size + pads[i] + behind - extent) / strides[i] + 1);
  }
  Value operand = argument(x), gradient = argument(dy);
  return builder.create<MaxPoolBackwardOp>(loc, type(x), operand, gradient,
                                           kernel, strides, dilations, pads,
                                           DenseI64ArrayAttr());
}

Operation *Generator::recurrentBackward(StringRef kind) {
  bool isLSTM = kind == "nn.lstm_backward", isGRU = kind == "nn.gru_backward";
  int64_t gates = isLSTM ? 4 : isGRU ? 3 : 1, biases = isGRU ? 4 : gates;
  int64_t steps = random.in(1, 3), batch = random.in(1, 5);
  int64_t directions = random.in(1, 2), inputs = random.in(1, 3);
  int64_t hidden = random.in(1, 3);
  List state = {directions, batch, hidden};
  List all = {steps, directions, batch, hidden};
  Value x = argument({steps, batch, inputs});
  Value w = argument({directions, gates, hidden, inputs});
  Value r = argument({directions, gates, hidden, hidden});
  Value b = argument({directions, biases, hidden}), h = argument(state);
  Value c = isLSTM ? argument(state) : Value();
  Value y = argument(all), dy = argument(all);
  Value dc = isLSTM ? argument(state) : Value(), lengths, peephole;
  if (random.flip())
    lengths = argument({batch}, indexType());
  UnitAttr reverse, mode;
  if (directions == 1 && random.flip())
    reverse = builder.getUnitAttr();
  if (random.flip())
    mode = builder.getUnitAttr();
  FloatAttr clip;
  if (random.in(0, 3) == 0)
    clip = builder.getF32FloatAttr(0.5f);
  SmallVector<Type> types = {type({directions, batch, steps, gates, hidden}),
                             type({directions, batch, steps, hidden})};
  if (isGRU) {
    types.append({types[1], type(state)});
    return builder.create<GRUBackwardOp>(
        loc, types, x, w, r, b, h, y, dy, lengths, reverse, mode, clip,
        activations(2 * directions), UnitAttr());
  }
  types.push_back(type(state));
  if (!isLSTM)
    return builder.create<RNNBackwardOp>(loc, types, x, w, r, b, h, y, dy,
                                         lengths, reverse, clip,
                                         activations(directions), UnitAttr());
  types.push_back(type(state));
  if (random.flip()) {
    peephole = argument({directions, 3, hidden});
    types.push_back(sumType({directions, 3, hidden}));
  }
  return builder.create<LSTMBackwardOp>(
      loc, types, x, w, r, b, h, c, y, dy, dc, lengths, peephole, reverse, mode,
      clip, activations(3 * directions), UnitAttr());
}
