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

#include "soap/Tensors/Files.h"
#include "soap/Tensors/Tensor.h"
#include <map>

namespace soap::tensors {

/// Throws RunError if the file cannot be written whole; an older one stays.
/// `metadata` are texts by name, which the format has room for.
void writeSafetensors(const std::string &path,
                      const std::map<std::string, Tensor> &tensors,
                      const std::map<std::string, std::string> &metadata = {},
                      Durability durability = Durability::Visible);
/// Throws UsageError, with the file's name: a file that is not there or not
/// whole, a type that SOAP does not know. `metadata`, if it is not null, gets
/// the texts.
std::map<std::string, Tensor>
readSafetensors(const std::string &path,
                std::map<std::string, std::string> *metadata = nullptr);

} // namespace soap::tensors

#endif // SOAP_TENSORS_SAFETENSORS_H
