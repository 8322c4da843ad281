//===- Reference.cpp - Naive evaluator of nn operations -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "ReferenceOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

static constexpr double infinity = std::numeric_limits<double>::infinity();

double soap::nn::test::combine(Combine how, double a, double b) {
  switch (how) {
  case Combine::Sum:
    return a + b;
  case Combine::Prod:
    return a * b;
  case Combine::Max:
    return std::max(a, b);
  case Combine::Min:
    return std::min(a, b);
  default:
    return std::numeric_limits<double>::quiet_NaN();
  }
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Tensor::Tensor(ArrayRef<int64_t> shape, double value)
    : shape(shape.begin(), shape.end()) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  data.assign(size, value);
}

int64_t Tensor::linear(ArrayRef<int64_t> index) const {
  int64_t result = 0;
  for (size_t d = 0; d != shape.size(); ++d)
    result = result * shape[d] + index[d];
  return result;
}

Tensor Tensor::slice(const Box &box) const {
  Tensor result(soap::shapeOf(box));
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    for (auto [i, range] : llvm::enumerate(box))
      source[i] += range.lo;
    result.at(index) = at(source);
  });
  return result;
}

void soap::nn::test::forEachIndex(ArrayRef<int64_t> shape,
                                  function_ref<void(ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t extent : shape)
    if (extent == 0)
      return;
  while (true) {
    body(index);
    size_t d = shape.size();
    while (d != 0 && ++index[d - 1] == shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

double soap::nn::test::sourceValue(int64_t linear) {
  return std::sin(1.0 + 0.7 * static_cast<double>(linear));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static Tensor resultOf(Operation *op, double value = 0) {
  return Tensor(cast<RankedTensorType>(op->getResult(0).getType()).getShape(),
                value);
}

static Tensor source(Operation *op, std::optional<ArrayRef<int64_t>> offsets,
                     std::optional<ArrayRef<int64_t>> globalShape) {
  Tensor result = resultOf(op);
  Tensor whole;
  whole.shape = result.shape;
  if (globalShape)
    whole.shape.assign(globalShape->begin(), globalShape->end());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> global(index);
    if (offsets)
      for (size_t d = 0; d != global.size(); ++d)
        global[d] += (*offsets)[d];
    result.at(index) = sourceValue(whole.linear(global));
  });
  return result;
}

static Tensor constant(ConstantOp op) {
  Tensor result = resultOf(op);
  auto elements = cast<DenseElementsAttr>(op.getValue());
  if (isa<IntegerType>(elements.getElementType())) {
    bool hasSign = !isUnsigned(elements.getElementType());
    for (auto [i, value] : llvm::enumerate(elements.getValues<APInt>()))
      result.data[i] = hasSign ? static_cast<double>(value.getSExtValue())
                               : static_cast<double>(value.getZExtValue());
    return result;
  }
  for (auto [i, value] : llvm::enumerate(elements.getValues<APFloat>())) {
    APFloat number = value;
    bool lossy;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    result.data[i] = number.convertToDouble();
  }
  return result;
}

/// Visits the positions of the window at `outer` that lie inside of `input`,
/// along dimensions 2, 3, ..: `body(kernel index, input spatial index)`.
/// Positions outside go to `outside` with the distance from the input per dim.
static void forEachPosition(
    ArrayRef<int64_t> outer, ArrayRef<int64_t> input, ArrayRef<int64_t> kernel,
    ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
    ArrayRef<int64_t> padsLo,
    function_ref<void(ArrayRef<int64_t> k, ArrayRef<int64_t> x, bool inside)>
        body) {
  forEachIndex(kernel, [&](ArrayRef<int64_t> k) {
    SmallVector<int64_t> x;
    bool inside = true;
    for (size_t d = 0; d != kernel.size(); ++d) {
      x.push_back(outer[2 + d] * strides[d] + k[d] * dilations[d] - padsLo[d]);
      inside &= x[d] >= 0 && x[d] < input[2 + d];
    }
    body(k, x, inside);
  });
}

static Tensor conv(ConvOp op, ArrayRef<Tensor> operands) {
  const Tensor &input = operands[0], &weight = operands[1];
  Tensor result = resultOf(op);
  int64_t outputs = result.shape[1] / op.getGroups();
  int64_t inputs = weight.shape[1];
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    double sum = operands.size() > 2 ? operands[2].data[index[1]] : 0;
    int64_t firstChannel = index[1] / outputs * inputs;
    forEachPosition(index, input.shape, ArrayRef(weight.shape).drop_front(2),
                    op.getStrides(), op.getDilations(), op.getPadsLo(),
                    [&](ArrayRef<int64_t> k, ArrayRef<int64_t> x, bool inside) {
                      for (int64_t c = 0; inside && c != inputs; ++c) {
                        SmallVector<int64_t> at = {index[0], firstChannel + c};
                        at.append(x.begin(), x.end());
                        SmallVector<int64_t> from = {index[1], c};
                        from.append(k.begin(), k.end());
                        sum += input.at(at) * weight.at(from);
                      }
                    });
    result.at(index) = sum;
  });
  return result;
}

static Tensor matmul(MatMulOp op, ArrayRef<Tensor> operands) {
  const Tensor &a = operands[0], &b = operands[1];
  Tensor result = resultOf(op);
  int64_t depth = a.shape[a.shape.size() - (op.getTransposeA() ? 2 : 1)];
  auto element = [](const Tensor &matrix, ArrayRef<int64_t> batch, int64_t row,
                    int64_t column, bool transposed) {
    SmallVector<int64_t> index;
    size_t rank = matrix.shape.size() - 2;
    for (size_t d = 0; d != rank; ++d)
      index.push_back(matrix.shape[d] == 1 ? 0
                                           : batch[batch.size() - rank + d]);
    index.push_back(transposed ? column : row);
    index.push_back(transposed ? row : column);
    return matrix.at(index);
  };
  double alpha = op.getAlpha().convertToFloat();
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    ArrayRef<int64_t> batch = index.drop_back(2);
    int64_t row = index[index.size() - 2], column = index.back();
    double sum = 0;
    for (int64_t k = 0; k != depth; ++k)
      sum += element(a, batch, row, k, op.getTransposeA()) *
             element(b, batch, k, column, op.getTransposeB());
    result.at(index) =
        alpha * sum + (operands.size() > 2 ? operands[2].data[column] : 0);
  });
  return result;
}

static Tensor maxPool(MaxPoolOp op, const Tensor &input) {
  Tensor result = resultOf(op, -infinity);
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    forEachPosition(index, input.shape, op.getKernel(), op.getStrides(),
                    op.getDilations(), op.getPadsLo(),
                    [&](ArrayRef<int64_t>, ArrayRef<int64_t> x, bool inside) {
                      if (!inside)
                        return;
                      SmallVector<int64_t> at = {index[0], index[1]};
                      at.append(x.begin(), x.end());
                      result.at(index) =
                          std::max(result.at(index), input.at(at));
                    });
  });
  return result;
}

static Tensor avgPool(AvgPoolOp op, const Tensor &input) {
  Tensor result = resultOf(op);
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    double sum = 0;
    int64_t count = 0;
    forEachPosition(index, input.shape, op.getKernel(), op.getStrides(),
                    op.getDilations(), op.getPadsLo(),
                    [&](ArrayRef<int64_t>, ArrayRef<int64_t> x, bool inside) {
                      bool counted = true;
                      for (size_t d = 0; d != x.size(); ++d)
                        counted &=
                            x[d] >= -op.getCountedLo()[d] &&
                            x[d] < input.shape[2 + d] + op.getCountedHi()[d];
                      count += counted;
                      if (!inside)
                        return;
                      SmallVector<int64_t> at = {index[0], index[1]};
                      at.append(x.begin(), x.end());
                      sum += input.at(at);
                    });
    result.at(index) = count == 0 ? 0 : sum / static_cast<double>(count);
  });
  return result;
}

static Tensor reduce(ReduceOp op, const Tensor &input) {
  double start = 0;
  if (op.getKind() == ReduceKind::Prod)
    start = 1;
  else if (op.getKind() == ReduceKind::Max)
    start = -infinity;
  else if (op.getKind() == ReduceKind::Min)
    start = infinity;
  Tensor result = resultOf(op, start);
  forEachIndex(input.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> to;
    for (auto [d, i] : llvm::enumerate(index)) {
      if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(d)))
        to.push_back(i);
      else if (op.getKeepdims())
        to.push_back(0);
    }
    double &element = result.at(to), value = input.at(index);
    switch (op.getKind()) {
    case ReduceKind::Sum:
      element += value * op.getScale().convertToFloat();
      break;
    case ReduceKind::Prod:
      element *= value;
      break;
    case ReduceKind::Max:
      element = std::max(element, value);
      break;
    case ReduceKind::Min:
      element = std::min(element, value);
      break;
    }
  });
  return result;
}

static Tensor batchNorm(BatchNormOp op, ArrayRef<Tensor> operands) {
  Tensor result = resultOf(op);
  double epsilon = op.getEpsilon().convertToFloat();
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    int64_t c = index[1];
    result.at(index) = (operands[0].at(index) - operands[3].data[c]) /
                           std::sqrt(operands[4].data[c] + epsilon) *
                           operands[1].data[c] +
                       operands[2].data[c];
  });
  return result;
}

static Tensor lrn(LRNOp op, const Tensor &x) {
  Tensor result = resultOf(op);
  int64_t size = op.getSize(), channels = x.shape[1];
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    double sum = 0;
    for (int64_t c = std::max<int64_t>(0, index[1] - (size - 1) / 2),
                 e = std::min(channels - 1, index[1] + size / 2);
         c <= e; ++c) {
      SmallVector<int64_t> at(index);
      at[1] = c;
      sum += x.at(at) * x.at(at);
    }
    result.at(index) =
        x.at(index) / std::pow(op.getBias().convertToFloat() +
                                   op.getAlpha().convertToFloat() /
                                       static_cast<double>(size) * sum,
                               op.getBeta().convertToFloat());
  });
  return result;
}

static Tensor softmax(SoftmaxOp op, const Tensor &x) {
  Tensor result = resultOf(op);
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    double sum = 0;
    SmallVector<int64_t> at(index);
    for (int64_t i = 0; i != x.shape[op.getAxis()]; ++i) {
      at[op.getAxis()] = i;
      sum += std::exp(x.at(at));
    }
    result.at(index) =
        op.getLog() ? x.at(index) - std::log(sum) : std::exp(x.at(index)) / sum;
  });
  return result;
}

/// An operation per element, by its formula on scalars.
static Tensor perElement(Operation *op, ArrayRef<Tensor> operands) {
  Tensor result = resultOf(op);
  auto element = [](const Tensor &x, ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(index.take_back(x.shape.size()));
    for (size_t d = 0; d != at.size(); ++d)
      if (x.shape[d] == 1)
        at[d] = 0;
    return x.at(at);
  };
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<double, 3> elements;
    for (const Tensor &operand : operands)
      elements.push_back(element(operand, index));
    result.at(index) = elementOf(op, elements);
  });
  return result;
}

static Tensor concat(ConcatOp op, ArrayRef<Tensor> operands) {
  Tensor result = resultOf(op);
  int64_t offset = 0;
  for (const Tensor &operand : operands) {
    forEachIndex(operand.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> to(index);
      to[op.getAxis()] += offset;
      result.at(to) = operand.at(index);
    });
    offset += operand.shape[op.getAxis()];
  }
  return result;
}

static Tensor slice(SliceOp op, const Tensor &x) {
  Tensor result = resultOf(op);
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from;
    for (auto [d, i] : llvm::enumerate(index))
      from.push_back(op.getStarts()[d] + i * op.getSteps()[d]);
    result.at(index) = x.at(from);
  });
  return result;
}

static Tensor pad(PadOp op, const Tensor &x) {
  auto real = dyn_cast<FloatAttr>(op.getValue());
  auto integer = dyn_cast<IntegerAttr>(op.getValue());
  Tensor result = resultOf(
      op, real ? real.getValueAsDouble()
               : static_cast<double>(integer.getValue().getZExtValue()));
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> to(index);
    for (size_t d = 0; d != to.size(); ++d)
      to[d] += op.getPadsLo()[d];
    result.at(to) = x.at(index);
  });
  return result;
}

static Tensor transpose(TransposeOp op, const Tensor &x) {
  Tensor result = resultOf(op);
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index.size());
    for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
      from[dim] = index[i];
    result.at(index) = x.at(from);
  });
  return result;
}

static Tensor layerNorm(LayerNormOp op, ArrayRef<Tensor> operands) {
  const Tensor &x = operands[0];
  Tensor result = resultOf(op);
  size_t axis = op.getAxis();
  double epsilon = op.getEpsilon().convertToFloat();
  ArrayRef<int64_t> inner = ArrayRef(x.shape).drop_front(axis);
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    double sum = 0, squares = 0, count = 0;
    forEachIndex(inner, [&](ArrayRef<int64_t> row) {
      SmallVector<int64_t> at(index.take_front(axis));
      at.append(row.begin(), row.end());
      sum += x.at(at);
      squares += x.at(at) * x.at(at);
      ++count;
    });
    double mean = sum / count, variance = squares / count - mean * mean;
    ArrayRef<int64_t> at = index.drop_front(axis);
    double value = (x.at(index) - mean) / std::sqrt(variance + epsilon) *
                   operands[1].at(at);
    result.at(index) = operands.size() > 2 ? value + operands[2].at(at) : value;
  });
  return result;
}

/// Every element of dy is scattered to the elements that its convolution read.
static Tensor convBackward(ConvBackwardDataOp op, ArrayRef<Tensor> operands) {
  const Tensor &dy = operands[0], &weight = operands[1];
  Tensor result = resultOf(op);
  int64_t inputs = dy.shape[1] / op.getGroups(), outputs = weight.shape[1];
  if (operands.size() > 2)
    forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
      result.at(index) = operands[2].data[index[1]];
    });
  forEachIndex(dy.shape, [&](ArrayRef<int64_t> from) {
    forEachIndex(ArrayRef(weight.shape).drop_front(), [&](ArrayRef<int64_t> k) {
      SmallVector<int64_t> to = {from[0], from[1] / inputs * outputs + k[0]};
      bool inside = true;
      for (size_t d = 0; d + 1 != k.size(); ++d) {
        to.push_back(from[2 + d] * op.getStrides()[d] - op.getPadsLo()[d] +
                     k[1 + d] * op.getDilations()[d]);
        inside &= to.back() >= 0 && to.back() < result.shape[2 + d];
      }
      SmallVector<int64_t> at = {from[1]};
      at.append(k.begin(), k.end());
      if (inside)
        result.at(to) += dy.at(from) * weight.at(at);
    });
  });
  return result;
}

/// The operations of the region, one after another.
static Tensor fused(Block &body, ArrayRef<Tensor> operands) {
  Environment values;
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), operands))
    values[argument] = operand;
  for (Operation &part : body.without_terminator()) {
    std::vector<Tensor> read;
    for (Value operand : part.getOperands())
      read.push_back(values.at(operand));
    values[part.getResult(0)] = evaluate(&part, read);
  }
  return values.at(body.getTerminator()->getOperand(0));
}

Tensor soap::nn::test::evaluate(Operation *op, ArrayRef<Tensor> operands) {
  return llvm::TypeSwitch<Operation *, Tensor>(op)
      .Case<InputOp, ParameterOp>([](auto op) {
        return source(op, op.getOffsets(), op.getGlobalShape());
      })
      .Case([](ConstantOp op) { return constant(op); })
      .Case<FusedOp, FusedReduceOp>(
          [&](auto op) { return fused(op.getBody().front(), operands); })
      .Case([&](ConvOp op) { return conv(op, operands); })
      .Case([&](MatMulOp op) { return matmul(op, operands); })
      .Case([&](MaxPoolOp op) { return maxPool(op, operands[0]); })
      .Case([&](AvgPoolOp op) { return avgPool(op, operands[0]); })
      .Case([&](ReduceOp op) { return reduce(op, operands[0]); })
      .Case([&](BatchNormOp op) { return batchNorm(op, operands); })
      .Case([&](LRNOp op) { return lrn(op, operands[0]); })
      .Case([&](SoftmaxOp op) { return softmax(op, operands[0]); })
      .Case([&](AttentionOp op) { return attention(op, operands); })
      .Case([&](LayerNormOp op) { return layerNorm(op, operands); })
      .Case([&](ConvBackwardDataOp op) { return convBackward(op, operands); })
      .Case([&](ConvBackwardFilterOp op) {
        return convBackwardFilter(op, operands);
      })
      .Case([&](MaxPoolBackwardOp op) { return maxPoolBackward(op, operands); })
      .Case([&](GatherOp op) { return gather(op, operands); })
      .Case([&](GatherElementsOp op) { return gatherElements(op, operands); })
      .Case([&](GatherNDOp op) { return gatherND(op, operands); })
      .Case([&](ScatterElementsOp op) { return scatterElements(op, operands); })
      .Case([&](ScatterNDOp op) { return scatterND(op, operands); })
      .Case([&](SparseSGDOp op) { return sparseSGD(op, operands); })
      .Case<ArgMaxOp, ArgMinOp>([&](auto op) {
        return argOf(op.getResult(), operands[0], op.getAxis(),
                     op.getKeepdims(), isa<ArgMinOp>(op), op.getSelectLast());
      })
      .Case([&](TopKOp op) { return topK(op, operands[0]).front(); })
      .Case([&](CumSumOp op) { return cumSum(op, operands[0]); })
      .Case([&](TriluOp op) { return trilu(op, operands[0]); })
      .Case([&](OneHotOp op) { return oneHot(op, operands); })
      .Case([&](NonMaxSuppressionOp op) {
        return nonMaxSuppression(op, operands);
      })
      .Case([&](LSTMOp op) { return evaluateLSTM(op, operands).front(); })
      .Case<LSTMBackwardOp, GRUBackwardOp, RNNBackwardOp>(
          [&](auto op) { return evaluateAll(op, operands).front(); })
      .Case([&](GRUOp op) { return evaluateGRU(op, operands); })
      .Case([&](RNNOp op) { return evaluateRNN(op, operands); })
      .Case([&](WriteOp op) { return operands[0]; })
      .Case([&](DropoutOp op) { return dropout(op, operands); })
      .Case<ScheduleOp, SGDOp, MomentumOp, AdamOp>(
          [&](auto op) { return evaluateTraining(op, operands).front(); })
      .Case([&](TileOp op) { return tile(op, operands[0]); })
      .Case([&](ResizeOp op) { return resize(op, operands[0]); })
      .Case([&](ConcatOp op) { return concat(op, operands); })
      .Case([&](SliceOp op) { return slice(op, operands[0]); })
      .Case([&](PadOp op) { return pad(op, operands[0]); })
      .Case([&](ReshapeOp op) {
        Tensor result = resultOf(op);
        result.data = operands[0].data;
        return result;
      })
      .Case([&](TransposeOp op) { return transpose(op, operands[0]); })
      .Default([&](Operation *op) { return perElement(op, operands); });
}

std::vector<Tensor> soap::nn::test::evaluateAll(Operation *op,
                                                ArrayRef<Tensor> operands) {
  if (auto lstm = dyn_cast<LSTMOp>(op))
    return evaluateLSTM(lstm, operands);
  if (auto back = dyn_cast<LSTMBackwardOp>(op))
    return evaluateLSTMBackward(back, operands);
  if (auto back = dyn_cast<GRUBackwardOp>(op))
    return evaluateGRUBackward(back, operands);
  if (auto back = dyn_cast<RNNBackwardOp>(op))
    return evaluateRNNBackward(back, operands);
  if (isa<ScheduleOp, SGDOp, MomentumOp, AdamOp>(op))
    return evaluateTraining(op, operands);
  if (auto top = dyn_cast<TopKOp>(op))
    return topK(top, operands[0]);
  return {evaluate(op, operands)};
}

void soap::nn::test::evaluate(Block &block, Environment &environment) {
  for (Operation &op : block) {
    std::vector<Tensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(environment.lookup(operand));
    std::vector<Tensor> results = evaluateAll(&op, operands);
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results))
      environment[result] = tensor;
  }
}
