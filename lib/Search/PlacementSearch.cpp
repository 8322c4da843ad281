//===- PlacementSearch.cpp - Whole operations to devices ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Distributions over placements, one per block of operations, that are learned
// from simulated steps: by the cross-entropy method (Gao, Chen, Li, "Post:
// device placement with cross-entropy minimization and proximal policy
// optimization", 2018) or by a policy gradient (Mirhoseini et al., "Device
// placement optimization with reinforcement learning", 2017, and "A
// hierarchical model for device placement", 2018).
//
//===----------------------------------------------------------------------===//

#include "Followers.h"
#include "SearchRun.h"
#include "soap/Search/ConfigurationSpace.h"
#include <cmath>
#include <numeric>

using namespace soap;
using namespace soap::detail;

namespace {
/// A device per block.
using Places = std::vector<int32_t>;

struct Sample {
  Places places;
  int64_t stepNs = -1; ///< -1: it does not fit into memory.
};

/// A probability for every block and device.
class Distribution {
public:
  Distribution(size_t blocks, int32_t devices)
      : devices_(devices), values_(blocks * devices, 1.0 / devices) {}

  size_t numBlocks() const { return values_.size() / devices_; }
  int32_t numDevices() const { return devices_; }
  llvm::MutableArrayRef<double> of(size_t block) {
    return llvm::MutableArrayRef(values_).slice(block * devices_, devices_);
  }
  Places draw(Random &random) const {
    Places places;
    for (size_t block = 0; block < numBlocks(); ++block) {
      double left = random.uniform();
      int32_t device = 0;
      for (; device + 1 < devices_; ++device) {
        left -= values_[block * devices_ + device];
        if (left < 0)
          break;
      }
      places.push_back(device);
    }
    return places;
  }
  /// True if hardly anything else than the likeliest placement is drawn.
  bool isDecided() const {
    double likeliest = 1;
    for (size_t block = 0; block < numBlocks(); ++block)
      likeliest *= *std::max_element(values_.begin() + block * devices_,
                                     values_.begin() + (block + 1) * devices_);
    return likeliest > 0.9;
  }

private:
  int32_t devices_;
  std::vector<double> values_;
};

/// What makes the next distribution of the samples that the last one drew.
class Learner {
public:
  virtual ~Learner() = default;
  virtual void learn(llvm::ArrayRef<Sample> samples,
                     Distribution &distribution) = 0;
};

/// Moves to the frequencies among the fastest samples.
class CrossEntropyLearner final : public Learner {
public:
  void learn(llvm::ArrayRef<Sample> samples,
             Distribution &distribution) override;

private:
  static constexpr double elite = 0.1, rate = 0.3;
};

/// REINFORCE on one softmax per block. The reward is minus the square root of
/// the step (Mirhoseini et al., 2017, section 3.1), against the mean of the
/// samples and in units of their deviation; logits follow by Adam.
class PolicyGradientLearner final : public Learner {
public:
  explicit PolicyGradientLearner(size_t size)
      : logits_(size, 0), first_(size, 0), second_(size, 0) {}
  void learn(llvm::ArrayRef<Sample> samples,
             Distribution &distribution) override;

private:
  std::vector<double> logits_, first_, second_;
  int64_t step_ = 0;
};

class PlacementSearch final : public SearchAlgorithm {
public:
  explicit PlacementSearch(PlacementLearner learner) : learner_(learner) {}
  llvm::StringRef name() const override {
    return learner_ == PlacementLearner::CrossEntropy
               ? "placement-cross-entropy"
               : "placement-policy-gradient";
  }
  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override;

private:
  PlacementLearner learner_;
};

/// Simulates placements one after the other.
class PlacementSimulator {
public:
  PlacementSimulator(SearchRun &run, const ConfigurationSpace &space);
  size_t numBlocks() const { return numBlocks_; }
  int64_t stepNs(const Places &places);
  const Strategy &strategy() const { return strategy_; }

private:
  void findBlocks();

  const SearchProblem &problem_;
  const ConfigurationSpace &space_;
  TaskGraph tasks_;
  FullSimulator simulator_;
  Strategy strategy_;
  std::vector<int32_t> blockOf_; ///< Per group.
  size_t numBlocks_ = 0;
};
} // namespace

void CrossEntropyLearner::learn(llvm::ArrayRef<Sample> samples,
                                Distribution &distribution) {
  std::vector<const Sample *> sorted;
  for (const Sample &sample : samples)
    if (sample.stepNs >= 0)
      sorted.push_back(&sample);
  if (sorted.empty())
    return;
  llvm::stable_sort(sorted, [](const Sample *a, const Sample *b) {
    return a->stepNs < b->stepNs;
  });
  auto most = static_cast<size_t>(
      std::ceil(elite * static_cast<double>(samples.size())));
  sorted.resize(std::min(sorted.size(), most));
  for (size_t block = 0; block < distribution.numBlocks(); ++block) {
    llvm::MutableArrayRef<double> row = distribution.of(block);
    for (double &value : row)
      value *= 1 - rate;
    for (const Sample *sample : sorted)
      row[sample->places[block]] += rate / static_cast<double>(sorted.size());
  }
}

void PolicyGradientLearner::learn(llvm::ArrayRef<Sample> samples,
                                  Distribution &distribution) {
  constexpr double rate = 0.1, keepFirst = 0.9, keepSecond = 0.999;
  // What does not fit is as bad as the worst that does, doubled.
  int64_t worst = 1;
  for (const Sample &sample : samples)
    worst = std::max(worst, sample.stepNs);
  std::vector<double> rewards;
  for (const Sample &sample : samples)
    rewards.push_back(-std::sqrt(
        static_cast<double>(sample.stepNs >= 0 ? sample.stepNs : 2 * worst)));
  auto count = static_cast<double>(samples.size());
  double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / count;
  double variance = 0;
  for (double reward : rewards)
    variance += (reward - mean) * (reward - mean) / count;
  if (variance == 0)
    return;
  std::vector<double> gradient(logits_.size(), 0);
  int32_t devices = distribution.numDevices();
  for (auto [sample, reward] : llvm::zip_equal(samples, rewards)) {
    double advantage = (reward - mean) / std::sqrt(variance) / count;
    for (size_t block = 0; block < distribution.numBlocks(); ++block)
      for (int32_t device = 0; device < devices; ++device)
        gradient[block * devices + device] +=
            advantage * ((sample.places[block] == device ? 1 : 0) -
                         distribution.of(block)[device]);
  }
  ++step_;
  auto exponent = static_cast<double>(step_);
  for (size_t i = 0; i < logits_.size(); ++i) {
    first_[i] = keepFirst * first_[i] + (1 - keepFirst) * gradient[i];
    second_[i] =
        keepSecond * second_[i] + (1 - keepSecond) * gradient[i] * gradient[i];
    double momentum = first_[i] / (1 - std::pow(keepFirst, exponent));
    double scale = std::sqrt(second_[i] / (1 - std::pow(keepSecond, exponent)));
    logits_[i] += rate * momentum / (scale + 1e-8);
  }
  for (size_t block = 0; block < distribution.numBlocks(); ++block) {
    llvm::ArrayRef<double> logits =
        llvm::ArrayRef(logits_).slice(block * devices, devices);
    double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
    for (auto [value, logit] : llvm::zip(distribution.of(block), logits))
      sum += value = std::exp(logit - largest);
    for (double &value : distribution.of(block))
      value /= sum;
  }
}

PlacementSimulator::PlacementSimulator(SearchRun &run,
                                       const ConfigurationSpace &space)
    : problem_(run.problem()), space_(space),
      tasks_(run.problem(), &run.tables()), simulator_(tasks_),
      strategy_(singleDevice(problem_.graph, problem_.topology)),
      blockOf_(problem_.graph.numGroups(), -1) {
  tasks_.setStrategy(strategy_);
  findBlocks();
}

/// Groups whose leaders are light are in the block of what makes their main
/// operand.
void PlacementSimulator::findBlocks() {
  const OperatorGraph &graph = problem_.graph;
  Followers followers(graph);
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    if (node.role != NodeRole::Compute || !graph.isLeader(id))
      continue;
    int32_t operand = followers.isLight(id) ? mainOperand(graph, id) : -1;
    int32_t block = -1;
    if (operand >= 0)
      block = blockOf_[graph.node(graph.value(node.operands[operand]).producer)
                           .group];
    blockOf_[node.group] =
        block >= 0 ? block : static_cast<int32_t>(numBlocks_++);
  }
}

int64_t PlacementSimulator::stepNs(const Places &places) {
  const OperatorGraph &graph = problem_.graph;
  llvm::SmallVector<int32_t, 32> changed;
  for (int32_t group : space_.groups()) {
    llvm::ArrayRef<int32_t> members = graph.group(group);
    int32_t device = places[blockOf_[group]];
    if (strategy_.configs[members.front()].devices.front() == device)
      continue;
    space_.assign(strategy_, group,
                  onDevice(graph.node(members.front()), device));
    changed.append(members.begin(), members.end());
  }
  deriveEnds(strategy_, graph, problem_.topology, /*node=*/-1, &changed);
  tasks_.update(strategy_, changed);
  return tasks_.fitsMemory() ? simulator_.stepNs() : -1;
}

llvm::Expected<SearchResult>
PlacementSearch::run(const SearchProblem &problem,
                     const SearchOptions &options) {
  auto begun = SearchRun::begin(problem, options);
  if (!begun)
    return begun.takeError();
  SearchRun &run = **begun;
  run.consider(singleDevice(problem.graph, problem.topology), "single");
  if (options.namedStarts)
    run.consider(modelParallel(problem), "model-parallel");
  ConfigurationSpace space(problem.graph, problem.topology, options.maxTasks);
  PlacementSimulator simulator(run, space);
  size_t blocks = simulator.numBlocks();
  int32_t devices = space.numDevices();
  // Larger graphs need more samples to tell their blocks apart.
  size_t count = std::clamp<size_t>(2 * blocks, 64, 512);
  constexpr uint64_t mostRounds = 4, mostUpdates = 1000;
  bool isOver = false;
  for (uint64_t round = 0; round < mostRounds && !isOver; ++round) {
    Distribution distribution(blocks, devices);
    std::unique_ptr<Learner> learner;
    if (learner_ == PlacementLearner::CrossEntropy)
      learner = std::make_unique<CrossEntropyLearner>();
    else
      learner = std::make_unique<PolicyGradientLearner>(blocks * devices);
    for (uint64_t update = 0;
         update < mostUpdates && !isOver && !distribution.isDecided();
         ++update) {
      std::vector<Sample> samples;
      for (size_t i = 0; i < count && !(isOver = run.isOver()); ++i) {
        Random random(options.seed, round, update * count + i);
        samples.push_back({distribution.draw(random)});
        samples.back().stepNs = simulator.stepNs(samples.back().places);
        run.countProposal();
        if (int64_t step = samples.back().stepNs;
            step >= 0 && step < run.bestNs()) {
          run.noteBest(simulator.strategy());
          run.countAccepted();
        }
      }
      if (!isOver)
        learner->learn(samples, distribution);
    }
  }
  if (run.hasBest())
    run.considerOrders(Strategy(run.best()));
  return run.finish(StopReason::NoImprovement);
}

std::unique_ptr<SearchAlgorithm>
soap::createPlacement(PlacementLearner learner) {
  return std::make_unique<PlacementSearch>(learner);
}
