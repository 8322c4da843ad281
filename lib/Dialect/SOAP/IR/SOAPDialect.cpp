//===- SOAPDialect.cpp - The soap dialect -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

#include "soap/Dialect/SOAP/IR/SOAPDialect.cpp.inc"

void SOAPDialect::initialize() {
  registerAttributesAndTypes();
  registerOperations();
}

/// The names of the loops, for a cure.
static std::string listLoops(const PartitionSpec &spec) {
  std::string names;
  for (const LoopSpec &loop : spec.loops)
    names += (names.empty() ? "" : ", ") + loop.name.str();
  return names.empty() ? "none" : names;
}

static LogicalResult verifyDevices(Operation *op, ConfigAttr config) {
  bool isEnd = isa<nn::InputOp, nn::OutputOp>(op);
  auto module = op->getParentOfType<ModuleOp>();
  TopologyOp topology = module ? getTopology(module) : nullptr;
  int32_t numDevices = topology ? topology.getNumDevices() : INT32_MAX;
  for (int32_t device : config.getDevices()) {
    if (isEnd != (device == kHostDevice))
      return op->emitOpError()
             << (isEnd ? "expected inputs and outputs to be on [host], got: "
                       : "expected `host` for inputs and outputs only, got: ")
             << config;
    if (device >= numDevices) {
      InFlightDiagnostic diag =
          op->emitOpError()
          << "expected devices of the topology, 0 to " << numDevices - 1
          << ", got: " << device
          << "; change the configuration or attach a larger topology";
      diag.attachNote(topology.getLoc()) << "the topology";
      return diag;
    }
  }
  return success();
}

static LogicalResult verifyConfig(Operation *op, ConfigAttr config) {
  auto partition = dyn_cast<nn::PartitionOpInterface>(op);
  if (!partition)
    return op->emitOpError()
           << "expected soap.config only on operations that can be split, got: "
           << config << "; remove it";
  PartitionSpec spec = partition.getPartitionSpec();
  int64_t tasks = config.getReplicate();
  for (auto [loop, degree] :
       llvm::zip_equal(config.getLoops(), config.getDegrees())) {
    int index = spec.findLoop(loop.getValue());
    if (index < 0)
      return op->emitOpError()
             << "expected loops of the operation (" << listLoops(spec)
             << "), got: " << loop.getValue() << " in " << config;
    if (degree > spec.loops[index].extent)
      return op->emitOpError()
             << "expected a degree of at most " << spec.loops[index].extent
             << ", the extent of loop " << loop.getValue()
             << ", got: " << degree;
    tasks *= degree;
  }
  if (static_cast<int64_t>(config.getDevices().size()) != tasks)
    return op->emitOpError()
           << "expected one device per task, " << tasks
           << " (degrees times replicate), got: " << config.getDevices().size()
           << " in " << config;
  for (int64_t operand : config.getRegather())
    if (operand >= op->getNumOperands())
      return op->emitOpError()
             << "expected operand numbers below " << op->getNumOperands()
             << " in `regather`, got: " << operand;
  return verifyDevices(op, config);
}

LogicalResult SOAPDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == getOrderAttrName()) {
    auto order = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!order || !llvm::all_of(order, llvm::IsaPred<StringAttr>))
      return op->emitOpError()
             << "expected soap.order to be a list of names of "
                "nodes, got: "
             << attribute.getValue();
    return success();
  }
  if (attribute.getName() == getFollowsAttrName()) {
    auto operand = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!isa<nn::PartitionOpInterface>(op) || !operand ||
        !operand.getType().isInteger(64) || operand.getInt() < 0 ||
        operand.getInt() >= op->getNumOperands())
      return op->emitOpError()
             << "expected soap.follows to be the number of an operand, of type "
                "i64, on an nn operation, got: "
             << attribute.getValue();
    return success();
  }
  if (attribute.getName() == getGroupAttrName()) {
    if (!isa<nn::PartitionOpInterface>(op) ||
        !isa_and_nonnull<TaskOp>(op->getParentOp()) ||
        !isa<nn::GroupAttr>(attribute.getValue()))
      return op->emitOpError() << "expected soap.group to be a #nn.group, on "
                                  "an nn operation in a task, got: "
                               << attribute.getValue();
    return success();
  }
  if (attribute.getName() == getBucketBytesAttrName() ||
      attribute.getName() == getPrefetchBytesAttrName()) {
    auto bytes = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!bytes || !bytes.getType().isInteger(64) || bytes.getInt() < 0)
      return op->emitOpError()
             << "expected " << attribute.getName().getValue()
             << " to be a number of bytes of type i64, at least 0, got: "
             << attribute.getValue();
    return success();
  }
  if (attribute.getName() == getBeforeAttrName()) {
    if (!isa<SliceOp, AssembleOp, CommunicationOpInterface>(op) ||
        !isa<StringAttr>(attribute.getValue()))
      return op->emitOpError()
             << "expected soap.before to be the name of a node, on a copy or "
                "an action, got: "
             << attribute.getValue();
    return success();
  }
  if (attribute.getName() == getAheadAttrName()) {
    auto nodes = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!op->hasAttr(getBeforeAttrName()) || !nodes ||
        !nodes.getType().isInteger(64) || nodes.getInt() < 0)
      return op->emitOpError()
             << "expected soap.ahead to be a number of nodes of type i64, at "
                "least 0, beside soap.before, got: "
             << attribute.getValue();
    return success();
  }
  if (attribute.getName() != getConfigAttrName())
    return success();
  auto config = dyn_cast<ConfigAttr>(attribute.getValue());
  if (!config)
    return op->emitOpError() << "expected soap.config to be a #soap.config, "
                                "got: "
                             << attribute.getValue();
  // Discardable attributes are verified first, but the loops of an operation
  // are known only if it is sound itself.
  if (failed(op->getName().verifyInvariants(op)))
    return failure();
  return verifyConfig(op, config);
}
