//===- MLIR.h - Headers of tests of MLIR, compiled once ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_PRECOMPILEDHEADERS_MLIR_H
#define SOAP_UNITTESTS_PRECOMPILEDHEADERS_MLIR_H

#include "../../lib/PrecompiledHeaders/PrecompiledHeaders.h"
#include "GoogleTest.h"
#include "soap/Dialect/NN/IR/NN.h"

#endif // SOAP_UNITTESTS_PRECOMPILEDHEADERS_MLIR_H
