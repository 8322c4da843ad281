//===- CompiledOps.h - Native kernels, loaded and callable ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_NATIVE_COMPILEDOPS_H
#define SOAP_UNITTESTS_NATIVE_COMPILEDOPS_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Runtime/NativeKernel.h"
#include <string>
#include <vector>

namespace soap {
namespace test {

/// The nn operations of a piece of MLIR, compiled all the way: to an object
/// file, linked to a shared library, loaded with dlopen.
class CompiledOps {
public:
  /// `text` is a module. Reports a failed expectation if anything fails.
  /// `channelsLast`: of what channelsLastValues() names of an operation.
  explicit CompiledOps(const std::string &text, bool channelsLast = false);
  ~CompiledOps();
  CompiledOps(const CompiledOps &) = delete;
  CompiledOps &operator=(const CompiledOps &) = delete;

  /// The operations with kernels, in order.
  std::vector<mlir::Operation *> ops;
  std::vector<NativeKernelCall> calls;
  /// Number of entries of the table soap_native_kernels.
  size_t tableSize = 0;

  /// Runs the kernel of operation `index` on dense buffers of any element type:
  /// operands, then results. `inParts`: as on several threads.
  void call(size_t index, const std::vector<void *> &buffers,
            bool inParts = true) const;

  /// Runs an operation on floats with one result.
  std::vector<float> run(size_t index,
                         const std::vector<std::vector<float>> &operands) const;

private:
  void compile(const std::string &text, bool channelsLast);

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  void *library_ = nullptr;
  const soap_native_kernel *table_ = nullptr;
};

/// `count` floats, normal with standard deviation 2, from a fixed recipe of
/// `seed`.
std::vector<float> randomFloats(size_t count, uint64_t seed);

/// Expects |a - b| <= absolute + relative * |b| everywhere, NaN equal to NaN.
void expectClose(const std::vector<float> &actual,
                 const std::vector<float> &expected, double relative = 1e-5,
                 double absolute = 1e-6);

} // namespace test
} // namespace soap

#endif // SOAP_UNITTESTS_NATIVE_COMPILEDOPS_H
