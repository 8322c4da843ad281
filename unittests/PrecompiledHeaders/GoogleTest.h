//===- GoogleTest.h - Headers of tests, compiled once -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_PRECOMPILEDHEADERS_GOOGLETEST_H
#define SOAP_UNITTESTS_PRECOMPILEDHEADERS_GOOGLETEST_H

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#endif // SOAP_UNITTESTS_PRECOMPILEDHEADERS_GOOGLETEST_H
