//===- Files.h - The files that a model refers to ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters refer to bytes of files by path (#nn.file). A model that is in
// memory has files there, too.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_FILES_H
#define SOAP_DIALECT_NN_IR_FILES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace mlir {
class Operation;
} // namespace mlir

namespace soap::nn {

/// The files of this machine, and before them some whose bytes are in memory.
class Files {
public:
  /// The file `path` consists of `bytes`, which outlive this object and its
  /// copies. Paths that differ by `.` and repeated separators are one path.
  void add(llvm::StringRef path, llvm::StringRef bytes);

  /// The bytes of a file that is in memory.
  std::optional<llvm::StringRef> find(llvm::StringRef path) const;

  /// A whole file: large ones are mapped, those in memory not copied. Fails
  /// with the reason, also for what is no regular file: reading a pipe might
  /// wait for ever.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
  open(llvm::StringRef path) const;

  /// The files of this machine that a model comes from: what open() has read,
  /// of this object and its copies, and what parameters within `module` refer
  /// to. Not safe while other threads open files.
  std::set<std::string> readFor(mlir::Operation *module) const;

private:
  llvm::StringMap<llvm::StringRef> memory_;
  std::shared_ptr<std::set<std::string>> opened_ =
      std::make_shared<std::set<std::string>>();
};

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_FILES_H
