//===- TrainingDescription.h - How a step was made --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_TRAININGDESCRIPTION_H
#define SOAP_DIALECT_NN_IR_TRAININGDESCRIPTION_H

#include "llvm/ADT/StringRef.h"

namespace soap::nn {

/// The attribute, a string, of a module that holds a step of training: a JSON
/// object that says how the step was made, for whoever runs the model. Operations
/// do not tell what was the loss, or the labels.
constexpr llvm::StringLiteral trainingAttrName("nn.training");

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_TRAININGDESCRIPTION_H
