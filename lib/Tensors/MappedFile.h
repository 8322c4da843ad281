//===- MappedFile.h - Bytes of a file, in place -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TENSORS_MAPPEDFILE_H
#define SOAP_LIB_TENSORS_MAPPEDFILE_H

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace soap::tensors {

/// Bytes, and what keeps them.
struct Bytes {
  std::shared_ptr<const unsigned char> owner;
  size_t offset = 0, size = 0;

  std::string_view view() const {
    return {reinterpret_cast<const char *>(owner.get()) + offset, size};
  }
};

/// The bytes of a regular file, of which there may be none. Throws
/// std::bad_alloc if they do not fit into the address space, else UsageError
/// if it cannot be read.
Bytes mapFile(const std::string &path);

} // namespace soap::tensors

#endif // SOAP_LIB_TENSORS_MAPPEDFILE_H
