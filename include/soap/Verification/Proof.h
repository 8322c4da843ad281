//===- Proof.h - What a compilation proves, as numbers ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proofs that share nothing with what they are about: plans are checked against
// layouts and needs, IR is printed, read again and checked by itself.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_VERIFICATION_PROOF_H
#define SOAP_VERIFICATION_PROOF_H

#include "soap/Dialect/SOAP/Transforms/Coverage.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramProof.h"
#include "soap/Verification/SimulatedProgram.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace soap {

/// What a proof went through.
struct PlanStatistics {
  int64_t values = 0, actions = 0, reads = 0, pieces = 0, elements = 0;
};
struct SpecStatistics {
  int64_t tasks = 0, boxes = 0;
};
struct MemoryStatistics {
  int64_t devices = 0, buffers = 0, bytes = 0, reuses = 0;
};

class Proof {
public:
  /// The communication plan of every value: each element of each read comes
  /// from one piece on the reader's own device, each part enters its reduction
  /// once. Emits an error at `main` on the first violation.
  mlir::LogicalResult provePlans(const SimulatedProgram &simulated,
                                 mlir::Location loc);

  /// A partitioned and scheduled module. With `simulated`, tasks run where
  /// their configurations say and read and write what the partition specs of
  /// their operations say. In any case: coverage, and no circular wait.
  mlir::LogicalResult proveTasks(mlir::ModuleOp module,
                                 const SimulatedProgram *simulated);

  /// Planned programs: order of all accesses to memory, and the places of
  /// buffers.
  mlir::LogicalResult provePrograms(mlir::ModuleOp module);

  /// One line per proof; `what` stands before: "proved plans: ...".
  void print(llvm::raw_ostream &os, llvm::StringRef what = "") const;
  /// {"plans": {"values", ...}, "specs", "coverage", "order", "programs",
  /// "memory"}; only what was proved.
  llvm::json::Object json() const;

private:
  mlir::LogicalResult proveSpecs(mlir::func::FuncOp main,
                                 const SimulatedProgram &simulated);

  std::optional<PlanStatistics> plans_;
  std::optional<SpecStatistics> specs_;
  std::optional<soapir::CoverageStatistics> coverage_;
  std::optional<soapir::WaitStatistics> order_;
  std::optional<soaprt::ProgramStatistics> programs_;
  std::optional<MemoryStatistics> memory_;
};

} // namespace soap

#endif // SOAP_VERIFICATION_PROOF_H
