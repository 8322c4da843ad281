//===- FromEnvironment.h - Numbers that a test is told ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_FROMENVIRONMENT_H
#define SOAP_UNITTESTS_FROMENVIRONMENT_H

#include <cstdint>
#include <cstdlib>

namespace soap::test {

/// The number in the environment variable `name`, else `otherwise`. Tests that
/// draw take SOAP_TEST_SEED and SOAP_TEST_CASES.
inline uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

} // namespace soap::test

#endif // SOAP_UNITTESTS_FROMENVIRONMENT_H
