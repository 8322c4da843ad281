//===- DeltaComparison.cpp - Delta held against full ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeltaComparison.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace soap;
using namespace soap::test;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Now and then an update of another group is sharded, goes to one device, or
/// follows again.
void RandomChanges::changeUpdate(Random &random) {
  if (graph_.numUpdates() == 0 || random.below(2))
    return;
  auto update = static_cast<int32_t>(random.below(graph_.numUpdates()));
  int32_t leader = graph_.update(update).front();
  if (llvm::is_contained(changed_, leader))
    return;
  for (int32_t node : graph_.update(update)) {
    before_.push_back({node, strategy_.configs[node]});
    changed_.push_back(node);
  }
  auto device = static_cast<int32_t>(random.below(topology_.numDevices()));
  std::optional<Configuration> sharded =
      shardedUpdate(strategy_, graph_, update, /*leastElements=*/1);
  Configuration config = onDevice(graph_.node(leader), device);
  if (isUpdateApart(strategy_, graph_, update) && random.below(2))
    config = followingUpdate(strategy_, graph_, update);
  else if (sharded && random.below(4))
    config = std::move(*sharded);
  assignUpdate(strategy_, graph_, update, config);
}

/// Now and then another reader of a parameter gathers it again, or does so no
/// more.
void RandomChanges::changeRegather(Random &random) {
  for (int tries = 0; tries < 4; ++tries) {
    auto value = static_cast<int32_t>(random.below(graph_.numValues()));
    const auto &uses = graph_.value(value).uses;
    if (!graph_.isStored(value) || uses.size() < 2 || random.below(2))
      continue;
    const GraphValue::Use &use = uses[random.below(uses.size())];
    if (graph_.node(use.node).role != NodeRole::Compute ||
        graph_.node(use.node).writtenOperand == use.operand ||
        llvm::is_contained(changed_, use.node))
      continue;
    before_.push_back({use.node, strategy_.configs[use.node]});
    changed_.push_back(use.node);
    auto &operands = strategy_.configs[use.node].regather;
    auto *place = llvm::lower_bound(operands, use.operand);
    if (place != operands.end() && *place == use.operand)
      operands.erase(place);
    else
      operands.insert(place, use.operand);
  }
}

llvm::ArrayRef<int32_t> RandomChanges::change(Random &random) {
  changed_.clear();
  before_.clear();
  size_t first = random.below(space_.groups().size());
  size_t count = random.below(4) ? 1 : 1 + random.below(6);
  for (size_t i = first; i < std::min(first + count, space_.groups().size());
       ++i) {
    int32_t group = space_.groups()[i];
    Configuration config = random.below(2)
                               ? space_.sampleStructured(group, random)
                               : space_.sample(group, random);
    for (int32_t node : graph_.group(group)) {
      before_.push_back({node, strategy_.configs[node]});
      changed_.push_back(node);
    }
    space_.assign(strategy_, group, config);
  }
  changeUpdate(random);
  changeRegather(random);
  // Parameters follow, now and then to places of their own.
  SmallVector<int32_t, 32> ends;
  Strategy before = strategy_;
  for (size_t i = 0, e = changed_.size(); i < e; ++i)
    deriveEnds(strategy_, graph_, topology_, changed_[i], &ends);
  llvm::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (int32_t node : ends) {
    before_.push_back({node, before.configs[node]});
    if (random.below(4) == 0 && graph_.node(node).role == NodeRole::Parameter)
      strategy_.configs[node] =
          onDevice(graph_.node(node),
                   static_cast<int32_t>(random.below(topology_.numDevices())));
    changed_.push_back(node);
  }
  return changed_;
}

void RandomChanges::undo() {
  for (auto &[node, config] : llvm::reverse(before_))
    strategy_.configs[node] = std::move(config);
  before_.clear();
}

Strategy test::converge(const OperatorGraph &graph, const Topology &topology,
                        const CostModel &costs, Strategy start, uint64_t seed,
                        uint64_t proposals) {
  RandomChanges changes(graph, topology, std::move(start));
  TaskGraph tasks({graph, topology, costs});
  tasks.setStrategy(changes.strategy());
  DeltaSimulator delta(tasks);
  delta.reset();
  for (uint64_t step = 0; step < proposals; ++step) {
    Random random(seed, 2, step);
    llvm::ArrayRef<int32_t> changed = changes.change(random);
    tasks.propose(changes.strategy(), changed);
    int64_t limit = delta.stepNs();
    bool exact = tasks.bound();
    bool better = delta.simulate(limit) <= limit;
    if (better && !exact) {
      tasks.plan();
      better = delta.simulate(limit) <= limit;
    }
    if (better) {
      delta.accept();
      tasks.accept();
    } else {
      delta.reject();
      tasks.reject();
      changes.undo();
    }
  }
  return changes.strategy();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

void DeltaComparison::Tally::add(const Tally &other) {
  proposals += other.proposals;
  accepted += other.accepted;
  simulations += other.simulations;
  positions += other.positions;
  allPositions += other.allPositions;
  bounds += other.bounds;
  boundsThatRejected += other.boundsThatRejected;
  limits += other.limits;
  tails += other.tails;
  allTimes += other.allTimes;
  snapshotBytes = std::max(snapshotBytes, other.snapshotBytes);
}

void DeltaComparison::Tally::print() const {
  llvm::outs() << proposals << " proposals, " << accepted << " accepted; "
               << simulations << " delta simulations of "
               << (simulations ? positions / simulations : 0) << " positions; "
               << bounds << " bounds, " << boundsThatRejected << " rejected; "
               << limits << " ended at their limit, " << tails << " by tails; "
               << allTimes << " comparisons of all times\n";
}

DeltaComparison::DeltaComparison(const OperatorGraph &graph,
                                 const Topology &topology,
                                 const CostModel &costs, Strategy start,
                                 uint64_t seed, const Options &options)
    : graph_(graph), changes_(graph, topology, std::move(start)), seed_(seed),
      options_(options), tasks_({graph, topology, costs}), delta_(tasks_),
      full_(tasks_) {
  tasks_.setStrategy(changes_.strategy());
  delta_.reset();
}

std::string DeltaComparison::run(uint64_t proposals) {
  uint64_t period = options_.boundsPerProposal + 1;
  for (uint64_t end = step_ + proposals * period; step_ < end; ++step_) {
    bool full = step_ % period == 0;
    bool allTimes = full && step_ / period % options_.allTimesEvery == 0;
    if (std::string error = propose(step_, full, allTimes); !error.empty())
      return "proposal " + std::to_string(step_) + ": " + error;
  }
  return "";
}

static std::string differs(llvm::StringRef what, int64_t expected,
                           int64_t got) {
  return ("expected " + llvm::Twine(expected) + " ns" + what +
          ", got: " + llvm::Twine(got))
      .str();
}

/// Compares the change on trial, with bounds in place, with full simulations.
/// Leaves its plans in place, and their step time in `step`.
std::string DeltaComparison::compareTrial(bool exact, int64_t bound,
                                          int64_t threshold, int64_t &step) {
  if (int64_t expected = full_.stepNs(); bound != expected)
    return differs(" with bounds in place of plans", expected, bound);
  int64_t limited = delta_.simulate(threshold);
  if (limited <= threshold ? limited != bound : bound <= threshold)
    return differs(" at most for a bound with the limit " +
                       std::to_string(threshold),
                   bound, limited);
  tally_.limits += limited > threshold && limited < bound;
  int64_t planned = planTrial();
  step = full_.stepNs();
  if (planned != step)
    return differs(" from plans", step, planned);
  if (exact && bound != step)
    return differs(" from plans that are known", step, bound);
  int64_t trial = delta_.simulate(threshold);
  if (trial > threshold ? step <= threshold : trial != step)
    return differs(" with the limit " + std::to_string(threshold), step, trial);
  if (int64_t simulated = delta_.simulate(); simulated != step)
    return differs("", step, simulated);
  return "";
}

/// Plans the change on trial, before or while it is simulated. Parameters that
/// were left for later follow; if they take no time, the simulation without
/// them stands.
int64_t DeltaComparison::planTrial() {
  if (plansOnDemand_)
    tasks_.planOnDemand();
  else
    tasks_.plan();
  int64_t step = delta_.simulate();
  tasks_.plan();
  if (!endsFollow_)
    return step;
  tasks_.proposeEnds(changes_.strategy(), ends_);
  ends_.clear();
  tasks_.plan();
  return tasks_.areEndsFree() ? step : delta_.simulate();
}

std::string DeltaComparison::propose(uint64_t number, bool full,
                                     bool allTimes) {
  Random random(seed_, 1, number);
  llvm::ArrayRef<int32_t> changed = changes_.change(random);
  int64_t old = delta_.stepNs();
  double temperature = options_.temperature;
  if (temperature == 0)
    temperature = random.below(2) ? 1. / 20 : 1. / 400;
  double worse =
      -temperature * static_cast<double>(old) * std::log(1 - random.uniform());
  int64_t threshold = old + static_cast<int64_t>(worse);

  // In one of two changes, parameters follow when plans are made.
  endsFollow_ = random.below(2) != 0;
  llvm::SmallVector<int32_t, 32> first;
  for (int32_t node : changed) {
    NodeRole role = graph_.node(node).role;
    bool isEnd = role == NodeRole::Parameter || role == NodeRole::Constant;
    (endsFollow_ && isEnd ? ends_ : first).push_back(node);
  }
  tasks_.propose(changes_.strategy(), first);
  plansOnDemand_ = number % 2 == 0;
  if (endsFollow_)
    tasks_.deferEnds();
  int64_t load = delta_.loadNs();
  bool exact = tasks_.bound();
  int64_t bound = delta_.simulate(), step = 0;
  if (full) {
    ++tally_.proposals;
    if (std::string error = compareTrial(exact, bound, threshold, step);
        !error.empty())
      return error;
  } else {
    step = planTrial();
  }
  bound = std::max(bound, load);
  if (bound > step) {
    Strategy after = changes_.strategy();
    llvm::SmallVector<int32_t, 32> nodes(changed);
    changes_.undo();
    return differs(" at least for a bound", step, bound) +
           explainBound(after, nodes);
  }
  ++tally_.bounds;
  tally_.boundsThatRejected += bound > threshold;

  if (step <= threshold) {
    delta_.accept();
    tasks_.accept();
    ++tally_.accepted;
  } else {
    delta_.reject();
    tasks_.reject();
    changes_.undo();
    step = old;
    if (full && !(tasks_.strategy() == changes_.strategy()))
      return "expected the strategy before the proposal";
  }
  if (delta_.stepNs() != step)
    return differs(" to be kept", step, delta_.stepNs());
  std::string error;
  if (allTimes) {
    ++tally_.allTimes;
    if (int64_t now = full_.stepNs(); now != step)
      return differs(" to be kept", now, step);
    error = compareTimes();
  }
  tally_.simulations = delta_.statistics().simulations;
  tally_.positions = delta_.statistics().positions;
  tally_.tails = delta_.statistics().tails;
  tally_.snapshotBytes = delta_.snapshotBytes();
  tally_.allPositions = tally_.simulations * tasks_.order().size();
  return error;
}

/// Where a step with bounds is later than with plans: the first node, and what
/// it reads. `after` is the strategy with the change.
std::string
DeltaComparison::explainBound(const Strategy &after,
                              llvm::ArrayRef<int32_t> changed) const {
  TaskGraph tasks({graph_, tasks_.topology(), tasks_.costs()});
  tasks.setStrategy(changes_.strategy());
  tasks.propose(after, changed);
  tasks.bound();
  FullSimulator bounded(tasks), planned(tasks);
  bounded.stepNs();
  llvm::SmallVector<bool, 64> isBound(graph_.numValues());
  for (int32_t value : tasks.proposedValues())
    for (const detail::ActionTasks &action : tasks.valueTasks(value).actions)
      isBound[value] = action.form == detail::ActionTasks::Form::Receipt;
  tasks.plan();
  planned.stepNs();
  std::string text;
  llvm::raw_string_ostream out(text);
  auto print = [&](llvm::StringRef what, int32_t node) {
    const Configuration &config = after.configs[node];
    out << "\n  " << what << " '" << graph_.node(node).name << "' ("
        << graph_.node(node).op << "): degrees ";
    llvm::interleave(config.degrees.loops, out, "x");
    out << ", " << config.degrees.replicate << " copies, devices ";
    llvm::interleave(config.devices, out, ",");
  };
  for (int32_t node : tasks.order())
    for (size_t i = 0; i < tasks.nodeTasks(node).devices.size(); ++i) {
      int64_t bound = bounded.state().nodeEnd(tasks, node, i),
              plan = planned.state().nodeEnd(tasks, node, i);
      if (bound <= plan)
        continue;
      out << "; first at device " << tasks.nodeTasks(node).devices[i] << ", "
          << bound << " ns instead of " << plan;
      print("node", node);
      for (int32_t value : graph_.node(node).operands) {
        print(isBound[value] ? "reads bounded" : "reads",
              graph_.value(value).producer);
        out << ", shape ";
        llvm::interleave(graph_.value(value).shape, out, "x");
        for (const GraphValue::Use &use : graph_.value(value).uses)
          if (use.node != node)
            print("  also read by", use.node);
      }
      return text;
    }
  return text;
}

std::string DeltaComparison::compareTimes() const {
  auto differ = [&](const std::string &what, int64_t expected, int64_t got) {
    return what + ": expected an end at " + std::to_string(expected) +
           " ns, got: " + std::to_string(got);
  };
  for (int32_t node : tasks_.order()) {
    for (size_t i = 0; i < tasks_.nodeTasks(node).devices.size(); ++i)
      if (int64_t a = full_.state().nodeEnd(tasks_, node, i),
          b = delta_.state().nodeEnd(tasks_, node, i);
          a != b)
        return differ(graph_.node(node).name, a, b);
    for (auto [operand, value] : llvm::enumerate(graph_.node(node).operands)) {
      auto number = static_cast<int32_t>(operand);
      const detail::UseTasks &use =
          tasks_.valueTasks(value).uses[tasks_.useIndex(node, number)];
      for (size_t i = 0; i < use.unpackDevices.size(); ++i)
        if (int64_t a = full_.state().unpackEnd(tasks_, node, number, i),
            b = delta_.state().unpackEnd(tasks_, node, number, i);
            a != b)
          return differ("unpack of " + graph_.node(node).name, a, b);
    }
  }
  for (int32_t value = 0; value < graph_.numValues(); ++value)
    if (tasks_.launchPosition(value) >= 0)
      for (int32_t slot = 0; slot < tasks_.valueTasks(value).numSlots; ++slot)
        if (int64_t a = full_.state().slotEnd(tasks_, value, slot),
            b = delta_.state().slotEnd(tasks_, value, slot);
            a != b)
          return differ("value of " +
                            graph_.node(graph_.value(value).producer).name,
                        a, b);
  return "";
}
