//===- Topology.cpp - Devices and links in IR -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAP/IR/SOAPOps.h"

using namespace mlir;
using namespace soap;
using namespace soap::ir;

TopologyOp ir::getTopology(ModuleOp module) {
  for (auto topology : module.getOps<TopologyOp>())
    return topology;
  return nullptr;
}

int32_t TopologyOp::getNumDevices() {
  auto devices = getDescription().getAs<ArrayAttr>("devices");
  return devices ? static_cast<int32_t>(devices.size()) : 0;
}

LogicalResult TopologyOp::verify() {
  auto devices = getDescription().getAs<ArrayAttr>("devices");
  if (!devices || devices.empty())
    return emitOpError() << "expected a list of at least one device, `devices "
                            "= [{id = 0, ...}, ...]`, got: "
                         << getDescription();
  for (auto [i, device] : llvm::enumerate(devices)) {
    auto entry = dyn_cast<DictionaryAttr>(device);
    auto id = entry ? entry.getAs<IntegerAttr>("id") : nullptr;
    if (!id || id.getValue().getSExtValue() != static_cast<int64_t>(i))
      return emitOpError() << "expected device " << i << " to have the id " << i
                           << ", got: " << device
                           << "; devices stand in the order of their ids";
  }
  TopologyOp first = getTopology(cast<ModuleOp>((*this)->getParentOp()));
  if (first != *this) {
    InFlightDiagnostic diag =
        emitOpError() << "expected at most one topology in a module, got: a "
                         "second one; remove it";
    diag.attachNote(first.getLoc()) << "the first";
    return diag;
  }
  return success();
}
