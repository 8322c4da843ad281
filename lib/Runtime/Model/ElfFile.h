//===- ElfFile.h - Symbols of a shared library, unloaded --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the data of exported symbols in an ELF shared library without loading
// it, so that a damaged or foreign file is an error before any of its code
// runs.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MODEL_ELFFILE_H
#define SOAP_LIB_RUNTIME_MODEL_ELFFILE_H

#include "Model/MappedFile.h"
#include <cstdint>
#include <optional>

namespace soap::runtime {

class ElfFile {
public:
  /// Throws SOAP_INVALID unless `file` is a complete 64-bit shared library of
  /// this machine's architecture. `file` must outlive this.
  explicit ElfFile(const MappedFile &file);

  struct Symbol {
    uint64_t offset; ///< In the file.
    uint64_t size;   ///< Bytes.
  };
  /// The initialised data of an exported object, or nothing.
  std::optional<Symbol> find(const char *name) const;

private:
  template <typename T>
  const T *at(uint64_t offset, uint64_t count = 1) const;
  [[noreturn]] void damaged(const char *what) const;

  const MappedFile &file_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_MODEL_ELFFILE_H
