//===- Check.h - Checks a model's table before anything uses it -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MODEL_CHECK_H
#define SOAP_LIB_RUNTIME_MODEL_CHECK_H

#include "Types.h"

namespace soap::runtime {

/// Checks the bytes of a table: structure (every offset lies inside), then ABI,
/// target and CPU features of this machine. Throws SOAP_INVALID with the cure.
const fb::Model *checkedModel(const void *data, size_t size);

/// Checks that every index, offset, size and kind in the table lies where it
/// should: whatever passes cannot make the runtime touch memory outside of its
/// arenas. (Only the code of Native kernels is trusted.)
void checkTable(const fb::Model &model);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_MODEL_CHECK_H
