//===- Tiling.h - Compute an operation by its tiles -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tests of tiles share: the local operations of all tasks, each computed
// from the operand boxes that the spec promises, combined to the result of the
// whole operation.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_NN_TILING_H
#define SOAP_UNITTESTS_NN_TILING_H

#include "RandomOps.h"
#include "Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

namespace soap::nn::test {

/// A mistake that the test makes on purpose, to see that it would be noticed.
enum class Mistake {
  None,
  BiasInEveryPart,
  WholeInEveryPart,
  GlobalPads,
  LocalMeanCount,
  DroppedHalo,
  NoBase,
  AlwaysForward,
  GlobalOffsets
};

/// A function whose arguments are operands; its block has no terminator.
struct Scope {
  explicit Scope(mlir::MLIRContext *context);
  mlir::OwningOpRef<mlir::func::FuncOp> function;
  mlir::Block &block;
};

/// The operation and the degrees of its loops, as text.
std::string describe(PartitionOpInterface op, const Degrees &degrees);

/// Lets an additive operation take its operands in parts, along 0 to 2 loops.
void declareParts(PartitionOpInterface op, Random &random);

/// One task per loop, but `degree` along `loop`.
Degrees splitOf(const PartitionSpec &spec, llvm::StringRef loop,
                int32_t degree);

/// Builds the local operations of `tile` in `block`. The one that has the kind
/// of `op`, or null (a tile in the padding).
PartitionOpInterface buildLocal(PartitionOpInterface op, const LocalTile &tile,
                                mlir::Block &block);

class Tiling : public testing::Test {
protected:
  Tiling();

  /// Operands in the domain of the operation.
  std::vector<Tensor> randomOperands(mlir::Operation *op, Random &random);

  /// Builds and computes the local operations of `tile`. Empty if they cannot
  /// be built; adds failures if they are malformed.
  std::optional<Tensor> compute(PartitionOpInterface op, const LocalTile &tile,
                                llvm::ArrayRef<Tensor> operands,
                                Mistake mistake, unsigned result = 0);

  /// Computes all tasks and combines them to result `number`.
  Tensor combineTasks(PartitionOpInterface op, const Degrees &degrees,
                      llvm::ArrayRef<Tensor> operands,
                      Mistake mistake = Mistake::None, unsigned number = 0);

  static bool equal(const Tensor &a, const Tensor &b);

  mlir::MLIRContext context;
};

} // namespace soap::nn::test

#endif // SOAP_UNITTESTS_NN_TILING_H
