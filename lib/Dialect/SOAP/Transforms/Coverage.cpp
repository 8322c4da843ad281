//===- Coverage.cpp - Proofs on partitioned IR ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifiers of the operations check each step locally: a slice is inside of
// its operand, pieces cover what is assembled from them, a collective's members
// hold what its kind says, a reduction joins every part once. So a shard holds
// what its box says if the shards that it is made from do. What is left is the
// start of this induction, the tasks, and its end, the reads.
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/Transforms/Coverage.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

namespace {
/// Shards of one value that tasks make.
struct MadeValue {
  /// Copies of every (box, part).
  llvm::MapVector<BoxAttr, int64_t> copies;
  TaskOp first;
};

/// The tasks of one node that take parts of one value.
struct TakenParts {
  int64_t tasks = 0;
  TaskOp first;
};
} // namespace

/// Checks that tiles are disjoint and cover the value, and that every tile
/// exists in all parts and in as many copies as the others.
static LogicalResult verifyMade(const MadeValue &made) {
  TaskOp task = made.first;
  llvm::MapVector<BoxAttr, int64_t> tiles; // Complete box -> parts.
  int64_t copies = made.copies.front().second;
  BoxAttr first = made.copies.front().first;
  for (auto [box, count] : made.copies) {
    if (count != copies)
      return task.emitOpError()
             << "expected equally many copies of all tiles, "
                "got: "
             << copies << " of " << first << " and " << count << " of " << box;
    if (box.getNumParts() != first.getNumParts() ||
        box.getRank() != first.getRank())
      return task.emitOpError()
             << "expected tiles of one layout, got: " << first << " and "
             << box;
    ++tiles[box.withoutParts()];
  }
  SmallVector<Box> boxes;
  Box hull;
  int64_t covered = 0;
  for (auto [tile, parts] : tiles) {
    if (parts != first.getNumParts())
      return task.emitOpError() << "expected " << first.getNumParts()
                                << " parts of " << tile << ", got: " << parts;
    Box box = tile.getBox();
    for (auto [d, range] : llvm::enumerate(box)) {
      if (hull.size() <= d)
        hull.push_back({0, 0});
      hull[d].hi = std::max(hull[d].hi, range.hi);
    }
    for (const Box &other : boxes)
      if (!isEmpty(intersect(other, box)))
        return task.emitOpError()
               << "expected disjoint tiles, got: " << toString(other) << " and "
               << toString(box);
    covered += volume(box);
    boxes.push_back(std::move(box));
  }
  if (covered != volume(hull))
    return task.emitOpError()
           << "expected tiles that cover " << toString(hull) << " of value \""
           << first.getValue().getValue() << "\", got: " << covered << " of "
           << volume(hull) << " elements; a task is missing";
  return success();
}

static LogicalResult verifyReads(TaskOp task, CoverageStatistics &statistics) {
  for (auto [i, input] : llvm::enumerate(task.getInputs())) {
    BoxAttr box = getBox(input);
    if (!box)
      return task.emitOpError()
             << "expected operand " << i
             << " to be made by an operation that says which box it holds, "
                "got: "
             << input;
    ++statistics.reads;
    statistics.elements += volume(box.getBox());
  }
  return success();
}

/// A sum of parts has all of them: if one task of a node takes a part of a
/// value, all do.
static LogicalResult verifyTaken(func::FuncOp func) {
  llvm::DenseMap<StringRef, int64_t> tasks;
  llvm::MapVector<std::pair<StringRef, std::pair<StringAttr, int64_t>>,
                  TakenParts>
      taken;
  for (auto task : func.getBody().front().getOps<TaskOp>()) {
    if (task.getReduce())
      continue;
    ++tasks[task.getNode()];
    for (Value input : task.getInputs()) {
      BoxAttr box = getBox(input);
      if (!box || !box.isPartial())
        continue;
      TakenParts &parts =
          taken[{task.getNode(), {box.getValue(), box.getResult()}}];
      if (!parts.first)
        parts.first = task;
      ++parts.tasks;
    }
  }
  for (auto &[key, parts] : taken)
    if (parts.tasks != tasks[key.first])
      return parts.first.emitOpError()
             << "expected all tasks of \"" << key.first
             << "\" to take parts of \"" << key.second.first.getValue()
             << "\", got: " << parts.tasks << " of " << tasks[key.first];
  return success();
}

LogicalResult soapir::verifyCoverage(func::FuncOp func,
                                     CoverageStatistics &statistics) {
  if (failed(mlir::verify(func)))
    return failure();
  llvm::MapVector<std::pair<StringAttr, int64_t>, MadeValue> values;
  for (Operation &op : func.getBody().front()) {
    if (isa<ShardOpInterface>(op))
      statistics.boxes += op.getNumResults();
    statistics.actions += isa<CommunicationOpInterface>(op);
    // Nothing can be proved of a read without a box.
    if (auto shards = dyn_cast<ShardOpInterface>(op); shards)
      for (Value operand : op.getOperands())
        if (!getBox(operand))
          return op.emitOpError() << "expected operands that are made by an "
                                     "operation that says which box they hold, "
                                     "got: "
                                  << operand.getType();
    auto task = dyn_cast<TaskOp>(op);
    if (!task)
      continue;
    if (failed(verifyReads(task, statistics)))
      return failure();
    if (task.getReduce())
      continue;
    for (Attribute attr : task.getBoxes()) {
      auto box = cast<BoxAttr>(attr);
      MadeValue &made = values[{box.getValue(), box.getResult()}];
      if (!made.first)
        made.first = task;
      ++made.copies[box];
    }
  }
  for (auto &[key, made] : values)
    if (failed(verifyMade(made)))
      return failure();
  statistics.values = values.size();
  return verifyTaken(func);
}

SmallVector<Movement> soapir::collectMovements(func::FuncOp func, Phase phase,
                                               int32_t host) {
  SmallVector<Movement> movements;
  func.walk([&](CommunicationOpInterface op) {
    if (op.getPhase() == phase)
      for (Movement &movement : op.getMovements(host))
        movements.push_back(std::move(movement));
  });
  return movements;
}
