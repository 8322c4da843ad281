//===- Vocabulary.td - Attributes of the compiler's words -*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The enumerations of soap/Partition/Vocabulary.h, for attributes of dialects.
// They and their texts are in that header alone: cases are not repeated here,
// and no enumeration must be generated from these records.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_VOCABULARY_TD
#define SOAP_DIALECT_NN_IR_VOCABULARY_TD

include "mlir/IR/EnumAttr.td"

class Vocabulary<string name, string summary>
    : I32EnumAttr<name, summary, []> {
  let description = "See soap/Partition/Vocabulary.h.";
  let cppNamespace = "::soap";
  let genSpecializedAttr = 0;
  let parameterParser = "::soap::parseWord<" # cppType # ">($_parser)";
  let parameterPrinter = "$_printer << ::soap::stringify($_self)";
}

def Vocabulary_Phase : Vocabulary<"Phase", "when an operation runs">;
def Vocabulary_Stream : Vocabulary<"Stream", "stream of a row">;
def Vocabulary_Space : Vocabulary<"Space", "arena of a buffer">;
def Vocabulary_CollectiveKind
    : Vocabulary<"CollectiveKind", "kind of collective">;
def Vocabulary_CollectiveAlgorithm
    : Vocabulary<"CollectiveAlgorithm", "algorithm of a collective">;
def Vocabulary_Combine
    : Vocabulary<"Combine", "how partial results are joined">;

/// One of them as an attribute of a dialect.
class VocabularyAttr<Dialect dialect, Vocabulary word, string name>
    : EnumAttr<dialect, word, name> {
  let cppNamespace = dialect.cppNamespace;
}

#endif // SOAP_DIALECT_NN_IR_VOCABULARY_TD
