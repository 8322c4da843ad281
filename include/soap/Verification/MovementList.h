//===- MovementList.h - What a program moves --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_VERIFICATION_MOVEMENTLIST_H
#define SOAP_VERIFICATION_MOVEMENTLIST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "soap/Search/TaskGraph.h"

namespace soap {

/// What moves between devices in every phase of a step, in launch order: what
/// was planned, to compare with what was made of it.
class MovementList {
public:
  /// What the task graph promises.
  static MovementList of(const TaskGraph &tasks);
  /// What the soap operations of a partitioned function say.
  static MovementList of(mlir::func::FuncOp main);

  /// Compares the movements of a partitioned function, in order. Emits an error
  /// on the first difference.
  mlir::LogicalResult compare(mlir::func::FuncOp main) const;
  /// Compares the movements of all devices' parts of a program (soaprt), by its
  /// number, as a set: their order is that of each device.
  mlir::LogicalResult compare(mlir::ModuleOp programs,
                              unsigned program = 0) const;

  /// JSON: {"format": "soap-movements", "movements": [{"phase": "feed" | "step"
  /// | "drain", "kind", "devices", "bytes"}]}, in launch order, in the form in
  /// which soap-run --json prints what was counted. The host is -1.
  std::string json() const;

private:
  struct Entry {
    Phase phase;
    Movement movement;
  };
  int32_t host_ = -1;          ///< The id of the host in the movements.
  std::vector<Entry> entries_; ///< Feeds, step, drains.
};

} // namespace soap

#endif // SOAP_VERIFICATION_MOVEMENTLIST_H
