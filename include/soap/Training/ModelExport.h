//===- ModelExport.h - Trained weights back in the model --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRAINING_MODELEXPORT_H
#define SOAP_TRAINING_MODELEXPORT_H

#include "soap/Tensors/Tensor.h"
#include <map>

namespace soap::training {
using namespace tensors;

/// Writes the ONNX model of file `model` to `path`, with the tensors of `state`
/// that a step of training has left in place of its own. They are found by
/// name: an initializer gets the elements, in their row-major order, and keeps
/// its shape; a node that makes a tensor of this name becomes an initializer.
/// All else stays as it is, sizes that are open, too. The optimizer's tensors
/// and the number of steps are left out.
///
/// Data of the model in other files is taken in; where a model has more than
/// `inlineBytes`, its tensors go to `path`.data, since a message of protobuf
/// ends at 2 GiB. Throws UsageError if `model` is no such model, RunError if a
/// file cannot be written.
void exportModel(const std::string &model,
                 const std::map<std::string, Tensor> &state,
                 const std::string &path,
                 uint64_t inlineBytes = uint64_t{1} << 30);

} // namespace soap::training

#endif // SOAP_TRAINING_MODELEXPORT_H
