//===- VerifyPartition.cpp - Proofs and movements as passes ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/Transforms/Coverage.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Dialect/SOAP/Transforms/Passes.h"

namespace soap::ir {
#define GEN_PASS_DEF_SOAPVERIFYPARTITION
#define GEN_PASS_DEF_SOAPPRINTMOVEMENTS
#include "soap/Dialect/SOAP/Transforms/Passes.h.inc"
} // namespace soap::ir

using namespace mlir;
using namespace soap;
using namespace soap::ir;

namespace {
struct VerifyPartitionPass
    : ir::impl::SOAPVerifyPartitionBase<VerifyPartitionPass> {
  using SOAPVerifyPartitionBase::SOAPVerifyPartitionBase;

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

struct PrintMovementsPass
    : ir::impl::SOAPPrintMovementsBase<PrintMovementsPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    getOperation().walk([&](CommunicationOpInterface op) {
      for (const Movement &movement : op.getMovements(kHostDevice))
        print(op.getPhase(), movement);
    });
  }

private:
  static void printDevice(int32_t device) {
    if (device == kHostDevice)
      llvm::outs() << "host";
    else
      llvm::outs() << device;
  }

  static void print(Phase phase, const Movement &movement) {
    llvm::raw_ostream &os = llvm::outs();
    os << stringify(phase) << ' ' << stringify(movement.kind) << ' ';
    if (movement.kind == ActionKind::Transfer) {
      printDevice(movement.devices[0]);
      os << " -> ";
      printDevice(movement.devices[1]);
      os << ": " << movement.bytes[0] << " bytes\n";
      return;
    }
    os << '[';
    llvm::interleave(movement.devices, os, printDevice, ", ");
    os << "]: [";
    llvm::interleaveComma(movement.bytes, os);
    os << "] bytes\n";
  }
};
} // namespace
