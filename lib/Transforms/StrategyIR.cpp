//===- StrategyIR.cpp - Strategies and topologies in IR -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Transforms/StrategyIR.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Search/LaunchPolicy.h"

using namespace mlir;

namespace soap {

FailureOr<Topology> readTopology(ModuleOp module) {
  soapir::TopologyOp op = soapir::getTopology(module);
  if (!op)
    return emitError(module.getLoc(),
                     "expected a soap.topology in the module, got none; run "
                     "soap-attach-topology");
  llvm::Expected<Topology> topology = op.getTopology();
  if (!topology)
    return emitError(op.getLoc(), llvm::toString(topology.takeError()));
  return std::move(*topology);
}

void writeTopology(ModuleOp module, const Topology &topology) {
  if (soapir::TopologyOp old = soapir::getTopology(module))
    old.erase();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  builder.create<soapir::TopologyOp>(
      module.getLoc(), builder.getStringAttr("machine"),
      soapir::TopologyOp::describe(module.getContext(), topology));
}

static Configuration toConfiguration(soapir::ConfigAttr attr,
                                     const GraphNode &node,
                                     const Topology &topology) {
  Configuration config;
  config.degrees = attr.toDegrees(node.spec);
  for (int32_t device : attr.getDevices())
    config.devices.push_back(soapir::deviceToPlan(device, topology.host()));
  for (int64_t operand : attr.getRegather())
    config.regather.push_back(static_cast<int32_t>(operand));
  return config;
}

static soapir::ConfigAttr toAttribute(MLIRContext *context,
                                      const Configuration &config,
                                      const GraphNode &node,
                                      const Topology &topology) {
  SmallVector<int32_t> devices;
  for (int32_t device : config.devices)
    devices.push_back(soapir::deviceFromPlan(device, topology.host()));
  SmallVector<int64_t> regather(config.regather.begin(), config.regather.end());
  return soapir::ConfigAttr::get(context, node.spec, config.degrees, devices,
                                 regather);
}

FailureOr<std::vector<int32_t>>
readLaunchOrder(const ExtractedGraph &extracted) {
  if (extracted.ops.empty()) // A model that computes nothing.
    return std::vector<int32_t>();
  Operation *main = extracted.ops.front()->getParentOp();
  auto list =
      main->getAttrOfType<ArrayAttr>(soapir::SOAPDialect::getOrderAttrName());
  if (!list || list.empty())
    return std::vector<int32_t>();
  SmallVector<StringRef> names;
  for (Attribute name : list)
    names.push_back(cast<StringAttr>(name).getValue());
  llvm::Expected<std::vector<int32_t>> order =
      orderOfNames(names, extracted.graph);
  if (!order)
    return emitError(main->getLoc(), "soap.order: ")
           << llvm::toString(order.takeError());
  return std::move(*order);
}

FailureOr<Strategy> readStrategy(const ExtractedGraph &extracted,
                                 const Topology &topology) {
  const OperatorGraph &graph = extracted.graph;
  Strategy strategy;
  strategy.configs.resize(graph.numNodes());
  std::vector<bool> given(graph.numNodes(), false);
  std::string missing;
  for (auto [id, op] : llvm::enumerate(extracted.ops)) {
    const GraphNode &node = graph.node(id);
    soapir::ConfigAttr attr = soapir::getConfig(op);
    if (!attr) {
      if (node.role == NodeRole::Compute && graph.isLeader(id))
        missing += "\n  " + node.name;
      continue;
    }
    given[id] = true;
    // A number behind that of the last device would mean the host.
    for (int32_t device : attr.getDevices())
      if (device >= topology.numDevices())
        return op->emitOpError("expected devices of the topology, 0 to ")
               << topology.numDevices() - 1 << ", got: " << device
               << "; change the configuration or attach a larger topology";
    strategy.configs[id] = toConfiguration(attr, node, topology);
    if (llvm::Error error = verify(strategy.configs[id], node, topology))
      return emitError(op->getLoc(), toString(std::move(error)));
  }
  if (extracted.ops.empty()) // A model that computes nothing.
    return strategy;
  Location loc = extracted.ops.front()->getParentOp()->getLoc();
  if (!missing.empty())
    return emitError(loc,
                     "expected a soap.config on every operation; run "
                     "soap-init-strategy, soap-import-strategy or soap-search; "
                     "missing on:")
           << missing;
  deriveMembers(strategy, given, graph);
  deriveMissingEnds(strategy, given, graph, topology);
  FailureOr<std::vector<int32_t>> order = readLaunchOrder(extracted);
  if (failed(order))
    return failure();
  strategy.order = std::move(*order);
  if (llvm::Error error = verify(strategy, graph, topology))
    return emitError(loc, toString(std::move(error)));
  return strategy;
}

void writeStrategy(const ExtractedGraph &extracted, const Strategy &strategy,
                   const Topology &topology) {
  assert(strategy.configs.size() == extracted.ops.size() &&
         (strategy.order.empty() ||
          strategy.order.size() == extracted.ops.size()) &&
         "a strategy of this graph");
  for (auto [index, op] : llvm::enumerate(extracted.ops))
    soapir::setConfig(op, toAttribute(op->getContext(), strategy.configs[index],
                                      extracted.graph.node(index), topology));
  Operation *main =
      extracted.ops.empty() ? nullptr : extracted.ops.front()->getParentOp();
  StringRef bucketBytes = soapir::SOAPDialect::getBucketBytesAttrName();
  if (main && (strategy.bucketBytes > 0 || main->hasAttr(bucketBytes))) {
    Builder builder(main->getContext());
    main->setAttr(bucketBytes, builder.getI64IntegerAttr(
                                   bucketBytesOf(strategy, extracted.graph)));
  }
  if (strategy.order.empty())
    return;
  // Block order is launch order.
  main->removeAttr(soapir::SOAPDialect::getOrderAttrName());
  Operation *terminator = extracted.ops.front()->getBlock()->getTerminator();
  for (int32_t node : strategy.order)
    extracted.ops[node]->moveBefore(terminator);
}

FailureOr<CostModel> readCosts(ModuleOp module, StringRef costFile) {
  CostModel costs;
  if (!costFile.empty() && costFile != "analytic")
    if (llvm::Error error = costs.loadMeasured(costFile))
      return emitError(module.getLoc(), llvm::toString(std::move(error)));
  return costs;
}

FailureOr<ModuleProblem> readProblem(ModuleOp module, StringRef costFile) {
  FailureOr<func::FuncOp> main = getMainFunction(module);
  if (failed(main))
    return failure();
  FailureOr<Topology> topology = readTopology(module);
  if (failed(topology))
    return failure();
  FailureOr<ExtractedGraph> extracted = extractOperatorGraph(*main);
  if (failed(extracted))
    return failure();
  FailureOr<CostModel> costs = readCosts(module, costFile);
  if (failed(costs))
    return failure();
  return ModuleProblem{std::move(*extracted), std::move(*topology),
                       std::move(*costs)};
}

FailureOr<ConfiguredProblem> readConfigured(ModuleOp module,
                                            StringRef costFile) {
  FailureOr<ModuleProblem> problem = readProblem(module, costFile);
  if (failed(problem))
    return failure();
  FailureOr<Strategy> strategy =
      readStrategy(problem->extracted, problem->topology);
  if (failed(strategy))
    return failure();
  return ConfiguredProblem{std::move(*problem), std::move(*strategy)};
}

} // namespace soap
