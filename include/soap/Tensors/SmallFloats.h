//===- SmallFloats.h - Floats of 8 and 16 bits ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TENSORS_SMALLFLOATS_H
#define SOAP_TENSORS_SMALLFLOATS_H

#include "soap/Runtime/Runtime.h"
#include <cstdint>

namespace soap::tensors {

/// Whether elements of this type are floats of 8 or 16 bits.
bool isSmallFloat(soap_element element);

/// The number with these bits.
double decodeFloat(soap_element element, uint32_t bits);

/// The bits of the nearest number, of two the one with an even last place. What
/// is too large becomes infinite, or NaN in a type without infinities.
uint32_t encodeFloat(soap_element element, double value);

} // namespace soap::tensors

#endif // SOAP_TENSORS_SMALLFLOATS_H
