//===- Mutations.h - Models with something wrong ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changes to ONNX models that are likely to break an importer.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_TARGET_ONNX_MUTATIONS_H
#define SOAP_UNITTESTS_TARGET_ONNX_MUTATIONS_H

#include <cstdint>
#include <random>
#include <string>

namespace soap::test {

using Random = std::mt19937_64;

/// A number below `bound`, or 0.
inline uint64_t below(Random &random, uint64_t bound) {
  return bound ? random() % bound : 0;
}

/// Changes some bytes of `model`, a serialized model, or, two times in three,
/// one to three of its fields: operators, operands, attributes, shapes, types,
/// places of data, operator sets.
std::string mutateModel(const std::string &model, Random &random);

} // namespace soap::test

#endif // SOAP_UNITTESTS_TARGET_ONNX_MUTATIONS_H
