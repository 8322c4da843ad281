//===- PrintMovements.cpp - What programs move ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/Transforms/Passes.h"

namespace soap::soaprt {
#define GEN_PASS_DEF_PRINTMOVEMENTSPASS
#include "soap/Dialect/SOAPRT/Transforms/Passes.h.inc"
} // namespace soap::soaprt

using namespace mlir;
using namespace soap;

/// The id that the host gets here.
static constexpr int32_t host = -1;

static void printDevice(llvm::raw_ostream &os, int32_t device) {
  if (device == host)
    os << "host";
  else
    os << device;
}

static void print(llvm::raw_ostream &os, StringRef phase,
                  ArrayRef<Movement> movements) {
  for (const Movement &movement : movements) {
    os << phase << ' ' << stringify(movement.kind) << ' ';
    if (movement.kind == ActionKind::Transfer) {
      printDevice(os, movement.devices[0]);
      os << " -> ";
      printDevice(os, movement.devices[1]);
      os << ": " << movement.bytes[0] << " bytes\n";
      continue;
    }
    os << '[';
    llvm::interleaveComma(movement.devices, os);
    os << "]: [";
    llvm::interleaveComma(movement.bytes, os);
    os << "] bytes\n";
  }
}

namespace {

struct PrintMovementsPass
    : soaprt::impl::PrintMovementsPassBase<PrintMovementsPass> {
  void runOnOperation() override {
    soaprt::ProgramMovements movements =
        soaprt::collectMovements(getOperation(), host);
    print(llvm::outs(), "feed", movements.feed);
    print(llvm::outs(), "step", movements.step);
    print(llvm::outs(), "drain", movements.drain);
    markAllAnalysesPreserved();
  }
};

} // namespace
