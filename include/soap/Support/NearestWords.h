//===- NearestWords.h - Hints for misspelled words --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SUPPORT_NEARESTWORDS_H
#define SOAP_SUPPORT_NEARESTWORDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace soap {

/// Those of `words` that are nearest to `word`, as a hint behind an error:
/// "; did you mean 'conv1' or 'conv10'?"; empty if none is near.
std::string nearestWords(llvm::StringRef word,
                         llvm::ArrayRef<llvm::StringRef> words);

} // namespace soap

#endif // SOAP_SUPPORT_NEARESTWORDS_H
