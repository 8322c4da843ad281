//===- DeltaBenchmark.cpp - Delta against full, many times ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The unit test of the delta simulator and of the bounds, at the size of a
// proof by experiment: models, machines, starts and launch orders in all
// combinations, as many proposals as one likes. The first difference ends the
// program with what repeats it.
//
//===----------------------------------------------------------------------===//

#include "DeltaComparison.h"
#include "ExampleGraphs.h"
#include "ModelGraph.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Topology/GeneratedTopologies.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>

using namespace soap;
using namespace soap::test;
namespace cl = llvm::cl;
using Tally = DeltaComparison::Tally;

static cl::OptionCategory category("Options of soap-bench-delta");
static cl::opt<uint64_t>
    proposalsFlag("proposals",
                  cl::desc("Proposals compared in full, over all cells"),
                  cl::init(1000000), cl::cat(category));
static cl::opt<uint64_t>
    roundFlag("round",
              cl::desc("Proposals of a cell from one start; the next round has "
                       "another seed"),
              cl::init(250), cl::cat(category));
static cl::opt<uint64_t> boundsFlag(
    "bounds-per-proposal",
    cl::desc("Further proposals behind each whose bounds alone are compared, "
             "with delta simulations of their plans"),
    cl::init(9), cl::cat(category));
static cl::opt<uint64_t>
    allTimesFlag("all-times-every",
                 cl::desc("Compare the times of all nodes after one in so "
                          "many proposals"),
                 cl::init(100), cl::cat(category));
static cl::opt<double>
    secondsFlag("seconds",
                cl::desc("Stop after a round that ends later than this; 0: "
                         "do not"),
                cl::init(0), cl::cat(category));
static cl::opt<uint64_t> seedFlag("seed", cl::desc("Seed"), cl::init(1),
                                  cl::cat(category));
static cl::list<std::string>
    modelsFlag("models",
               cl::desc("ONNX models; recurrent layers in operations of UNROLL "
                        "steps"),
               cl::value_desc("FILE:BATCH[:UNROLL],..."), cl::CommaSeparated,
               cl::cat(category));
static cl::opt<bool>
    randomFlag("random-graphs",
               cl::desc("Random graphs, too, another one every round: of some "
                        "ten to forty nodes ('random') and of up to five with "
                        "tensors of all sizes ('small')"),
               cl::cat(category));
static cl::list<std::string>
    topologiesFlag("topologies",
                   cl::desc("Topology files and names of machines; 'random': "
                            "two to four devices and links of all kinds, "
                            "others every round (default: p100:nodes=1)"),
                   cl::value_desc("NAME[:KEY=VALUE],..."), cl::CommaSeparated,
                   cl::cat(category));
static cl::list<std::string>
    startsFlag("starts",
               cl::desc("Strategies to start from: data-parallel, random, "
                        "random-uniform, any other that soap-compile names, "
                        "or converged, where a walk downhill from random ends "
                        "(default: these four)"),
               cl::CommaSeparated, cl::cat(category));
static cl::list<std::string>
    ordersFlag("orders",
               cl::desc("Launch orders (default: program, fifo, "
                        "critical-path)"),
               cl::CommaSeparated, cl::cat(category));
static cl::opt<std::string>
    stateFlag("state",
              cl::desc("Keep in this file what was done, after every round, "
                       "and go on from it"),
              cl::value_desc("FILE.json"), cl::cat(category));

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] static void fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << '\n';
  exit(2);
}

template <typename T>
static T orFail(llvm::Expected<T> value) {
  if (!value)
    fail(llvm::toString(value.takeError()));
  return std::move(*value);
}

namespace {
/// Where graphs come from.
struct Source {
  std::string name;
  std::unique_ptr<ModelGraph> model; ///< None: random graphs.
};

/// One combination, and what was done of it.
struct Cell {
  const Source &source;
  const Topology *topology; ///< Null: a random one.
  std::string topologyName, start, order;
  uint64_t rounds = 0;
  Tally tally;
  double seconds = 0;

  std::string name() const {
    return source.name + " | " + topologyName + " | " + start + " | " + order;
  }
};

class Benchmark {
public:
  void addModel(llvm::StringRef flag);
  void addRandomGraphs();
  void addTopologies();
  void makeCells();
  void loadState();
  /// Returns false at the first difference.
  bool run();
  void printTable() const;

private:
  bool runRound(Cell &cell);
  const Strategy &converged(const Cell &cell, const OperatorGraph &graph,
                            const Topology &topology, uint64_t seed);
  void saveState() const;
  uint64_t numProposals() const;

  CostModel costs_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::pair<std::string, std::unique_ptr<Topology>>> topologies_;
  std::vector<Cell> cells_;
  /// Converged strategies of models on machines that do not change.
  std::map<std::pair<const Source *, const Topology *>, Strategy> converged_;
  Strategy convergedOfRound_;
};
} // namespace

/// The fields of a tally by the names that they have in the state.
template <typename TallyT, typename Fn>
static void forEachField(TallyT &tally, Fn fn) {
  fn("proposals", tally.proposals);
  fn("accepted", tally.accepted);
  fn("simulations", tally.simulations);
  fn("positions", tally.positions);
  fn("all-positions", tally.allPositions);
  fn("bounds", tally.bounds);
  fn("bounds-that-rejected", tally.boundsThatRejected);
  fn("limits", tally.limits);
  fn("tails", tally.tails);
  fn("all-times", tally.allTimes);
  fn("snapshot-bytes", tally.snapshotBytes);
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

void Benchmark::addModel(llvm::StringRef flag) {
  ModelSpec spec = orFail(ModelSpec::parse(flag));
  auto source = std::make_unique<Source>();
  source->name = flag.substr(flag.rfind('/') + 1).str();
  source->model = orFail(ModelGraph::load(spec));
  sources_.push_back(std::move(source));
}

void Benchmark::addRandomGraphs() {
  for (const char *name : {"random", "small"}) {
    sources_.push_back(std::make_unique<Source>());
    sources_.back()->name = name;
  }
}

void Benchmark::addTopologies() {
  // Values of one name are separated by commas as well: p100:nodes=4,x=y.
  std::vector<std::string> names;
  for (const std::string &part : topologiesFlag) {
    bool continues = llvm::StringRef(part).contains('=') &&
                     !llvm::StringRef(part).contains(':') && !names.empty();
    if (continues)
      names.back() += "," + part;
    else
      names.push_back(part);
  }
  if (names.empty())
    names.push_back("p100:nodes=1");
  for (const std::string &name : names)
    topologies_.push_back(
        {name, name == "random"
                   ? nullptr
                   : std::make_unique<Topology>(orFail(loadTopology(name)))});
}

void Benchmark::makeCells() {
  std::vector<std::string> starts(startsFlag), orders(ordersFlag);
  if (starts.empty())
    starts = {"data-parallel", "random", "random-uniform", "converged"};
  if (orders.empty())
    orders = {"program", "fifo", "critical-path"};
  for (const std::string &order : orders)
    if (!isLaunchPolicy(order))
      fail("expected one of " + llvm::join(launchPolicyNames(), ", ") +
           " in --orders, got: '" + order + "'");
  for (const auto &source : sources_)
    for (const auto &[name, topology] : topologies_)
      for (const std::string &start : starts)
        for (const std::string &order : orders)
          cells_.push_back(
              {*source, topology.get(), name, start, order, 0, {}, 0});
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

void Benchmark::loadState() {
  if (stateFlag.empty())
    return;
  auto buffer = llvm::MemoryBuffer::getFile(stateFlag);
  if (!buffer)
    return; // The first run.
  llvm::json::Value state = orFail(llvm::json::parse((*buffer)->getBuffer()));
  const llvm::json::Object *object = state.getAsObject();
  const llvm::json::Object *cells =
      object ? object->getObject("cells") : nullptr;
  std::optional<int64_t> seed =
      object ? object->getInteger("seed") : std::nullopt;
  if (!cells || seed != static_cast<int64_t>(seedFlag))
    fail("expected a state with seed " + llvm::Twine(seedFlag) + " in '" +
         stateFlag + "', got: " +
         (seed ? "seed " + std::to_string(*seed) : std::string("none")) +
         "; name another file in --state");
  for (Cell &cell : cells_) {
    const llvm::json::Object *done = cells->getObject(cell.name());
    if (!done)
      continue;
    cell.rounds = done->getInteger("rounds").value_or(0);
    cell.seconds = done->getNumber("seconds").value_or(0);
    forEachField(cell.tally, [&](llvm::StringRef name, uint64_t &field) {
      field = done->getInteger(name).value_or(0);
    });
  }
}

void Benchmark::saveState() const {
  if (stateFlag.empty())
    return;
  // Cells that this run does not know stay.
  llvm::json::Object all;
  if (auto buffer = llvm::MemoryBuffer::getFile(stateFlag)) {
    llvm::json::Value state = orFail(llvm::json::parse((*buffer)->getBuffer()));
    if (llvm::json::Object *object = state.getAsObject())
      if (llvm::json::Object *cells = object->getObject("cells"))
        all = std::move(*cells);
  }
  for (const Cell &cell : cells_) {
    llvm::json::Object done{{"rounds", cell.rounds}, {"seconds", cell.seconds}};
    forEachField(cell.tally, [&](llvm::StringRef name, uint64_t field) {
      done[name] = field;
    });
    all[cell.name()] = std::move(done);
  }
  llvm::json::Object state{{"seed", static_cast<int64_t>(seedFlag)},
                           {"cells", std::move(all)}};
  // Through a temporary file that takes its place.
  if (llvm::Error error =
          llvm::writeToOutput(stateFlag, [&](llvm::raw_ostream &out) {
            out << llvm::formatv("{0:2}\n",
                                 llvm::json::Value(std::move(state)));
            return llvm::Error::success();
          }))
    fail(llvm::toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Proposals
//===----------------------------------------------------------------------===//

const Strategy &Benchmark::converged(const Cell &cell,
                                     const OperatorGraph &graph,
                                     const Topology &topology, uint64_t seed) {
  auto walk = [&] {
    return converge(graph, topology, costs_,
                    randomStrategy(graph, topology, seed), seed,
                    std::min<uint64_t>(40 * graph.numNodes(), 8000));
  };
  if (!cell.source.model || !cell.topology)
    return convergedOfRound_ = walk();
  auto [it, isNew] =
      converged_.try_emplace({&cell.source, cell.topology}, Strategy());
  if (isNew) {
    seed = seedFlag; // The same whenever a run is resumed.
    it->second = walk();
  }
  return it->second;
}

bool Benchmark::runRound(Cell &cell) {
  double begin = now();
  uint64_t seed = seedFlag * 1000003 + cell.rounds;
  std::optional<OperatorGraph> drawn;
  if (cell.source.name == "small" && !cell.source.model)
    drawn = randomSmallGraph(seed, int64_t(1) << (2 * (cell.rounds % 4)));
  else if (!cell.source.model)
    drawn = randomGraph(seed);
  const OperatorGraph &graph = drawn ? *drawn : cell.source.model->graph();
  std::optional<Topology> machine;
  if (!cell.topology)
    machine = randomMachine(seed);
  const Topology &topology = machine ? *machine : *cell.topology;
  DeltaComparison::Options options;
  options.allTimesEvery = allTimesFlag;
  options.boundsPerProposal = boundsFlag;
  Strategy strategy;
  if (cell.start == "converged") {
    strategy = converged(cell, graph, topology, seed);
    options.temperature = 1. / 4000;
  } else {
    strategy =
        orFail(expertStrategy(cell.start, {graph, topology, costs_}, seed));
  }
  strategy.order = launchOrder(cell.order, {graph, topology, costs_}, strategy);
  DeltaComparison comparison(graph, topology, costs_, strategy, seed, options);
  std::string error = comparison.run(roundFlag);
  cell.tally.add(comparison.tally());
  cell.seconds += now() - begin;
  if (!error.empty()) {
    llvm::outs() << llvm::formatv(
        "{0}: round {1} (seed {2}) of --seed={3} --round={4} "
        "--bounds-per-proposal={5}: {6}\n",
        cell.name(), cell.rounds, seed, seedFlag.getValue(),
        roundFlag.getValue(), boundsFlag.getValue(), error);
    return false;
  }
  ++cell.rounds;
  return true;
}

uint64_t Benchmark::numProposals() const {
  uint64_t sum = 0;
  for (const Cell &cell : cells_)
    sum += cell.tally.proposals;
  return sum;
}

bool Benchmark::run() {
  double begin = now(), reported = begin;
  // The cell that has had least time is next: small problems get many
  // proposals, large ones few.
  while (numProposals() < proposalsFlag) {
    auto next = llvm::min_element(cells_, [](const Cell &a, const Cell &b) {
      return std::pair(a.rounds != 0, a.seconds) <
             std::pair(b.rounds != 0, b.seconds);
    });
    if (!runRound(*next))
      return false;
    saveState();
    if (now() - reported > 10) {
      reported = now();
      llvm::errs() << llvm::formatv("{0:f0} s: {1} proposals; {2}\n",
                                    reported - begin, numProposals(),
                                    next->name());
    }
    if (secondsFlag > 0 && now() - begin > secondsFlag)
      break;
  }
  return true;
}

void Benchmark::printTable() const {
  struct Row {
    Tally tally;
    double seconds = 0;
  };
  llvm::MapVector<std::pair<llvm::StringRef, llvm::StringRef>, Row> rows;
  Row total;
  for (const Cell &cell : cells_)
    for (Row *row : {&rows[{cell.source.name, cell.topologyName}], &total}) {
      row->tally.add(cell.tally);
      row->seconds += cell.seconds;
    }
  auto print = [](llvm::StringRef graph, llvm::StringRef topology,
                  const Row &row) {
    const Tally &tally = row.tally;
    auto percent = [](uint64_t part, uint64_t whole) {
      return whole ? 100.0 * static_cast<double>(part) /
                         static_cast<double>(whole)
                   : 0.0;
    };
    llvm::outs() << llvm::formatv(
        "| {0} | {1} | {2} | {3} | {4:f0}% | {5} | {6:f0}% | {7:f0}% | "
        "{8:f0} | {9:f1} |\n",
        graph, topology, tally.proposals, tally.allTimes,
        percent(tally.positions, tally.allPositions), tally.bounds,
        percent(tally.boundsThatRejected, tally.bounds),
        percent(tally.accepted, tally.bounds), row.seconds,
        static_cast<double>(tally.snapshotBytes) / 1e6);
  };
  llvm::outs() << "| graph | topology | step times | all times | simulated | "
                  "bounds | reject | accepted | seconds | MB of snapshots |\n"
                  "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto &[names, row] : rows)
    print(names.first, names.second, row);
  print("all", "", total);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Compares delta simulations with full ones, and lower bounds with exact "
      "step times, in random walks through strategies.\n\n"
      "Walks start from every strategy on every topology in every launch "
      "order. Exit\nstatus 1 at the first difference, with what repeats it.\n");
  Benchmark benchmark;
  for (const std::string &model : modelsFlag)
    benchmark.addModel(model);
  if (randomFlag || modelsFlag.empty())
    benchmark.addRandomGraphs();
  benchmark.addTopologies();
  benchmark.makeCells();
  benchmark.loadState();
  bool equal = benchmark.run();
  benchmark.printTable();
  return equal ? 0 : 1;
}
