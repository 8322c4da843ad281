//===- Files.h - Files that soap-run reads and writes -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TENSORS_FILES_H
#define SOAP_TENSORS_FILES_H

#include <fstream>
#include <functional>
#include <ostream>
#include <string>

namespace soap::tensors {

/// Opens a regular file. Throws UsageError for what else there is: reading a
/// pipe might wait for ever.
std::ifstream openFile(const std::string &path);

/// When a file counts as written: once all programs see it, or once it survives
/// a loss of power.
enum class Durability { Visible, OnDisk };

/// Makes or replaces a file by what `write` puts into the stream. A file that
/// cannot be written whole leaves the old one, or none. What is no regular file
/// (/dev/stdout) is written in place. Throws RunError.
void writeFile(const std::string &path,
               const std::function<void(std::ostream &)> &write,
               Durability durability = Durability::Visible);

} // namespace soap::tensors

#endif // SOAP_TENSORS_FILES_H
