//===- RandomPrograms.h - Programs of random operations ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_PIPELINES_RANDOMPROGRAMS_H
#define SOAP_UNITTESTS_PIPELINES_RANDOMPROGRAMS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "soap/Target/Target.h"
#include "gtest/gtest.h"

namespace soap::test {

/// Lowers models of one random operation each, under random strategies.
class RandomPrograms {
public:
  /// For four devices of `target`, which outlives this.
  explicit RandomPrograms(const Target &target);

  /// Planned programs of an operation of `kind` ("nn.conv"). Null, with a
  /// failure of the test, if it cannot be lowered.
  mlir::OwningOpRef<mlir::ModuleOp> make(llvm::StringRef kind, uint64_t seed);

private:
  const Target &target;
  Topology topology;
  mlir::MLIRContext context;
};

} // namespace soap::test

#endif // SOAP_UNITTESTS_PIPELINES_RANDOMPROGRAMS_H
