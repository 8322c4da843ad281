//===- Evaluate.h - Runs partitioned IR ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes tasks, copies and communication in block order, one element at a
// time, with the naive evaluator of the nn operations.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_SOAPDIALECT_EVALUATE_H
#define SOAP_UNITTESTS_SOAPDIALECT_EVALUATE_H

#include "Dialect/NN/Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <string>

namespace soap::soapir::test {

/// The outputs of a model by name.
using Outputs = std::map<std::string, nn::test::Tensor>;

/// Of a function of nn operations.
Outputs evaluateModel(mlir::func::FuncOp main);
/// Of a partitioned function.
Outputs evaluateProgram(mlir::func::FuncOp main);

/// The first output that is missing or differs by more than a relative error
/// of 1e-9 of its norm, or an empty string.
std::string compare(const Outputs &want, const Outputs &got);

} // namespace soap::soapir::test

#endif // SOAP_UNITTESTS_SOAPDIALECT_EVALUATE_H
