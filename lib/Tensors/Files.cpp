//===- Files.cpp - Files that soap-run reads and writes -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/Files.h"
#include "soap/Tensors/Tensor.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace soap::tensors;

std::ifstream soap::tensors::openFile(const std::string &path) {
  struct stat status = {};
  errno = 0;
  bool exists = stat(path.c_str(), &status) == 0;
  std::string reason = exists ? "not a regular file" : std::strerror(errno);
  std::ifstream file;
  if (exists && S_ISREG(status.st_mode)) {
    file.open(path, std::ios::binary);
    reason = std::strerror(errno);
  }
  if (!file.is_open())
    throw UsageError("expected a readable file, got: '" + path + "' (" +
                     reason + "); check the path");
  return file;
}

/// Brings what was written to a file or folder to the disk.
static bool synchronize(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool done = fsync(file) == 0;
  int error = errno;
  close(file);
  errno = error;
  return done;
}

static std::string folderOf(const std::string &path) {
  size_t at = path.rfind('/');
  return at == std::string::npos ? "." : path.substr(0, at + 1);
}

void soap::tensors::writeFile(const std::string &path,
                              const std::function<void(std::ostream &)> &write,
                              Durability durability) {
  struct stat status = {};
  bool inPlace = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  std::string target =
      inPlace ? path : path + ".tmp" + std::to_string(getpid());
  errno = 0;
  std::ofstream file(target, std::ios::binary);
  write(file);
  file.close();
  bool synchronizes = durability == Durability::OnDisk && !inPlace;
  bool written = static_cast<bool>(file) &&
                 (!synchronizes || synchronize(target)) &&
                 (inPlace || std::rename(target.c_str(), path.c_str()) == 0) &&
                 (!synchronizes || synchronize(folderOf(path)));
  if (written)
    return;
  int error = errno ? errno : EIO;
  if (!inPlace)
    (void)std::remove(target.c_str());
  throw RunError("expected to write '" + path +
                 "', got: " + std::strerror(error));
}
