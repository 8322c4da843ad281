//===- Passes.td - Native kernels of GPUs ------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CUDA_PASSES_TD
#define SOAP_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistributeKernelsPass
    : Pass<"cuda-distribute-kernels", "::mlir::ModuleOp"> {
  let summary = "Divide kernels into launches, and their work among threads";
  let description = [{
    Every linalg operation of a kernel becomes a function of the device, whose
    blocks and threads share its iterations. A loop of constant bounds around
    such operations becomes a launch per iteration, which receives the value of
    the induction variable. What has other control flow or stores of its own
    becomes a function for one block: linalg operations in it are shared by the
    threads of the block, all else is done by its first thread, and barriers
    stand around what writes.

    An operation without reductions is one loop over its elements, in groups of
    16 bytes where its operands lie side by side, or some of them do and the
    others are read element by element. A reduction is done by a block per
    result, in shared memory, if its innermost loop is long and runs along
    memory; else by a thread per result.

    Operations that follow one another become one function if at least one of
    them reduces, and what any of them writes for a row, a result of the
    reductions, the others read for the same row alone. As many threads as a row
    pays for do all of them. Where all go through a row alike, each thread holds
    its elements in registers, and partial results are joined by shuffles; else
    threads meet at barriers, and keep in shared memory what they make for each
    other.

    A product of matrices of f32 that is large enough becomes a launch of
    cuBLASLt instead, with the fill with zeros before it.

    Buffers that a kernel makes are parts of its scratch memory, unless they are
    in shared memory alone. The kernels
    themselves are erased: `cuda.kernels` on the module lists for each one, in
    the order of the kernels, its name, the bytes of its scratch memory and its
    launches (entry, blocks or items per block, constants, whether rows are held
    in registers; or product).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"numEntries", "entries", "Functions of the device">,
    Statistic<"numProducts", "products", "Products that cuBLASLt computes">,
    Statistic<"numBlockEntries", "single-block-entries",
              "Functions of the device that run on one block">
  ];
}

def FloatMathPass : Pass<"cuda-float-math", "::mlir::ModuleOp"> {
  let summary = "Replace functions of f32 by polynomials of few instructions";
  let description = [{
    erf of f32, to less than 1e-7 of the result. All else is left to
    native-approximate-math, in front of which it runs.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def DoubleMathPass : Pass<"cuda-double-math", "::mlir::ModuleOp"> {
  let summary = "Replace functions of f64, and powers, by polynomials";
  let description = [{
    exp, log, log1p, tanh, erf, sin, cos and acos of f64, and powf of any type
    (computed in f64), in arithmetic that a GPU has. Errors, as tested against
    the C library: docs/CUDA.md.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def LowerDeviceOpsPass : Pass<"cuda-lower-device-ops", "::mlir::ModuleOp"> {
  let summary = "Make NVVM of the operations of the gpu dialect";
  let description = [{
    Numbers and counts of threads and blocks become reads of special registers,
    barriers `nvvm.barrier0`, and shuffles, which all threads of a warp take part
    in, `nvvm.shfl.sync`, one per 32 bits.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def AnnotateEntriesPass : Pass<"cuda-annotate-entries", "::mlir::ModuleOp"> {
  let summary = "Mark the entries of device code for the backend of LLVM";
  let description = [{
    Functions with `cuda.threads` in the LLVM dialect become kernels of that many
    threads per block; all others become internal.
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

#endif // SOAP_TARGET_CUDA_PASSES_TD
