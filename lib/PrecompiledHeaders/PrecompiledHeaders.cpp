//===- PrecompiledHeaders.cpp - Headers of MLIR, compiled once ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrecompiledHeaders.h"
