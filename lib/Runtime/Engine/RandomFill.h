//===- RandomFill.h - Seeded values, many at a time -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_RANDOMFILL_H
#define SOAP_LIB_RUNTIME_ENGINE_RANDOMFILL_H

#include "Types.h"

namespace soap::runtime {

/// Writes elements [start, start + count) of a parameter by the recipe of
/// RandomRecipe.h. Vectorised: ln, sin and cos have a relative error of 1e-12.
/// An element's bits do not depend on start and count.
void fillRandom(const fb::Random &random, int64_t start, int64_t count,
                float *target);
void fillRandom(const fb::Random &random, int64_t start, int64_t count,
                double *target);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_RANDOMFILL_H
