//===- SpecVerifier.cpp - Invariants of partition specs -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/PartitionSpec.h"
#include "llvm/ADT/Twine.h"

using namespace soap;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

using Shapes = ArrayRef<SmallVector<int64_t, 5>>;

/// "operand 1, dimension 0: <what>".
static llvm::Error inDim(const char *value, size_t index, size_t dim,
                         const Twine &what) {
  return llvm::createStringError(Twine(value) + " " + Twine(index) +
                                 ", dimension " + Twine(dim) + ": " + what);
}

static llvm::Error verifyLoops(const PartitionSpec &spec) {
  for (size_t i = 0, e = spec.loops.size(); i != e; ++i) {
    const LoopSpec &loop = spec.loops[i];
    if (loop.name.empty())
      return llvm::createStringError("expected a name for loop " + Twine(i));
    if (loop.extent < 1)
      return llvm::createStringError("expected a positive extent of loop '" +
                                     loop.name +
                                     "', got: " + Twine(loop.extent));
    for (size_t j = 0; j != i; ++j)
      if (spec.loops[j].name == loop.name)
        return llvm::createStringError("expected distinct loop names, got: '" +
                                       loop.name + "' twice");
  }
  return llvm::Error::success();
}

/// What holds for operands and results: ranks, loop indices, monotony, each
/// loop in at most one dimension.
static llvm::Error verifyAccess(const PartitionSpec &spec,
                                const ValueAccess &access, const char *value,
                                size_t index, ArrayRef<int64_t> shape) {
  if (access.dims.size() != shape.size())
    return llvm::createStringError(
        Twine(value) + " " + Twine(index) + ": expected " +
        Twine(shape.size()) +
        " dimension accesses, got: " + Twine(access.dims.size()));
  SmallVector<bool, 6> used(spec.loops.size(), false);
  for (size_t d = 0, rank = shape.size(); d != rank; ++d) {
    const DimAccess &dim = access.dims[d];
    auto error = [&](const Twine &what) {
      return inDim(value, index, d, what);
    };
    if (dim.loop < -1 || dim.loop >= static_cast<int>(spec.loops.size()))
      return error("expected a loop below " + Twine(spec.loops.size()) +
                   " or -1, got: " + Twine(dim.loop));
    if (dim.div < 1)
      return error("expected a positive divisor, got: " + Twine(dim.div));
    if (dim.hi < dim.lo)
      return error("expected lo <= hi, got: " + Twine(dim.lo) + " and " +
                   Twine(dim.hi));
    if (dim.loop < 0) {
      if (dim.mul != 0 || dim.div != 1)
        return error("expected mul = 0 and div = 1 without a loop, got: " +
                     Twine(dim.mul) + " and " + Twine(dim.div));
      continue;
    }
    if (dim.mul == 0)
      return error("expected a monotone access, got: mul = 0");
    if (used[dim.loop])
      return error("expected each loop in at most one dimension, got: '" +
                   spec.loops[dim.loop].name + "' again");
    used[dim.loop] = true;
  }
  return llvm::Error::success();
}

/// Result boxes partition the result: windows abut and cover it exactly.
static llvm::Error verifyResult(const PartitionSpec &spec, size_t index,
                                ArrayRef<int64_t> shape) {
  const ValueAccess &access = spec.results[index];
  for (size_t d = 0, rank = shape.size(); d != rank; ++d) {
    const DimAccess &dim = access.dims[d];
    auto error = [&](const Twine &what) {
      return inDim("result", index, d, what);
    };
    Range covered{dim.lo, dim.hi + 1};
    if (dim.loop >= 0) {
      if (dim.div != 1 || dim.mul < 1)
        return error("expected div = 1 and mul > 0, got: " + Twine(dim.div) +
                     " and " + Twine(dim.mul));
      if (dim.hi - dim.lo + 1 != dim.mul)
        return error("expected abutting windows of " + Twine(dim.mul) +
                     " elements, got: " + Twine(dim.hi - dim.lo + 1));
      covered = unclampedRange(dim, {0, spec.loops[dim.loop].extent});
    }
    if (covered != Range{0, shape[d]})
      return error("expected [0:" + Twine(shape[d]) +
                   "] to be covered, got: " + toString(Box{covered}));
  }
  if (access.firstOnly || access.unreduced)
    return llvm::createStringError(
        "result " + Twine(index) + ": expected " +
        (access.firstOnly ? "firstOnly" : "unreduced") + " on operands only");
  if (access.combine == Combine::None)
    for (size_t i = 0, e = spec.loops.size(); i != e; ++i)
      if (spec.isReduction(i, index))
        return llvm::createStringError(
            "result " + Twine(index) + ": expected a combiner, because loop '" +
            spec.loops[i].name + "' indexes none of its dimensions");
  return llvm::Error::success();
}

/// Whoever takes parts of an operand makes parts of its results.
static llvm::Error verifyUnreduced(const PartitionSpec &spec, size_t index) {
  const ValueAccess &access = spec.operands[index];
  auto error = [&](const Twine &what) {
    return llvm::createStringError("operand " + Twine(index) + ": " + what);
  };
  if (access.firstOnly)
    return error("expected firstOnly or unreduced, got both");
  if (spec.results.empty())
    return error("expected a result for an unreduced operand");
  for (size_t result = 0, e = spec.results.size(); result != e; ++result) {
    if (spec.results[result].combine != Combine::Sum)
      return error("expected sums as results where an operand is unreduced, "
                   "got: '" +
                   stringify(spec.results[result].combine) + "' of result " +
                   Twine(result));
    for (size_t i = 0, e = spec.loops.size(); i != e; ++i)
      if (spec.isReduction(i, result) != spec.isReduction(i))
        return error("expected the same reduction loops for all results, got: "
                     "'" +
                     spec.loops[i].name + "' for some");
  }
  for (size_t d = 0, rank = access.dims.size(); d != rank; ++d)
    if (access.dims[d].loop >= 0 && spec.isReduction(access.dims[d].loop))
      return inDim("operand", index, d,
                   "expected no reduction loop in an unreduced operand, got: "
                   "'" +
                       spec.loops[access.dims[d].loop].name + "'");
  return llvm::Error::success();
}

static llvm::Error verifyOperand(const PartitionSpec &spec, size_t index) {
  const ValueAccess &access = spec.operands[index];
  if (access.combine != Combine::None)
    return llvm::createStringError(
        "operand " + Twine(index) +
        ": expected a combiner on results only, got: " +
        stringify(access.combine));
  if (access.unreduced)
    return verifyUnreduced(spec, index);
  if (!access.firstOnly)
    return llvm::Error::success();
  // "Not read" is an empty box, which a scalar cannot have.
  if (access.dims.empty() || spec.results.empty())
    return llvm::createStringError(
        "operand " + Twine(index) +
        ": expected a dimension and a result for a firstOnly operand");
  for (size_t d = 0, rank = access.dims.size(); d != rank; ++d)
    if (access.dims[d].loop >= 0 && spec.isReduction(access.dims[d].loop))
      return inDim("operand", index, d,
                   "expected no reduction loop in a firstOnly operand, got: '" +
                       spec.loops[access.dims[d].loop].name + "'");
  return llvm::Error::success();
}

llvm::Error soap::verify(const PartitionSpec &spec, Shapes operandShapes,
                         Shapes resultShapes) {
  if (spec.operands.size() != operandShapes.size())
    return llvm::createStringError(
        "expected " + Twine(operandShapes.size()) +
        " operand accesses, got: " + Twine(spec.operands.size()));
  if (spec.results.size() != resultShapes.size())
    return llvm::createStringError(
        "expected " + Twine(resultShapes.size()) +
        " result accesses, got: " + Twine(spec.results.size()));
  if (llvm::Error error = verifyLoops(spec))
    return error;
  for (size_t i = 0, e = spec.results.size(); i != e; ++i) {
    if (llvm::Error error =
            verifyAccess(spec, spec.results[i], "result", i, resultShapes[i]))
      return error;
    if (llvm::Error error = verifyResult(spec, i, resultShapes[i]))
      return error;
  }
  for (size_t i = 0, e = spec.operands.size(); i != e; ++i) {
    if (llvm::Error error = verifyAccess(spec, spec.operands[i], "operand", i,
                                         operandShapes[i]))
      return error;
    if (llvm::Error error = verifyOperand(spec, i))
      return error;
  }
  return llvm::Error::success();
}
