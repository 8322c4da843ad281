//===- ProposalRates.cpp - Proposals per second on real models ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// soap-bench-search: how many proposals one chain on one core tries per second
// at the temperature of a search, and where the time goes: on the paper's task
// graph (Jia et al., "Beyond data and model parallelism", section 5) and on
// SOAP's, in full and by delta simulation.
//
//===----------------------------------------------------------------------===//

#include "CellOptions.h"
#include "ResultTable.h"
#include "TaskLevelChain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include <ctime>

using namespace soap;
using Clock = std::chrono::steady_clock;
namespace cl = llvm::cl;

namespace {
enum class Form : uint8_t { PaperFull, PaperDelta, Full, Delta };
enum class Proposals : uint8_t { Paper, Mix };
enum class StartKind : uint8_t { DataParallel, Random, RandomOnce };
} // namespace

static cl::OptionCategory category("Options of the benchmark");
static CellOptions cells(category);
static cl::opt<double>
    secondsPerRow("seconds", cl::desc("Core time of each row (default: 5)"),
                  cl::value_desc("S"), cl::init(5), cl::cat(category));
static cl::list<Form> forms(
    "forms", cl::desc("Simulations (default: all)"), cl::CommaSeparated,
    cl::values(clEnumValN(Form::PaperFull, "paper-full",
                          "a task graph and Algorithm 1 per proposal"),
               clEnumValN(Form::PaperDelta, "paper-delta",
                          "the task graph is updated; Algorithm 2"),
               clEnumValN(Form::Full, "full",
                          "SOAP's task graph, simulated from its beginning"),
               clEnumValN(Form::Delta, "delta",
                          "bounds and delta simulation: what a search does")),
    cl::cat(category));
static cl::list<Proposals>
    proposalKinds("proposals", cl::desc("What is proposed (default: both)"),
                  cl::CommaSeparated,
                  cl::values(clEnumValN(Proposals::Paper, "paper",
                                        "any configuration of any operation"),
                             clEnumValN(Proposals::Mix, "mix",
                                        "all kinds, with weights that adapt")),
                  cl::cat(category));
static cl::list<StartKind> startKinds(
    "starts", cl::desc("Where the chain begins (default: both)"),
    cl::CommaSeparated,
    cl::values(
        clEnumValN(StartKind::DataParallel, "data-parallel", "once"),
        clEnumValN(StartKind::Random, "random",
                   "a random strategy of the search, and another one after "
                   "every 200 proposals; making it is not in the times"),
        clEnumValN(StartKind::RandomOnce, "random-once",
                   "a random strategy, from which the chain goes on")),
    cl::cat(category));
static cl::opt<uint64_t> proposalsPerRow(
    "count",
    cl::desc("End each row after so many proposals instead: two builds that "
             "decide the same do the same work"),
    cl::value_desc("N"), cl::cat(category));
static cl::opt<uint64_t> seed("seed",
                              cl::desc("Of proposals and random starts "
                                       "(default: 1)"),
                              cl::init(1), cl::cat(category));

/// Proposals of a chain from one random start.
static constexpr uint64_t proposalsPerStart = 200;
/// Proposals between two updates of temperature and weights, as in a search.
static constexpr uint64_t roundLength = 128;

/// The start number `number`, or nothing if none of twenty fits into memory.
static std::optional<Strategy> startOf(const SearchProblem &problem,
                                       StartKind kind, uint64_t number) {
  TaskGraph tasks(problem);
  for (uint64_t attempt = 0; attempt < 20; ++attempt) {
    Strategy strategy =
        kind == StartKind::DataParallel
            ? dataParallel(problem.graph, problem.topology)
            : randomStrategy(problem.graph, problem.topology,
                             seed * 1'000'003 + number * 1009 + attempt);
    tasks.setStrategy(strategy);
    if (tasks.fitsMemory())
      return strategy;
    if (kind == StartKind::DataParallel)
      break;
  }
  return std::nullopt;
}

/// Seconds that this thread, the only one, had a core: the rates do not depend
/// on what else runs on the machine.
static double coreSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

/// Runs a chain for `secondsPerRow` of CPU time or for `proposalsPerRow`, the
/// time of starts left out. Returns the seconds; 0 if no start fits into
/// memory.
template <typename ChainT>
static double measure(ChainT &chain, const SearchProblem &problem,
                      const detail::SubMachine &machine, StartKind kind,
                      Proposals proposals) {
  double elapsed = 0;
  uint64_t left = 0, numStarts = 0;
  auto isOver = [&] {
    return proposalsPerRow ? chain.statistics().proposals >= proposalsPerRow
                           : elapsed >= secondsPerRow;
  };
  while (!isOver()) {
    if (left == 0) {
      std::optional<Strategy> start = startOf(problem, kind, numStarts++);
      if (!start)
        break;
      chain.forgetBest();
      chain.start(*start);
      left = kind == StartKind::Random ? proposalsPerStart : UINT64_MAX;
    }
    // What the first chain of a search has.
    double beta =
        400 / static_cast<double>(std::max<int64_t>(1, chain.bestNs()));
    uint64_t tried = chain.statistics().proposals;
    double begin = coreSeconds();
    double most = proposalsPerRow ? 3600 : secondsPerRow - elapsed;
    detail::Deadline deadline;
    deadline.end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(most));
    chain.run(machine, std::min(left, roundLength), beta, deadline);
    // Weights that adapt would let the other kinds in.
    if (proposals == Proposals::Mix)
      chain.mix().adapt();
    elapsed += coreSeconds() - begin;
    left -= std::min(left, chain.statistics().proposals - tried);
  }
  return elapsed;
}

static std::vector<ResultTable::Column> columns() {
  return {{"model", "model", 0, 12},
          {"batch", "batch"},
          {"nodes", "nodes"},
          {"topology", "topology", 0, 13},
          {"devices", "devices"},
          {"proposals", "proposals"},
          {"start", "start", 0, 13},
          {"form", "form", 0, 11},
          {"proposals_per_second", "proposals/CPU s"},
          {"bounded_percent", "bounded %", 1},
          {"simulated_per_second", "simulated/CPU s"},
          {"accepted_percent", "accepted %", 1},
          {"nodes_per_simulation", "nodes/simulation", 1},
          {"proposing_us", "propose us", 1},
          {"bounding_us", "bound us", 1},
          {"planning_us", "plan us", 1},
          {"simulating_us", "simulate us", 1},
          {"accepting_us", "accept us", 1},
          {"simulated_proposal_us", "simulated proposal us", 1},
          {"simulated_if_all_per_second", "simulated/CPU s if all were"}};
}

static void addRow(ResultTable &table, llvm::json::Array row,
                   const SearchStatistics &statistics, double seconds) {
  auto share = [](double part, double whole) -> llvm::json::Value {
    return whole > 0 ? llvm::json::Value(part / whole) : nullptr;
  };
  auto proposals = static_cast<double>(statistics.proposals),
       simulated = static_cast<double>(statistics.simulated);
  row.push_back(share(proposals, seconds));
  row.push_back(
      share(100.0 * static_cast<double>(statistics.bounded), proposals));
  row.push_back(share(simulated, seconds));
  row.push_back(
      share(100.0 * static_cast<double>(statistics.accepted), proposals));
  row.push_back(share(static_cast<double>(statistics.positions),
                      static_cast<double>(statistics.simulations)));
  // Reports take times from the clock. What a core gave to other programs
  // meanwhile is taken out in proportion.
  double sum = statistics.proposing + statistics.bounding +
               statistics.planning + statistics.simulating +
               statistics.accepting,
         scale = sum > 0 ? 1e6 * seconds / sum : 0;
  for (double part :
       {statistics.proposing, statistics.bounding, statistics.planning,
        statistics.simulating, statistics.accepting})
    row.push_back(share(scale * part, proposals));
  // Every proposal is proposed and bounded; the rest is for those that are
  // simulated.
  double any = statistics.proposing + statistics.bounding,
         rest =
             statistics.planning + statistics.simulating + statistics.accepting;
  if (proposals > 0 && simulated > 0) {
    double each = scale * (any / proposals + rest / simulated);
    row.push_back(each);
    row.push_back(share(1e6, each));
  } else {
    row.push_back(nullptr);
    row.push_back(nullptr);
  }
  table.addRow(std::move(row));
}

/// All rows of a model on a machine.
static void measureAll(ResultTable &table, const ModelSpec &spec,
                       const ModelGraph &model, llvm::StringRef topologyText,
                       const Topology &topology) {
  CostModel costs;
  SearchProblem problem{model.graph(), topology, costs};
  detail::SubMachine machine(problem, /*maxTasks=*/0, /*devices=*/0);
  for (Proposals proposals : proposalKinds)
    for (StartKind start : startKinds)
      for (Form form : forms) {
        llvm::errs() << llvm::formatv(
            "{0} on {1}: {2} proposals from {3}, {4}\n", spec.name(),
            topologyText, nameOf(proposalKinds, proposals),
            nameOf(startKinds, start), nameOf(forms, form));
        SearchOptions options;
        options.seed = seed;
        options.fullSimulation = form == Form::Full;
        if (proposals == Proposals::Paper)
          options.onlyKind = ProposalKind::Uniform;
        SearchStatistics statistics;
        double seconds = 0;
        if (form == Form::Full || form == Form::Delta) {
          // Tables of its own: no row finds costs that another one asked for.
          TaskGraph tables({model.graph(), topology, costs});
          detail::Chain chain(problem, options, tables, /*number=*/0);
          seconds = measure(chain, problem, machine, start, proposals);
          statistics = chain.statistics();
          // Starts simulate as well, but not as delta simulations.
          if (form == Form::Full) {
            statistics.simulations = statistics.simulated;
            statistics.positions =
                statistics.simulated * model.numComputeNodes();
          }
        } else {
          TaskLevelChain chain(problem, options,
                               form == Form::PaperFull
                                   ? TaskLevelChain::Algorithm::Full
                                   : TaskLevelChain::Algorithm::Delta);
          seconds = measure(chain, problem, machine, start, proposals);
          statistics = chain.statistics();
        }
        if (seconds == 0) {
          llvm::errs() << "no such start fits into memory\n";
          break;
        }
        addRow(
            table,
            llvm::json::Array{spec.name(), spec.batch, model.numComputeNodes(),
                              topologyText, topology.numDevices(),
                              nameOf(proposalKinds, proposals),
                              nameOf(startKinds, start), nameOf(forms, form)},
            statistics, seconds);
      }
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Proposals per second of one Markov chain on one core, at the\n"
      "temperature of a search (400 over the best step). Prints one table.\n"
      "Rates are per second of the thread's CPU time\n"
      "(CLOCK_THREAD_CPUTIME_ID), so that other programs on the machine do "
      "not\n"
      "change them much. The parts of a proposal are microseconds of this\n"
      "time per proposal; the last columns are what a\n"
      "proposal costs that is simulated, and how many would be simulated per\n"
      "second if no bound rejected any. Models are made by the zoo:\n\n"
      "  python -m zoo nmt -o nmt.onnx\n"
      "  soap-bench-search --models=nmt.onnx:64:8 --topologies=p100:nodes=4\n");
  setDefault(forms,
             {Form::PaperFull, Form::PaperDelta, Form::Full, Form::Delta});
  setDefault(proposalKinds, {Proposals::Paper, Proposals::Mix});
  setDefault(startKinds, {StartKind::DataParallel, StartKind::Random,
                          StartKind::RandomOnce});

  auto specs = cells.models();
  if (!specs)
    return fail(specs.takeError());
  auto topologies = cells.topologies();
  if (!topologies)
    return fail(topologies.takeError());

  ResultTable table(llvm::outs(), columns(), cells.isJSON());
  for (const ModelSpec &spec : *specs) {
    auto model = ModelGraph::load(spec);
    if (!model)
      return fail(model.takeError());
    for (const auto &[text, topology] : *topologies)
      measureAll(table, spec, **model, text, topology);
  }
  return 0;
}
