//===- Safetensors.h - Named tensors in one file ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The safetensors format: 8 bytes with the size of a header, little endian; the
// header, JSON with type, shape and place of every tensor; the elements.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TENSORS_SAFETENSORS_H
#define SOAP_TENSORS_SAFETENSORS_H

#include "soap/Tensors/Tensor.h"
#include <map>

namespace soap::tensors {

/// Throws RunError if the file cannot be written whole; an older one stays.
void writeSafetensors(const std::string &path,
                      const std::map<std::string, Tensor> &tensors);
/// Throws UsageError, with the file's name: a file that is not there or not
/// whole, a type that SOAP does not know.
std::map<std::string, Tensor> readSafetensors(const std::string &path);

} // namespace soap::tensors

#endif // SOAP_TENSORS_SAFETENSORS_H
