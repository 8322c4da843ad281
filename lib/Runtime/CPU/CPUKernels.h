//===- CPUKernels.h - Kernels of the CPU backend ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_CPUKERNELS_H
#define SOAP_LIB_RUNTIME_CPU_CPUKERNELS_H

#include "Backend/Kernel.h"

namespace soap::runtime {

struct ByteLoops;

/// Rounded up to a whole number of lines of a cache, where parts of a
/// scratchpad and copies of constants begin.
inline size_t alignedBytes(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

/// Parts of at most `b` that `a` makes.
inline int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// BackendDevice::makeKernel() of the CPU: a convolution or pool of our own
/// where that pays, oneDNN where it has a kernel that is more than its
/// reference, else a loop of our own, else the kernel of f32 for operands of
/// 16-bit floats, else the kernel without its followers, else the reference.
std::unique_ptr<Kernel> makeCPUKernel(const fb::Kernel &kernel,
                                      const std::vector<bool> &constant,
                                      const NativeCode &native);

/// A kernel of the model's own code, which runs on the host.
std::unique_ptr<Kernel> makeNativeKernel(const NativeCode &native);

/// Of native kernels: products by oneDNN, on the threads that it has.
extern const soap_native_services nativeServices;

/// A kernel over oneDNN; null if it has nothing (or only its reference
/// implementation, `allowReference` apart) for this kernel.
std::unique_ptr<Kernel> makeDnnlKernel(const fb::Kernel &kernel,
                                       const std::vector<bool> &constant,
                                       bool allowReference);

/// A convolution by Winograd's algorithm, or the gradient of its source, where
/// the table allows it and it is faster than the library's. Null for all
/// others.
std::unique_ptr<Kernel> makeWinogradKernel(const fb::Kernel &kernel,
                                           const std::vector<bool> &constant);

/// The gradient of the weights of a convolution likewise.
std::unique_ptr<Kernel> makeWinogradFilterKernel(const fb::Kernel &kernel);

/// A pointwise convolution with channels last and constant weights that has
/// groups or, with AVX-512, few pixels. Null for all others.
std::unique_ptr<Kernel> makePointwiseKernel(const fb::Kernel &kernel,
                                            const std::vector<bool> &constant);

/// A gradient of a pointwise convolution with channels last, of the source or
/// of the weights, as a product. Null for all others.
std::unique_ptr<Kernel> makePointwiseGradientKernel(const fb::Kernel &kernel);

/// A transposed convolution whose windows lie side by side, with channels last
/// and constant weights. Null for all others.
std::unique_ptr<Kernel> makeTransposedKernel(const fb::Kernel &kernel,
                                             const std::vector<bool> &constant);

/// A convolution over windows with strides, with channels last, where the
/// processor has AVX2 alone. Null for all others.
std::unique_ptr<Kernel> makeStridedKernel(const fb::Kernel &kernel,
                                          const std::vector<bool> &constant);

/// A pool over two dims of tensors with channels last. Null for all others.
std::unique_ptr<Kernel> makePoolKernel(const fb::Kernel &kernel);

/// A local response norm with an exponent of 0.75 over tensors of f32 with
/// channels last. Null for all others.
std::unique_ptr<Kernel> makeLrnKernel(const fb::Kernel &kernel);

/// Attention of f32. Null for all others.
std::unique_ptr<Kernel> makeAttentionKernel(const fb::Kernel &kernel);

/// A product of one row with a factor whose columns lie behind each other,
/// without followers, or of a few rows with a large one. Null for all others.
std::unique_ptr<Kernel> makeRowKernel(const fb::Kernel &kernel);

/// The kernel of f32 operands over operands of bf16 and f16, which it widens:
/// constants when it is bound, others in every run. A result of bf16 is rounded
/// in every run. Null where no operand is of such a type, or a result of f16.
std::unique_ptr<Kernel> makeWidenedKernel(const fb::Kernel &kernel,
                                          const std::vector<bool> &constant);

/// Whether a kernel multiplies integers of 8 bits, the first without a sign,
/// the second with one, and sums in i32: a matrix product or a convolution
/// without a bias.
bool multipliesBytes(const fb::Kernel &kernel);

/// Such a kernel in loops, exact on every processor. Null for all others.
std::unique_ptr<Kernel> makeByteKernel(const fb::Kernel &kernel,
                                       const std::vector<bool> &constant);
/// The same by the given loops; null: one product after the other.
std::unique_ptr<Kernel> makeByteKernel(const fb::Kernel &kernel,
                                       const std::vector<bool> &constant,
                                       const ByteLoops *loops, size_t threads);
/// The loops that this processor can run, as far as the library may use it, too
/// (ONEDNN_MAX_CPU_ISA); or null.
const ByteLoops *byteLoops();

/// The kernel without its followers, and a loop that applies them to its
/// result, and rounds one of bf16: where oneDNN has no such kernel with them,
/// or a slow one. Null without followers.
std::unique_ptr<Kernel> makeFollowedKernel(const fb::Kernel &kernel,
                                           const std::vector<bool> &constant);

/// Loops for what oneDNN lacks: empty results, and softmax along dims for which
/// oneDNN has only its reference implementation. Null for other kernels.
std::unique_ptr<Kernel> makeLoopKernel(const fb::Kernel &kernel);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_CPUKERNELS_H
