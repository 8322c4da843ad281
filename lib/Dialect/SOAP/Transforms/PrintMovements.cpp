//===- PrintMovements.cpp - What a partitioned function moves -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/Transforms/Passes.h"

namespace soap::soapir {
#define GEN_PASS_DEF_PRINTMOVEMENTSPASS
#include "soap/Dialect/SOAP/Transforms/Passes.h.inc"
} // namespace soap::soapir

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

namespace {
struct PrintMovementsPass
    : soapir::impl::PrintMovementsPassBase<PrintMovementsPass> {
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
