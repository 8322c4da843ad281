//===- VerifyPartition.cpp - A proof of coverage as a pass ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/Transforms/Coverage.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Dialect/SOAP/Transforms/Passes.h"

namespace soap::soapir {
#define GEN_PASS_DEF_VERIFYPARTITIONPASS
#include "soap/Dialect/SOAP/Transforms/Passes.h.inc"
} // namespace soap::soapir

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

namespace {
struct VerifyPartitionPass
    : soapir::impl::VerifyPartitionPassBase<VerifyPartitionPass> {
  using VerifyPartitionPassBase::VerifyPartitionPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    CoverageStatistics coverage;
    if (!isPartitioned(getOperation()))
      return;
    if (failed(verifyCoverage(getOperation(), coverage)))
      return signalPassFailure();
    numReads = coverage.reads;
    numElements = coverage.elements;
    if (report)
      emitRemark(getOperation().getLoc())
          << "partition: " << coverage.values << " values, " << coverage.boxes
          << " boxes, " << coverage.reads << " reads, " << coverage.elements
          << " elements, each covered once";
  }
};
} // namespace
