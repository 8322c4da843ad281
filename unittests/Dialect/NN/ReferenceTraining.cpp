//===- ReferenceTraining.cpp - Updates of parameters, one by one ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

/// The number of the step, the learning rate, and the bias corrections of Adam
/// (Kingma and Ba 2015, algorithm 1).
static std::vector<double> elementsOf(ScheduleOp op, ArrayRef<double> x) {
  double number = x.empty() ? 1 : x[0] + 1;
  auto warmup = static_cast<double>(op.getWarmup());
  auto period = static_cast<double>(op.getPeriod());
  double after = std::max(0.0, number - 1 - warmup), rate = 0;
  switch (op.getKind()) {
  case ScheduleKind::Constant:
    rate = 1;
    break;
  case ScheduleKind::Step:
    rate =
        std::pow(op.getFactor().convertToDouble(), std::floor(after / period));
    break;
  case ScheduleKind::Cosine:
    rate = after < period
               ? (1 + std::cos(llvm::numbers::pi * after / period)) / 2
               : 0;
    break;
  case ScheduleKind::Linear:
    rate = after < period ? 1 - after / period : 0;
    break;
  }
  if (number < warmup)
    rate *= number / warmup;
  return {number, rate * op.getRate().convertToDouble(),
          1 - std::pow(op.getBeta1().convertToDouble(), number),
          1 - std::pow(op.getBeta2().convertToDouble(), number)};
}

static std::vector<double> elementsOf(SGDOp op, ArrayRef<double> x) {
  double w = x[0], rate = x[2], gradient = x.size() > 3 ? x[1] * x[3] : x[1];
  return {w - rate * (gradient + op.getWeightDecay().convertToDouble() * w)};
}

/// PyTorch's SGD: the rate is no part of the velocity.
static std::vector<double> elementsOf(MomentumOp op, ArrayRef<double> x) {
  double w = x[0], rate = x[3], momentum = op.getMomentum().convertToDouble();
  double gradient = (x.size() > 4 ? x[1] * x[4] : x[1]) +
                    op.getWeightDecay().convertToDouble() * w;
  double velocity = momentum * x[2] + gradient;
  double step = op.getNesterov() ? gradient + momentum * velocity : velocity;
  return {w - rate * step, velocity};
}

/// Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2.
static std::vector<double> elementsOf(AdamOp op, ArrayRef<double> x) {
  double w = x[0], rate = x[4], decay = op.getWeightDecay().convertToDouble();
  double beta1 = op.getBeta1().convertToDouble();
  double beta2 = op.getBeta2().convertToDouble();
  double gradient = x.size() > 7 ? x[1] * x[7] : x[1];
  if (!op.getDecoupled())
    gradient += decay * w;
  double mean = beta1 * x[2] + (1 - beta1) * gradient;
  double variance = beta2 * x[3] + (1 - beta2) * gradient * gradient;
  double step =
      mean / x[5] /
      (std::sqrt(variance / x[6]) + op.getEpsilon().convertToDouble());
  if (op.getDecoupled())
    step += decay * w;
  return {w - rate * step, mean, variance};
}

/// Salmon et al. 2011, section 3.3.
std::array<uint32_t, 4> soap::nn::test::philox(std::array<uint32_t, 4> counter,
                                               std::array<uint32_t, 2> key) {
  for (int round = 0; round != 10; ++round) {
    uint64_t left = uint64_t(0xD2511F53) * counter[0];
    uint64_t right = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(right >> 32) ^ counter[1] ^ key[0], uint32_t(right),
               uint32_t(left >> 32) ^ counter[3] ^ key[1], uint32_t(left)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

Tensor soap::nn::test::dropout(DropoutOp op, ArrayRef<Tensor> operands) {
  Tensor result = operands[0];
  if (operands.size() == 1)
    return result;
  Tensor whole;
  whole.shape = result.shape;
  if (op.getGlobalShape())
    whole.shape.assign(op.getGlobalShape()->begin(),
                       op.getGlobalShape()->end());
  auto step = static_cast<uint64_t>(operands[1].data[0]);
  double ratio = op.getRatio().convertToDouble();
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> global(index);
    if (op.getOffsets())
      for (size_t dim = 0; dim != global.size(); ++dim)
        global[dim] += (*op.getOffsets())[dim];
    auto number = static_cast<uint64_t>(whole.linear(global));
    uint32_t word =
        philox({uint32_t(number), uint32_t(number >> 32), uint32_t(step),
                uint32_t(step >> 32)},
               {uint32_t(op.getSeed()), uint32_t(op.getSeed() >> 32)})[0];
    double &element = result.at(index);
    element =
        word < std::nearbyint(ratio * 4294967296.0) ? 0 : element / (1 - ratio);
  });
  return result;
}

std::vector<Tensor>
soap::nn::test::evaluateTraining(Operation *op, ArrayRef<Tensor> operands) {
  std::vector<Tensor> results;
  for (Type type : op->getResultTypes())
    results.emplace_back(cast<RankedTensorType>(type).getShape());
  for (size_t i = 0; i != results.front().data.size(); ++i) {
    // Scalars are the same for every element.
    SmallVector<double> x;
    for (const Tensor &operand : operands)
      x.push_back(operand.data[operand.shape.empty() ? 0 : i]);
    std::vector<double> elements =
        llvm::TypeSwitch<Operation *, std::vector<double>>(op)
            .Case<ScheduleOp, SGDOp, MomentumOp, AdamOp>(
                [&](auto typed) { return elementsOf(typed, x); });
    for (auto [result, element] : llvm::zip_equal(results, elements))
      result.data[i] = element;
  }
  return results;
}
