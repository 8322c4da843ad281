//===- ConvolutionProblem.cpp - Convolutions for loops of our own ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionProblem.h"
#include "CPU/Threads.h"
#include "Followers.h"
#include "NoStream.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace soap;
using namespace soap::runtime;
using namespace soap::test;

Guarded::Guarded(size_t bytes)
    : floats_((bytes + 63) / 64 * 16 + 32,
              std::numeric_limits<float>::quiet_NaN()) {
  auto address = reinterpret_cast<uintptr_t>(floats_.data());
  begin_ = floats_.data() + (64 - address % 64) % 64 / sizeof(float);
  size_ = bytes / sizeof(float);
  std::fill(begin_ + size_, begin_ + size_ + 8, 12345.0F);
}

bool Guarded::isIntact() const {
  return std::all_of(begin_ + size_, begin_ + size_ + 8,
                     [](float value) { return value == 12345.0F; });
}

ConvolutionProblem::ConvolutionProblem(const Shape &x, int64_t filters,
                                       int64_t groups, bool bias,
                                       const Window &window, uint32_t seed) {
  conv.strides = window.strides;
  conv.dilations = window.dilations;
  conv.pads_lo = window.low;
  conv.pads_hi = window.high;
  conv.groups = groups;
  conv.bias = bias;
  result = {x[0], filters};
  for (size_t d = 0; d != 2; ++d)
    result.push_back((x[2 + d] + window.low[d] + window.high[d] -
                      (window.kernel[d] - 1) * window.dilations[d] - 1) /
                         window.strides[d] +
                     1);
  std::vector<Shape> shapes = {
      x, {filters, x[1] / groups, window.kernel[0], window.kernel[1]}};
  if (bias)
    shapes.push_back({filters});
  addOperands(shapes, seed);
}

void ConvolutionProblem::addOperands(const std::vector<Shape> &shapes,
                                     uint32_t seed) {
  for (const Shape &shape : shapes)
    operands.emplace_back(shape, randomFloats(count(shape), seed++));
}

ConvolutionProblem
ConvolutionProblem::transposed(const Shape &x, int64_t filters, int64_t groups,
                               bool bias, const Shape &window, uint32_t seed) {
  ConvolutionProblem problem;
  problem.kind = Kind::Transposed;
  problem.conv.strides = window;
  problem.conv.dilations = {1, 1};
  problem.conv.pads_lo = problem.conv.pads_hi = {0, 0};
  problem.conv.groups = groups;
  problem.conv.bias = bias;
  problem.result = {x[0], filters, x[2] * window[0], x[3] * window[1]};
  std::vector<Shape> shapes = {x,
                               {x[1], filters / groups, window[0], window[1]}};
  if (bias)
    shapes.push_back({filters});
  problem.addOperands(shapes, seed);
  return problem;
}

void ConvolutionProblem::follow(fb::FollowerKind kind, const Shape &shape,
                                bool inPlace) {
  fb::FollowerT follower;
  follower.kind = kind;
  follower.in_place = inPlace;
  if (kind == fb::FollowerKind::Clip) {
    follower.alpha = -0.25F;
    follower.beta = 0.5F;
  }
  if (hasOperand(kind)) {
    follower.operand = static_cast<uint32_t>(operands.size());
    operands.emplace_back(shape,
                          randomFloats(count(shape), 100 + follower.operand));
  }
  followers.push_back(follower);
}

void ConvolutionProblem::followAtRandom(std::mt19937 &random) {
  auto draw = [&](int high) {
    return std::uniform_int_distribution<int>(0, high)(random);
  };
  if (draw(2) == 0)
    follow(fb::FollowerKind::Add, result, /*inPlace=*/true);
  for (int rest = draw(2); rest != 0; --rest) {
    fb::FollowerKind kind =
        std::array{fb::FollowerKind::Relu, fb::FollowerKind::Clip,
                   fb::FollowerKind::Add, fb::FollowerKind::Subtract,
                   fb::FollowerKind::Multiply}[static_cast<size_t>(draw(4))];
    follow(kind, std::array{result, Shape{1, result[1], 1, 1},
                            Shape{}}[static_cast<size_t>(draw(2))]);
  }
}

/// The sum of a window, by definition; reference() takes long.
static double windowSum(const ConvolutionProblem &problem, const Shape &at,
                        int64_t firstChannel) {
  const Tensor &x = problem.operands[0], &w = problem.operands[1];
  double sum = 0;
  for (int64_t c = 0; c != w.shape[1]; ++c)
    for (int64_t i = 0; i != w.shape[2]; ++i)
      for (int64_t j = 0; j != w.shape[3]; ++j) {
        int64_t row = at[2] * problem.conv.strides[0] +
                      i * problem.conv.dilations[0] - problem.conv.pads_lo[0],
                column = at[3] * problem.conv.strides[1] +
                         j * problem.conv.dilations[1] -
                         problem.conv.pads_lo[1];
        if (row >= 0 && row < x.shape[2] && column >= 0 && column < x.shape[3])
          sum +=
              x.values[static_cast<size_t>(
                  ((at[0] * x.shape[1] + firstChannel + c) * x.shape[2] + row) *
                      x.shape[3] +
                  column)] *
              w.values[static_cast<size_t>(
                  ((at[1] * w.shape[1] + c) * w.shape[2] + i) * w.shape[3] +
                  j)];
      }
  return sum;
}

/// Calls body(row or column of y, index into the window) for all that read
/// `at` of x, along a dimension.
template <typename Body>
static void forEachReader(const ConvolutionProblem &problem, size_t dim,
                          int64_t at, int64_t window, int64_t extent,
                          const Body &body) {
  for (int64_t k = 0; k != window; ++k) {
    int64_t moved = at + problem.conv.pads_lo[dim] - k,
            stride = problem.conv.strides[dim];
    if (moved >= 0 && moved % stride == 0 && moved / stride < extent)
      body(moved / stride, k);
  }
}

static size_t placeOf(const Shape &shape, int64_t a, int64_t b, int64_t c,
                      int64_t d) {
  return static_cast<size_t>(((a * shape[1] + b) * shape[2] + c) * shape[3] +
                             d);
}

/// The same of a transposed one, for an element of x.
static double transposedSum(const ConvolutionProblem &problem,
                            const Shape &at) {
  const Tensor &y = problem.operands[0], &w = problem.operands[1];
  int64_t channels = w.shape[1], filters = y.shape[1] / problem.conv.groups;
  int64_t first = at[1] / channels * filters;
  double sum = 0;
  forEachReader(
      problem, 0, at[2], w.shape[2], y.shape[2], [&](int64_t row, int64_t i) {
        forEachReader(
            problem, 1, at[3], w.shape[3], y.shape[3],
            [&](int64_t column, int64_t j) {
              for (int64_t f = first; f != first + filters; ++f)
                sum += y.values[placeOf(y.shape, at[0], f, row, column)] *
                       w.values[placeOf(w.shape, f, at[1] % channels, i, j)];
            });
      });
  return sum;
}

/// The gradient of a weight.
static double filterSum(const ConvolutionProblem &problem, const Shape &at) {
  const Tensor &x = problem.operands[0], &y = problem.operands[1];
  int64_t channel =
      at[0] / (problem.result[0] / problem.conv.groups) * problem.result[1] +
      at[1];
  double sum = 0;
  for (int64_t n = 0; n != x.shape[0]; ++n)
    for (int64_t i = 0; i != y.shape[2]; ++i)
      for (int64_t j = 0; j != y.shape[3]; ++j) {
        int64_t row = i * problem.conv.strides[0] + at[2] -
                      problem.conv.pads_lo[0],
                column = j * problem.conv.strides[1] + at[3] -
                         problem.conv.pads_lo[1];
        if (row >= 0 && row < x.shape[2] && column >= 0 && column < x.shape[3])
          sum += x.values[placeOf(x.shape, n, channel, row, column)] *
                 y.values[placeOf(y.shape, n, at[0], i, j)];
      }
  return sum;
}

ConvolutionProblem ConvolutionProblem::gradient(Kind of, bool bias,
                                                uint32_t seed) const {
  ConvolutionProblem problem;
  problem.kind = of;
  problem.conv = conv;
  problem.conv.bias = bias;
  const Shape &x = operands[0].shape, &w = operands[1].shape;
  std::vector<Shape> shapes = {result, w};
  problem.result = x;
  if (of == Kind::Filter) {
    shapes = {x, result};
    problem.result = w;
  }
  if (bias)
    shapes.push_back({x[1]});
  problem.addOperands(shapes, seed);
  return problem;
}

/// Without the bias.
static double sumOf(const ConvolutionProblem &problem, const Shape &at) {
  switch (problem.kind) {
  case ConvolutionProblem::Kind::Forward: {
    int64_t filters = problem.result[1] / problem.conv.groups;
    return windowSum(problem, at,
                     at[1] / filters * problem.operands[1].shape[1]);
  }
  case ConvolutionProblem::Kind::Transposed:
    return transposedSum(problem, at);
  case ConvolutionProblem::Kind::Filter:
    return filterSum(problem, at);
  }
  return 0;
}

Tensor ConvolutionProblem::expected() const {
  Tensor y(result);
  size_t number = 0;
  forEachIndex(result, [&](const Shape &at) {
    double bias =
        conv.bias ? operands[2].values[static_cast<size_t>(at[1])] : 0;
    y.values[number++] = bias + sumOf(*this, at);
  });
  for (const fb::FollowerT &step : followers) {
    size_t i = 0;
    forEachIndex(result, [&](const Shape &at) {
      double o = 0;
      if (hasOperand(step.kind)) {
        const Tensor &other = operands[step.operand];
        o = other.values[other.shape == result     ? i
                         : other.values.size() > 1 ? at[1]
                                                   : 0];
      }
      y.values[i] =
          applyFollower(step.kind, step.alpha, step.beta, y.values[i], o);
      ++i;
    });
  }
  return y;
}

flatbuffers::DetachedBuffer ConvolutionProblem::table() const {
  fb::KernelT table;
  table.key = "conv";
  bool ofFilter = kind == Kind::Filter;
  if (kind != Kind::Forward) {
    fb::ConvBackwardT back;
    back.of_filter = ofFilter;
    back.strides = conv.strides;
    back.dilations = conv.dilations;
    back.pads_lo = conv.pads_lo;
    back.pads_hi = conv.pads_hi;
    back.groups = conv.groups;
    back.bias = conv.bias;
    back.winograd = conv.winograd;
    table.op.Set(std::move(back));
  } else {
    table.op.Set(fb::ConvT(conv));
  }
  auto add = [](auto &list, const Shape &shape, bool last) {
    auto type = std::make_unique<fb::TensorTypeT>();
    type->shape = shape;
    if (last)
      type->order = fb::ElementOrder::ChannelsLast;
    list.push_back(std::move(type));
  };
  for (const Tensor &operand : operands) {
    bool isSource = table.operands.empty();
    bool isWhole =
        ofFilter || (table.operands.size() >= own() && operand.shape == result);
    add(table.operands, operand.shape,
        isSource ? sourceLast : isWhole && resultLast);
  }
  add(table.results, result, resultLast && !ofFilter);
  for (const fb::FollowerT &follower : followers)
    table.followers.push_back(std::make_unique<fb::FollowerT>(follower));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Kernel::Pack(builder, &table));
  return builder.Release();
}

std::string ConvolutionProblem::toString() const {
  std::string text = std::string(kind == Kind::Transposed ? "transposed, "
                                 : kind == Kind::Filter   ? "of weights, "
                                                          : "") +
                     "source " + runtime::toString(operands[0].shape) +
                     ", weights " + runtime::toString(operands[1].shape) +
                     ", result " + runtime::toString(result) + ", groups " +
                     std::to_string(conv.groups) + ", pads " +
                     runtime::toString(conv.pads_lo) + " " +
                     runtime::toString(conv.pads_hi) + ", strides " +
                     runtime::toString(conv.strides) + ", channels last " +
                     std::to_string(sourceLast) + std::to_string(resultLast);
  for (const fb::FollowerT &follower : followers)
    text += std::string(", ") + fb::EnumNameFollowerKind(follower.kind) +
            (hasOperand(follower.kind)
                 ? runtime::toString(operands[follower.operand].shape)
                 : "") +
            (follower.in_place ? " in place" : "");
  return text;
}

/// Calls body(place with channels last, or row-major; place row-major) for all
/// elements.
template <typename Body>
static void forEachPlace(const Shape &shape, bool last, const Body &body) {
  size_t i = 0;
  forEachIndex(shape, [&](const Shape &index) {
    body(last ? static_cast<size_t>(
                    ((index[0] * shape[2] + index[2]) * shape[3] + index[3]) *
                        shape[1] +
                    index[1])
              : i,
         i);
    ++i;
  });
}

static void write(const Tensor &tensor, bool last, float *to) {
  forEachPlace(tensor.shape, last, [&](size_t place, size_t i) {
    to[place] = static_cast<float>(tensor.values[i]);
  });
}

namespace soap::runtime {
/// Of PointwiseWide.cpp.
extern const PointwiseLoops pointwiseWide;
} // namespace soap::runtime

void test::expectDamageIsFound(
    const ConvolutionProblem &problem,
    const std::function<bool(const fb::Kernel &)> &fits,
    const std::vector<void (*)(fb::KernelT &)> &damages) {
  auto fitsDamaged = [&](void (*damage)(fb::KernelT &)) {
    auto table = problem.table();
    fb::KernelT kernel;
    flatbuffers::GetRoot<fb::Kernel>(table.data())->UnPackTo(&kernel);
    if (damage)
      damage(kernel);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Kernel::Pack(builder, &kernel));
    return fits(*flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()));
  };
  EXPECT_TRUE(fitsDamaged(nullptr));
  for (size_t i = 0; i != damages.size(); ++i)
    EXPECT_FALSE(fitsDamaged(damages[i])) << "damage " << i;
}

std::vector<const PointwiseLoops *> test::allPointwiseLoops() {
  std::vector<const PointwiseLoops *> loops = {&pointwiseWide};
  if (const PointwiseLoops *own = pointwiseLoops())
    loops.push_back(own);
  return loops;
}

Tensor test::runProblem(const ConvolutionProblem &problem, size_t threads,
                        const MakeKernel &make) {
  useThreads(threads);
  Tensor result = runProblem(problem, make);
  useThreads(1);
  return result;
}

Tensor test::runProblem(const ConvolutionProblem &problem,
                        const MakeKernel &make, Session *given) {
  Session fresh;
  Session &session = given ? *given : fresh;
  auto table = problem.table();
  const auto &row = *flatbuffers::GetRoot<fb::Kernel>(table.data());
  auto kernel = make(row);
  Tensor result(problem.result);
  Guarded made(result.values.size() * 4), scratch(kernel->scratchpadBytes());
  Binding binding;
  const Tensor *place = nullptr;
  auto orders = row.operands();
  for (uint32_t i = 0; i != problem.operands.size(); ++i) {
    const Tensor &operand = problem.operands[i];
    bool last = orders->Get(i)->order() == fb::ElementOrder::ChannelsLast;
    bool inPlace = false;
    for (const fb::FollowerT &follower : problem.followers)
      inPlace |= follower.in_place && follower.operand == i;
    if (inPlace) {
      place = &operand;
      binding.operands.push_back(made.pointer());
      continue;
    }
    auto memory = std::make_unique<Guarded>(operand.values.size() * 4);
    write(operand, last, memory->data());
    binding.operands.push_back(memory->pointer());
    session.operands.push_back(std::move(memory));
  }
  binding.results = {made.pointer()};
  binding.scratchpad = scratch.pointer();
  binding.constants = &session.constants;
  size_t before = session.constants.bytes();
  auto bound = kernel->bind(binding);
  size_t promised = 0;
  for (const ConstantCopy &copy : kernel->constantCopies())
    promised += copy.bytes;
  EXPECT_EQ(session.constants.bytes(), before + promised);
  // Weights are read from their copy alone.
  if (problem.constantWeights &&
      problem.kind != ConvolutionProblem::Kind::Filter)
    std::memset(hostAddress(binding.operands[1]), 255,
                problem.operands[1].values.size() * 4);
  bool changes = !problem.constantWeights &&
                 problem.kind != ConvolutionProblem::Kind::Filter;
  NoStream stream;
  for (int step = 0; step != 2; ++step) {
    if (changes && step == 0) // Other weights than those of the last run.
      std::memset(hostAddress(binding.operands[1]), 0,
                  problem.operands[1].values.size() * 4);
    else if (changes)
      write(problem.operands[1], /*last=*/false,
            reinterpret_cast<float *>(hostAddress(binding.operands[1])));
    if (place)
      write(*place, problem.resultLast, made.data());
    bound->enqueue(stream);
  }
  EXPECT_TRUE(scratch.isIntact() && made.isIntact());
  bool last = row.results()->Get(0)->order() == fb::ElementOrder::ChannelsLast;
  forEachPlace(result.shape, last, [&](size_t at, size_t i) {
    result.values[i] = made.data()[at];
  });
  return result;
}

double test::errorOf(const Tensor &got, const Tensor &expected) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i != got.values.size(); ++i) {
    difference += std::pow(got.values[i] - expected.values[i], 2);
    norm += std::pow(expected.values[i], 2);
  }
  return norm > 0 ? std::sqrt(difference / norm) : difference;
}
