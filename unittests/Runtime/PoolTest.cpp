//===- PoolTest.cpp - Pools with channels last ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/PoolKernel.h"
#include "CPU/Threads.h"
#include "ConvolutionProblem.h"
#include "EncodedFloats.h"
#include "NoStream.h"
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::runtime;
using namespace soap::test;

namespace soap::runtime {
extern const PoolLoops poolWide;
} // namespace soap::runtime

/// Wide vectors, and those of this processor.
static std::vector<const PoolLoops *> allLoops() {
  std::vector<const PoolLoops *> loops = {&poolWide};
  if (const PoolLoops *own = poolLoops())
    loops.push_back(own);
#ifdef SOAP_VECTOR_LOOPS_X86
  if (loops.back() == &poolAVX512)
    loops.push_back(&poolAVX2);
#endif
  return loops;
}

namespace {
struct Problem {
  fb::PoolT op;
  Shape x, y;

  Problem(const Shape &source, const Shape &kernel, const Shape &strides,
          const Shape &dilations, const Shape &low, const Shape &high)
      : x(source), y{source[0], source[1]} {
    op.kernel = kernel;
    op.strides = strides;
    op.dilations = dilations;
    op.pads_lo = low;
    op.pads_hi = high;
    for (size_t d = 0; d != 2; ++d)
      y.push_back(
          (x[2 + d] + low[d] + high[d] - (kernel[d] - 1) * dilations[d] - 1) /
              strides[d] +
          1);
  }

  flatbuffers::DetachedBuffer
  table(fb::ElementOrder order = fb::ElementOrder::ChannelsLast) const {
    fb::KernelT kernel;
    kernel.key = "pool";
    kernel.op.Set(fb::PoolT(op));
    auto add = [&](auto &list, const Shape &shape) {
      auto type = std::make_unique<fb::TensorTypeT>();
      type->shape = shape;
      type->order = order;
      list.push_back(std::move(type));
    };
    add(kernel.operands, x);
    add(kernel.results, y);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Kernel::Pack(builder, &kernel));
    return builder.Release();
  }
};
} // namespace

static std::optional<PoolShape>
shapeOf(const Problem &problem,
        fb::ElementOrder order = fb::ElementOrder::ChannelsLast) {
  auto table = problem.table(order);
  return poolShape(*flatbuffers::GetRoot<fb::Kernel>(table.data()));
}

/// The place of element [n, c, i, j] with channels last.
static size_t placeOf(const Shape &shape, const Shape &at) {
  return static_cast<size_t>(
      ((at[0] * shape[2] + at[2]) * shape[3] + at[3]) * shape[1] + at[1]);
}

static Tensor run(const Problem &problem, const PoolShape &shape,
                  const PoolLoops &loops, const Tensor &x, size_t threads) {
  fb::ElementType element =
      shape.isBFloat ? fb::ElementType::BF16 : fb::ElementType::F32;
  size_t bytes = shape.isBFloat ? 2 : 4;
  Guarded source(x.values.size() * bytes), made(count(problem.y) * bytes);
  std::vector<float> floats(x.values.size());
  forEachIndex(problem.x, [&](const Shape &at) {
    floats[placeOf(problem.x, at)] = static_cast<float>(x.at(at));
  });
  std::vector<char> given = encoded(floats, element);
  std::memcpy(source.data(), given.data(), given.size());
  useThreads(threads);
  auto kernel = makePoolKernel(shape, loops, threads);
  EXPECT_EQ(kernel->scratchpadBytes(), 0u);
  Binding binding;
  binding.operands = {source.pointer()};
  binding.results = {made.pointer()};
  NoStream stream;
  kernel->bind(binding)->enqueue(stream);
  useThreads(1);
  EXPECT_TRUE(made.isIntact());
  std::vector<char> taken(count(problem.y) * bytes);
  std::memcpy(taken.data(), made.data(), taken.size());
  floats = decoded(taken, element);
  Tensor result(problem.y);
  forEachIndex(problem.y, [&](const Shape &at) {
    result.at(at) = floats[placeOf(problem.y, at)];
  });
  return result;
}

// Any windows, channels, both kinds and numbers of threads.
TEST(Pool, RandomShapes) {
  std::mt19937 random(20261126);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int64_t made = 0;
  for (int round = 0; round != 50; ++round) {
    Shape kernel = {draw(1, 3), draw(1, 4)}, dilations = {draw(1, 2), 1};
    Problem problem(
        {draw(1, 3), draw(1, round < 45 ? 40 : 150), draw(6, 14), draw(6, 14)},
        kernel, {draw(1, 3), draw(1, 3)}, dilations,
        {draw(0, kernel[0] - 1), draw(0, kernel[1] - 1)},
        {draw(0, kernel[0] - 1), draw(0, kernel[1] - 1)});
    problem.op.kind = draw(0, 1) ? fb::PoolKind::Max : fb::PoolKind::Average;
    problem.op.count_include_pad = draw(0, 1);
    std::optional<PoolShape> shape = shapeOf(problem);
    if (!shape) // A window that has nothing of the source.
      continue;
    ++made;
    Tensor x(problem.x,
             randomFloats(count(problem.x), static_cast<uint32_t>(round)));
    shape->isBFloat = round % 3 == 0;
    if (shape->isBFloat)
      for (double &value : x.values) // As bf16 has it.
        value = std::nearbyint(value * 64) / 64;
    Tensor expected = reference(problem.op, {x}, problem.y);
    auto threads = static_cast<size_t>(draw(1, 3));
    for (const PoolLoops *loops : allLoops())
      ASSERT_LT(errorOf(run(problem, *shape, *loops, x, threads), expected),
                shape->isBFloat ? 1.0 / 256 : 1e-6)
          << "round " << round << ", source " << toString(problem.x)
          << ", kernel " << toString(kernel) << ", strides "
          << toString(problem.op.strides) << ", pads "
          << toString(problem.op.pads_lo) << ", kind "
          << fb::EnumNamePoolKind(problem.op.kind) << ", vectors of "
          << loops->width;
  }
  EXPECT_GT(made, 35);
}

// Tensors with channels last on both sides, and windows that are not empty.
TEST(Pool, WhereItIsTaken) {
  auto make = [] {
    return Problem({1, 16, 8, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1});
  };
  EXPECT_TRUE(shapeOf(make()));
  EXPECT_FALSE(shapeOf(make(), fb::ElementOrder::RowMajor));
  for (auto damage : std::vector<void (*)(Problem &)>{
           [](Problem &p) { p.op.pads_lo = {3, 1}; }, // An empty first window.
           [](Problem &p) { p.op.kernel = {1 << 20, 3}; },
           [](Problem &p) { p.op.kernel = {3, 3, 1}; },
           [](Problem &p) { p.op.strides = {2}; },
           [](Problem &p) { p.x[0] = 2; }, [](Problem &p) { p.y[1] = 8; },
           [](Problem &p) { p.y[2] = 0; },
           [](Problem &p) { p.x.pop_back(); }}) {
    Problem problem = make();
    damage(problem);
    EXPECT_FALSE(shapeOf(problem));
  }
}
