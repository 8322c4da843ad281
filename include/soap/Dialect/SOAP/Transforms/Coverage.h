//===- Coverage.h - Proofs on partitioned IR --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_TRANSFORMS_COVERAGE_H
#define SOAP_DIALECT_SOAP_TRANSFORMS_COVERAGE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"

namespace soap::soapir {

struct CoverageStatistics {
  int64_t values = 0;  ///< Values whose tiles partition them.
  int64_t boxes = 0;   ///< Shards whose box follows from what they are made of.
  int64_t actions = 0; ///< Transfers and collectives among these operations.
  int64_t reads = 0;   ///< Operands of tasks that are covered exactly.
  int64_t elements = 0; ///< Elements of these operands.
};

/// Proves that the tasks of every node partition its value and that every
/// element of every read comes from exactly one of them, from boxes alone.
/// Emits the first violation as an error.
llvm::LogicalResult verifyCoverage(mlir::func::FuncOp func,
                                   CoverageStatistics &statistics);

/// What moves in a phase, in launch order: to compare with the TaskGraph
/// and with the runtime's counters. `host` is the id that the host gets.
llvm::SmallVector<Movement> collectMovements(mlir::func::FuncOp func,
                                             Phase phase, int32_t host);

} // namespace soap::soapir

#endif // SOAP_DIALECT_SOAP_TRANSFORMS_COVERAGE_H
