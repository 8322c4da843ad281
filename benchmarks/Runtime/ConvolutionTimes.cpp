//===- ConvolutionTimes.cpp - Our own convolutions beside the library's ---===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// soap-convolution-times MODE [THREADS] [ROUNDS], of modes winograd, training,
// gradients (of pointwise convolutions), pointwise, strided, transposed and
// followers: a table, one row per convolution, of the lower quartiles of
// alternating runs: milliseconds, of the processor if THREADS is 1 (the
// default), else of the wall, and Gflop/s of the direct sums. Before every run
// what caches hold is replaced. Tensors have channels last, but for what is
// called dense. The star is at what the runtime would take of those.
//
//===----------------------------------------------------------------------===//

#include "CPU/PointwiseKernel.h"
#include "CPU/StridedKernel.h"
#include "CPU/Threads.h"
#include "CPU/TransposedKernel.h"
#include "CPU/WinogradFilter.h"
#include "NoStream.h"
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace soap;
using namespace soap::runtime;

namespace {
/// A square image and a square window, which is in the middle of its pads; or
/// whose strides it is, of a transposed convolution; or a gradient of such a
/// convolution, of its source or its weights.
struct Convolution {
  int64_t batch, channels, filters, image, groups, window = 3;
  bool isTransposed = false, ofSource = false, ofFilter = false;
  int64_t stride = 1; ///< But for transposed ones.

  double flops() const {
    int64_t side = (image - 1) / stride + 1;
    return 2.0 * static_cast<double>(window * window * batch * channels *
                                     filters / groups * side * side);
  }
  flatbuffers::DetachedBuffer
  table(fb::ElementOrder order = fb::ElementOrder::ChannelsLast,
        const std::vector<fb::FollowerKind> &followers = {}) const {
    fb::ConvT conv;
    conv.strides = {stride, stride};
    conv.dilations = {1, 1};
    conv.pads_lo = conv.pads_hi = {window / 2, window / 2};
    conv.groups = groups;
    conv.bias = conv.winograd = true;
    fb::KernelT kernel;
    kernel.key = "conv";
    for (fb::FollowerKind kind : followers) {
      fb::FollowerT follower;
      follower.kind = kind;
      follower.operand = 3;
      kernel.followers.push_back(std::make_unique<fb::FollowerT>(follower));
    }
    if (isTransposed || ofSource || ofFilter) {
      fb::ConvBackwardT back;
      back.of_filter = ofFilter;
      back.strides = {stride, stride};
      back.dilations = {1, 1};
      back.pads_lo = back.pads_hi = conv.pads_lo;
      if (isTransposed) {
        back.strides = {window, window};
        back.pads_lo = back.pads_hi = {0, 0};
      }
      back.groups = groups;
      back.bias = isTransposed;
      back.winograd = true;
      kernel.op.Set(std::move(back));
    } else {
      kernel.op.Set(std::move(conv));
    }
    int64_t made = isTransposed ? image * window : (image - 1) / stride + 1;
    auto add = [](auto &list, Shape shape, fb::ElementOrder of) {
      auto type = std::make_unique<fb::TensorTypeT>();
      type->shape = std::move(shape);
      type->order = of;
      list.push_back(std::move(type));
    };
    auto row = fb::ElementOrder::RowMajor;
    if (ofSource || ofFilter) {
      int64_t side = (image - 1) / stride + 1;
      Shape x = {batch, channels, image, image},
            y = {batch, filters, side, side},
            w = {filters, channels / groups, window, window};
      add(kernel.operands, ofFilter ? x : y, order);
      add(kernel.operands, ofFilter ? y : w, ofFilter ? order : row);
      add(kernel.results, ofFilter ? w : x, ofFilter ? row : order);
      flatbuffers::FlatBufferBuilder builder;
      builder.Finish(fb::Kernel::Pack(builder, &kernel));
      return builder.Release();
    }
    add(kernel.operands, {batch, channels, image, image}, order);
    if (isTransposed)
      add(kernel.operands, {channels, filters / groups, window, window}, row);
    else
      add(kernel.operands, {filters, channels / groups, window, window}, row);
    add(kernel.operands, {filters}, row);
    if (!followers.empty() && followers.front() == fb::FollowerKind::Add) {
      kernel.followers.front()->in_place = true;
      add(kernel.operands, {batch, filters, image, image}, order);
    }
    add(kernel.results, {batch, filters, made, made}, order);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Kernel::Pack(builder, &kernel));
    return builder.Release();
  }
};

/// A kernel on operands of its own.
struct Candidate {
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<BoundKernel> bound;
  std::vector<std::vector<float>> memory;
  ConstantCache constants;
  std::vector<double> times;

  Candidate(std::unique_ptr<Kernel> made, const fb::Kernel &table)
      : kernel(std::move(made)) {
    Binding binding;
    for (const auto *type : items(table.operands()))
      binding.operands.push_back(
          allocate(elementCount(toVector(type->shape()))));
    binding.results.push_back(
        allocate(elementCount(toVector(table.results()->Get(0)->shape()))));
    if (binding.operands.size() > 3) // What is added is overwritten.
      binding.operands.back() = binding.results.front();
    binding.scratchpad =
        allocate(static_cast<int64_t>(kernel->scratchpadBytes() / 4));
    binding.constants = &constants;
    bound = kernel->bind(binding);
  }

private:
  DevicePointer allocate(int64_t floats) {
    auto &block = memory.emplace_back(static_cast<size_t>(floats) + 16);
    for (float &value : block)
      value =
          static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX) - 0.5F;
    auto address = reinterpret_cast<uintptr_t>(block.data());
    return DevicePointer((address + 63) / 64 * 64);
  }
};
} // namespace

static double secondsOf(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

/// Runs candidates in turn and prints a row; `taken`: the number of the one
/// that the runtime would take.
static void compare(const Convolution &conv, size_t threads, int rounds,
                    std::vector<Candidate> &candidates, size_t taken,
                    const std::string &note) {
  clockid_t clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  static std::vector<float> others(size_t{1} << 24);
  test::NoStream stream;
  for (int round = 0; round != rounds; ++round)
    for (Candidate &candidate : candidates) {
      for (size_t i = 0; i < others.size(); i += 16)
        others[i] += 1;
      double start = secondsOf(clock);
      candidate.bound->enqueue(stream);
      candidate.times.push_back(secondsOf(clock) - start);
    }
  std::printf("| %ld | %ld→%ld, %ld², %ld | ", conv.batch, conv.channels,
              conv.filters, conv.image, conv.groups);
  for (size_t i = 0; i != candidates.size(); ++i) {
    std::vector<double> &times = candidates[i].times;
    std::sort(times.begin(), times.end());
    double time = times[times.size() / 4];
    std::printf("%.3f, %.0f%s | ", time * 1e3, conv.flops() / time * 1e-9,
                i == taken ? "*" : "");
  }
  std::printf("%s |\n", note.c_str());
  std::fflush(stdout);
}

static const fb::Kernel &rowOf(const flatbuffers::DetachedBuffer &buffer) {
  return *flatbuffers::GetRoot<fb::Kernel>(buffer.data());
}

static const std::vector<bool> constant = {false, true, true};

static void measureWinograd(const Convolution &conv, size_t threads,
                            int rounds) {
  auto buffer = conv.table();
  const fb::Kernel &table = rowOf(buffer);
  std::optional<WinogradShape> shape = winogradShape(table);
  std::optional<WinogradPlan> plan = planWinograd(*shape, threads);
  std::vector<Candidate> candidates;
  auto library = makeDnnlKernel(table, constant, false);
  std::string name = library->implementation();
  candidates.emplace_back(std::move(library), table);
  size_t taken = 0;
  for (const WinogradLoops *loops : winogradLoops()) {
    if (plan && &plan->loops() == loops)
      taken = candidates.size();
    candidates.emplace_back(
        makeWinogradKernel(table, WinogradPlan(*shape, *loops, threads)),
        table);
  }
  compare(conv, threads, rounds, candidates, taken, name);
}

/// The library's kernel beside those of `plan`, of weights that change.
template <typename Plan, typename Shape, typename Make>
static void compareChanging(const Convolution &conv, const fb::Kernel &table,
                            const Shape &shape, const std::optional<Plan> &plan,
                            size_t threads, int rounds, const Make &make) {
  std::vector<Candidate> candidates;
  auto library = makeDnnlKernel(table, {false, false, false}, false);
  std::string name = library->implementation();
  candidates.emplace_back(std::move(library), table);
  size_t taken = 0;
  for (const WinogradLoops *loops : winogradLoops()) {
    if (plan && &plan->loops() == loops)
      taken = candidates.size();
    candidates.emplace_back(make(table, Plan(shape, *loops, threads)), table);
  }
  const char *what = conv.ofFilter   ? ", gradient of weights"
                     : conv.ofSource ? ", gradient of x"
                                     : "";
  compare(conv, threads, rounds, candidates, taken, name + what);
}

/// A convolution whose weights change, and its two gradients.
static void measureTraining(Convolution conv, size_t threads, int rounds) {
  for (bool ofSource : {false, true}) {
    conv.ofSource = ofSource;
    auto buffer = conv.table();
    const fb::Kernel &table = rowOf(buffer);
    WinogradShape shape =
        winogradShape(table, /*constantWeights=*/false).value();
    compareChanging(conv, table, shape, planWinograd(shape, threads), threads,
                    rounds,
                    [](const fb::Kernel &row, const WinogradPlan &plan) {
                      return makeWinogradKernel(row, plan);
                    });
  }
  conv.ofSource = false;
  conv.ofFilter = true;
  auto buffer = conv.table();
  const fb::Kernel &table = rowOf(buffer);
  WinogradShape shape = winogradFilterShape(table).value();
  compareChanging(conv, table, shape, planWinogradFilter(shape, threads),
                  threads, rounds,
                  [](const fb::Kernel &row, const WinogradFilterPlan &plan) {
                    return makeWinogradFilterKernel(row, plan);
                  });
}

/// The gradients of a pointwise convolution: the library's, and products.
static void measureGradients(Convolution conv, size_t threads, int rounds) {
  for (bool ofFilter : {false, true}) {
    conv.ofSource = !ofFilter;
    conv.ofFilter = ofFilter;
    auto buffer = conv.table();
    const fb::Kernel &table = rowOf(buffer);
    std::vector<Candidate> candidates;
    auto library = makeDnnlKernel(table, {false, false}, false);
    std::string name = library->implementation();
    candidates.emplace_back(std::move(library), table);
    candidates.emplace_back(makePointwiseGradientKernel(table), table);
    compare(conv, threads, rounds, candidates, 1,
            name + (ofFilter ? ", of weights" : ", of x") +
                (conv.stride > 1 ? ", every second pixel" : ""));
  }
}

/// The library's kernels between dense tensors and with channels last, beside
/// `own`; `isTaken`: whether the runtime would take that.
static void measureBeside(const Convolution &conv, std::unique_ptr<Kernel> own,
                          bool isTaken, size_t threads, int rounds) {
  auto buffer = conv.table(), dense = conv.table(fb::ElementOrder::RowMajor);
  const fb::Kernel &table = rowOf(buffer);
  std::vector<Candidate> candidates;
  candidates.emplace_back(makeDnnlKernel(rowOf(dense), constant, false),
                          rowOf(dense));
  auto library = makeDnnlKernel(table, constant, false);
  std::string name = library->implementation();
  candidates.emplace_back(std::move(library), table);
  candidates.emplace_back(std::move(own), table);
  compare(conv, threads, rounds, candidates, isTaken ? 2 : 1, name);
}

static void measurePointwise(const Convolution &conv, size_t threads,
                             int rounds) {
  auto buffer = conv.table();
  const fb::Kernel &table = rowOf(buffer);
  measureBeside(conv,
                makePointwiseKernel(table, *pointwiseShape(table),
                                    *pointwiseLoops(), threads),
                makePointwiseKernel(table, constant) != nullptr, threads,
                rounds);
}

static void measureStrided(const Convolution &conv, size_t threads,
                           int rounds) {
  auto buffer = conv.table();
  const fb::Kernel &table = rowOf(buffer);
  measureBeside(conv,
                makeStridedKernel(table, *stridedShape(table),
                                  *pointwiseLoops(), threads,
                                  /*constantWeights=*/true),
                makeStridedKernel(table, constant) != nullptr, threads, rounds);
  const std::vector<bool> changing = {false, false, false};
  std::vector<Candidate> candidates;
  candidates.emplace_back(makeDnnlKernel(table, changing, false), table);
  candidates.emplace_back(makeStridedKernel(table, *stridedShape(table),
                                            *pointwiseLoops(), threads,
                                            /*constantWeights=*/false),
                          table);
  compare(conv, threads, rounds, candidates,
          makeStridedKernel(table, changing) ? 1 : 0, "weights that change");
}

static void measureTransposed(const Convolution &conv, size_t threads,
                              int rounds) {
  auto buffer = conv.table();
  const fb::Kernel &table = rowOf(buffer);
  measureBeside(conv,
                makeTransposedKernel(table, *transposedShape(table),
                                     *pointwiseLoops(), threads),
                makeTransposedKernel(table, constant) != nullptr, threads,
                rounds);
}

static void measureFollowers(const Convolution &conv, size_t threads,
                             int rounds) {
  using Kind = fb::FollowerKind;
  std::vector<Candidate> candidates;
  std::string name;
  for (const std::vector<Kind> &followers :
       {std::vector<Kind>{Kind::Relu}, {Kind::Add, Kind::Relu}}) {
    auto buffer = conv.table(fb::ElementOrder::ChannelsLast, followers);
    const fb::Kernel &table = rowOf(buffer);
    candidates.emplace_back(makeFollowedKernel(table, constant), table);
    auto inside = makeCPUKernel(table, constant, {});
    name = inside->implementation();
    candidates.emplace_back(std::move(inside), table);
  }
  compare(conv, threads, rounds, candidates, candidates.size(), name);
}

int main(int argc, char **argv) {
  std::string mode = argc > 1 ? argv[1] : "nothing";
  bool isTraining = mode == "training",
       isWinograd = isTraining || mode == "winograd";
  if (mode != "gradients" && !isWinograd && mode != "pointwise" &&
      mode != "strided" && mode != "transposed" && mode != "followers") {
    std::fprintf(stderr,
                 "expected winograd, training, gradients, pointwise, "
                 "strided, transposed or followers, got: %s\n",
                 mode.c_str());
    return 1;
  }
  if (winogradLoops().empty()) {
    std::fprintf(stderr, "expected a processor with AVX2 and FMA\n");
    return 1;
  }
  auto threads = static_cast<size_t>(argc > 2 ? std::atol(argv[2]) : 1);
  int rounds = argc > 3 ? std::atoi(argv[3]) : 9;
  useThreads(threads);
  if (mode == "followers") {
    std::printf("| batch | channels, image, groups | relu behind | inside | "
                "sum and relu behind | inside | kernel |\n"
                "|---|---|---|---|---|---|---|\n");
    for (const Convolution &conv :
         std::vector<Convolution>{{1, 64, 64, 224, 1},
                                  {1, 128, 128, 112, 1},
                                  {1, 256, 256, 56, 1},
                                  {1, 512, 512, 28, 1},
                                  {1, 512, 512, 14, 1},
                                  {1, 64, 64, 56, 1},
                                  {1, 128, 128, 28, 1},
                                  {1, 256, 256, 14, 1},
                                  {1, 512, 512, 7, 1},
                                  {8, 64, 64, 56, 1}})
      measureFollowers(conv, threads, rounds);
    return 0;
  }
  if (mode == "gradients") {
    std::printf("| batch | channels, image, groups | oneDNN | product | of |\n"
                "|---|---|---|---|---|\n");
    for (const Convolution &conv : std::vector<Convolution>{
             {8, 64, 256, 56, 1, 1},
             {8, 256, 64, 56, 1, 1},
             {8, 128, 512, 28, 1, 1},
             {8, 512, 128, 28, 1, 1},
             {8, 256, 1024, 14, 1, 1},
             {8, 1024, 256, 14, 1, 1},
             {8, 512, 2048, 7, 1, 1},
             {8, 2048, 512, 7, 1, 1},
             {8, 256, 512, 56, 1, 1, false, false, false, 2},
             {8, 512, 1024, 28, 1, 1, false, false, false, 2},
             {8, 1024, 2048, 14, 1, 1, false, false, false, 2}})
      measureGradients(conv, threads, rounds);
    return 0;
  }
  std::printf("| batch | channels, image, groups | %s | oneDNN's |\n"
              "|---|---|---|---|---|---|\n",
              isWinograd ? "direct | tiles of 2x2 | tiles of 4x4"
                         : "oneDNN, dense | oneDNN | ours");
  if (isTraining) {
    for (const Convolution &conv : std::vector<Convolution>{
             {8, 64, 64, 224, 1},  {8, 64, 128, 112, 1}, {8, 128, 128, 112, 1},
             {8, 256, 256, 56, 1}, {8, 512, 512, 28, 1}, {8, 512, 512, 14, 1},
             {8, 64, 64, 56, 1},   {8, 128, 128, 28, 1}, {8, 256, 256, 14, 1},
             {8, 512, 512, 7, 1},  {8, 128, 32, 56, 1},  {8, 128, 32, 14, 1},
             {8, 96, 128, 28, 1},  {8, 160, 320, 14, 1}, {8, 16, 64, 55, 1},
             {8, 48, 192, 13, 1},  {8, 64, 256, 13, 1},  {8, 384, 384, 13, 2},
             {1, 64, 64, 56, 1},   {1, 256, 256, 14, 1}, {32, 256, 256, 14, 1},
             {32, 512, 512, 7, 1}})
      measureTraining(conv, threads, rounds);
    return 0;
  }
  if (mode == "strided") {
    for (auto [channels, filters, image, window] :
         std::vector<std::array<int64_t, 4>>{{3, 32, 224, 3},
                                             {3, 64, 223, 3},
                                             {3, 64, 224, 7},
                                             {3, 96, 227, 11},
                                             {16, 32, 112, 3},
                                             {32, 64, 112, 3},
                                             {64, 128, 80, 3},
                                             {96, 96, 28, 3},
                                             {128, 128, 56, 3},
                                             {128, 160, 28, 3},
                                             {256, 256, 28, 3},
                                             {256, 256, 14, 3},
                                             {512, 512, 14, 3},
                                             {64, 64, 56, 5},
                                             {128, 128, 28, 3},
                                             {24, 24, 56, 3}})
      for (int64_t batch : {1, 8})
        measureStrided({batch, channels, filters, image, 1, window, false,
                        false, false, 2},
                       threads, rounds);
    return 0;
  }
  if (mode == "transposed") {
    for (const Convolution &conv :
         std::vector<Convolution>{{1, 1024, 512, 28, 1, 2, true},
                                  {1, 512, 256, 52, 1, 2, true},
                                  {1, 256, 128, 100, 1, 2, true},
                                  {1, 128, 64, 196, 1, 2, true},
                                  {8, 256, 64, 14, 1, 2, true},
                                  {1, 256, 256, 14, 1, 2, true},
                                  {1, 768, 384, 14, 1, 4, true}})
      measureTransposed(conv, threads, rounds);
    return 0;
  }
  if (!isWinograd) {
    for (const Convolution &conv : std::vector<Convolution>{
             {1, 24, 112, 56, 4, 1},   {1, 112, 112, 28, 4, 1},
             {1, 136, 136, 28, 4, 1},  {1, 136, 136, 14, 4, 1},
             {1, 272, 272, 14, 4, 1},  {1, 272, 272, 7, 4, 1},
             {1, 544, 544, 7, 4, 1},   {8, 136, 136, 28, 4, 1},
             {8, 544, 544, 7, 4, 1},   {1, 240, 60, 28, 3, 1},
             {1, 480, 120, 14, 3, 1},  {1, 384, 96, 28, 8, 1},
             {1, 768, 192, 14, 8, 1},  {1, 256, 256, 28, 2, 1},
             {1, 512, 512, 14, 32, 1}, {1, 1024, 1024, 7, 1, 1},
             {1, 512, 1024, 7, 1, 1},  {1, 512, 2048, 7, 1, 1},
             {1, 2048, 512, 7, 1, 1},  {1, 832, 384, 7, 1, 1},
             {1, 512, 512, 14, 1, 1},  {1, 1024, 256, 14, 1, 1},
             {1, 256, 1024, 14, 1, 1}, {1, 512, 128, 28, 1, 1},
             {1, 128, 512, 28, 1, 1},  {8, 512, 2048, 7, 1, 1},
             {8, 2048, 512, 7, 1, 1},  {8, 1024, 256, 14, 1, 1}})
      measurePointwise(conv, threads, rounds);
    return 0;
  }
  for (const Convolution &conv : std::vector<Convolution>{
           {1, 3, 64, 224, 1},    {1, 64, 64, 224, 1},  {1, 64, 128, 112, 1},
           {1, 128, 128, 112, 1}, {1, 256, 256, 56, 1}, {1, 512, 512, 28, 1},
           {1, 512, 512, 14, 1},  {1, 64, 64, 56, 1},   {1, 128, 128, 28, 1},
           {1, 256, 256, 14, 1},  {1, 512, 512, 7, 1},  {8, 64, 64, 56, 1},
           {8, 256, 256, 14, 1},  {8, 512, 512, 7, 1},  {1, 128, 32, 56, 1},
           {1, 128, 32, 14, 1},   {1, 128, 32, 7, 1},   {1, 96, 128, 28, 1},
           {1, 160, 320, 14, 1},  {1, 192, 384, 7, 1},  {1, 16, 64, 55, 1},
           {1, 48, 192, 13, 1},   {1, 384, 384, 13, 2}, {1, 1024, 512, 52, 1},
           {1, 32, 32, 112, 1},   {1, 16, 16, 112, 1},  {1, 8, 8, 112, 1},
           {1, 512, 512, 14, 32}})
    measureWinograd(conv, threads, rounds);
  return 0;
}
