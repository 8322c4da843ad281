//===- MappedFile.cpp - A file in memory, read only -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/MappedFile.h"
#include "Error.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace soap::runtime;

std::shared_ptr<MappedFile> MappedFile::open(const std::string &path,
                                             const std::string &what) {
  // A pipe without a writer would wait; it is refused below.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    invalid("expected ", what, " in '", path, "', got: ", std::strerror(errno),
            "; check the path");
  struct stat status = {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    invalid("expected ", what, " in '", path,
            "', got: not a regular file; check the path");
  }
  auto length = static_cast<size_t>(status.st_size);
  void *bytes = nullptr;
  if (length) {
    bytes = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
      int error = errno;
      close(file);
      invalid("cannot map '", path, "', got: ", std::strerror(error));
    }
  }
  close(file);
  return std::shared_ptr<MappedFile>(
      new MappedFile(path, static_cast<const unsigned char *>(bytes), length));
}

MappedFile::~MappedFile() {
  if (size_)
    munmap(const_cast<unsigned char *>(data_), size_);
}
