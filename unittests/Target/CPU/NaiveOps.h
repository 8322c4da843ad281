//===- NaiveOps.h - nn operations, computed element by element --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definitions of ONNX, in double precision, one result element at a time.
// Written from the operations' descriptions, not from their lowering.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_NATIVE_NAIVEOPS_H
#define SOAP_UNITTESTS_NATIVE_NAIVEOPS_H

#include "mlir/IR/Operation.h"
#include <vector>

namespace soap {
namespace test {

/// The result of `op`, an nn operation on floats that is not element-wise.
std::vector<float>
computeNaively(mlir::Operation *op,
               const std::vector<std::vector<float>> &operands);

} // namespace test
} // namespace soap

#endif // SOAP_UNITTESTS_NATIVE_NAIVEOPS_H
