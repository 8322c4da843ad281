//===- NativeKernelBenchmark.cpp - Speed of native kernels ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes per second (read plus written, one core) of element-wise kernels
// against memcpy, for sizes in the first-level cache, in the last and in
// memory, and milliseconds to compile a kernel.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Target/CPU/EmitKernels.h"
#include "soap/Target/CPU/Passes.h"
#include "soap/Target/Model/SharedObject.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace mlir;
using namespace soap;

/// The operations of a network of ordinary layers, once per channel count.
static std::string program(int channels) {
  std::string c = std::to_string(channels), x = "tensor<1x" + c + "x56x56xf32>",
              v = "tensor<" + c + "xf32>";
  return "func.func @f(%x: " + x + ", %y: " + x + ", %v: " + v + ") {\n" +
         "%0 = nn.relu %x {nn.name = \"relu\"} : " + x + "\n" +
         "%1 = nn.add %x, %y {nn.name = \"add\"} : (" + x + ", " + x + ") -> " +
         x + "\n" +
         "%2 = nn.batch_norm %x, %v, %v, %v, %v {nn.name = \"bn\", "
         "epsilon = 1.0e-05 : f32} : " +
         x + ", " + v + "\n" +
         "%3 = nn.sigmoid %x {nn.name = \"sigmoid\"} : " + x + "\n" +
         "return }";
}

namespace {
/// Kernels of program(), loaded once.
class Kernels {
public:
  enum Op { Relu, Add, BatchNorm, Sigmoid };

  static const Kernels &get() {
    static Kernels kernels;
    return kernels;
  }

  void run(Op op, void *const *buffers, const int64_t *sizes) const {
    table[index[op]](buffers, sizes);
  }

private:
  Kernels() {
    DialectRegistry registry;
    registerNativeDialects(registry);
    MLIRContext context(registry);
    context.loadAllAvailableDialects();
    auto module = parseSourceString<ModuleOp>(program(64), &context);
    NativeKernels kernels(*module);
    module->walk([&](Operation *op) {
      if (NativeKernels::supports(op))
        index.push_back(kernels.getOrCreate(op)->index);
    });
    auto object = emitNativeObject(kernels.getModule(), HostProcessor::host());
    llvm::SmallString<128> path;
    if (failed(object) ||
        llvm::sys::fs::createTemporaryFile("soap-benchmark", "so", path))
      abort();
    if (llvm::Error error = linkSharedObject({*object}, {"none", ""}, path)) {
      llvm::errs() << llvm::toString(std::move(error)) << "\n";
      abort();
    }
    void *library = dlopen(path.c_str(), RTLD_NOW);
    llvm::sys::fs::remove(path);
    table = reinterpret_cast<Kernel *>(dlsym(library, "soap_native_kernels"));
  }

  using Kernel = void (*const)(void *const *, const int64_t *);
  Kernel *table = nullptr;
  SmallVector<uint32_t> index;
};
} // namespace

static float *allocate(int64_t count) {
  auto *values = static_cast<float *>(aligned_alloc(64, count * sizeof(float)));
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i % 17) - 8;
  return values;
}

/// `arrays`: how many arrays of the size a call reads and writes.
template <typename Run>
static void measure(benchmark::State &state, int arrays, Run run) {
  int64_t count = state.range(0);
  float *buffers[3] = {allocate(count), allocate(count), allocate(count)};
  for (auto _ : state) {
    run(buffers, count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * arrays * count * sizeof(float));
  for (float *buffer : buffers)
    free(buffer);
}

static void Memcpy(benchmark::State &state) {
  measure(state, 2, [](float **buffers, int64_t count) {
    std::memcpy(buffers[2], buffers[0], count * sizeof(float));
  });
}

static void Relu(benchmark::State &state) {
  measure(state, 2, [](float **buffers, int64_t count) {
    void *arguments[] = {buffers[0], buffers[2]};
    Kernels::get().run(Kernels::Relu, arguments, &count);
  });
}

static void ReluInPlace(benchmark::State &state) {
  measure(state, 2, [](float **buffers, int64_t count) {
    void *arguments[] = {buffers[0], buffers[0]};
    Kernels::get().run(Kernels::Relu, arguments, &count);
  });
}

static void Add(benchmark::State &state) {
  measure(state, 3, [](float **buffers, int64_t count) {
    void *arguments[] = {buffers[0], buffers[1], buffers[2]};
    Kernels::get().run(Kernels::Add, arguments, &count);
  });
}

static void BatchNorm(benchmark::State &state) {
  float vector[64];
  std::fill(vector, vector + 64, 1.5f);
  measure(state, 2, [&](float **buffers, int64_t count) {
    void *arguments[] = {buffers[0], vector, vector,
                         vector,     vector, buffers[2]};
    int64_t sizes[] = {64, count / 64}; // Batch 1: channels, pixels.
    Kernels::get().run(Kernels::BatchNorm, arguments, sizes);
  });
}

static void Sigmoid(benchmark::State &state) {
  measure(state, 2, [](float **buffers, int64_t count) {
    void *arguments[] = {buffers[0], buffers[2]};
    Kernels::get().run(Kernels::Sigmoid, arguments, &count);
  });
}

#define SIZES ->Arg(1 << 11)->Arg(1 << 17)->Arg(1 << 24)
BENCHMARK(Memcpy) SIZES;
BENCHMARK(Relu) SIZES;
BENCHMARK(ReluInPlace) SIZES;
BENCHMARK(Add) SIZES;
BENCHMARK(BatchNorm) SIZES;
BENCHMARK(Sigmoid) SIZES;

/// From nn to an object file, four kernels; items are kernels.
static void Compile(benchmark::State &state) {
  DialectRegistry registry;
  registerNativeDialects(registry);
  MLIRContext context(registry);
  context.disableMultithreading();
  context.loadAllAvailableDialects();
  HostProcessor target = HostProcessor::host();
  for (auto _ : state) {
    auto module = parseSourceString<ModuleOp>(program(64), &context);
    NativeKernels kernels(*module);
    module->walk([&](Operation *op) {
      if (NativeKernels::supports(op))
        (void)kernels.getOrCreate(op);
    });
    benchmark::DoNotOptimize(emitNativeObject(kernels.getModule(), target));
  }
  state.counters["ms_per_kernel"] = benchmark::Counter(
      4e-3 * state.iterations(),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(Compile)->Unit(benchmark::kMillisecond);
