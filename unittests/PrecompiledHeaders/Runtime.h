//===- Runtime.h - Headers of runtime tests, compiled once ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_PRECOMPILEDHEADERS_RUNTIME_H
#define SOAP_UNITTESTS_PRECOMPILEDHEADERS_RUNTIME_H

#include "GoogleTest.h"
#include "soap/Runtime/Model.fbs.h"

#endif // SOAP_UNITTESTS_PRECOMPILEDHEADERS_RUNTIME_H
