//===- Passes.td - Native kernels of CPUs ------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CPU_PASSES_TD
#define SOAP_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def LibraryProductsPass
    : Pass<"native-library-products", "::mlir::func::FuncOp"> {
  let summary = "Let the library compute products inside kernels";
  let description = [{
    Contractions of f32 buffers of static shape (a row of the layers' gates, for
    example) become calls of `soap_native_services.product` (NativeKernel.h) if
    they have at least 256 multiplications and their loops can be joined into
    rows, columns and a sum of matrices with elements side by side in one
    dimension; loops that cannot are put around the call. Other contractions
    stay, and so do sums of products of vectors. A kernel with such a call has the
    services as its last argument.
  }];
}

def SplitLoopsPass : Pass<"native-split-loops", "::mlir::ModuleOp"> {
  let summary = "Run loops of kernels on all threads of a device";
  let description = [{
    A linalg operation on buffers with a loop whose iterations touch different
    elements of all that it writes becomes a call of
    `soap_native_services.parallel` (NativeKernel.h), if it has work for two
    threads: a function @k_partN of its own runs the iterations from `begin` to
    `end` of that loop, with all other loops as they were, so that results are
    the same on any number of threads. So do nests of `scf.for` around one such
    operation, or around loads and stores (LoopNests.h): a thread then goes
    through all loops, with its own iterations of one of them. Neighbours whose
    loops run equally often share a call where a thread touches nothing that
    another one writes. Loops are tried from the outermost to the innermost, and
    those with 64 parts first; of one along neighbouring elements, 16 iterations
    belong together.

    Long copies of contiguous buffers are split as well. A kernel with such a
    call has the services as its last argument. Kernels whose sizes are arguments
    stay as they are: the runtime calls them with parts of their buffers.
  }];
  let options = [Option<
      "leastWork", "least-work", "int64_t", "int64_t{1} << 16",
      "Operations and elements, loaded or stored, that a thread is woken up "
      "for">];
}

def KernelMemoryPass : Pass<"native-kernel-memory", "::mlir::ModuleOp"> {
  let summary = "Let the runtime provide memory inside kernels";
  let description = [{
    Allocations of kernels become calls of `soap_native_services.allocate`, and
    their ends of `release` (NativeKernel.h): the runtime keeps the memory for
    the next run, where malloc gives large blocks back to the system, so that
    every run waits for new pages. A kernel that allocates has the services as
    its last argument.

    LLVM knows that what is allocated aliases nothing. It would lose that where a
    pointer of malloc is rounded up, and then make every loop twice.
  }];
}

def WrapKernelsPass : Pass<"native-wrap-kernels", "::mlir::ModuleOp"> {
  let summary = "Give kernels their C signature";
  let description = [{
    Renames each kernel @k to @k_body, private, and adds @k with the C signature
    `void(void *const *buffers, const int64_t *sizes)`, which makes memrefs of
    the pointers and sizes and calls the body.
  }];
}

def BooleanBytesPass : Pass<"native-boolean-bytes", "::mlir::ModuleOp"> {
  let summary = "Load and store booleans as bytes";
  let description = [{
    A boolean takes a byte of memory, which is 0 or 1. LLVM does not vectorise
    loops that load or store an i1, since its size is not that of its place in
    memory: in the LLVM dialect, bytes are loaded and truncated, and booleans
    extended and stored.
  }];
}

def AnnotateKernelsPass
    : Pass<"native-annotate-kernels", "::mlir::ModuleOp"> {
  let summary = "Tell LLVM what kernels may assume about memory";
  let description = [{
    On kernels in the LLVM dialect: pointers that alias nothing become
    `llvm.noalias` (arguments marked `native.noalias`), and loops of kernels
    marked `native.parallel` say that their iterations do not depend on each
    other, which holds too if a result is the very buffer of an operand. Loops
    around loops are not unrolled, in any kernel.
  }];
}

#endif // SOAP_TARGET_CPU_PASSES_TD
