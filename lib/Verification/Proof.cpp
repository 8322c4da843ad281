//===- Proof.cpp - What a compilation proves, as numbers ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Verification/Proof.h"
#include "mlir/Parser/Parser.h"
#include "soap/Dialect/SOAPRT/Transforms/Passes.h"
#include <map>
#include <set>

using namespace mlir;
using namespace soap;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

LogicalResult Proof::provePlans(const SimulatedProgram &simulated,
                                Location loc) {
  const OperatorGraph &graph = simulated.problem().extracted.graph;
  const Topology &topology = simulated.problem().topology;
  const Strategy &strategy = simulated.strategy();
  plans_.emplace();
  for (int32_t id = 0; id < graph.numValues(); ++id) {
    SmallVector<Need, 4> needs;
    for (size_t use = 0; use < graph.value(id).uses.size(); ++use)
      needs.push_back(needOf(graph, strategy, id, static_cast<int32_t>(use)));
    ValuePlan plan = planOf(graph, strategy, topology, id);
    std::string error = verify(plan, layoutOf(graph, strategy, id), needs);
    if (!error.empty())
      return emitError(loc)
             << "'" << graph.node(graph.value(id).producer).name
             << "': " << error << "; this is a defect of the planner";
    ++plans_->values;
    plans_->actions += plan.actions.size();
    plans_->reads += plan.reads.size();
    for (const Read &read : plan.reads) {
      plans_->pieces += read.pieces.size();
      plans_->elements += volume(read.box);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// The module as its text says it is.
static OwningOpRef<ModuleOp> readAgain(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().enableDebugInfo());
  return parseSourceString<ModuleOp>(
      text, ParserConfig(module.getContext(), /*verifyAfterParse=*/true));
}

/// A box of a value, as text: what specs and IR are compared in.
static std::string describe(StringRef value, int64_t result, const Box &box) {
  return ("'" + value + "':" + Twine(result) + " " + toString(box)).str();
}

/// The boxes that stand in one set but not in the other.
static std::string difference(const std::set<std::string> &from,
                              const std::set<std::string> &without) {
  std::string text;
  for (const std::string &box : from)
    if (!without.count(box))
      text += (text.empty() ? "" : ", ") + box;
  return text.empty() ? "nothing else" : text;
}

LogicalResult Proof::proveSpecs(func::FuncOp main,
                                const SimulatedProgram &simulated) {
  const OperatorGraph &graph = simulated.problem().extracted.graph;
  int32_t host = simulated.problem().topology.host();
  specs_.emplace();
  std::vector<std::set<int64_t>> seen(graph.numNodes());
  for (auto task : main.getBody().front().getOps<soapir::TaskOp>()) {
    if (task.getReduce())
      continue;
    int32_t id = graph.find(task.getNode());
    if (id < 0)
      return task.emitOpError() << "expected a task of an operation, got: '"
                                << task.getNode() << "'";
    const GraphNode &node = graph.node(id);
    const Configuration &config = simulated.strategy().configs[id];
    int64_t number = task.getTask();
    if (number >= static_cast<int64_t>(config.devices.size()) ||
        !seen[id].insert(number).second)
      return task.emitOpError() << "expected each of " << config.devices.size()
                                << " tasks once, got: task " << number;
    if (soapir::deviceToPlan(task.getDevice(), host) != config.devices[number])
      return task.emitOpError()
             << "expected the device of its configuration, "
             << config.devices[number] << ", got: " << task.getDevice();

    std::set<std::string> want, got;
    for (auto [operand, valueId] : llvm::enumerate(node.operands)) {
      const GraphValue &value = graph.value(valueId);
      Box box =
          operandBox(node.spec, operand, config.degrees, number, value.shape);
      if (!isEmpty(box))
        want.insert(
            describe(graph.node(value.producer).name, value.result, box));
    }
    for (Value input : task.getInputs())
      if (soapir::BoxAttr box = soapir::getBox(input))
        got.insert(describe(box.getValue(), box.getResult(), box.getBox()));
    if (want != got)
      return task.emitOpError()
             << "expected to read what its partition spec says, "
             << difference(want, got) << ", got: " << difference(got, want);
    specs_->boxes += want.size();
    for (auto [result, valueId] : llvm::enumerate(node.results)) {
      Box box = resultBox(node.spec, result, config.degrees, number,
                          graph.value(valueId).shape);
      Box made = cast<soapir::ShardOpInterface>(*task).getBox(result).getBox();
      if (made != box)
        return task.emitOpError()
               << "expected to write what its partition spec says, "
               << toString(box) << ", got: " << toString(made);
      ++specs_->boxes;
    }
    ++specs_->tasks;
  }
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (seen[id].size() != simulated.strategy().configs[id].devices.size())
      return emitError(main.getLoc())
             << "expected " << simulated.strategy().configs[id].devices.size()
             << " tasks of '" << graph.node(id).name
             << "', got: " << seen[id].size();
  return success();
}

LogicalResult Proof::proveTasks(ModuleOp module,
                                const SimulatedProgram *simulated) {
  OwningOpRef<ModuleOp> read = readAgain(module);
  if (!read)
    return failure();
  FailureOr<func::FuncOp> main = getMainFunction(*read);
  if (failed(main))
    return failure();
  coverage_.emplace();
  order_.emplace();
  return failure((simulated && failed(proveSpecs(*main, *simulated))) ||
                 failed(soapir::verifyCoverage(*main, *coverage_)) ||
                 failed(soapir::verifyWaits(*main, *order_)));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

LogicalResult Proof::provePrograms(ModuleOp module) {
  OwningOpRef<ModuleOp> read = readAgain(module);
  if (!read)
    return failure();
  programs_.emplace();
  memory_.emplace();
  for (auto device : read->getOps<soaprt::DeviceOp>()) {
    if (failed(soaprt::verifyProgram(device, *programs_)) ||
        failed(soaprt::checkMemoryPlan(device)))
      return failure();
    ++memory_->devices;
    for (auto buffer : device.getBlock().getOps<soaprt::BufferOp>())
      memory_->buffers += buffer.getType().getBytes() > 0;
    memory_->bytes +=
        *device.getActivationBytes() + *device.getParameterBytes();
  }
  memory_->reuses = programs_->reuses;
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

void Proof::print(llvm::raw_ostream &os, StringRef what) const {
  if (plans_)
    os << what << "proved plans: " << plans_->values << " values, "
       << plans_->actions << " actions, " << plans_->reads << " reads from "
       << plans_->pieces << " pieces, " << plans_->elements
       << " elements covered once\n";
  if (specs_)
    os << what << "proved specs: " << specs_->tasks
       << " tasks on their devices, " << specs_->boxes
       << " boxes as the partition specs say\n";
  if (coverage_)
    os << what << "proved coverage: " << coverage_->values << " values, "
       << coverage_->boxes << " boxes checked, " << coverage_->actions
       << " actions, " << coverage_->reads << " reads, " << coverage_->elements
       << " elements covered once\n";
  if (order_)
    os << what << "proved order: " << order_->rows << " launches, "
       << order_->streamEdges << " waits in streams, " << order_->events
       << " between streams, " << order_->rendezvous << " rendezvous, "
       << order_->operands << " edges, all pointing backwards\n";
  if (programs_)
    os << what << "proved programs: " << programs_->rows << " rows, "
       << programs_->waits << " waits checked, " << programs_->dependences
       << " dependences (" << programs_->acrossStreams
       << " between streams), all in order\n";
  if (memory_)
    os << what << "proved memory: " << memory_->buffers << " buffers in "
       << memory_->bytes << " bytes on " << memory_->devices << " devices, "
       << memory_->reuses << " reuses, none too early\n";
}

llvm::json::Object Proof::json() const {
  using llvm::json::Object;
  Object all;
  if (plans_)
    all["plans"] = Object{{"values", plans_->values},
                          {"actions", plans_->actions},
                          {"reads", plans_->reads},
                          {"pieces", plans_->pieces},
                          {"elements", plans_->elements}};
  if (specs_)
    all["specs"] = Object{{"tasks", specs_->tasks}, {"boxes", specs_->boxes}};
  if (coverage_)
    all["coverage"] = Object{{"values", coverage_->values},
                             {"boxes", coverage_->boxes},
                             {"actions", coverage_->actions},
                             {"reads", coverage_->reads},
                             {"elements", coverage_->elements}};
  if (order_)
    all["order"] = Object{{"launches", order_->rows},
                          {"stream_waits", order_->streamEdges},
                          {"event_waits", order_->events},
                          {"rendezvous", order_->rendezvous},
                          {"backward_edges", order_->operands}};
  if (programs_)
    all["programs"] = Object{{"rows", programs_->rows},
                             {"waits", programs_->waits},
                             {"dependences", programs_->dependences},
                             {"across_streams", programs_->acrossStreams}};
  if (memory_)
    all["memory"] = Object{{"devices", memory_->devices},
                           {"buffers", memory_->buffers},
                           {"bytes", memory_->bytes},
                           {"reuse_edges", memory_->reuses}};
  return all;
}
