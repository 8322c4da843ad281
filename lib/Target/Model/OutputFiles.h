//===- OutputFiles.h - Files that appear together ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_MODEL_OUTPUTFILES_H
#define SOAP_LIB_TARGET_MODEL_OUTPUTFILES_H

#include "soap/Target/Model/SharedObject.h"
#include "llvm/Support/Error.h"
#include <deque>
#include <string>

namespace soap {

/// Files that replace older ones all together, or not at all. A program that is
/// killed in between leaves some of them, which the hashes in a model tell.
class OutputFiles {
public:
  /// `temporaryFile` is told of files that are to be removed if a signal ends
  /// the program.
  explicit OutputFiles(const TemporaryFileCallback &temporaryFile = {})
      : temporaryFile_(temporaryFile) {}
  /// Removes what was not published.
  ~OutputFiles();

  /// The temporary path, beside `path`, at which to write its contents.
  std::string add(llvm::StringRef path);

  /// Puts all files to their places. If one cannot be put there, the files
  /// that were there before are put back.
  llvm::Error publish();

private:
  struct File {
    std::string path, temporary;
    std::string backup; ///< Another name of the old file; empty: none.
    bool published = false;
  };
  void takeBack();

  /// Tells `temporaryFile`.
  void announce(llvm::StringRef path, bool exists) const;

  TemporaryFileCallback temporaryFile_;
  std::deque<File> files_;
};

} // namespace soap

#endif // SOAP_LIB_TARGET_MODEL_OUTPUTFILES_H
