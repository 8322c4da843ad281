//===- LaunchPlaces.h - Where what moves is launched ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the partitioner knows of the launch order: which sums are reduced
// together, and how far ahead parameters are gathered again. TaskGraph finds
// the same for simulations; the rules are those of lib/Partition.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TRANSFORMS_LAUNCHPLACES_H
#define SOAP_LIB_TRANSFORMS_LAUNCHPLACES_H

#include "PartitionBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace soap {

class LaunchPlaces {
public:
  /// `nodes`: the operations of `main`, as they stand.
  LaunchPlaces(mlir::func::FuncOp main,
               llvm::ArrayRef<mlir::Operation *> nodes);

  /// Forms buckets of sums; `uses`: who reads each value.
  void findBuckets(
      const llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::OpOperand *>>
          &uses,
      PartitionBuilder &builder) const;
  /// Says of what is gathered again how many nodes ahead that is launched.
  void findPrefetches(PartitionBuilder &builder) const;

private:
  mlir::func::FuncOp main_;
  /// What computes, in launch order, and the place of each.
  llvm::SmallVector<mlir::Operation *> nodes_;
  llvm::DenseMap<mlir::Operation *, int32_t> ranks_;
};

} // namespace soap

#endif // SOAP_LIB_TRANSFORMS_LAUNCHPLACES_H
