//===- VocabularyParser.h - Words of the compiler in IR ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_VOCABULARYPARSER_H
#define SOAP_DIALECT_NN_IR_VOCABULARYPARSER_H

#include "mlir/IR/OpImplementation.h"
#include "soap/Partition/Vocabulary.h"
#include "llvm/ADT/StringExtras.h"

namespace soap {

/// Parses the name of an enumerator. Emits an error that lists the known ones.
template <typename Enum>
mlir::FailureOr<Enum> parseWord(mlir::AsmParser &parser) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef text;
  if (parser.parseKeyword(&text))
    return mlir::failure();
  if (std::optional<Enum> word = symbolize<Enum>(text))
    return *word;
  return parser.emitError(loc)
         << "expected one of " << llvm::join(namesOf<Enum>(), ", ")
         << ", got: " << text;
}

} // namespace soap

#endif // SOAP_DIALECT_NN_IR_VOCABULARYPARSER_H
