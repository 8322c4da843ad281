//===- SOAPOps.h - Topology, tasks, communication ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of the soap dialect: everything that includes SOAPAttrs.h and
// more.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_IR_SOAPOPS_H
#define SOAP_DIALECT_SOAP_IR_SOAPOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "soap/Dialect/SOAP/IR/SOAPAttrs.h"
#include "soap/Topology/Topology.h"

namespace soap::soapir::detail {
/// Boxes fit types; one box per result.
llvm::LogicalResult verifyShardOp(mlir::Operation *op);
/// The movements of a CommunicationOpInterface.
llvm::SmallVector<Movement, 4> movementsOf(mlir::Operation *op, int32_t host);
} // namespace soap::soapir::detail

namespace soap::soapir {
/// What a soap.task was cut from: task `task` of the operation `node`. One that
/// `reduces` joins parts instead; `task` counts the reductions of the value.
struct TaskOrigin {
  llvm::StringRef node;
  int64_t task = 0;
  Phase phase = Phase::Step;
  bool reduces = false;
};
} // namespace soap::soapir

#include "soap/Dialect/SOAP/IR/CommunicationInterface.h.inc"

#define GET_OP_CLASSES
#include "soap/Dialect/SOAP/IR/SOAPOps.h.inc"

namespace soap::soapir {
/// All operations of one collective, of which `first` is the first.
llvm::SmallVector<ReductionOpInterface> bucketFrom(ReductionOpInterface first);
/// Bytes that each device puts into the collective that some reductions are.
int64_t bucketBytes(llvm::ArrayRef<ReductionOpInterface> ops);
} // namespace soap::soapir

namespace soap::soapir {

/// The box of a shard: that of the result of the operation that makes it. Null
/// if `value` is not a result of a soap operation.
BoxAttr getBox(mlir::Value value);

/// The type of a value that is a shard.
inline ShardType getShardType(mlir::Value value) {
  return mlir::cast<ShardType>(value.getType());
}

/// The topology of a module, or null.
TopologyOp getTopology(mlir::ModuleOp module);

} // namespace soap::soapir

#endif // SOAP_DIALECT_SOAP_IR_SOAPOPS_H
