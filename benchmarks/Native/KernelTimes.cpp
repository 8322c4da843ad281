//===- KernelTimes.cpp - How long each native kernel compiles and runs ----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what `soap-compile --emit=soaprt` prints, compiles every native kernel
// in a module of its own, and prints the milliseconds of processor time of
// each, the slowest first, the microseconds of a run, and its operation:
//
//   soap-compile model.onnx --emit=soaprt -o model.mlir
//   soap-kernel-times model.mlir
//
// The passes and LLVM start anew for every kernel; an empty module says how
// long that takes, and is printed as "none". A run is the fastest of many, on
// zeros; kernels whose sizes are arguments run on 2^16 elements or a few less.
// The exit code is 1 if a kernel takes more than the number of milliseconds to
// compile that may follow the file.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Runtime/NativeKernel.h"
#include "soap/Target/CPU/EmitKernels.h"
#include "soap/Target/CPU/Passes.h"
#include "soap/Target/Model/SharedObject.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

using namespace mlir;
using namespace soap;

static double processorMilliseconds() {
  llvm::sys::TimePoint<> now;
  std::chrono::nanoseconds user, system;
  llvm::sys::Process::GetTimeUsage(now, user, system);
  return std::chrono::duration<double, std::milli>(user + system).count();
}

namespace {
/// Functions as object code, and the milliseconds that it took to make it.
struct Compiled {
  double milliseconds;
  std::string object;
};

struct Kernel {
  double milliseconds, microseconds;
  std::string key;
};

/// Memory of zeros for the arguments of a kernel.
class Arguments {
  /// Products as the runtime's CPU backend computes them.
  soap_native_services services = {
      [](int64_t rows, int64_t columns, int64_t sum, const float *a,
         int64_t aRow, int64_t aColumn, const float *b, int64_t bRow,
         int64_t bColumn, float *c, int64_t cRow) {
        (void)dnnl_sgemm(aColumn == 1 ? 'N' : 'T', bColumn == 1 ? 'N' : 'T',
                         rows, columns, sum, 1.0f, a, std::max(aRow, aColumn),
                         b, std::max(bRow, bColumn), 1.0f, c, cRow);
      },
      soap_plain_allocate, std::free};

public:
  explicit Arguments(func::FuncOp kernel) {
    size_t numSizes = 0;
    for (unsigned i = 0; i != kernel.getNumArguments(); ++i)
      for (int64_t dim : dimsOf(kernel, i))
        numSizes = std::max(numSizes, static_cast<size_t>(dim) + 1);
    if (numSizes != 0)
      sizes.assign(numSizes, static_cast<int64_t>(std::exp2(16 / numSizes)));
    for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      auto shaped = cast<ShapedType>(type);
      int64_t elements = 1;
      if (shaped.hasStaticShape())
        elements = shaped.getNumElements();
      else
        for (int64_t dim : dimsOf(kernel, index))
          elements *= sizes[dim];
      size_t bytes = elements * 8; // No element is wider.
      void *buffer = std::aligned_alloc(64, llvm::alignTo(bytes, 64));
      if (!buffer)
        llvm::report_bad_alloc_error("buffers of a kernel");
      std::memset(buffer, 0, bytes);
      buffers.push_back(buffer);
    }
    buffers.push_back(&services);
  }
  Arguments(const Arguments &) = delete;
  Arguments &operator=(const Arguments &) = delete;
  ~Arguments() {
    for (void *buffer : llvm::drop_end(buffers))
      std::free(buffer);
  }

  std::vector<void *> buffers;
  std::vector<int64_t> sizes;

private:
  static ArrayRef<int64_t> dimsOf(func::FuncOp kernel, unsigned index) {
    auto dims =
        kernel.getArgAttrOfType<DenseI64ArrayAttr>(index, native::sizesAttr);
    return dims ? dims.asArrayRef() : ArrayRef<int64_t>();
  }
};
} // namespace

/// Nothing after an error, which was emitted.
static std::optional<Compiled> compile(ModuleOp kernels,
                                       const HostProcessor &processor) {
  double start = processorMilliseconds();
  FailureOr<std::string> object = emitNativeObject(kernels, processor);
  if (failed(object))
    return std::nullopt;
  return Compiled{processorMilliseconds() - start, std::move(*object)};
}

/// Microseconds of the fastest run of the first kernel of `object`.
static llvm::Expected<double> run(const std::string &object,
                                  const Arguments &arguments) {
  llvm::SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("soap-kernel", "so", path))
    return llvm::errorCodeToError(error);
  llvm::FileRemover remover(path);
  if (llvm::Error error = linkSharedObject({object}, {"none", ""}, path))
    return error;
  void *library = dlopen(path.c_str(), RTLD_NOW);
  if (!library)
    return llvm::createStringError(dlerror());
  soap_native_kernel kernel = *static_cast<soap_native_kernel *>(
      dlsym(library, native::tableName.data()));
  using Clock = std::chrono::steady_clock;
  double fastest = HUGE_VAL;
  Clock::time_point end = Clock::now() + std::chrono::milliseconds(20);
  for (int64_t repeats = 1; Clock::now() < end;) {
    Clock::time_point start = Clock::now();
    for (int64_t i = 0; i != repeats; ++i)
      kernel(arguments.buffers.data(), arguments.sizes.data());
    std::chrono::duration<double, std::micro> taken = Clock::now() - start;
    fastest = std::min(fastest, taken.count() / static_cast<double>(repeats));
    if (taken < std::chrono::milliseconds(1))
      repeats *= 2;
  }
  dlclose(library);
  return fastest;
}

/// Compiles and runs every kernel of `module @kernels`.
static std::optional<std::vector<Kernel>>
measureEach(ModuleOp all, const HostProcessor &processor) {
  std::vector<Kernel> kernels;
  OpBuilder builder(all.getContext());
  for (auto function : all.getOps<func::FuncOp>()) {
    auto key = function->getAttrOfType<StringAttr>(native::keyAttr);
    if (!key)
      continue;
    OwningOpRef<ModuleOp> alone(
        ModuleOp::create(all.getLoc(), native::moduleName));
    builder.setInsertionPointToStart(alone->getBody());
    builder.clone(*function);
    std::optional<Compiled> compiled = compile(*alone, processor);
    if (!compiled)
      return std::nullopt;
    llvm::Expected<double> time = run(compiled->object, Arguments(function));
    if (!time) {
      llvm::errs() << llvm::toString(time.takeError()) << "\n";
      return std::nullopt;
    }
    kernels.push_back({compiled->milliseconds, *time, key.getValue().str()});
  }
  return kernels;
}

int main(int argc, char **argv) {
  double limit = 0;
  if (argc < 2 || argc > 3 ||
      (argc == 3 && StringRef(argv[2]).getAsDouble(limit))) {
    llvm::errs() << "usage: " << argv[0] << " MODEL.mlir [MILLISECONDS]\n";
    return 2;
  }
  DialectRegistry registry;
  registerNativeDialects(registry);
  registry.insert<soapir::SOAPDialect, soaprt::SOAPRTDialect>();
  MLIRContext context(registry);
  context.disableMultithreading();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 2;
  ModuleOp all = module->lookupSymbol<ModuleOp>(native::moduleName);
  if (!all) {
    llvm::outs() << "no native kernels\n";
    return 0;
  }

  // One thread, whichever OpenMP runtime oneDNN came with.
  if (auto *setThreads = reinterpret_cast<void (*)(int)>(
          dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    setThreads(1);

  HostProcessor processor = HostProcessor::host();
  OwningOpRef<ModuleOp> empty(
      ModuleOp::create(all.getLoc(), native::moduleName));
  // The first one also starts LLVM.
  if (!compile(*empty, processor))
    return 2;
  std::optional<Compiled> none = compile(*empty, processor);
  std::optional<Compiled> together = compile(all, processor);
  std::optional<std::vector<Kernel>> kernels = measureEach(all, processor);
  if (!none || !together || !kernels)
    return 2;
  llvm::sort(*kernels, [](const Kernel &a, const Kernel &b) {
    return std::tie(b.milliseconds, a.key) < std::tie(a.milliseconds, b.key);
  });
  llvm::outs() << llvm::format("%8.1f ms                %zu kernels together\n",
                               together->milliseconds, kernels->size())
               << llvm::format("%8.1f ms                none\n",
                               none->milliseconds);
  for (const Kernel &kernel : *kernels)
    llvm::outs() << llvm::format("%8.1f ms %10.2f us  ", kernel.milliseconds,
                                 kernel.microseconds)
                 << kernel.key << "\n";
  bool slow =
      limit > 0 && !kernels->empty() && kernels->front().milliseconds > limit;
  return slow ? 1 : 0;
}
