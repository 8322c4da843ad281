//===- RandomGradients.cpp - Random gradient operations -------------------===//
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
  List kernel = list(spatial, 1, 4), strides = list(spatial, 1, 5),
       dilations = list(spatial, 1, 2), pads;
  for (size_t i = 0; i != spatial; ++i) {
    int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    pads.push_back(random.in(0, extent - 1));
    int64_t behind = random.in(0, extent - 1);
    int64_t size =
        random.in(std::max<int64_t>(1, extent - pads[i] - behind), 11);
    x.push_back(size);
    dy.push_back((size + pads[i] + behind - extent) / strides[i] + 1);
  }
  Value operand = argument(x), gradient = argument(dy);
  return builder.create<MaxPoolBackwardOp>(loc, type(x), operand, gradient,
                                           kernel, strides, dilations, pads,
                                           DenseI64ArrayAttr());
}
