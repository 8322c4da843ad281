//===- SOAPRT.h - The soaprt dialect ----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every device runs: kernels, buffers, and per device programs whose ops
// are the rows of the runtime's tables.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_IR_SOAPRT_H
#define SOAP_DIALECT_SOAPRT_IR_SOAPRT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "soap/Dialect/NN/IR/VocabularyParser.h"
#include "soap/Partition/CommPlan.h"

#include "soap/Dialect/SOAPRT/IR/SOAPRTDialect.h.inc"

namespace soap::soaprt {
/// The order in which the elements of a buffer lie: that of the dims, or with
/// dim 1 innermost (NHWC where the dims are N, C, H, W).
enum class ElementOrder : uint8_t { RowMajor, ChannelsLast };
} // namespace soap::soaprt

#define GET_TYPEDEF_CLASSES
#include "soap/Dialect/SOAPRT/IR/SOAPRTTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "soap/Dialect/SOAPRT/IR/SOAPRTAttributes.h.inc"

#include "soap/Dialect/SOAPRT/IR/SOAPRTInterfaces.h.inc"

namespace soap::soaprt {
/// Bytes. The runtime's tables have no buffer that starts elsewhere than at a
/// multiple of this, and a device may ask for more.
inline constexpr int64_t minAlignment = 64;
} // namespace soap::soaprt

#define GET_OP_CLASSES
#include "soap/Dialect/SOAPRT/IR/SOAPRTOps.h.inc"

namespace soap::soaprt {

/// The memory under a buffer value: its soaprt.buffer through all views, and
/// the distance of the value's first byte from the buffer's.
struct Storage {
  BufferOp buffer;
  int64_t byteOffset = 0;
};
Storage getStorage(mlir::Value buffer);

/// What a program of a module moves, in the form in which TaskGraph, soap IR
/// and the runtime's counters are compared: transfers by sender, collectives
/// where their first member is. Every box of a feed or drain is a transfer from
/// or to `host`. `program`: its number among those of every device; one that
/// there is not moves nothing.
struct ProgramMovements {
  llvm::SmallVector<Movement> feed, step, drain;
};
ProgramMovements collectMovements(mlir::ModuleOp module, int32_t host,
                                  unsigned program = 0);

} // namespace soap::soaprt

#endif // SOAP_DIALECT_SOAPRT_IR_SOAPRT_H
