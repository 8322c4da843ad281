//===- Safetensors.h - Reads weights by reference ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The safetensors format (github.com/huggingface/safetensors, README,
// "Format"): 8 bytes little-endian length of the header, a JSON header with
// dtype, shape and data_offsets per tensor, then the data.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MODEL_SAFETENSORS_H
#define SOAP_LIB_RUNTIME_MODEL_SAFETENSORS_H

#include "Model/MappedFile.h"
#include "Types.h"
#include <map>

namespace soap::runtime {

class Safetensors {
public:
  /// Throws SOAP_INVALID on a damaged file: one whose tensors do not cover the
  /// data, or overlap, too.
  explicit Safetensors(std::shared_ptr<MappedFile> file);

  /// The bytes of tensor `name`, dense and row-major. Throws SOAP_INVALID if
  /// there is none of this type and shape.
  const unsigned char *find(const std::string &name, fb::ElementType element,
                            const Shape &shape) const;

private:
  struct Entry {
    std::string type;
    Shape shape;
    uint64_t begin, end;
  };
  [[noreturn]] void damaged(const std::string &what) const;
  void checkSize(const std::string &name, const Entry &entry) const;
  void checkCoverage(uint64_t dataSize) const;

  std::shared_ptr<MappedFile> file_;
  std::map<std::string, Entry> entries_;
  uint64_t dataOffset_ = 0;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_MODEL_SAFETENSORS_H
