//===- OptimumShare.cpp - How often a search finds the optimum ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// soap-bench-optimum: random graphs on random machines, small enough that every
// strategy can be tried, and how many searches with different seeds end at the
// optimum. Jia et al., "Beyond data and model parallelism", section 8.4,
// compare with an exact search in the same way.
//
//===----------------------------------------------------------------------===//

#include "Choices.h"
#include "ExampleGraphs.h"
#include "ResultTable.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/SearchAlgorithm.h"
#include "llvm/Support/FormatVariadic.h"

using namespace soap;
namespace cl = llvm::cl;

namespace {
/// Which graphs and machines are drawn.
enum class Shape : uint8_t { FiveOnTwo, ThreeOnThree, TwoOnFour, Larger };

/// A graph on a machine, and the space that is searched.
struct Instance {
  uint64_t seed; ///< Of both.
  OperatorGraph graph;
  Topology machine;
  int32_t maxTasks; ///< SearchOptions::maxTasks.
  double strategies;
};

/// What the searches of one shape found.
struct Tally {
  int64_t runs = 0, equal = 0, below = 0;
  std::vector<double> spaces, exhaustiveSeconds, searchSeconds;
  double largestGap = 0; ///< In percent.
};
} // namespace

static cl::OptionCategory category("Options of the benchmark");
static cl::list<Shape> shapes(
    "shapes", cl::desc("Graphs and machines (default: all)"),
    cl::CommaSeparated,
    cl::values(
        clEnumValN(Shape::FiveOnTwo, "5x2", "5 operations, 2 devices"),
        clEnumValN(Shape::ThreeOnThree, "3x3", "3 operations, 3 devices"),
        clEnumValN(Shape::TwoOnFour, "2x4", "2 operations, 4 devices"),
        clEnumValN(Shape::Larger, "larger",
                   "more than 5 operations, 2 to 4 devices; no operation "
                   "has more than T tasks, the largest T with which the "
                   "space is within the limit")),
    cl::cat(category));
static cl::opt<int32_t>
    numGraphs("graphs", cl::desc("Graphs of each shape (default: 10)"),
              cl::init(10), cl::cat(category));
static cl::opt<int32_t> numSeeds("seeds",
                                 cl::desc("Searches of each graph (default: "
                                          "10)"),
                                 cl::init(10), cl::cat(category));
static cl::opt<uint64_t>
    firstGraph("first-graph",
               cl::desc("Seed from which graphs are drawn (default: 0)"),
               cl::cat(category));
static cl::opt<uint64_t> firstSeed("first-seed",
                                   cl::desc("Seed of the first search of a "
                                            "graph (default: 0)"),
                                   cl::cat(category));
static cl::opt<uint64_t>
    limit("limit", cl::desc("Most strategies of a space (default: 5000000)"),
          cl::init(5'000'000), cl::cat(category));
static cl::opt<uint64_t> proposals("proposals",
                                   cl::desc("Of a search (default: as many as "
                                            "it takes by itself)"),
                                   cl::cat(category));
static cl::opt<double>
    required("required",
             cl::desc("Percentage of searches that must find the optimum, else "
                      "the exit status is 1 (default: 95)"),
             cl::init(95), cl::cat(category));
static cl::opt<bool>
    explain("explain", cl::desc("Print both strategies of a miss to stderr"),
            cl::cat(category));
static cl::opt<bool> asJSON("json", cl::desc("Print one JSON object per row"),
                            cl::cat(category));

static double numStrategies(const ConfigurationSpace &space) {
  double strategies = 1;
  for (int32_t group : space.groups())
    strategies *= space.size(group);
  return strategies;
}

/// The instance of a shape by its seed, or nothing if the draw has another
/// shape or too many strategies.
static std::optional<Instance> draw(Shape shape, uint64_t seed) {
  Topology machine = test::randomMachine(seed);
  auto bound = static_cast<double>(limit);
  if (shape == Shape::Larger) {
    OperatorGraph graph = test::randomGraph(seed);
    int32_t maxTasks = test::fewTasks(graph, machine, bound);
    if (maxTasks == 0)
      return std::nullopt;
    ConfigurationSpace space(graph, machine, maxTasks);
    if (space.groups().size() <= 5)
      return std::nullopt;
    double strategies = numStrategies(space);
    return Instance{seed, std::move(graph), std::move(machine), maxTasks,
                    strategies};
  }
  auto [numOps, numDevices] = shape == Shape::FiveOnTwo      ? std::pair(5, 2)
                              : shape == Shape::ThreeOnThree ? std::pair(3, 3)
                                                             : std::pair(2, 4);
  if (machine.numDevices() != numDevices)
    return std::nullopt;
  OperatorGraph graph = test::randomLayers(seed);
  ConfigurationSpace space(graph, machine);
  double strategies = numStrategies(space);
  if (static_cast<int>(space.groups().size()) != numOps || strategies > bound)
    return std::nullopt;
  return Instance{seed, std::move(graph), std::move(machine), /*maxTasks=*/0,
                  strategies};
}

/// The step time in graph order: exhaustive searches try no other.
static int64_t inGraphOrder(const Instance &instance, const CostModel &costs,
                            Strategy strategy) {
  strategy.order = singleDevice(instance.graph, instance.machine).order;
  TaskGraph tasks({instance.graph, instance.machine, costs});
  tasks.setStrategy(strategy);
  return FullSimulator(tasks).stepNs();
}

static void print(llvm::StringRef what, const Strategy &strategy, int64_t step,
                  const OperatorGraph &graph) {
  StrategyInfo info;
  info.simulatedNs = step;
  llvm::errs() << what << ": " << toJSON(strategy, graph, info) << "\n";
}

/// Named and random strategies have more tasks than a restricted space: four
/// strategies of the space are the starts instead.
static void startInside(const SearchProblem &problem, SearchOptions &options) {
  ConfigurationSpace space(problem.graph, problem.topology, options.maxTasks);
  options.namedStarts = false;
  options.randomStarts = 0;
  options.starts = {singleDevice(problem.graph, problem.topology)};
  for (uint64_t number = 1; number < 4; ++number) {
    Strategy strategy = options.starts.front();
    for (int32_t group : space.groups()) {
      Random random(number, /*chain=*/0, group);
      space.assign(strategy, group, space.sample(group, random));
    }
    deriveEnds(strategy, problem.graph, problem.topology);
    options.starts.push_back(std::move(strategy));
  }
}

/// Searches with all seeds. `missed` gets what ended above the optimum.
static void searchAll(Shape shape, const Instance &instance, Tally &tally,
                      std::vector<llvm::json::Array> &missed) {
  CostModel costs;
  SearchProblem problem{instance.graph, instance.machine, costs};
  SearchOptions options;
  options.maxTasks = instance.maxTasks;
  SearchResult optimum =
      llvm::cantFail(createExhaustive(limit)->run(problem, options));
  tally.spaces.push_back(instance.strategies);
  tally.exhaustiveSeconds.push_back(optimum.seconds);
  options.threads = 1;
  options.proposals = proposals;
  if (instance.maxTasks != 0)
    startInside(problem, options);
  for (int32_t number = 0; number < numSeeds; ++number) {
    options.seed = firstSeed + number;
    SearchResult found = llvm::cantFail(createMCMC()->run(problem, options));
    ++tally.runs;
    tally.searchSeconds.push_back(found.seconds);
    int64_t step = inGraphOrder(instance, costs, found.strategy);
    if (found.stepNs <= optimum.stepNs || step <= optimum.stepNs) {
      // Below the optimum: by another launch order.
      ++(std::min(step, found.stepNs) == optimum.stepNs ? tally.equal
                                                        : tally.below);
      continue;
    }
    double gap = 100 * (static_cast<double>(found.stepNs) /
                            static_cast<double>(optimum.stepNs) -
                        1);
    tally.largestGap = std::max(tally.largestGap, gap);
    missed.push_back(llvm::json::Array{
        nameOf(shapes, shape), static_cast<int64_t>(instance.seed),
        static_cast<int64_t>(options.seed),
        instance.maxTasks ? instance.maxTasks : instance.machine.numDevices(),
        static_cast<double>(optimum.stepNs) / 1e3,
        static_cast<double>(found.stepNs) / 1e3, gap});
    if (explain) {
      for (const GraphNode &node : instance.graph.nodes())
        if (node.role == NodeRole::Compute) {
          llvm::errs() << node.name << ":";
          for (const LoopSpec &loop : node.spec.loops)
            llvm::errs() << " " << loop.name << "=" << loop.extent;
          llvm::errs() << "\n";
        }
      llvm::errs() << "devices:";
      for (const Device &device : instance.machine.devices())
        llvm::errs() << llvm::formatv(
            " {0} ({1} Gflop/s, machine {2})", device.id,
            instance.machine.kinds()[device.kind].peakFlops / 1e9, device.node);
      llvm::errs() << "\n";
      print("optimum", optimum.strategy, optimum.stepNs, instance.graph);
      print("found", found.strategy, found.stepNs, instance.graph);
    }
  }
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "How often a search finds the optimum of small random graphs, whose\n"
      "strategies are all tried. A search counts if it ends at the optimum, "
      "or\n"
      "below it, by another launch order. Prints a table, and one of the "
      "searches\n"
      "that missed; these are repeated by\n\n"
      "  soap-bench-optimum --shapes=SHAPE --first-graph=GRAPH --graphs=1 \\\n"
      "    --first-seed=SEED --seeds=1 --explain\n\n"
      "with the same limit.\n");
  setDefault(shapes, {Shape::FiveOnTwo, Shape::ThreeOnThree, Shape::TwoOnFour,
                      Shape::Larger});

  ResultTable table(llvm::outs(),
                    {{"shape", "shape", 0, 6},
                     {"graphs", "graphs"},
                     {"strategies_min", "fewest strategies"},
                     {"strategies_median", "median"},
                     {"strategies_max", "most strategies"},
                     {"runs", "runs"},
                     {"equal", "at the optimum"},
                     {"below", "below"},
                     {"found_percent", "found %", 1},
                     {"largest_gap_percent", "largest gap %", 2},
                     {"exhaustive_seconds", "exhaustive s (median)", 2},
                     {"search_seconds", "search s (median)", 2}},
                    asJSON);
  auto addRow = [&](llvm::StringRef name, const Tally &tally) {
    table.addRow(llvm::json::Array{
        name, tally.spaces.size(), quantile(tally.spaces, 0),
        quantile(tally.spaces, 0.5), quantile(tally.spaces, 1), tally.runs,
        tally.equal, tally.below,
        100.0 * static_cast<double>(tally.equal + tally.below) /
            static_cast<double>(tally.runs),
        tally.largestGap, quantile(tally.exhaustiveSeconds, 0.5),
        quantile(tally.searchSeconds, 0.5)});
  };

  Tally all;
  std::vector<llvm::json::Array> missed;
  for (Shape shape : shapes) {
    Tally tally;
    // Some shapes are rare: one in a few hundred draws.
    constexpr uint64_t mostDraws = 200'000;
    for (uint64_t seed = firstGraph; seed < firstGraph + mostDraws; ++seed) {
      if (static_cast<int32_t>(tally.spaces.size()) >= numGraphs)
        break;
      std::optional<Instance> instance = draw(shape, seed);
      if (!instance)
        continue;
      llvm::errs() << llvm::formatv("{0}, graph {1}: {2:f0} strategies\n",
                                    nameOf(shapes, shape), seed,
                                    instance->strategies);
      searchAll(shape, *instance, tally, missed);
    }
    if (tally.runs == 0) {
      llvm::errs() << llvm::formatv(
          "error: expected a graph of shape {0} with at most {1} strategies "
          "among {2} draws, got: none; raise --limit, --graphs or --seeds\n",
          nameOf(shapes, shape), limit.getValue(), mostDraws);
      return 2;
    }
    addRow(nameOf(shapes, shape), tally);
    all.runs += tally.runs;
    all.equal += tally.equal;
    all.below += tally.below;
    all.largestGap = std::max(all.largestGap, tally.largestGap);
    llvm::append_range(all.spaces, tally.spaces);
    llvm::append_range(all.exhaustiveSeconds, tally.exhaustiveSeconds);
    llvm::append_range(all.searchSeconds, tally.searchSeconds);
  }
  addRow("all", all);

  if (!missed.empty()) {
    if (!asJSON)
      llvm::outs() << "\n";
    ResultTable misses(llvm::outs(),
                       {{"missed_shape", "missed", 0, 6},
                        {"graph_seed", "graph", 0, 6},
                        {"search_seed", "seed", 0, 6},
                        {"max_tasks", "tasks at most"},
                        {"optimum_us", "optimum us", 3},
                        {"found_us", "found us", 3},
                        {"gap_percent", "gap %", 2}},
                       asJSON);
    for (llvm::json::Array &row : missed)
      misses.addRow(std::move(row));
  }
  return 100.0 * static_cast<double>(all.equal + all.below) <
                 required * static_cast<double>(all.runs)
             ? 1
             : 0;
}
