//===- LaunchOrder.h - Block order is launch order --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch order is part of a strategy. The IR writes it as block order; the
// rule by which actions and copies follow their nodes is that of TaskGraph.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_TRANSFORMS_LAUNCHORDER_H
#define SOAP_DIALECT_SOAP_TRANSFORMS_LAUNCHORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Partition/CommPlan.h"

namespace soap::soapir {

/// Sorts the block of a partitioned function by the launch order of its compute
/// nodes. Pack and move stand right after the producer (for parameters,
/// constants and inputs: one compute node before the first consumer; what
/// gathers a parameter again: where `soap.before` and `soap.ahead` say), unpack
/// right before the first consumer, tasks of phase init and inputs in front,
/// outputs behind. An empty list stands for the order of the block. Emits an
/// error on `func` if a name is missing, unknown or repeated, or if a node
/// would be launched before its operands.
llvm::LogicalResult writeLaunchOrder(mlir::func::FuncOp func,
                                     llvm::ArrayRef<llvm::StringRef> nodes);

/// Sorts the block by the attribute `soap.start` (ns) of its operations, then
/// by position; an operation stands behind those that it reads in any case.
/// Operations without it (discards, tasks of phase init, host)
/// stay right behind what they follow.
llvm::LogicalResult writeSimulatedOrder(mlir::func::FuncOp func);

/// True for functions that soap-partition made, as opposed to @init, @main
/// before it, and declarations.
bool isPartitioned(mlir::func::FuncOp func);

/// What verifyWaits() went through.
struct WaitStatistics {
  int64_t rows = 0;        ///< Launches on all streams.
  int64_t streamEdges = 0; ///< Waits within a stream.
  int64_t events = 0;      ///< Waits between streams of a device.
  int64_t rendezvous = 0;  ///< Actions that devices meet in.
  int64_t operands = 0;    ///< Edges from a shard to its reader; all of them
                           ///< point backwards in the order of the block.
};

/// Proves that no wait is circular: with a compute, a communication and a
/// priority stream per device, each in order, waits between streams, and
/// actions that all their members have to reach, everything can run. Emits an
/// error on the first operation that cannot.
llvm::LogicalResult verifyWaits(mlir::func::FuncOp func,
                                WaitStatistics &statistics);

} // namespace soap::soapir

#endif // SOAP_DIALECT_SOAP_TRANSFORMS_LAUNCHORDER_H
