//===- SearchQuality.cpp - How fast a search gets how far -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// soap-bench-quality: seconds until a search is within one percent of the best
// step that any search found, beside table 4 of Jia et al., "Beyond data and
// model parallelism", or the best step over time (figure 12 there).
//
//===----------------------------------------------------------------------===//

#include "CellOptions.h"
#include "ResultTable.h"
#include "RunStore.h"
#include "Starts.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace soap;
namespace cl = llvm::cl;
namespace json = llvm::json;

namespace {
enum class Mode : uint8_t { Default, RandomStarts, Reference };
enum class Simulation : uint8_t { Delta, Full };

/// A model on a machine.
struct Cell {
  const ModelSpec &spec;
  const ModelGraph &model;
  const std::string &topologyText;
  const Topology &topology;
};
} // namespace

static cl::OptionCategory category("Options of the benchmark");
static CellOptions cells(category);
static cl::list<Mode>
    modes("modes", cl::desc("What searches start from (default: both)"),
          cl::CommaSeparated,
          cl::values(clEnumValN(Mode::Default, "default",
                                "named strategies and a random one"),
                     clEnumValN(Mode::RandomStarts, "random-starts",
                                "ten random strategies alone (the paper's)")),
          cl::cat(category));
static cl::list<Simulation>
    simulations("simulation",
                cl::desc("How proposals are simulated (default: delta)"),
                cl::CommaSeparated,
                cl::values(clEnumValN(Simulation::Delta, "delta",
                                      "bounds and delta simulation"),
                           clEnumValN(Simulation::Full, "full", "all in full")),
                cl::cat(category));
static cl::opt<int32_t> numSeeds("seeds",
                                 cl::desc("Searches of each row (default: 10)"),
                                 cl::init(10), cl::cat(category));
static cl::opt<double> budget("budget",
                              cl::desc("Of a search, in seconds (default: 60)"),
                              cl::value_desc("S"), cl::init(60),
                              cl::cat(category));
static cl::opt<uint64_t>
    proposals("proposals",
              cl::desc("Limit of a search (default: as many as it takes by "
                       "itself)"),
              cl::cat(category));
static cl::opt<int32_t>
    numReferences("references",
                  cl::desc("Long searches of each model and machine, for the "
                           "best known step (default: 3)"),
                  cl::init(3), cl::cat(category));
static cl::opt<double> longFactor(
    "long",
    cl::desc("How much more time these have; proposals do not end them "
             "(default: 10)"),
    cl::init(10), cl::cat(category));
static cl::opt<double>
    within("within",
           cl::desc("Percent above the best known step that are near enough "
                    "(default: 1)"),
           cl::init(1), cl::cat(category));
static cl::opt<double> leastGain(
    "least-gain",
    cl::desc("A row counts if the best known step is so many percent shorter "
             "than that of the best named strategy (default: 3)"),
    cl::init(3), cl::cat(category));
static cl::opt<bool> leastSums(
    "least-sums",
    cl::desc("Start with least sums of costs (OptCNN), too, and propose "
             "stretches with such (default: true)"),
    cl::init(true), cl::cat(category));
static cl::list<double> curve(
    "curve",
    cl::desc("Print the best step after so many seconds instead, the median of "
             "all searches"),
    cl::value_desc("S,..."), cl::CommaSeparated, cl::cat(category));
static cl::opt<int32_t> threads("search-threads",
                                cl::desc("Of a search (default: 1)"),
                                cl::init(1), cl::cat(category));
static cl::opt<std::string> statePath(
    "state",
    cl::desc(
        "Keep finished searches in this file and repeat none that is there; "
        "remove it when the search itself has changed"),
    cl::value_desc("FILE.json"), cl::cat(category));

static llvm::StringRef nameOf(Mode mode) {
  return mode == Mode::Reference ? "reference" : nameOf(modes, mode);
}

/// Seconds of a search with full and with delta simulation.
using PaperSeconds = std::pair<double, double>;
/// Table 4 of the paper, by the names of the zoo.
static std::optional<PaperSeconds> table4(llvm::StringRef model,
                                          int32_t devices) {
  int network = llvm::StringSwitch<int>(model)
                    .Case("alexnet", 0)
                    .Case("resnet101", 1)
                    .Case("inception_v3", 2)
                    .Case("rnntc", 3)
                    .Case("rnnlm", 4)
                    .Case("nmt", 5)
                    .Default(-1);
  static constexpr int32_t sizes[] = {4, 8, 16, 32, 64};
  static constexpr PaperSeconds seconds[][6] = {
      {{.11, .04}, {1.4, .4}, {14, 4.1}, {16, 7.5}, {21, 9.2}, {40, 16}},
      {{.40, .13}, {4.5, 1.4}, {66, 17}, {91, 39}, {76, 31}, {178, 65}},
      {{1.4, .48}, {22, 7.3}, {388, 77}, {404, 170}, {327, 121}, {998, 328}},
      {{5.3, 1.8},
       {107, 33},
       {1746, 298},
       {1358, 516},
       {1102, 342},
       {2698, 701}},
      {{18, 5.9},
       {515, 158},
       {8817, 1278},
       {4404, 1489},
       {3406, 969},
       {8982, 2190}}};
  const auto *size = llvm::find(sizes, devices);
  if (network < 0 || size == std::end(sizes))
    return std::nullopt;
  return seconds[size - std::begin(sizes)][network];
}

/// What a search of a cell is asked for: the key in the file.
static json::Object describe(const Cell &cell) {
  return json::Object{{"model", cell.spec.name()},
                      {"batch", cell.spec.batch},
                      {"unroll", cell.spec.unroll},
                      {"fingerprint", cell.model.graph().fingerprint},
                      {"topology", cell.topologyText}};
}

/// The search, from the file if it is there.
static llvm::Expected<FinishedRun> search(RunStore &store, const Cell &cell,
                                          Mode mode, Simulation simulation,
                                          uint64_t seed) {
  SearchOptions options;
  options.seed = seed;
  options.threads = threads;
  options.budgetSeconds = budget;
  options.proposals = proposals;
  options.leastSums = leastSums;
  options.choosesBuckets = true;
  options.fullSimulation = simulation == Simulation::Full;
  if (mode == Mode::RandomStarts) {
    options.namedStarts = false;
    options.randomStarts = 10;
  } else if (mode == Mode::Reference) {
    // Time alone ends it.
    options.budgetSeconds *= longFactor;
    options.proposals = options.stagnation = UINT64_C(1) << 60;
  }
  json::Object of = describe(cell);
  of["mode"] = nameOf(mode);
  of["simulation"] = nameOf(simulations, simulation);
  of["seed"] = static_cast<int64_t>(seed);
  of["budget"] = options.budgetSeconds;
  of["proposals"] = static_cast<int64_t>(options.proposals);
  of["threads"] = threads.getValue();
  if (!leastSums)
    of["least_sums"] = false;
  if (const FinishedRun *known = store.find(of))
    return *known;

  llvm::errs() << llvm::formatv("{0} at batch {1} on {2}: {3}, {4}, seed {5}\n",
                                cell.spec.name(), cell.spec.batch,
                                cell.topologyText, nameOf(mode),
                                nameOf(simulations, simulation), seed);
  CostModel costs;
  llvm::Expected<SearchResult> result =
      createMCMC()->run({cell.model.graph(), cell.topology, costs}, options);
  if (!result)
    return result.takeError();
  FinishedRun run{result->stepNs, result->seconds, result->proposals,
                  stringify(result->stop).str(), std::move(result->history)};
  if (llvm::Error error = store.add(of, run))
    return std::move(error);
  return run;
}

/// The fastest named strategy that fits into memory, on all devices or on the
/// parts that searches begin with; step 0 if there is none.
static llvm::Expected<FinishedRun> bestNamed(RunStore &store,
                                             const Cell &cell) {
  json::Object of = describe(cell);
  of["mode"] = "named";
  if (const FinishedRun *known = store.find(of))
    return *known;
  CostModel costs;
  SearchProblem problem{cell.model.graph(), cell.topology, costs};
  TaskGraph tables(problem);
  SearchOptions options;
  options.randomStarts = 0;
  TaskGraph tasks(problem, &tables);
  tasks.setStrategy(singleDevice(problem.graph, problem.topology));
  FinishedRun best;
  best.stepNs = INT64_MAX;
  for (int32_t devices : detail::subMachines(cell.topology)) {
    auto starts = detail::drawStarts(problem, options, devices);
    detail::boundStarts(problem, tables, {}, starts);
    for (detail::Start &start : starts)
      if (detail::tryStart(start, tasks, best.stepNs, {})) {
        best.stepNs = start.stepNs;
        best.detail = start.name;
      }
  }
  if (best.detail.empty())
    best.stepNs = 0;
  if (llvm::Error error = store.add(of, best))
    return std::move(error);
  return best;
}

/// A number, or null if it is none or infinite.
static json::Value finiteOrNull(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

static std::vector<ResultTable::Column> columns() {
  std::vector<ResultTable::Column> result = {
      {"model", "model", 0, 12},
      {"batch", "batch"},
      {"topology", "topology", 0, 13},
      {"devices", "devices"},
      {"mode", "mode", 0, 13},
      {"simulation", "simulation"},
      {"runs", "runs"},
  };
  if (!curve.empty()) {
    llvm::append_range(result, std::initializer_list<ResultTable::Column>{
                                   {"after_seconds", "after s", 1},
                                   {"step_ms", "best step ms", 3},
                                   {"gap_percent", "above best known %", 2}});
    return result;
  }
  llvm::append_range(result,
                     std::initializer_list<ResultTable::Column>{
                         {"counts", "counts"},
                         {"best_known_ms", "best known ms", 3},
                         {"best_named", "best named", 0, 20},
                         {"best_named_ms", "its ms", 3},
                         {"gain_percent", "gain %", 1},
                         {"arrived", "arrived"},
                         {"median_seconds", "median s", 2},
                         {"fastest_seconds", "fastest s", 2},
                         {"slowest_seconds", "slowest s", 2},
                         {"final_gap_percent", "final gap % (median)", 2},
                         {"paper_full_seconds", "paper full s", 2},
                         {"paper_delta_seconds", "paper delta s", 2}});
  return result;
}

namespace {
/// The searches of one row.
struct Row {
  Mode mode;
  Simulation simulation;
  std::vector<FinishedRun> runs;
};
} // namespace

static json::Array rowBegin(const Cell &cell, const Row &row) {
  return json::Array{cell.spec.name(),
                     cell.spec.batch,
                     cell.topologyText,
                     cell.topology.numDevices(),
                     nameOf(row.mode),
                     nameOf(simulations, row.simulation),
                     static_cast<int64_t>(row.runs.size())};
}

static void addCurve(ResultTable &table, const Cell &cell, const Row &row,
                     double best) {
  for (double seconds : curve) {
    std::vector<double> steps;
    for (const FinishedRun &run : row.runs)
      steps.push_back(run.stepAt(seconds));
    double step = quantile(steps, 0.5);
    json::Array values = rowBegin(cell, row);
    values.push_back(seconds);
    values.push_back(finiteOrNull(step / 1e6));
    values.push_back(finiteOrNull(100 * (step / best - 1)));
    table.addRow(std::move(values));
  }
}

static void addTimes(ResultTable &table, const Cell &cell, const Row &row,
                     double best, const FinishedRun &named, bool counts) {
  std::vector<double> seconds, gaps;
  for (const FinishedRun &run : row.runs) {
    seconds.push_back(run.secondsUntil(best * (1 + within / 100)));
    gaps.push_back(100 * (static_cast<double>(run.stepNs) / best - 1));
  }
  auto arrived =
      llvm::count_if(seconds, [](double s) { return std::isfinite(s); });
  json::Array values = rowBegin(cell, row);
  values.push_back(counts);
  values.push_back(best / 1e6);
  if (named.detail.empty()) {
    values.push_back(nullptr);
    values.push_back(nullptr);
    values.push_back(nullptr);
  } else {
    values.push_back(named.detail);
    values.push_back(static_cast<double>(named.stepNs) / 1e6);
    values.push_back(100 * (1 - best / static_cast<double>(named.stepNs)));
  }
  values.push_back(static_cast<int64_t>(arrived));
  for (double share : {0.5, 0.0, 1.0})
    values.push_back(finiteOrNull(quantile(seconds, share)));
  values.push_back(finiteOrNull(quantile(gaps, 0.5)));
  // The paper's searches have its batch.
  auto paper = cell.spec.batch > 1
                   ? table4(cell.spec.name(), cell.topology.numDevices())
                   : std::nullopt;
  values.push_back(paper ? json::Value(paper->first) : nullptr);
  values.push_back(paper ? json::Value(paper->second) : nullptr);
  table.addRow(std::move(values));
}

/// All rows of a cell; adds to the numbers of rows and of those that count.
static llvm::Error measure(ResultTable &table, RunStore &store,
                           const Cell &cell, int &numRows, int &numCounted) {
  llvm::Expected<FinishedRun> named = bestNamed(store, cell);
  if (!named)
    return named.takeError();
  double best = named->detail.empty() ? std::numeric_limits<double>::infinity()
                                      : static_cast<double>(named->stepNs);
  std::vector<Row> rows;
  auto searchAll = [&](Row &row, int32_t count,
                       uint64_t firstSeed) -> llvm::Error {
    for (int32_t number = 0; number < count; ++number) {
      llvm::Expected<FinishedRun> run =
          search(store, cell, row.mode, row.simulation, firstSeed + number);
      if (!run)
        return run.takeError();
      best = std::min(best, static_cast<double>(run->stepNs));
      row.runs.push_back(std::move(*run));
    }
    return llvm::Error::success();
  };
  for (Mode mode : modes)
    for (Simulation simulation : simulations) {
      rows.push_back({mode, simulation, {}});
      if (llvm::Error error = searchAll(rows.back(), numSeeds, 0))
        return error;
    }
  // Other seeds: what one of the runs above did is done.
  Row references{Mode::Reference, Simulation::Delta, {}};
  if (llvm::Error error = searchAll(references, numReferences, 1'000'000))
    return error;
  bool counts =
      named->detail.empty() ||
      best <= static_cast<double>(named->stepNs) * (1 - leastGain / 100);
  for (const Row &row : rows) {
    ++numRows;
    numCounted += counts;
    if (!curve.empty())
      addCurve(table, cell, row, best);
    else
      addTimes(table, cell, row, best, *named, counts);
  }
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Seconds until a search is within 1% of the best known step, which is\n"
      "the best of all searches and of a few long ones. Step times are\n"
      "simulated, seconds are measured. A search that never arrives counts as\n"
      "the slowest; a median or a maximum of such is a dash. Models are made\n"
      "by the zoo:\n\n"
      "  python -m zoo nmt -o nmt.onnx\n"
      "  soap-bench-quality --models=nmt.onnx:1:8,nmt.onnx:64:8 \\\n"
      "    --topologies=p100:nodes=4 --state=quality.json\n"
      "  soap-bench-quality --models=nmt.onnx:64:8 --topologies=p100:nodes=4 "
      "\\\n"
      "    --simulation=full,delta --curve=1,2,5,10,20,60\n");
  setDefault(modes, {Mode::Default, Mode::RandomStarts});
  setDefault(simulations, {Simulation::Delta});

  auto specs = cells.models();
  if (!specs)
    return fail(specs.takeError());
  auto topologies = cells.topologies();
  if (!topologies)
    return fail(topologies.takeError());
  llvm::Expected<RunStore> store = RunStore::open(statePath);
  if (!store)
    return fail(store.takeError());

  ResultTable table(llvm::outs(), columns(), cells.isJSON());
  int numRows = 0, numCounted = 0;
  bool failed = false;
  for (const ModelSpec &spec : *specs) {
    auto model = ModelGraph::load(spec);
    if (!model)
      return fail(model.takeError());
    for (const auto &[text, topology] : *topologies)
      if (llvm::Error error =
              measure(table, *store, {spec, **model, text, topology}, numRows,
                      numCounted)) {
        // One cell that cannot be searched does not end the others.
        llvm::errs() << "error: " << spec.name() << " on " << text << ": "
                     << llvm::toString(std::move(error)) << "\n";
        failed = true;
      }
  }
  if (!cells.isJSON() && curve.empty())
    llvm::outs() << llvm::formatv("\n{0} of {1} rows count: the best known "
                                  "step is at least {2:f1}% shorter "
                                  "than that of the best named strategy.\n",
                                  numCounted, numRows, leastGain.getValue());
  return failed ? 2 : 0;
}
