//===- Vocabulary.cpp - Names of the compiler's enumerations --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/Vocabulary.h"
#include "llvm/Support/ErrorHandling.h"

using namespace soap;

/// Names in the order of the enumerators.
static constexpr llvm::StringLiteral
    phaseNames[] = {"feed", "step", "drain", "init"},
    streamNames[] = {"compute", "communication", "priority"},
    spaceNames[] = {"activations", "parameters"},
    kindNames[] = {"broadcast", "all_gather", "all_to_all", "all_reduce",
                   "reduce_scatter"},
    algorithmNames[] = {"direct", "ring", "tree"},
    combineNames[] = {"none", "sum", "prod", "max", "min", "and", "or", "same"},
    precisionNames[] = {"f32", "tf32", "bf16", "f16", "i8"};

template <>
llvm::ArrayRef<llvm::StringLiteral> soap::namesOf<Phase>() {
  return phaseNames;
}
llvm::StringRef soap::stringify(Phase phase) {
  return phaseNames[static_cast<size_t>(phase)];
}

template <>
llvm::ArrayRef<llvm::StringLiteral> soap::namesOf<Stream>() {
  return streamNames;
}
llvm::StringRef soap::stringify(Stream stream) {
  return streamNames[static_cast<size_t>(stream)];
}

template <>
llvm::ArrayRef<llvm::StringLiteral> soap::namesOf<Space>() {
  return spaceNames;
}
llvm::StringRef soap::stringify(Space space) {
  return spaceNames[static_cast<size_t>(space)];
}

template <>
llvm::ArrayRef<llvm::StringLiteral> soap::namesOf<CollectiveKind>() {
  return kindNames;
}
llvm::StringRef soap::stringify(CollectiveKind kind) {
  return kindNames[static_cast<size_t>(kind)];
}

template <>
llvm::ArrayRef<llvm::StringLiteral> soap::namesOf<CollectiveAlgorithm>() {
  return algorithmNames;
}
llvm::StringRef soap::stringify(CollectiveAlgorithm algorithm) {
  return algorithmNames[static_cast<size_t>(algorithm)];
}

template <>
llvm::ArrayRef<llvm::StringLiteral> soap::namesOf<Combine>() {
  return combineNames;
}
llvm::StringRef soap::stringify(Combine combine) {
  return combineNames[static_cast<size_t>(combine)];
}

template <>
llvm::ArrayRef<llvm::StringLiteral> soap::namesOf<Precision>() {
  return precisionNames;
}
llvm::StringRef soap::stringify(Precision precision) {
  return precisionNames[static_cast<size_t>(precision)];
}

llvm::ArrayRef<CollectiveAlgorithm> soap::algorithmsOf(CollectiveKind kind) {
  static constexpr CollectiveAlgorithm all[] = {CollectiveAlgorithm::Direct,
                                                CollectiveAlgorithm::Ring,
                                                CollectiveAlgorithm::Tree};
  switch (kind) {
  case CollectiveKind::Broadcast:
  case CollectiveKind::AllReduce:
    return all;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return llvm::ArrayRef(all).take_front(2);
  case CollectiveKind::AllToAll:
    return llvm::ArrayRef(all).take_front(1);
  }
  llvm_unreachable("unknown kind of collective");
}
