//===- SOAPAttrs.h - Configurations, boxes, shards --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The soap dialect, its attributes and its type.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAP_IR_SOAPATTRS_H
#define SOAP_DIALECT_SOAP_IR_SOAPATTRS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Operation.h"
#include "soap/Dialect/NN/IR/VocabularyParser.h"
#include "soap/Partition/CommPlan.h"
#include "soap/Topology/Topology.h"
#include <memory>
#include <mutex>

namespace soap::soapir {

/// @{ Between the ids of the IR and those of plans and topologies, in which the
/// host is the device `host`.
inline int32_t deviceToPlan(int32_t device, int32_t host) {
  return device == kHostDevice ? host : device;
}
inline int32_t deviceFromPlan(int32_t device, int32_t host) {
  return device == host ? kHostDevice : device;
}
/// @}

/// Size of the dense elements of `tensor`; i1 counts as a byte.
int64_t sizeInBytes(mlir::RankedTensorType tensor);

} // namespace soap::soapir

#include "soap/Dialect/SOAP/IR/SOAPDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "soap/Dialect/SOAP/IR/SOAPAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "soap/Dialect/SOAP/IR/SOAPTypes.h.inc"

namespace soap::soapir {

/// The configuration of an operation, or null.
inline ConfigAttr getConfig(mlir::Operation *op) {
  return op->getAttrOfType<ConfigAttr>(SOAPDialect::getConfigAttrName());
}
inline void setConfig(mlir::Operation *op, ConfigAttr config) {
  op->setAttr(SOAPDialect::getConfigAttrName(), config);
}

} // namespace soap::soapir

#endif // SOAP_DIALECT_SOAP_IR_SOAPATTRS_H
