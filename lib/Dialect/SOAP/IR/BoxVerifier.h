//===- BoxVerifier.h - Checks on boxes and buckets --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_SOAP_IR_BOXVERIFIER_H
#define SOAP_LIB_DIALECT_SOAP_IR_BOXVERIFIER_H

#include "mlir/IR/Operation.h"
#include "soap/Partition/PartitionSpec.h"

namespace soap::soapir {
class ReductionOpInterface;

/// Members of a bucket have one group, element type and way to be joined.
llvm::LogicalResult verifyBucket(ReductionOpInterface op);

/// Boxes are inside of `box`, disjoint, and leave nothing of it over. `what`
/// names the boxes in the error, in the plural.
llvm::LogicalResult verifyCover(mlir::Operation *op, llvm::StringRef what,
                                llvm::ArrayRef<Box> boxes, const Box &box);

/// No two boxes share an element.
llvm::LogicalResult verifyDisjoint(mlir::Operation *op, llvm::StringRef what,
                                   llvm::ArrayRef<Box> boxes);

} // namespace soap::soapir

#endif // SOAP_LIB_DIALECT_SOAP_IR_BOXVERIFIER_H
