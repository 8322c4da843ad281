//===- ReferenceOps.cpp - Parts of the naive evaluator --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

//===----------------------------------------------------------------------===//
// Per element
//===----------------------------------------------------------------------===//

static double logistic(double x) { return 1 / (1 + std::exp(-x)); }

static bool holds(Predicate predicate, double a, double b) {
  switch (predicate) {
  case Predicate::Eq:
    return a == b;
  case Predicate::Ne:
    return a != b;
  case Predicate::Lt:
    return a < b;
  case Predicate::Le:
    return a <= b;
  case Predicate::Gt:
    return a > b;
  case Predicate::Ge:
    return a >= b;
  }
  return false;
}

static double gelu(bool approximate, double x) {
  if (approximate)
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
}

static double convert(Type to, double x) {
  if (to.isInteger(1))
    return x != 0;
  return to.isInteger() ? std::trunc(x) : x;
}

/// Whole numbers, bit by bit; booleans are 0 and 1.
static double bits(Operation *op, ArrayRef<double> x) {
  auto a = static_cast<int64_t>(x[0]);
  if (isa<NotOp>(op))
    return getElementTypeOrSelf(op->getResult(0)).isInteger(1)
               ? 1 - x[0]
               : static_cast<double>(~a);
  auto b = static_cast<int64_t>(x[1]);
  return static_cast<double>(isa<AndOp>(op)  ? a & b
                             : isa<OrOp>(op) ? a | b
                                             : a ^ b);
}

/// As Python's % or, truncated, as C's.
static double modulo(ModOp op, double a, double b) {
  if (getElementTypeOrSelf(op.getResult()).isInteger() && b == 0)
    return 0;
  return op.getTruncate() ? std::fmod(a, b) : a - b * std::floor(a / b);
}

/// The element of type `to` that has the bits of `x`, an element of type
/// `from`; a boolean is a byte.
static double sameBits(Type from, Type to, double x) {
  bool lossy;
  llvm::APInt bits;
  if (auto real = dyn_cast<FloatType>(from)) {
    llvm::APFloat number(x);
    number.convert(real.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                   &lossy);
    bits = number.bitcastToAPInt();
  } else {
    unsigned width = from.isInteger(1) ? 8 : from.getIntOrFloatBitWidth();
    bits = llvm::APInt(width, static_cast<uint64_t>(static_cast<int64_t>(x)),
                       /*isSigned=*/true);
  }
  if (to.isInteger(1))
    return bits.isZero() ? 0 : 1;
  if (auto real = dyn_cast<FloatType>(to)) {
    llvm::APFloat number(real.getFloatSemantics(), bits);
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &lossy);
    return number.convertToDouble();
  }
  return isUnsigned(to) ? static_cast<double>(bits.getZExtValue())
                        : static_cast<double>(bits.getSExtValue());
}

/// `x[0]` times or, to the right, divided by 2 for each place.
static double shifted(Operation *op, ArrayRef<double> x) {
  unsigned width =
      getElementTypeOrSelf(op->getResult(0)).getIntOrFloatBitWidth();
  if (x[1] >= width)
    return 0;
  auto places = static_cast<int>(x[1]);
  if (isa<ShiftRightOp>(op))
    return std::floor(std::ldexp(x[0], -places));
  return std::fmod(std::ldexp(x[0], places), std::ldexp(1.0, width));
}

double soap::nn::test::elementOf(Operation *op, ArrayRef<double> x) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](AddOp) { return x[0] + x[1]; })
      .Case([&](SubOp) { return x[0] - x[1]; })
      .Case([&](MulOp) { return x[0] * x[1]; })
      .Case([&](DivOp) { return x[0] / x[1]; })
      .Case([&](MaxOp) { return std::max(x[0], x[1]); })
      .Case([&](MinOp) { return std::min(x[0], x[1]); })
      .Case([&](PowOp) { return std::pow(x[0], x[1]); })
      .Case<AndOp, OrOp, XorOp, NotOp>([&](auto op) { return bits(op, x); })
      .Case<ShiftLeftOp, ShiftRightOp>([&](auto op) { return shifted(op, x); })
      .Case([&](BitCastOp op) {
        return sameBits(getElementTypeOrSelf(op.getX()),
                        getElementTypeOrSelf(op.getResult()), x[0]);
      })
      .Case([&](ModOp op) { return modulo(op, x[0], x[1]); })
      .Case([&](CompareOp compare) {
        return double(holds(compare.getPredicate(), x[0], x[1]));
      })
      .Case([&](WhereOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Case([&](ReluOp) { return std::max(x[0], 0.0); })
      .Case([&](SigmoidOp) { return logistic(x[0]); })
      .Case([&](TanhOp) { return std::tanh(x[0]); })
      .Case([&](SqrtOp) { return std::sqrt(x[0]); })
      .Case([&](ExpOp) { return std::exp(x[0]); })
      .Case([&](LogOp) { return std::log(x[0]); })
      .Case([&](ErfOp) { return std::erf(x[0]); })
      .Case([&](SinOp) { return std::sin(x[0]); })
      .Case([&](CosOp) { return std::cos(x[0]); })
      .Case([&](ReciprocalOp) { return 1 / x[0]; })
      .Case([&](FloorOp) { return std::floor(x[0]); })
      .Case([&](CeilOp) { return std::ceil(x[0]); })
      .Case([&](RoundOp) { return std::nearbyint(x[0]); })
      .Case([&](NegOp) { return -x[0]; })
      .Case([&](AbsOp) { return std::abs(x[0]); })
      .Case([&](SignOp) { return double((x[0] > 0) - (x[0] < 0)); })
      .Case([&](TanOp) { return std::tan(x[0]); })
      .Case([&](AsinOp) { return std::asin(x[0]); })
      .Case([&](AcosOp) { return std::acos(x[0]); })
      .Case([&](AtanOp) { return std::atan(x[0]); })
      .Case([&](SinhOp) { return std::sinh(x[0]); })
      .Case([&](CoshOp) { return std::cosh(x[0]); })
      .Case([&](AsinhOp) { return std::asinh(x[0]); })
      .Case([&](AcoshOp) { return std::acosh(x[0]); })
      .Case([&](AtanhOp) { return std::atanh(x[0]); })
      .Case([&](GeluOp op) { return gelu(op.getApproximate(), x[0]); })
      .Case([&](CastOp cast) {
        return convert(getElementTypeOrSelf(cast.getResult()), x[0]);
      })
      .Case([&](ExpandOp) { return x[0]; })
      .Case([&](ClipOp clip) {
        return std::min<double>(
            std::max<double>(x[0], clip.getMin().convertToFloat()),
            clip.getMax().convertToFloat());
      });
}

//===----------------------------------------------------------------------===//
// Look-ups
//===----------------------------------------------------------------------===//

static Tensor resultOf(Value result) {
  return Tensor(cast<RankedTensorType>(result.getType()).getShape());
}

Tensor soap::nn::test::gather(GatherOp op, ArrayRef<Tensor> operands) {
  const Tensor &data = operands[0], &indices = operands[1];
  Tensor result = resultOf(op.getResult());
  size_t axis = op.getAxis(), indexRank = indices.shape.size();
  int64_t rows = data.shape[axis];
  int64_t table = op.getTableSize().value_or(rows), base = op.getBase();
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    auto row = static_cast<int64_t>(indices.at(index.slice(axis, indexRank)));
    row += row < 0 ? table : 0;
    if (row < base || row >= base + rows)
      return;
    SmallVector<int64_t> at(index.take_front(axis));
    at.push_back(row - base);
    llvm::append_range(at, index.drop_front(axis + indexRank));
    result.at(index) = data.at(at);
  });
  return result;
}

Tensor soap::nn::test::tile(TileOp op, const Tensor &x) {
  Tensor result = resultOf(op.getResult());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at;
    for (auto [i, size] : llvm::zip(index, x.shape))
      at.push_back(i % size);
    result.at(index) = x.at(at);
  });
  return result;
}

/// Keys' weight of the element at `distance` of a point.
static double cubicWeight(double a, double distance) {
  double d = std::abs(distance);
  if (d <= 1)
    return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * (d * d * d - 5 * d * d + 8 * d - 4) : 0;
}

/// The elements along dimension `d` that element `i` joins, with their weights.
static std::vector<std::pair<int64_t, double>>
weightsOf(ResizeOp op, size_t d, int64_t i, int64_t size) {
  double q =
      static_cast<double>(op.getNumerators()[d] * i + op.getOffsets()[d]) /
      static_cast<double>(op.getDenominators()[d]);
  auto below = static_cast<int64_t>(std::floor(q));
  double part = q - std::floor(q);
  std::vector<std::pair<int64_t, double>> weights;
  if (op.getMode() == ResizeMode::Nearest)
    weights = {{below, 1}};
  else if (op.getMode() == ResizeMode::Linear)
    weights = {{below, 1 - part}, {below + 1, part}};
  else
    for (int64_t k = -1; k != 3; ++k)
      weights.push_back(
          {below + k, cubicWeight(op.getCubicA().convertToFloat(), part - k)});
  double sum = 0;
  for (auto &[at, weight] : weights) {
    if (op.getExcludeOutside() && (at < 0 || at >= size))
      weight = 0;
    at = std::clamp<int64_t>(at, 0, size - 1);
    sum += weight;
  }
  for (auto &[at, weight] : weights)
    weight /= sum;
  return weights;
}

/// Sums over all combinations of elements.
Tensor soap::nn::test::resize(ResizeOp op, const Tensor &x) {
  Tensor result = resultOf(op.getResult());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    std::vector<std::vector<std::pair<int64_t, double>>> weights;
    SmallVector<int64_t> counts;
    for (size_t d = 0; d != x.shape.size(); ++d) {
      weights.push_back(weightsOf(op, d, index[d], x.shape[d]));
      counts.push_back(static_cast<int64_t>(weights.back().size()));
    }
    double sum = 0;
    forEachIndex(counts, [&](ArrayRef<int64_t> choice) {
      double weight = 1;
      SmallVector<int64_t> at;
      for (auto [d, k] : llvm::enumerate(choice)) {
        at.push_back(weights[d][k].first);
        weight *= weights[d][k].second;
      }
      sum += weight * x.at(at);
    });
    result.at(index) = sum;
  });
  return result;
}

/// The functions of Vaswani et al., 2017, section 3.2.1, element by element.
Tensor soap::nn::test::attention(AttentionOp op, ArrayRef<Tensor> operands) {
  const Tensor &query = operands[0], &keys = operands[1], &values = operands[2];
  Tensor result = resultOf(op.getResult());
  size_t n = result.shape.size() - 2, f = n + 1;
  int64_t steps = values.shape[n];
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<double> weights;
    double sum = 0;
    for (int64_t step = 0; step != steps; ++step) {
      double score = 0;
      for (int64_t k = 0; k != query.shape[f]; ++k) {
        SmallVector<int64_t> row(index), column(index);
        row[f] = k;
        column[n] = op.getTransposedKeys() ? k : step;
        column[f] = op.getTransposedKeys() ? step : k;
        score += query.at(row) * keys.at(column);
      }
      score *= op.getScale().convertToDouble();
      if (Value mask = op.getMask()) {
        const Tensor &given = operands[3];
        SmallVector<int64_t> at(index);
        at[f] = step;
        at.erase(at.begin(), at.end() - given.shape.size());
        for (size_t d = 0; d != at.size(); ++d)
          if (given.shape[d] == 1)
            at[d] = 0;
        bool isAdded = !getElementTypeOrSelf(mask).isInteger(1);
        if (isAdded)
          score += given.at(at);
        else if ((given.at(at) != 0) != op.getMaskKeeps())
          score = op.getFill().convertToDouble();
      }
      weights.push_back(std::exp(score));
      sum += weights.back();
    }
    double value = 0;
    for (auto [step, weight] : llvm::enumerate(weights)) {
      SmallVector<int64_t> at(index);
      at[n] = step;
      value += weight / sum * values.at(at);
    }
    result.at(index) = value;
  });
  return result;
}
