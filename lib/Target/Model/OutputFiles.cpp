//===- OutputFiles.cpp - Files that appear together -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFiles.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace soap;

/// A name that no file has, beside `path`, with its extension.
static std::string uniqueNameBeside(StringRef path) {
  SmallString<128> model(sys::path::parent_path(path)), unique;
  sys::path::append(model, ".soap-%%%%%%%%" + sys::path::extension(path));
  sys::fs::createUniquePath(model, unique, /*MakeAbsolute=*/false);
  return std::string(unique);
}

OutputFiles::~OutputFiles() {
  for (File &file : files_) {
    for (const std::string &name : {file.temporary, file.backup})
      if (!name.empty())
        (void)sys::fs::remove(name);
    announce(file.temporary, /*exists=*/false);
  }
}

void OutputFiles::announce(StringRef path, bool exists) const {
  if (temporaryFile_ && !path.empty())
    temporaryFile_(path, exists);
}

std::string OutputFiles::add(StringRef path) {
  File &file = files_.emplace_back();
  file.path = path.str();
  file.temporary = uniqueNameBeside(path);
  announce(file.temporary, /*exists=*/true);
  return file.temporary;
}

void OutputFiles::takeBack() {
  for (File &file : files_) {
    if (!file.published)
      continue;
    // A file that cannot be put back stays as it is; the hashes in the model
    // tell.
    if (file.backup.empty())
      (void)sys::fs::remove(file.path);
    else if (!sys::fs::rename(file.backup, file.path))
      file.backup.clear();
  }
}

Error OutputFiles::publish() {
  for (File &file : files_) {
    // Where there are no hard links, there is no way back either.
    if (sys::fs::exists(file.path)) {
      std::string backup = uniqueNameBeside(file.path);
      if (!sys::fs::create_hard_link(file.path, backup))
        file.backup = backup;
    }
    if (std::error_code error = sys::fs::rename(file.temporary, file.path)) {
      takeBack();
      return createStringError("expected to write '" + file.path +
                               "', got: " + error.message());
    }
    file.published = true;
    announce(file.temporary, /*exists=*/false);
    file.temporary.clear();
  }
  return Error::success();
}
