//===- AttachTopology.cpp - A topology for a module -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Target/TargetRegistry.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "soap/Transforms/Passes.h"
#include "soap/Transforms/StrategyIR.h"

using namespace mlir;

namespace soap {

#define GEN_PASS_DEF_ATTACHTOPOLOGYPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

struct AttachTopologyPass : impl::AttachTopologyPassBase<AttachTopologyPass> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<Topology> topology = describe();
    if (!topology) {
      emitError(getOperation().getLoc(), llvm::toString(topology.takeError()));
      return signalPassFailure();
    }
    writeTopology(getOperation(), *topology);
  }

  llvm::Expected<Topology> describe() {
    if (!file.empty() && !name.empty())
      return llvm::createStringError("expected file= or name=, got: both; "
                                     "leave one of them out");
    if (!file.empty())
      return Topology::load(file);
    if (!name.empty())
      return generateTopology(name);
    llvm::Expected<std::unique_ptr<Target>> created = createTarget(target);
    if (!created)
      return created.takeError();
    if (devices > maxLocalDevices)
      return llvm::createStringError(
          "expected at most " + llvm::Twine(maxLocalDevices) +
          " devices on this machine, got: " + llvm::Twine(devices) +
          "; describe other machines in a topology file");
    if (coresPerDevice < 0)
      return llvm::createStringError("expected 0 or more cores per device (0: "
                                     "as many as there are), got: " +
                                     llvm::Twine(coresPerDevice));
    MachineRequest request;
    request.devices = devices;
    request.coresPerDevice = coresPerDevice;
    request.calibrationFile = calibration;
    return (*created)->describeMachine(request);
  }
};

} // namespace
} // namespace soap
