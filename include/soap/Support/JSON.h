//===- JSON.h - JSON that people write --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strategies, topologies and costs are files that people edit. llvm::json keeps
// the last of two equal keys without a word and recurses as deep as the text
// does; both are errors here.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SUPPORT_JSON_H
#define SOAP_SUPPORT_JSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace soap {

/// Parses `text`, which has to be `what` ("a strategy"). Fails if it is not
/// JSON, if an object has a key twice, or if it is nested deeper than 64
/// levels.
llvm::Expected<llvm::json::Value> parseJSON(llvm::StringRef text,
                                            llvm::StringRef what);

/// Reads a regular file; reading a pipe might wait for ever. Fails with the
/// reason alone, without the path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegularFile(llvm::StringRef path);

/// Makes a file or replaces an old one, whole or not at all. What is no regular
/// file (/dev/stdout) is written in place. Fails, also if the disk is full,
/// with a message that names `path`.
llvm::Error writeWholeFile(llvm::StringRef path, llvm::StringRef text);

} // namespace soap

#endif // SOAP_SUPPORT_JSON_H
