//===- WrittenFiles.cpp - Outputs that overwrite no input -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Support/WrittenFiles.h"
#include <filesystem>

using namespace soap;
using llvm::StringRef;
namespace fs = std::filesystem;

static bool isSame(const std::string &a, const std::string &b) {
  std::error_code none; // What cannot be asked for is no file.
  if (!fs::exists(a, none) || !fs::exists(b, none))
    return fs::weakly_canonical(a, none) == fs::weakly_canonical(b, none);
  return fs::is_regular_file(a, none) && fs::equivalent(a, b, none);
}

void WrittenFiles::add(StringRef option, StringRef path) {
  if (!path.empty())
    files_.push_back({option.str(), path.str()});
}

llvm::Error WrittenFiles::checkApart() const {
  for (size_t i = 0; i < files_.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (isSame(files_[i].path, files_[k].path))
        return llvm::createStringError(
            "expected " + files_[k].option + " and " + files_[i].option +
            " in two files, got: '" + files_[i].path +
            "' for both; choose another one");
  return llvm::Error::success();
}

llvm::Error WrittenFiles::checkRead(StringRef path, StringRef what) const {
  for (const File &file : files_)
    if (isSame(file.path, path.str()))
      return llvm::createStringError(
          "expected " + file.option + " in a file of its own, got: '" +
          file.path + "', " + what + "; choose another one");
  return llvm::Error::success();
}
