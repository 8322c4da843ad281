//===- Recompute.cpp - Steps that make values again -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/Transforms/Recomputation.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Search/MemoryUse.h"
#include "soap/Search/RecomputationChoice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace soap;

bool Compilation::recomputesAsNeeded() const {
  return step_ && options_.training->recompute.front() == "auto";
}

llvm::Expected<std::unique_ptr<RepeatedStep>>
Compilation::makeStep(const llvm::StringSet<> &names,
                      const Topology &topology) {
  auto result = std::make_unique<RepeatedStep>();
  // Passes run on module_.
  OwningOpRef<ModuleOp> kept = std::move(module_);
  auto restore = llvm::make_scope_exit([&] { module_ = std::move(kept); });
  module_ = step_->clone();
  if (!names.empty()) {
    nn::Recomputation recomputation(
        module_->lookupSymbol<func::FuncOp>("main"));
    recomputation.recompute(recomputation.select(names));
  }
  if (llvm::Error error = normalize())
    return std::move(error);
  for (ModuleOp program : {*module_, evaluation()})
    if (program)
      writeTopology(program, topology);
  if (llvm::Error error = fuse())
    return std::move(error);
  if (normalized_)
    result->normalized = module_->clone();
  FailureOr<ModuleProblem> problem = readProblem(*module_, costFile_);
  if (failed(problem))
    return emitted(mlir::failure(), Kind::Failed);
  result->problem = std::make_unique<ModuleProblem>(std::move(*problem));
  result->module = std::move(module_);
  return result;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

namespace {
/// The forward pass of a step, by names.
struct ForwardPass {
  std::vector<std::string> names;
  std::vector<ForwardOperation> operations;
  llvm::StringMap<int32_t> numbers;
};
} // namespace

static ForwardPass describeForward(func::FuncOp step) {
  ForwardPass pass;
  nn::Recomputation recomputation(step);
  for (Operation &op : step.front()) {
    if (!recomputation.isForward(&op))
      continue;
    ForwardOperation forward;
    for (Value operand : op.getOperands())
      if (auto it = pass.numbers.find(nn::getName(operand.getDefiningOp()));
          it != pass.numbers.end())
        forward.operands.push_back(it->second);
    forward.isRead = llvm::any_of(op.getUsers(), [&](Operation *reader) {
      return recomputation.isBackward(reader);
    });
    pass.numbers[nn::getName(&op)] = static_cast<int32_t>(pass.names.size());
    pass.names.push_back(nn::getName(&op).str());
    pass.operations.push_back(std::move(forward));
  }
  return pass;
}

/// Fills in what operations take and hold under the strategy of `tasks`.
/// Returns the bytes that are missing on all devices together.
static int64_t measure(const TaskGraph &tasks, ForwardPass &pass) {
  const OperatorGraph &graph = tasks.graph();
  auto numberOf = [&](int32_t node) {
    auto it = pass.numbers.find(graph.node(node).name);
    return it == pass.numbers.end() ? -1 : it->second;
  };
  for (ForwardOperation &op : pass.operations)
    op.ns = op.heldBytes = 0;
  for (int32_t node = 0; node < graph.numNodes(); ++node)
    if (int32_t number = numberOf(node); number >= 0)
      pass.operations[number].ns = tasks.nodeNs(node);
  int64_t missing = 0;
  std::vector<int64_t> peaks = tasks.peakMemory();
  for (const Device &device : tasks.topology().devices()) {
    int64_t excess = peaks[device.id] - device.memoryBytes;
    if (!device.memoryBytes || excess <= 0)
      continue;
    missing += excess;
    for (auto [value, bytes] : memoryPeak(tasks, device.id).values)
      if (int32_t number = numberOf(graph.value(value).producer); number >= 0)
        pass.operations[number].heldBytes += bytes;
  }
  return missing;
}

Topology Compilation::usableMachine(const Topology &topology) const {
  Topology machine = topology;
  for (auto [device, bytes] : reserved_)
    machine.reserveMemory(device, bytes);
  return machine;
}

/// True if a strategy fits into the memory of `machine`.
static bool fits(const ModuleProblem &problem, const Strategy &strategy,
                 const Topology &machine) {
  TaskGraph tasks({problem.extracted.graph, machine, problem.costs});
  tasks.setStrategy(strategy);
  return tasks.fitsMemory();
}

llvm::Expected<std::unique_ptr<RepeatedStep>>
Compilation::fitByRecomputation(const ModuleProblem &problem,
                                const Strategy &strategy) {
  constexpr int maxRounds = 48;
  TimingScope scope = nest("recompute");
  ForwardPass pass = describeForward(step_->lookupSymbol<func::FuncOp>("main"));
  Topology machine = usableMachine(problem.topology);
  std::unique_ptr<RepeatedStep> step;
  llvm::StringSet<> names;
  for (int round = 0; round < maxRounds; ++round) {
    const ModuleProblem &now = step ? *step->problem : problem;
    TaskGraph tasks({now.extracted.graph, machine, now.costs});
    tasks.setStrategy(step ? step->strategy : strategy);
    int64_t missing = measure(tasks, pass);
    if (step && missing == 0) {
      step->stepNs = FullSimulator(tasks).stepNs();
      return std::move(step);
    }
    std::vector<int32_t> chosen = chooseRecomputation(pass.operations, missing);
    if (chosen.empty())
      break;
    for (int32_t number : chosen) {
      pass.operations[number].isRepeated = true;
      names.insert(pass.names[number]);
    }
    auto made = makeStep(names, problem.topology);
    if (!made)
      return made.takeError();
    step = std::move(*made);
    step->strategy =
        transferStrategy(problem.extracted.graph, strategy,
                         step->problem->extracted.graph, problem.topology);
  }
  return nullptr;
}

llvm::Expected<std::unique_ptr<RepeatedStep>>
Compilation::fitNamedStrategies(const ModuleProblem &problem, int64_t limitNs) {
  std::unique_ptr<RepeatedStep> best;
  Topology machine = usableMachine(problem.topology);
  for (const NamedStrategy &named : namedStrategies()) {
    if (!named.isListed || named.name == "random" ||
        (named.isOfUpdates && problem.extracted.graph.numUpdates() == 0))
      continue;
    Strategy strategy = named.make(problem.get(), /*devices=*/0, options_.seed);
    TaskGraph tasks({problem.extracted.graph, machine, problem.costs});
    tasks.setStrategy(strategy);
    // With values made again, a step is hardly faster.
    int64_t stepNs = FullSimulator(tasks).stepNs();
    if (stepNs >= (best ? best->stepNs : limitNs) || tasks.fitsMemory())
      continue;
    auto step = fitByRecomputation(problem, strategy);
    if (!step)
      return step.takeError();
    if (*step && (*step)->stepNs < (best ? best->stepNs : limitNs))
      best = std::move(*step);
  }
  return best;
}

llvm::Expected<std::unique_ptr<RepeatedStep>>
Compilation::searchRepeated(const ModuleProblem &problem,
                            std::unique_ptr<RepeatedStep> start) {
  StrategyRequest request = requestOf("search");
  request.search.stateFile.clear();
  request.search.starts.push_back(start->strategy);
  FailureOr<ChosenStrategy> chosen = chooseStrategy(
      *start->problem, request, UnknownLoc::get(module_->getContext()));
  if (failed(chosen))
    return emitted(mlir::failure(), Kind::BadInput);
  if (chosen->search) {
    ++searches_;
    recordSearch(*chosen->search);
    start->strategy = std::move(chosen->strategy);
    start->stepNs = chosen->search->stepNs;
  }
  // What was found may need fewer values made again.
  Strategy without =
      transferStrategy(start->problem->extracted.graph, start->strategy,
                       problem.extracted.graph, problem.topology);
  auto fewer = fitByRecomputation(problem, without);
  if (!fewer)
    return fewer.takeError();
  if (*fewer && (*fewer)->stepNs < start->stepNs)
    return std::move(*fewer);
  return std::move(start);
}

llvm::Error Compilation::recomputeAsNeeded(ModuleProblem &problem,
                                           FailureOr<Strategy> &chosen,
                                           bool searches) {
  bool isFitting = succeeded(chosen) &&
                   fits(problem, *chosen, usableMachine(problem.topology));
  if (isFitting && !searches)
    return llvm::Error::success();
  int64_t limitNs = INT64_MAX;
  if (isFitting) {
    TaskGraph tasks(problem.get());
    tasks.setStrategy(*chosen);
    limitNs = FullSimulator(tasks).stepNs();
  }
  auto step = searches ? fitNamedStrategies(problem, limitNs)
                       : fitByRecomputation(problem, *chosen);
  if (!step)
    return step.takeError();
  if (!*step) {
    if (!isFitting)
      remark("recompute: no choice of values that are made again lets the step "
             "fit into memory");
    return llvm::Error::success();
  }
  if (searches) {
    step = searchRepeated(problem, std::move(*step));
    if (!step)
      return step.takeError();
  }
  RepeatedStep &made = **step;
  module_ = std::move(made.module);
  if (normalized_)
    normalized_ = std::move(made.normalized);
  problem = std::move(*made.problem);
  chosen = std::move(made.strategy);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// What it saves and costs
//===----------------------------------------------------------------------===//

/// "12 softmax, 24 add": how many nodes of each kind.
static std::string countKinds(const OperatorGraph &graph,
                              ArrayRef<int32_t> nodes) {
  std::map<StringRef, int32_t> counts;
  for (int32_t node : nodes)
    ++counts[StringRef(graph.node(node).op).substr(3)];
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(counts, os, [&](const auto &count) {
    os << count.second << " " << count.first;
  });
  return text;
}

llvm::Expected<RecomputationReport>
Compilation::compareRecomputation(const ModuleProblem &problem,
                                  const Strategy &strategy) {
  RecomputationReport report;
  const OperatorGraph &graph = problem.extracted.graph;
  auto base = makeStep({}, problem.topology);
  if (!base)
    return base.takeError();
  const OperatorGraph &without = (*base)->problem->extracted.graph;
  llvm::StringSet<> known;
  for (const GraphNode &node : without.nodes())
    known.insert(node.name);
  for (int32_t node = 0; node < graph.numNodes(); ++node)
    if (!known.contains(graph.node(node).name))
      report.nodes.push_back(node);
  auto measure = [](const ModuleProblem &of, const Strategy &how) {
    TaskGraph tasks(of.get());
    tasks.setStrategy(how);
    std::vector<int64_t> peaks = tasks.peakMemory();
    return std::pair(*llvm::max_element(peaks), FullSimulator(tasks).stepNs());
  };
  std::tie(report.peakBytes, report.stepNs) = measure(problem, strategy);
  std::tie(report.peakBytesBefore, report.stepNsBefore) =
      measure(*(*base)->problem,
              transferStrategy(graph, strategy, without, problem.topology));
  return report;
}

llvm::Error Compilation::describeRecomputation(const ModuleProblem &problem,
                                               const Strategy &strategy) {
  if (!step_)
    return llvm::Error::success();
  llvm::Expected<RecomputationReport> report =
      compareRecomputation(problem, strategy);
  if (!report)
    return report.takeError();
  const OperatorGraph &graph = problem.extracted.graph;
  llvm::json::Array names;
  for (int32_t node : report->nodes)
    names.push_back(
        StringRef(graph.node(node).name).rsplit(nn::copySuffix).first.str());
  result_.recomputation =
      llvm::json::Object{{"operations", std::move(names)},
                         {"peak_memory_bytes", report->peakBytes},
                         {"peak_memory_bytes_without", report->peakBytesBefore},
                         {"step_ns", report->stepNs},
                         {"step_ns_without", report->stepNsBefore}};
  if (report->nodes.empty()) {
    remark("recompute: nothing is made again");
    return llvm::Error::success();
  }
  remark(llvm::formatv(
      "recompute: {0} made again ({1}); a device holds at most "
      "{2:f1} MiB in place of {3:f1}, a step takes {4:f3} ms in place of "
      "{5:f3} (simulated)",
      report->nodes.size() == 1
          ? std::string("1 operation is")
          : std::to_string(report->nodes.size()) + " operations are",
      countKinds(graph, report->nodes), report->peakBytes / 1048576.0,
      report->peakBytesBefore / 1048576.0,
      static_cast<double>(report->stepNs) / 1e6,
      static_cast<double>(report->stepNsBefore) / 1e6));
  return llvm::Error::success();
}
