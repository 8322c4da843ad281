//===- NaiveOps.cpp - nn operations, computed element by element ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NaiveOps.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/TypeSwitch.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>
#include <limits>

using namespace mlir;
using namespace soap;

using Index = std::vector<int64_t>;
using Operands = std::vector<std::vector<float>>;

static Index tensorShape(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return Index(shape.begin(), shape.end());
}

/// Calls `body` with every index of `shape`, in row-major order.
static void forEach(const Index &shape,
                    llvm::function_ref<void(const Index &)> body) {
  for (int64_t size : shape)
    if (size == 0)
      return;
  Index index(shape.size(), 0);
  while (true) {
    body(index);
    int64_t dim = shape.size() - 1;
    for (; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
    if (dim < 0)
      return;
  }
}

namespace {
/// An operand with its shape.
struct Tensor {
  Index shape;
  const std::vector<float> &elements;

  bool contains(const Index &index) const {
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (index[dim] < 0 || index[dim] >= shape[dim])
        return false;
    return true;
  }
  double operator[](const Index &index) const {
    int64_t offset = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      offset = offset * shape[dim] + index[dim];
    return elements[offset];
  }
};
} // namespace

/// The result, element by element.
static std::vector<float>
map(Operation *op, llvm::function_ref<double(const Index &)> element) {
  std::vector<float> result;
  forEach(tensorShape(op->getResult(0)), [&](const Index &index) {
    result.push_back(static_cast<float>(element(index)));
  });
  return result;
}

static std::vector<float> conv(nn::ConvOp op, const Operands &operands) {
  Tensor x{tensorShape(op.getInput()), operands[0]};
  Tensor w{tensorShape(op.getWeight()), operands[1]};
  int64_t channels = w.shape[1];
  int64_t featuresPerGroup = w.shape[0] / op.getGroups();
  Index window(w.shape.begin() + 1, w.shape.end());
  return map(op, [&](const Index &y) {
    double sum = op.getBias() ? operands[2][y[1]] : 0;
    forEach(window, [&](const Index &k) {
      Index from = {y[0], y[1] / featuresPerGroup * channels + k[0]};
      Index weight = {y[1], k[0]};
      for (size_t i = 0; i + 2 < y.size(); ++i) {
        from.push_back(y[i + 2] * op.getStrides()[i] - op.getPadsLo()[i] +
                       k[i + 1] * op.getDilations()[i]);
        weight.push_back(k[i + 1]);
      }
      if (x.contains(from))
        sum += x[from] * w[weight];
    });
    return sum;
  });
}

template <typename PoolOp>
static void forEachInWindow(PoolOp op, const Index &y,
                            llvm::function_ref<void(const Index &)> body) {
  forEach(Index(op.getKernel().begin(), op.getKernel().end()),
          [&](const Index &k) {
            Index from = {y[0], y[1]};
            for (size_t i = 0; i < k.size(); ++i)
              from.push_back(y[i + 2] * op.getStrides()[i] - op.getPadsLo()[i] +
                             k[i] * op.getDilations()[i]);
            body(from);
          });
}

static std::vector<float> maxPool(nn::MaxPoolOp op, const Operands &operands) {
  Tensor x{tensorShape(op.getInput()), operands[0]};
  return map(op, [&](const Index &y) {
    double largest = -std::numeric_limits<double>::infinity();
    forEachInWindow(op, y, [&](const Index &from) {
      if (x.contains(from))
        largest = std::isnan(x[from]) || std::isnan(largest)
                      ? std::nan("")
                      : std::max(largest, x[from]);
    });
    return largest;
  });
}

static std::vector<float> avgPool(nn::AvgPoolOp op, const Operands &operands) {
  Tensor x{tensorShape(op.getInput()), operands[0]};
  return map(op, [&](const Index &y) {
    double sum = 0, count = 0;
    forEachInWindow(op, y, [&](const Index &from) {
      bool counted = true;
      for (size_t i = 0; i + 2 < from.size(); ++i)
        counted &= from[i + 2] >= -op.getCountedLo()[i] &&
                   from[i + 2] < x.shape[i + 2] + op.getCountedHi()[i];
      count += counted;
      if (x.contains(from))
        sum += x[from];
    });
    return count == 0 ? 0 : sum / count;
  });
}

static std::vector<float> matMul(nn::MatMulOp op, const Operands &operands) {
  Tensor a{tensorShape(op.getA()), operands[0]};
  Tensor b{tensorShape(op.getB()), operands[1]};
  int64_t depth = a.shape[a.shape.size() - (op.getTransposeA() ? 2 : 1)];
  return map(op, [&](const Index &y) {
    auto at = [&](const Tensor &tensor, int64_t first, int64_t second,
                  bool transposed) {
      Index index;
      size_t batch = tensor.shape.size() - 2, skip = y.size() - 2 - batch;
      for (size_t i = 0; i < batch; ++i)
        index.push_back(tensor.shape[i] == 1 ? 0 : y[i + skip]);
      index.push_back(transposed ? second : first);
      index.push_back(transposed ? first : second);
      return tensor[index];
    };
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += at(a, y[y.size() - 2], k, op.getTransposeA()) *
             at(b, k, y.back(), op.getTransposeB());
    return sum * op.getAlpha().convertToDouble() +
           (op.getBias() ? operands[2][y.back()] : 0);
  });
}

static std::vector<float> reduce(nn::ReduceOp op, const Operands &operands) {
  Tensor x{tensorShape(op.getInput()), operands[0]};
  Index extents, axes(op.getAxes().begin(), op.getAxes().end());
  for (int64_t axis : axes)
    extents.push_back(x.shape[axis]);
  return map(op, [&](const Index &y) {
    std::vector<double> values;
    forEach(extents, [&](const Index &reduced) {
      Index from(x.shape.size(), 0);
      size_t kept = 0;
      for (size_t dim = 0; dim < from.size(); ++dim) {
        auto axis = llvm::find(axes, static_cast<int64_t>(dim));
        bool isReduced = axis != axes.end();
        from[dim] = isReduced ? reduced[axis - axes.begin()] : y[kept];
        kept += !isReduced || op.getKeepdims();
      }
      values.push_back(x[from]);
    });
    double result = values[0];
    for (size_t i = 1; i < values.size(); ++i)
      switch (op.getKind()) {
      case nn::ReduceKind::Sum:
        result += values[i];
        break;
      case nn::ReduceKind::Prod:
        result *= values[i];
        break;
      case nn::ReduceKind::Max:
        result = std::max(result, values[i]);
        break;
      case nn::ReduceKind::Min:
        result = std::min(result, values[i]);
        break;
      }
    return result * op.getScale().convertToDouble();
  });
}

static std::vector<float> softmax(nn::SoftmaxOp op, const Operands &operands) {
  Tensor x{tensorShape(op.getX()), operands[0]};
  return map(op, [&](const Index &y) {
    double sum = 0;
    Index from = y;
    for (int64_t i = 0; i < x.shape[op.getAxis()]; ++i) {
      from[op.getAxis()] = i;
      sum += std::exp(x[from] - x[y]);
    }
    return 1 / sum;
  });
}

static std::vector<float> lrn(nn::LRNOp op, const Operands &operands) {
  Tensor x{tensorShape(op.getX()), operands[0]};
  int64_t size = op.getSize();
  return map(op, [&](const Index &y) {
    double sum = 0;
    Index from = y;
    for (from[1] = y[1] - (size - 1) / 2; from[1] <= y[1] + size / 2; ++from[1])
      if (x.contains(from))
        sum += x[from] * x[from];
    double base = op.getBias().convertToDouble() +
                  op.getAlpha().convertToDouble() / size * sum;
    return x[y] / std::pow(base, op.getBeta().convertToDouble());
  });
}

static std::vector<float> concat(nn::ConcatOp op, const Operands &operands) {
  return map(op, [&](const Index &y) {
    Index from = y;
    for (auto [input, elements] : llvm::zip(op.getInputs(), operands)) {
      Tensor x{tensorShape(input), elements};
      if (x.contains(from))
        return x[from];
      from[op.getAxis()] -= x.shape[op.getAxis()];
    }
    return std::nan("");
  });
}

std::vector<float> test::computeNaively(Operation *op,
                                        const Operands &operands) {
  auto input = [&] {
    return Tensor{tensorShape(op->getOperand(0)), operands[0]};
  };
  return llvm::TypeSwitch<Operation *, std::vector<float>>(op)
      .Case([&](nn::ConvOp conv) { return ::conv(conv, operands); })
      .Case([&](nn::MatMulOp matMul) { return ::matMul(matMul, operands); })
      .Case([&](nn::MaxPoolOp pool) { return maxPool(pool, operands); })
      .Case([&](nn::AvgPoolOp pool) { return avgPool(pool, operands); })
      .Case([&](nn::ReduceOp reduce) { return ::reduce(reduce, operands); })
      .Case([&](nn::SoftmaxOp softmax) { return ::softmax(softmax, operands); })
      .Case([&](nn::LRNOp lrn) { return ::lrn(lrn, operands); })
      .Case([&](nn::ConcatOp concat) { return ::concat(concat, operands); })
      .Case([&](nn::SliceOp slice) {
        Tensor x = input();
        return map(op, [&](const Index &y) {
          Index from = y;
          for (size_t dim = 0; dim < from.size(); ++dim)
            from[dim] = y[dim] * slice.getSteps()[dim] + slice.getStarts()[dim];
          return x[from];
        });
      })
      .Case([&](nn::PadOp pad) {
        Tensor x = input();
        return map(op, [&](const Index &y) {
          Index from = y;
          for (size_t dim = 0; dim < from.size(); ++dim)
            from[dim] -= pad.getPadsLo()[dim];
          return x.contains(from)
                     ? x[from]
                     : cast<FloatAttr>(pad.getValue()).getValueAsDouble();
        });
      })
      .Case([&](nn::TransposeOp transpose) {
        Tensor x = input();
        return map(op, [&](const Index &y) {
          Index from = y;
          for (size_t dim = 0; dim < from.size(); ++dim)
            from[transpose.getPermutation()[dim]] = y[dim];
          return x[from];
        });
      })
      .Case([&](nn::ReshapeOp) { return operands[0]; })
      .Default([](Operation *other) {
        ADD_FAILURE() << "no naive form of "
                      << other->getName().getStringRef().str();
        return std::vector<float>();
      });
}
