//===- NativeKernels.h - Kernels without a library --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From local nn operations that no vendor library computes to functions. Each
// different kernel is one function in a nested `module @kernels`, which the
// target compiles (soap/Target/Target.h), once, to code that is called as
//
//   void kernel(void *const *buffers, const int64_t *sizes);
//
// `buffers` has the operands, then the results, each dense and row-major, and
// aligned to its element type at least. Element-wise operations are collapsed:
// neighbouring dims that every operand treats alike (reads, or broadcasts over)
// become one, and what is left is passed in `sizes`; one kernel so serves all
// shapes. A kernel of any other operation, or of several, has its shape built
// in and reads no sizes. Kernels keep no state, so any number of threads may
// call one.
//
// Aliasing: a result may be the very buffer of one operand if the call says so
// (NativeKernelCall::inPlace), or has to be that of the first operand, which
// the caller then copies there (overwritesFirst). Any other overlap of a result
// with an operand or another result is undefined.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_NNTOKERNELS_NATIVEKERNELS_H
#define SOAP_CONVERSION_NNTOKERNELS_NATIVEKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace soap {

namespace native {
#define GEN_PASS_DECL
#include "soap/Conversion/NNToKernels/Passes.h.inc"
} // namespace native

/// The dialects that NativeKernels builds functions of.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// How one operation calls its kernel.
struct NativeKernelCall {
  std::string symbol;                  ///< Function in @kernels.
  uint32_t index = 0;                  ///< Entry of soap_native_kernels.
  llvm::SmallVector<int64_t, 4> sizes; ///< What to pass as `sizes`.
  /// Operands whose buffer the result may overwrite.
  llvm::SmallBitVector inPlace;
  /// Whether the result is made of what its buffer holds, the first operand.
  bool overwritesFirst = false;
};

/// The kernels of one program: a view of a nested `module @kernels`, which
/// holds all state, so that kernels made by one pass are found again by the
/// next.
class NativeKernels {
public:
  /// Finds `module @kernels` in `parent`, or appends an empty one to it when
  /// the first kernel is made.
  explicit NativeKernels(mlir::ModuleOp parent);

  /// True for the nn operations that getOrCreate knows: all but the ends of the
  /// graph (input, parameter, output).
  static bool supports(mlir::Operation *op);

  /// The kernel that computes `op`, an nn operation on local (static) tensors.
  /// A pass that calls this has registerKernelDialects among its dependent
  /// dialects.
  /// Emits an error on `op` if it is none that `supports` knows. Takes one
  /// string comparison if the kernel exists. Not thread safe.
  /// `channelsLast`: of operands and results as channelsLastValues() says.
  mlir::FailureOr<NativeKernelCall> getOrCreate(mlir::Operation *op,
                                                bool channelsLast = false);

  /// The kernel that computes several such operations, those of `body`, one
  /// behind the other: its operands are the arguments of the block, its results
  /// what the terminator hands on. All tensors are row-major, nothing may
  /// overlap, and no operation overwrites its first operand.
  mlir::FailureOr<NativeKernelCall> getOrCreate(mlir::Block &body);

  /// Number of kernels, the size of soap_native_kernels.
  uint32_t size() const { return size_; }

  /// `module @kernels`, null if there are no kernels.
  mlir::ModuleOp getModule() const { return module_; }

private:
  /// Sets symbol and index of the kernel called `key`. If there is none yet,
  /// `build` makes a function, with the symbol that it is given.
  void findOrBuild(
      llvm::StringRef key, llvm::StringRef suffix, NativeKernelCall &call,
      llvm::function_ref<mlir::Operation *(mlir::OpBuilder &, llvm::StringRef)>
          build);

  mlir::ModuleOp parent_, module_;
  llvm::StringMap<uint32_t> indexOfKey_;
  llvm::SmallVector<std::string> symbols_;
  uint32_t size_ = 0;
};

/// What a kernel touches: buffers of a call, operands first, then results, each
/// from its start.
struct NativeKernelExtents {
  struct Buffer {
    uint64_t bytes = 0;   ///< Times the entries of `sizes` that are set below.
    uint64_t extents = 0; ///< A bit per entry of `sizes`.
  };
  llvm::SmallVector<Buffer, 4> buffers;
  uint32_t sizeCount = 0; ///< Entries of `sizes` that the kernel reads.
};

/// Emits an error unless the arguments of a kernel are dense buffers of known
/// extents; those of the LLVM dialect are not looked at.
mlir::LogicalResult verifyNativeArguments(mlir::func::FuncOp kernel);

/// The extents of all kernels in `module @kernels`, in the order of
/// soap_native_kernels. Emits an error on a function that is no kernel's.
mlir::FailureOr<llvm::SmallVector<NativeKernelExtents>>
nativeKernelExtents(mlir::ModuleOp kernels);

namespace native {
#define GEN_PASS_REGISTRATION
#include "soap/Conversion/NNToKernels/Passes.h.inc"
} // namespace native

} // namespace soap

#endif // SOAP_CONVERSION_NNTOKERNELS_NATIVEKERNELS_H
