//===- KernelCompileTimes.cpp - How long each native kernel compiles ------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what `soap-compile --emit=soaprt` prints, compiles every native kernel
// in a module of its own, and prints the milliseconds of processor time of
// each, the slowest first, with its operation:
//
//   soap-compile model.onnx --emit=soaprt -o model.mlir
//   soap-kernel-compile-times model.mlir
//
// The passes and LLVM start anew for every kernel; an empty module says how
// long that takes, and is printed as "none". The exit code is 1 if a kernel
// takes more than the number of milliseconds that may follow the file.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Target/CPU/EmitKernels.h"
#include "soap/Target/CPU/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;
using namespace soap;

static double processorMilliseconds() {
  llvm::sys::TimePoint<> now;
  std::chrono::nanoseconds user, system;
  llvm::sys::Process::GetTimeUsage(now, user, system);
  return std::chrono::duration<double, std::milli>(user + system).count();
}

/// Milliseconds to compile the functions of `kernels`, or nothing after an
/// error, which was emitted.
static std::optional<double> compile(ModuleOp kernels,
                                     const HostProcessor &processor) {
  double start = processorMilliseconds();
  if (failed(emitNativeObject(kernels, processor)))
    return std::nullopt;
  return processorMilliseconds() - start;
}

namespace {
struct Kernel {
  double milliseconds;
  std::string key;
};
} // namespace

/// Compiles every kernel of `module @kernels`.
static std::optional<std::vector<Kernel>>
compileEach(ModuleOp all, const HostProcessor &processor) {
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
    std::optional<double> time = compile(*alone, processor);
    if (!time)
      return std::nullopt;
    kernels.push_back({*time, key.getValue().str()});
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

  HostProcessor processor = HostProcessor::host();
  OwningOpRef<ModuleOp> empty(
      ModuleOp::create(all.getLoc(), native::moduleName));
  // The first one also starts LLVM.
  if (!compile(*empty, processor))
    return 2;
  std::optional<double> none = compile(*empty, processor);
  std::optional<double> together = compile(all, processor);
  std::optional<std::vector<Kernel>> kernels = compileEach(all, processor);
  if (!none || !together || !kernels)
    return 2;
  llvm::sort(*kernels, [](const Kernel &a, const Kernel &b) {
    return std::tie(b.milliseconds, a.key) < std::tie(a.milliseconds, b.key);
  });
  llvm::outs() << llvm::format("%8.1f ms  %zu kernels together\n", *together,
                               kernels->size())
               << llvm::format("%8.1f ms  none\n", *none);
  for (const Kernel &kernel : *kernels)
    llvm::outs() << llvm::format("%8.1f ms  ", kernel.milliseconds)
                 << kernel.key << "\n";
  bool slow =
      limit > 0 && !kernels->empty() && kernels->front().milliseconds > limit;
  return slow ? 1 : 0;
}
