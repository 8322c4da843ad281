//===- SimulatedProgram.h - What is simulated is what runs ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulator promises what moves between devices, and in which order a
// program launches. Every compilation compares this with the soap operations
// and with the programs made of them.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_VERIFICATION_SIMULATEDPROGRAM_H
#define SOAP_VERIFICATION_SIMULATEDPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Transforms/StrategyIR.h"
#include "soap/Verification/MovementList.h"

namespace soap {

/// The task graph of a strategy, kept to compare programs with.
class SimulatedProgram {
public:
  /// The strategy must be valid. Operations of the problem are not touched and
  /// may go away.
  SimulatedProgram(ModuleProblem problem, const Strategy &strategy);
  /// The task graph refers to the problem.
  SimulatedProgram(const SimulatedProgram &) = delete;

  /// All times of the simulation.
  const SimulationResult &result() const { return result_; }
  /// Simulated time of a step.
  int64_t stepNs() const { return result_.stepNs; }

  /// Compares the partitioned and scheduled function `main`: the movements of
  /// every phase and the sequence of the step's actions are those of the task
  /// graph, collectives have the algorithms that were costed, and a simulation
  /// of the block ends every node and action, and the step, at the same time.
  /// Emits an error on the first difference.
  mlir::LogicalResult compare(mlir::func::FuncOp main) const;

  /// Compares the movements of all devices' programs (soaprt), as a set: their
  /// order is that of each device.
  mlir::LogicalResult compare(mlir::ModuleOp programs) const {
    return movements().compare(programs);
  }

  /// What moves, as planned: made anew with every call.
  MovementList movements() const { return MovementList::of(tasks_); }

  const ModuleProblem &problem() const { return problem_; }
  const Strategy &strategy() const { return tasks_.strategy(); }
  const TaskGraph &tasks() const { return tasks_; }

private:
  mlir::LogicalResult compareOrder(mlir::func::FuncOp main) const;
  mlir::LogicalResult compareAlgorithms(mlir::func::FuncOp main) const;

  ModuleProblem problem_;
  TaskGraph tasks_;
  SimulationResult result_;
};

} // namespace soap

#endif // SOAP_VERIFICATION_SIMULATEDPROGRAM_H
