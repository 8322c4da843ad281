//===- WrittenFiles.h - Outputs that overwrite no input ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SUPPORT_WRITTENFILES_H
#define SOAP_SUPPORT_WRITTENFILES_H

#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace soap {

/// The files that a program writes: none may be one that it reads, nor may two
/// of them be one. Files are compared, not their names: there are links. What
/// is no regular file, as /dev/null, may be written as often as one likes.
/// Errors are one line each, which says what was expected and what to do.
class WrittenFiles {
public:
  /// `option`, as "-o", names a file to write; an empty path is none.
  void add(llvm::StringRef option, llvm::StringRef path);

  /// Fails if two are one.
  llvm::Error checkApart() const;
  /// Fails if one is `path`, which is read; `what`, as "which the model is in",
  /// says for what.
  llvm::Error checkRead(llvm::StringRef path, llvm::StringRef what) const;

private:
  struct File {
    std::string option, path;
  };
  std::vector<File> files_;
};

} // namespace soap

#endif // SOAP_SUPPORT_WRITTENFILES_H
