//===- ShardAssembly.h - Parts of the syntax --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attributes, types and operations have in common in their syntax.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_SOAP_IR_SHARDASSEMBLY_H
#define SOAP_LIB_DIALECT_SOAP_IR_SHARDASSEMBLY_H

#include "mlir/IR/OpImplementation.h"
#include "soap/Dialect/SOAP/IR/SOAPAttrs.h"

namespace soap::soapir {

/// @{ `2` or `host`.
mlir::ParseResult parseDevice(mlir::AsmParser &parser, int32_t &device);
void printDevice(mlir::AsmPrinter &printer, int32_t device);
/// @}

/// @{ `[0, 2 to 7, host]`; runs of three and more are printed with `to`.
mlir::ParseResult parseDeviceList(mlir::AsmParser &parser,
                                  llvm::SmallVectorImpl<int32_t> &devices);
void printDeviceList(mlir::AsmPrinter &printer,
                     llvm::ArrayRef<int32_t> devices);
/// @}

/// @{ `[0:32, 256:512]`; two bounds per range.
mlir::ParseResult parseRanges(mlir::AsmParser &parser,
                              llvm::SmallVectorImpl<int64_t> &bounds);
void printRanges(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> bounds);
/// @}

/// `TYPE as BOX`
mlir::ParseResult parseBoxed(mlir::OpAsmParser &parser, mlir::Type &type,
                             BoxAttr &box);

/// @{ `(TYPE as BOX, ...)`
mlir::ParseResult parseBoxedResults(mlir::OpAsmParser &parser,
                                    llvm::SmallVectorImpl<mlir::Type> &types,
                                    mlir::ArrayAttr &boxes);
void printBoxedResults(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                       mlir::TypeRange types, mlir::ArrayAttr boxes);
/// @}

} // namespace soap::soapir

#endif // SOAP_LIB_DIALECT_SOAP_IR_SHARDASSEMBLY_H
