//===- MappedFile.h - A file in memory, read only ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MODEL_MAPPEDFILE_H
#define SOAP_LIB_RUNTIME_MODEL_MAPPEDFILE_H

#include <cstddef>
#include <memory>
#include <string>

namespace soap::runtime {

/// Maps a whole file; nothing is read before it is touched.
class MappedFile {
public:
  /// Throws SOAP_INVALID if the file cannot be opened; `what` names it in the
  /// message ("the model").
  static std::shared_ptr<MappedFile> open(const std::string &path,
                                          const std::string &what);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const unsigned char *data() const { return data_; }
  size_t size() const { return size_; }
  const std::string &path() const { return path_; }

private:
  MappedFile(std::string path, const unsigned char *bytes, size_t length)
      : path_(std::move(path)), data_(bytes), size_(length) {}
  std::string path_;
  const unsigned char *data_;
  size_t size_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_MODEL_MAPPEDFILE_H
