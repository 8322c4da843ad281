//===- TableVocabulary.h - The compiler's words in tables -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The enumerations of Vocabulary.h and those of the schema are equal.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_MODEL_TABLEVOCABULARY_H
#define SOAP_LIB_TARGET_MODEL_TABLEVOCABULARY_H

#include "soap/Partition/Vocabulary.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Runtime/Runtime.h"

namespace soap {

#define SOAP_SAME(word)                                                        \
  static_assert(static_cast<int>(word) == static_cast<int>(fb::word))
SOAP_SAME(Phase::Feed);
SOAP_SAME(Phase::Step);
SOAP_SAME(Phase::Drain);
static_assert(fb::Phase::MAX == fb::Phase::Drain);
SOAP_SAME(Stream::Compute);
SOAP_SAME(Stream::Communication);
SOAP_SAME(Stream::Priority);
static_assert(fb::Stream::MAX == fb::Stream::Priority &&
              static_cast<int>(fb::Stream::MAX) + 1 == numStreams);
SOAP_SAME(Space::Activations);
SOAP_SAME(Space::Parameters);
static_assert(fb::Space::MAX == fb::Space::Parameters);
SOAP_SAME(CollectiveKind::Broadcast);
SOAP_SAME(CollectiveKind::AllGather);
SOAP_SAME(CollectiveKind::AllToAll);
SOAP_SAME(CollectiveKind::AllReduce);
SOAP_SAME(CollectiveKind::ReduceScatter);
static_assert(fb::CollectiveKind::MAX == fb::CollectiveKind::ReduceScatter);
SOAP_SAME(Combine::None);
SOAP_SAME(Combine::Sum);
SOAP_SAME(Combine::Prod);
SOAP_SAME(Combine::Max);
SOAP_SAME(Combine::Min);
SOAP_SAME(Combine::And);
SOAP_SAME(Combine::Or);
static_assert(fb::Combine::MAX == fb::Combine::Or);
#undef SOAP_SAME
static_assert(static_cast<int>(CollectiveAlgorithm::Direct) ==
                  static_cast<int>(fb::Algorithm::Direct) &&
              static_cast<int>(CollectiveAlgorithm::Ring) ==
                  static_cast<int>(fb::Algorithm::Ring) &&
              static_cast<int>(CollectiveAlgorithm::Tree) ==
                  static_cast<int>(fb::Algorithm::Tree) &&
              fb::Algorithm::MAX == fb::Algorithm::Tree);
static_assert(kHostDevice == SOAP_HOST);

/// The schema's enumerator. A row has no phase Init (it stands in the program
/// `init`), a collective never joins parts by Same.
inline fb::Phase toTable(Phase phase) { return static_cast<fb::Phase>(phase); }
inline fb::Stream toTable(Stream stream) {
  return static_cast<fb::Stream>(stream);
}
inline fb::Space toTable(Space space) { return static_cast<fb::Space>(space); }
inline fb::CollectiveKind toTable(CollectiveKind kind) {
  return static_cast<fb::CollectiveKind>(kind);
}
inline fb::Combine toTable(Combine combine) {
  return static_cast<fb::Combine>(combine);
}
inline fb::Algorithm toTable(CollectiveAlgorithm algorithm) {
  return static_cast<fb::Algorithm>(algorithm);
}

} // namespace soap

#endif // SOAP_LIB_TARGET_MODEL_TABLEVOCABULARY_H
