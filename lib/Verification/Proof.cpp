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
    if (llvm::Error error = verify(plan, layoutOf(graph, strategy, id), needs))
      return emitError(loc) << "'" << graph.node(graph.value(id).producer).name
                            << "': " << toString(std::move(error))
                            << "; this is a defect of the planner";
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

/// A box of a value, or a part of it, as text: what specs and IR are compared
/// in.
static std::string describe(StringRef value, int64_t result, const Box &box,
                            ArrayRef<int64_t> parts = {}) {
  std::string text =
      ("'" + value + "':" + Twine(result) + " " + toString(box)).str();
  for (int64_t part : parts)
    text += (" part " + Twine(part)).str();
  return text;
}

namespace {
/// What the specs say that tasks read.
class SpecReads {
public:
  SpecReads(const OperatorGraph &graph, const Strategy &strategy)
      : graph_(graph), strategy_(strategy) {}

  /// What a task reads of an operand, as text; empty: nothing.
  std::string of(int32_t id, unsigned operand, int64_t task) {
    const GraphNode &node = graph_.node(id);
    const Degrees &degrees = strategy_.configs[id].degrees;
    const GraphValue &value = graph_.value(node.operands[operand]);
    Box box = operandBox(node.spec, operand, degrees, task, value.shape);
    if (isEmpty(box))
      return "";
    SmallVector<int64_t, 1> parts;
    if (node.spec.operands[operand].unreduced) {
      int64_t part = 0;
      for (auto [loop, index] : llvm::enumerate(taskIndices(degrees, task)))
        if (node.spec.isReduction(loop))
          part = part * degrees.loops[loop] + index;
      if (takesParts(id, operand))
        parts.push_back(part);
      else if (part != 0)
        return "";
    }
    return describe(graph_.node(value.producer).name, value.result, box, parts);
  }

private:
  /// Whether the tasks of a node take parts of an operand.
  bool takesParts(int32_t id, unsigned operand) {
    auto [entry, isNew] = known_.try_emplace({id, operand}, false);
    if (!isNew)
      return entry->second;
    int32_t value = graph_.node(id).operands[operand];
    auto isUse = [&](const GraphValue::Use &use) {
      return use.node == id && use.operand == static_cast<int32_t>(operand);
    };
    const auto &uses = graph_.value(value).uses;
    auto use = static_cast<int32_t>(llvm::find_if(uses, isUse) - uses.begin());
    return known_[{id, operand}] =
               soap::takesParts(layoutOf(graph_, strategy_, value),
                                needOf(graph_, strategy_, value, use));
  }

  const OperatorGraph &graph_;
  const Strategy &strategy_;
  std::map<std::pair<int32_t, unsigned>, bool> known_;
};
} // namespace

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
  SpecReads reads(graph, simulated.strategy());
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
    for (unsigned operand = 0; operand < node.operands.size(); ++operand)
      if (std::string read = reads.of(id, operand, number); !read.empty())
        want.insert(std::move(read));
    for (Value input : task.getInputs())
      if (soapir::BoxAttr box = soapir::getBox(input))
        got.insert(describe(box.getValue(), box.getResult(), box.getBox(),
                            box.getParts()));
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
  if (failed(soaprt::verifyMessages(*read)))
    return failure();
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
