//===- KernelAttributes.h - Attributes of native kernels --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_NNTOKERNELS_KERNELATTRIBUTES_H
#define SOAP_CONVERSION_NNTOKERNELS_KERNELATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace soap {
namespace native {

/// On a kernel: a string that is equal for operations that share it.
inline constexpr llvm::StringLiteral keyAttr = "native.key";
/// On a kernel: its loops' iterations do not depend on each other.
inline constexpr llvm::StringLiteral parallelAttr = "native.parallel";
/// On an argument: the entries of `sizes` that are its dimensions.
inline constexpr llvm::StringLiteral sizesAttr = "native.sizes";
/// On an argument: no other argument overlaps it. On a wrapped body: the
/// pointer arguments, after conversion to LLVM, of which this holds.
inline constexpr llvm::StringLiteral noaliasAttr = "native.noalias";

/// On a kernel: factors of f32 may be rounded to TF32.
inline constexpr llvm::StringLiteral tf32Attr = "native.tf32";

/// The nested module.
inline constexpr llvm::StringLiteral moduleName = "kernels";
/// The table of kernels, in the object file.
inline constexpr llvm::StringLiteral tableName = "soap_native_kernels";

} // namespace native
} // namespace soap

#endif // SOAP_CONVERSION_NNTOKERNELS_KERNELATTRIBUTES_H
