//===- Info.h - What a model is, as JSON ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_API_INFO_H
#define SOAP_LIB_RUNTIME_API_INFO_H

#include "Engine/Engine.h"

namespace soap::runtime {

/// soap_model_info()'s JSON object. Collective.
std::string describeModel(Engine &engine);
/// soap_list_devices()'s JSON object.
std::string describeMachine();

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_API_INFO_H
