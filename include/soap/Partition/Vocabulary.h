//===- Vocabulary.h - Enumerations of the whole compiler --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What plans, costs, simulation, IR and tables say alike. The attributes of the
// dialects hold these very enumerations (soap/Dialect/NN/IR/Vocabulary.td). The
// tables of a compiled model, which the runtime reads without this header, have
// enumerations with the same names and numbers (soap/Runtime/Model.fbs):
// TableVocabulary.h checks that.
//
// Every enumeration has namesOf(), stringify() and symbolize().
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PARTITION_VOCABULARY_H
#define SOAP_PARTITION_VOCABULARY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace soap {

/// The device of what is on the host in IR. (A topology counts the host behind
/// its devices: Topology::host().)
inline constexpr int32_t kHostDevice = -1;

/// When something runs. Feed: before a step, it brings inputs from the host.
/// Drain: after a step, it takes outputs there. Neither is part of the step
/// time. Init: once, when a model is loaded.
enum class Phase : uint8_t { Feed, Step, Drain, Init };

/// The streams of a device. Priority: for collectives that shall not wait for
/// those of the communication stream (Topology::priorityBytes).
enum class Stream : uint8_t { Compute, Communication, Priority };
/// How many there are.
inline constexpr int numStreams = 3;

/// The arenas of a device. Activations are planned by liveness and lost between
/// steps, parameters are kept.
enum class Space : uint8_t { Activations, Parameters };

/// What a collective does.
enum class CollectiveKind : uint8_t {
  Broadcast,
  AllGather,
  AllToAll,
  AllReduce,
  ReduceScatter
};

/// How a collective moves data. Direct: every member to every other. Ring: to
/// the next one, in rounds. Tree: along a binary tree. docs/Runtime.md says
/// which kind has which.
enum class CollectiveAlgorithm : uint8_t { Direct, Ring, Tree };

/// The algorithms of a kind: all have Direct, all but AllToAll have Ring,
/// Broadcast and AllReduce have Tree, too.
llvm::ArrayRef<CollectiveAlgorithm> algorithmsOf(CollectiveKind kind);

/// How the parts of a result are joined when a loop that is absent from it is
/// split. `Same`: the parts compute equal copies; no collective has it.
enum class Combine : uint8_t { None, Sum, Prod, Max, Min, And, Or, Same };

/// What products and convolutions multiply, where they sum in f32: f32 as it
/// is, f32 rounded to 10 bits behind the point by tensor cores, or floats of 16
/// bits. I8: integers of 8 bits with or without a sign, summed in i32.
enum class Precision : uint8_t { F32, TF32, BF16, F16, I8 };

/// The names of the enumerators, in their order: "step", "all_reduce", ...
template <typename Enum>
llvm::ArrayRef<llvm::StringLiteral> namesOf();
template <>
llvm::ArrayRef<llvm::StringLiteral> namesOf<Phase>();
template <>
llvm::ArrayRef<llvm::StringLiteral> namesOf<Stream>();
template <>
llvm::ArrayRef<llvm::StringLiteral> namesOf<Space>();
template <>
llvm::ArrayRef<llvm::StringLiteral> namesOf<CollectiveKind>();
template <>
llvm::ArrayRef<llvm::StringLiteral> namesOf<CollectiveAlgorithm>();
template <>
llvm::ArrayRef<llvm::StringLiteral> namesOf<Combine>();
template <>
llvm::ArrayRef<llvm::StringLiteral> namesOf<Precision>();

llvm::StringRef stringify(Phase phase);
llvm::StringRef stringify(Stream stream);
llvm::StringRef stringify(Space space);
llvm::StringRef stringify(CollectiveKind kind);
llvm::StringRef stringify(CollectiveAlgorithm algorithm);
llvm::StringRef stringify(Combine combine);
llvm::StringRef stringify(Precision precision);

/// The inverse; none for any other text.
template <typename Enum>
std::optional<Enum> symbolize(llvm::StringRef name) {
  llvm::ArrayRef<llvm::StringLiteral> names = namesOf<Enum>();
  const auto *found = llvm::find(names, name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

} // namespace soap

#endif // SOAP_PARTITION_VOCABULARY_H
