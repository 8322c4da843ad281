//===- MappedFile.cpp - Bytes of a file, in place -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MappedFile.h"
#include "soap/Tensors/Error.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace soap::tensors;

Bytes soap::tensors::mapFile(const std::string &path) {
  auto fail = [&](const std::string &reason) {
    throw UsageError("expected a readable file, got: '" + path + "' (" +
                     reason + "); check the path");
  };
  // Opening a pipe might wait for ever.
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    fail(std::strerror(errno));
  struct stat status = {};
  bool isFile = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  auto size = static_cast<size_t>(status.st_size);
  void *address = isFile && size != 0
                      ? mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0)
                      : nullptr;
  int error = errno;
  close(file);
  if (!isFile)
    fail("not a regular file");
  if (address == MAP_FAILED && error == ENOMEM)
    throw std::bad_alloc();
  if (address == MAP_FAILED)
    fail(std::strerror(error));
  Bytes result;
  result.size = size;
  result.owner = std::shared_ptr<const unsigned char>(
      static_cast<const unsigned char *>(address), [size](const auto *begin) {
        if (begin)
          munmap(const_cast<unsigned char *>(begin), size);
      });
  return result;
}
