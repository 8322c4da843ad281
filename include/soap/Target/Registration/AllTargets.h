//===- AllTargets.h - All targets of SOAP -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_REGISTRATION_ALLTARGETS_H
#define SOAP_TARGET_REGISTRATION_ALLTARGETS_H

namespace soap {

/// Registers all targets that SOAP was built with, the default one first.
void registerAllTargets();

} // namespace soap

#endif // SOAP_TARGET_REGISTRATION_ALLTARGETS_H
