//===- Loads.h - Makes parameters and constants -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_LOADS_H
#define SOAP_LIB_RUNTIME_ENGINE_LOADS_H

#include "Types.h"

namespace soap::runtime {

class Safetensors;

/// Writes the load's box, dense, to host memory; only this box is read or made.
/// `weights` may be null if nothing is stored.
void executeLoad(const fb::Load &load, const Safetensors *weights,
                 char *target);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_LOADS_H
