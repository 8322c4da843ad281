//===- Windows.cpp - Convolution and pooling --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

/// Reads attribute `name` with `count` values inside [lowest, maxDim].
static FailureOr<SmallVector<int64_t>> bounded(NodeContext &node,
                                               llvm::StringRef name,
                                               size_t count, int64_t lowest,
                                               int64_t otherwise) {
  auto values = node.integers(name);
  if (!values)
    return SmallVector<int64_t>(count, otherwise);
  if (values->size() != count)
    return node.fail("expected " + llvm::Twine(count) +
                     " values in attribute '" + name +
                     "', got: " + toString(*values));
  for (int64_t value : *values)
    if (value < lowest || value > maxDim)
      return node.fail("expected values from " + llvm::Twine(lowest) +
                       " in attribute '" + name +
                       "', got: " + toString(*values));
  return *values;
}

/// What slides over the input. A pool takes nothing from a window that lies in
/// the padding altogether.
enum class WindowUse { Convolution, Pool };

/// Normalises auto_pad, ceil_mode and pads. `input` holds the spatial sizes.
static FailureOr<Window> windowOf(NodeContext &node,
                                  llvm::ArrayRef<int64_t> input,
                                  llvm::ArrayRef<int64_t> kernel,
                                  WindowUse use) {
  size_t rank = input.size();
  Window window;
  window.kernel.assign(kernel.begin(), kernel.end());
  for (int64_t k : kernel)
    if (k < 1 || k > maxDim)
      return node.fail("expected positive kernel sizes, got: " +
                       toString(kernel));
  auto strides = bounded(node, "strides", rank, 1, 1);
  auto dilations = bounded(node, "dilations", rank, 1, 1);
  auto pads = bounded(node, "pads", 2 * rank, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  window.strides = *strides;
  window.dilations = *dilations;
  std::string autoPad = node.string("auto_pad", "NOTSET");
  bool ceil = node.integer("ceil_mode", 0) != 0;
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!same && autoPad != "NOTSET" && autoPad != "VALID")
    return node.fail("expected auto_pad NOTSET, VALID, SAME_UPPER or "
                     "SAME_LOWER, got: '" +
                     autoPad + "'");
  for (size_t i = 0; i != rank; ++i) {
    int64_t size = input[i], stride = window.strides[i];
    int64_t reach = window.dilations[i] * (kernel[i] - 1) + 1;
    int64_t lo = 0, hi = 0, result;
    if (same) {
      result = (size + stride - 1) / stride;
      int64_t total =
          std::max<int64_t>((result - 1) * stride + reach - size, 0);
      lo = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      hi = total - lo;
    } else {
      if (autoPad == "NOTSET") {
        lo = (*pads)[i];
        hi = (*pads)[rank + i];
      }
      int64_t slack = size + lo + hi - reach;
      if (slack < 0)
        return node.fail("expected a window that fits the input, got: size " +
                         llvm::Twine(size) + ", pads " + llvm::Twine(lo) +
                         " and " + llvm::Twine(hi) + ", window " +
                         llvm::Twine(reach));
      result = slack / stride + 1;
      if (ceil) {
        result = (slack + stride - 1) / stride + 1;
        // A window that would start behind the input does not exist.
        if ((result - 1) * stride >= size + lo)
          --result;
      }
    }
    window.declaredHi.push_back(hi);
    hi = std::max(hi, (result - 1) * stride + reach - size - lo);
    if (use == WindowUse::Pool && (lo >= reach || hi >= reach))
      return node.fail("expected pads smaller than the window, got: " +
                       llvm::Twine(std::max(lo, hi)) + " and window " +
                       llvm::Twine(reach));
    window.padsLo.push_back(lo);
    window.padsHi.push_back(hi);
    window.result.push_back(result);
  }
  return window;
}

static LogicalResult checkRank(NodeContext &node) {
  size_t rank = node.shape(0).size();
  if (rank >= 3 && rank <= 5)
    return success();
  return node.fail(
      "expected 1 to 3 spatial dimensions, got: an input of shape " +
      toString(node.shape(0)));
}

FailureOr<Value> soap::onnx_import::convolution(NodeContext &node, Value input,
                                                Value weight, Value bias,
                                                llvm::StringRef suffix) {
  if (failed(checkRank(node)))
    return failure();
  llvm::ArrayRef<int64_t> x =
      cast<RankedTensorType>(input.getType()).getShape();
  llvm::ArrayRef<int64_t> w =
      cast<RankedTensorType>(weight.getType()).getShape();
  int64_t groups = node.integer("group", 1);
  if (w.size() != x.size())
    return node.fail("expected a weight of the input's rank, got: " +
                     toString(w) + " and " + toString(x));
  if (groups < 1 || groups > maxDim || x[1] % groups != 0 ||
      w[0] % groups != 0 || x[1] / groups != w[1])
    return node.fail("expected channels that fit " + llvm::Twine(groups) +
                     " groups, got: input " + toString(x) + ", weight " +
                     toString(w));
  auto kernel = node.integers("kernel_shape");
  if (kernel && llvm::ArrayRef<int64_t>(*kernel) != w.drop_front(2))
    return node.fail("expected the kernel_shape of the weight " + toString(w) +
                     ", got: " + toString(*kernel));
  auto window =
      windowOf(node, x.drop_front(2), w.drop_front(2), WindowUse::Convolution);
  if (failed(window))
    return failure();
  SmallVector<Value> operands = {input, weight};
  if (bias) {
    auto shape = cast<RankedTensorType>(bias.getType()).getShape();
    if (shape != llvm::ArrayRef<int64_t>{w[0]})
      return node.fail("expected a bias of shape " + toString(w[0]) +
                       ", got: " + toString(shape));
    operands.push_back(bias);
  }
  Shape shape = {x[0], w[0]};
  llvm::append_range(shape, window->result);
  return node.create<nn::ConvOp>(shape, operands,
                                 {node.attr("strides", window->strides),
                                  node.attr("dilations", window->dilations),
                                  node.attr("pads_lo", window->padsLo),
                                  node.attr("pads_hi", window->padsHi),
                                  node.attr("groups", groups)},
                                 suffix);
}

LogicalResult soap::onnx_import::importConv(NodeContext &node) {
  auto input = node.tensor(0), weight = node.tensor(1);
  if (failed(input) || failed(weight))
    return failure();
  Value bias;
  if (node.hasInput(2)) {
    auto given = node.tensor(2);
    if (failed(given))
      return failure();
    bias = *given;
  }
  return node.finish(convolution(node, *input, *weight, bias, ""));
}

/// The low pads and the spatial result sizes of a ConvTranspose node.
static FailureOr<Window> transposedWindow(NodeContext &node,
                                          llvm::ArrayRef<int64_t> input,
                                          llvm::ArrayRef<int64_t> kernel) {
  size_t rank = input.size();
  Window window;
  auto strides = bounded(node, "strides", rank, 1, 1);
  auto dilations = bounded(node, "dilations", rank, 1, 1);
  auto pads = bounded(node, "pads", 2 * rank, 0, 0);
  auto extra = bounded(node, "output_padding", rank, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads) || failed(extra))
    return failure();
  window.strides = *strides;
  window.dilations = *dilations;
  std::string autoPad = node.string("auto_pad", "NOTSET");
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!same && autoPad != "NOTSET" && autoPad != "VALID")
    return node.fail("expected auto_pad NOTSET, VALID, SAME_UPPER or "
                     "SAME_LOWER, got: '" +
                     autoPad + "'");
  auto wanted = node.integers("output_shape");
  if (wanted && wanted->size() != rank)
    return node.fail(
        "expected " + llvm::Twine(rank) +
        " sizes in attribute 'output_shape', got: " + toString(*wanted));
  for (size_t i = 0; i != rank; ++i) {
    int64_t full = (*strides)[i] * (input[i] - 1) + (*extra)[i] +
                   (*dilations)[i] * (kernel[i] - 1) + 1;
    int64_t lo = 0, hi = 0, result;
    if (wanted || same) {
      result = wanted ? (*wanted)[i] : input[i] * (*strides)[i];
      int64_t total = std::max<int64_t>(full - result, 0);
      lo = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else {
      if (autoPad == "NOTSET") {
        lo = (*pads)[i];
        hi = (*pads)[rank + i];
      }
      result = full - lo - hi;
    }
    if (result < 1 || result > maxDim)
      return node.fail("expected positive result sizes, got: " +
                       llvm::Twine(result));
    window.padsLo.push_back(lo);
    window.result.push_back(result);
  }
  return window;
}

LogicalResult soap::onnx_import::importConvTranspose(NodeContext &node) {
  auto input = node.tensor(0), weight = node.tensor(1);
  if (failed(input) || failed(weight) || failed(checkRank(node)))
    return failure();
  llvm::ArrayRef<int64_t> x = node.shape(0), w = node.shape(1);
  int64_t groups = node.integer("group", 1);
  if (w.size() != x.size() || groups < 1 || groups > maxDim || x[1] != w[0] ||
      x[1] % groups != 0)
    return node.fail("expected a weight that fits the input and " +
                     llvm::Twine(groups) + " groups, got: input " +
                     toString(x) + ", weight " + toString(w));
  auto kernel = node.integers("kernel_shape");
  if (kernel && llvm::ArrayRef<int64_t>(*kernel) != w.drop_front(2))
    return node.fail("expected the kernel_shape of the weight " + toString(w) +
                     ", got: " + toString(*kernel));
  auto window = transposedWindow(node, x.drop_front(2), w.drop_front(2));
  if (failed(window))
    return failure();
  Shape shape = {x[0], w[1] * groups};
  llvm::append_range(shape, window->result);
  SmallVector<Value> operands = {*input, *weight};
  if (node.hasInput(2)) {
    auto bias = node.tensor(2);
    if (failed(bias))
      return failure();
    if (node.shape(2) != llvm::ArrayRef<int64_t>{shape[1]})
      return node.fail("expected a bias of shape " + toString(shape[1]) +
                       ", got: " + toString(node.shape(2)));
    operands.push_back(*bias);
  }
  auto result = node.create<nn::ConvBackwardDataOp>(
      shape, operands,
      {node.attr("strides", window->strides),
       node.attr("dilations", window->dilations),
       node.attr("pads_lo", window->padsLo), node.attr("groups", groups)});
  return node.finish(result);
}

namespace {
enum class Pool : uint8_t { Max, Average, Lp };
} // namespace

/// |x|^p, or its root for the power 1/p.
static FailureOr<Value> power(NodeContext &node, Value x, int64_t p, bool root,
                              llvm::StringRef suffix) {
  llvm::ArrayRef<int64_t> shape =
      cast<RankedTensorType>(x.getType()).getShape();
  if (!root && p == 2)
    return node.create<nn::MulOp>(shape, {x, x}, {}, suffix);
  if (root && p == 1)
    return x;
  if (root && p == 2)
    return node.create<nn::SqrtOp>(shape, x);
  if (root)
    return node.create<nn::PowOp>(
        shape, {x, node.scalar(1 / static_cast<float>(p), "_exponent")});
  auto magnitude = node.create<nn::AbsOp>(shape, x, {}, suffix);
  if (failed(magnitude) || p == 1)
    return magnitude;
  return node.create<nn::PowOp>(
      shape, {*magnitude, node.scalar(static_cast<float>(p), "_power")}, {},
      "_powers");
}

static LogicalResult importPool(NodeContext &node, Pool pool) {
  auto input = node.tensor(0, pool == Pool::Max ? ElementTypes::Numbers
                                                : ElementTypes::Floats);
  if (failed(input) || failed(checkRank(node)))
    return failure();
  int64_t p = node.integer("p", 2);
  if (pool == Pool::Lp && (p < 1 || p > 64))
    return node.fail("expected p of 1 to 64, got: " + llvm::Twine(p));
  if (pool == Pool::Lp) {
    input = power(node, *input, p, /*root=*/false, "_magnitudes");
    if (failed(input))
      return failure();
  }
  llvm::ArrayRef<int64_t> x = node.shape(0);
  auto kernel = node.integers("kernel_shape");
  if (!kernel || kernel->size() != x.size() - 2)
    return node.fail(
        "expected one kernel size per spatial dimension of " + toString(x) +
        ", got: " + toString(kernel.value_or(SmallVector<int64_t>())));
  auto window = windowOf(node, x.drop_front(2), *kernel, WindowUse::Pool);
  if (failed(window))
    return failure();
  Shape shape = {x[0], x[1]};
  llvm::append_range(shape, window->result);
  SmallVector<NamedAttribute> attributes = {
      node.attr("kernel", window->kernel),
      node.attr("strides", window->strides),
      node.attr("dilations", window->dilations),
      node.attr("pads_lo", window->padsLo),
      node.attr("pads_hi", window->padsHi)};
  FailureOr<Value> result;
  if (pool == Pool::Max) {
    if (node.usesOutput(1) && failed(importMaxPoolIndices(node, *window)))
      return failure();
    if (!node.usesOutput(0))
      return success();
    result = node.create<nn::MaxPoolOp>(shape, *input, attributes);
  } else if (pool == Pool::Average) {
    SmallVector<int64_t> none(kernel->size(), 0);
    bool counted = node.integer("count_include_pad", 0) != 0;
    attributes.push_back(
        node.attr("counted_lo", counted ? window->padsLo : none));
    attributes.push_back(
        node.attr("counted_hi", counted ? window->declaredHi : none));
    result = node.create<nn::AvgPoolOp>(shape, *input, attributes);
  } else {
    // Sums are averages that count all places, times their number.
    attributes.push_back(node.attr("counted_lo", window->padsLo));
    attributes.push_back(node.attr("counted_hi", window->padsHi));
    float places = 1;
    for (int64_t size : window->kernel)
      places *= static_cast<float>(size);
    result = node.create<nn::AvgPoolOp>(shape, *input, attributes, "_means");
    if (succeeded(result))
      result = node.create<nn::MulOp>(shape,
                                      {*result, node.scalar(places, "_places")},
                                      {}, p == 1 ? "" : "_sums");
    if (succeeded(result))
      result = power(node, *result, p, /*root=*/true, "");
  }
  return node.finish(result);
}

LogicalResult soap::onnx_import::importMaxPool(NodeContext &node) {
  return importPool(node, Pool::Max);
}

LogicalResult soap::onnx_import::importAveragePool(NodeContext &node) {
  return importPool(node, Pool::Average);
}

LogicalResult soap::onnx_import::importLpPool(NodeContext &node) {
  return importPool(node, Pool::Lp);
}
