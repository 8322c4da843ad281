//===- SearchState.cpp - A search in a file -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MarkovSearch.h"
#include "soap/Support/JSON.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace soap;
using namespace soap::detail;
namespace json = llvm::json;

static constexpr const char *format = "soap-search-state";

/// Machines of one name may differ in anything. A search that is repeated with
/// less memory goes on, though.
static std::string hashOf(Topology topology) {
  for (const Device &device : topology.devices())
    topology.reserveMemory(device.id, device.memoryBytes);
  return llvm::utohexstr(llvm::xxh3_64bits(topology.toJSON()));
}

/// The limits may grow from one run to the next; what decides about proposals
/// may not.
static json::Value identity(const SearchProblem &problem,
                            const SearchOptions &options) {
  json::Array parts;
  for (int32_t devices : subMachines(problem.topology))
    parts.push_back(devices);
  return json::Object{
      {"model_fingerprint", problem.graph.fingerprint},
      {"nodes", problem.graph.numNodes()},
      {"topology", problem.topology.name},
      {"machine", hashOf(problem.topology)},
      {"bucket_bytes", problem.graph.bucketBytes},
      {"prefetch_bytes", problem.graph.prefetchBytes},
      {"parts", std::move(parts)},
      {"seed", static_cast<int64_t>(options.seed)},
      {"num_chains", options.chains},
      {"max_tasks", options.maxTasks},
      {"named_starts", options.namedStarts},
      {"least_sums", options.leastSums},
      {"chooses_buckets", options.choosesBuckets},
      {"random_starts", options.randomStarts},
      {"only_kind",
       options.onlyKind ? json::Value(stringify(*options.onlyKind)) : nullptr}};
}

static json::Value toValue(const Strategy &strategy, int64_t stepNs,
                           const OperatorGraph &graph) {
  StrategyInfo info;
  info.fingerprint = graph.fingerprint;
  info.simulatedNs = stepNs;
  return llvm::cantFail(json::parse(soap::toJSON(strategy, graph, info)));
}

static llvm::Expected<Strategy> toStrategy(const json::Value *value,
                                           const SearchProblem &problem) {
  if (!value)
    return llvm::createStringError("expected a strategy, got: none");
  return parseStrategy(llvm::formatv("{0}", *value).str(), problem);
}

using Counter = std::pair<const char *, uint64_t SearchStatistics::*>;
static const Counter counters[] = {
    {"proposals", &SearchStatistics::proposals},
    {"bounded", &SearchStatistics::bounded},
    {"simulated", &SearchStatistics::simulated},
    {"accepted", &SearchStatistics::accepted},
    {"too_large", &SearchStatistics::tooLarge},
    {"planned", &SearchStatistics::planned},
    {"reused", &SearchStatistics::reused},
    {"simulations", &SearchStatistics::simulations},
    {"positions", &SearchStatistics::positions}};
using Timer = std::pair<const char *, double SearchStatistics::*>;
static const Timer timers[] = {{"proposing", &SearchStatistics::proposing},
                               {"bounding", &SearchStatistics::bounding},
                               {"planning", &SearchStatistics::planning},
                               {"simulating", &SearchStatistics::simulating},
                               {"accepting", &SearchStatistics::accepting}};

json::Object soap::toJSON(const SearchStatistics &statistics) {
  json::Object result, seconds;
  for (auto [name, member] : counters)
    result[name] = static_cast<int64_t>(statistics.*member);
  for (auto [name, member] : timers)
    seconds[name] = statistics.*member;
  result["seconds"] = std::move(seconds);
  return result;
}

static SearchStatistics statisticsOf(const json::Object &object) {
  SearchStatistics result;
  for (auto [name, member] : counters)
    result.*member = static_cast<uint64_t>(object.getInteger(name).value_or(0));
  if (const json::Object *seconds = object.getObject("seconds"))
    for (auto [name, member] : timers)
      result.*member = seconds->getNumber(name).value_or(0);
  return result;
}

json::Value MarkovSearch::descentsToJSON() const {
  json::Array descents;
  for (const auto &descent : descents_)
    descents.push_back(json::Object{
        {"looked", static_cast<int64_t>(descent->position().looked)},
        {"since_gain", static_cast<int64_t>(descent->position().sinceGain)},
        {"current",
         toValue(descent->current(), descent->stepNs(), problem_.graph)}});
  return descents;
}

llvm::Error MarkovSearch::descentsFromJSON(const json::Array &descents) {
  for (auto [number, entry] : llvm::enumerate(descents)) {
    const json::Object *object = entry.getAsObject();
    llvm::Expected<Strategy> current =
        toStrategy(object ? object->get("current") : nullptr, problem_);
    if (!current)
      return current.takeError();
    auto count = [&](const char *key) {
      return static_cast<uint64_t>(object->getInteger(key).value_or(0));
    };
    descents_.push_back(makeDescent(number));
    descents_.back()->start(*current, {count("looked"), count("since_gain")});
  }
  return llvm::Error::success();
}

/// The weights of a mix, and what it has counted.
static json::Value toValue(const ProposalMix &mix) {
  json::Array weights, tallies;
  for (double weight : mix.weights())
    weights.push_back(weight);
  for (const ProposalMix::Tally &tally : mix.tallies())
    tallies.push_back(json::Array{tally.work, tally.gain});
  return json::Object{{"weights", std::move(weights)},
                      {"tallies", std::move(tallies)}};
}

json::Value MarkovSearch::toJSON() const {
  SearchStatistics statistics = statisticsBefore_;
  json::Array chains, ends, history, starts;
  for (const Strategy &end : ends_)
    ends.push_back(toValue(end, 0, problem_.graph));
  for (const auto &chain : chains_) {
    statistics.add(chain->statistics());
    chains.push_back(
        json::Object{{"step", static_cast<int64_t>(chain->step())},
                     {"best_ns", chain->bestNs()},
                     {"asked_ns", chain->askedNs()},
                     {"current", toValue(chain->current(), chain->currentNs(),
                                         problem_.graph)}});
  }
  for (const SearchProgress &progress : result_.history)
    history.push_back(json::Array{static_cast<int64_t>(progress.proposals),
                                  progress.seconds, progress.bestNs});
  for (const auto &[name, stepNs] : result_.starts)
    starts.push_back(json::Array{name, stepNs});
  return json::Object{
      {"format", format},
      {"of", identity(problem_, options_)},
      {"stage", static_cast<int64_t>(stage_)},
      {"stage_begun", stageBegun_},
      {"round", static_cast<int64_t>(round_)},
      {"attempt", static_cast<int64_t>(attempt_)},
      {"attempt_at", static_cast<int64_t>(attemptAt_)},
      {"first_length", static_cast<int64_t>(firstLength_)},
      {"whole_at", static_cast<int64_t>(wholeAt_)},
      {"found_at", static_cast<int64_t>(foundAt_)},
      {"noted_found_ns", notedFoundNs_},
      {"improved_at", static_cast<int64_t>(improvedAt_)},
      {"stage_at", static_cast<int64_t>(stageProposals_)},
      {"noted_ns", notedNs_},
      {"descended_ns", descendedNs_},
      {"tried_in_windows", static_cast<int64_t>(triedInWindows_)},
      {"descents", descentsToJSON()},
      {"ends", std::move(ends)},
      {"recombined_at", static_cast<int64_t>(recombinedAt_)},
      {"seconds", seconds()},
      {"best", toValue(best_, bestNs_, problem_.graph)},
      {"best_ns", bestNs_},
      {"found", toValue(found_, foundNs_, problem_.graph)},
      {"found_ns", foundNs_},
      {"statistics", soap::toJSON(statistics)},
      {"history", std::move(history)},
      {"starts", std::move(starts)},
      {"mix", toValue(mix_)},
      {"mix_behind", toValue(mixBehind_)},
      {"chains", std::move(chains)}};
}

/// Reads a mix; false if it has another form.
static bool readMix(const json::Object *object, ProposalMix &mix) {
  const json::Array *weights = object ? object->getArray("weights") : nullptr;
  const json::Array *tallies = object ? object->getArray("tallies") : nullptr;
  if (!weights || weights->size() != numProposalKinds || !tallies ||
      tallies->size() != numProposalKinds)
    return false;
  std::array<double, numProposalKinds> newWeights;
  std::array<ProposalMix::Tally, numProposalKinds> newTallies;
  for (size_t kind = 0; kind < numProposalKinds; ++kind) {
    const json::Array *tally = (*tallies)[kind].getAsArray();
    if (!tally || tally->size() != 2)
      return false;
    newWeights[kind] = (*weights)[kind].getAsNumber().value_or(0);
    newTallies[kind] = {(*tally)[0].getAsNumber().value_or(0),
                        (*tally)[1].getAsNumber().value_or(0)};
  }
  mix.restore(newWeights, newTallies);
  return true;
}

/// Adds the history of a search and its starts to `result`.
static void readHistory(const json::Object &root, SearchResult &result) {
  if (const json::Array *history = root.getArray("history"))
    for (const json::Value &entry : *history)
      if (const json::Array *row = entry.getAsArray(); row && row->size() == 3)
        result.history.push_back(
            {static_cast<uint64_t>((*row)[0].getAsInteger().value_or(0)),
             (*row)[1].getAsNumber().value_or(0),
             (*row)[2].getAsInteger().value_or(0)});
  if (const json::Array *starts = root.getArray("starts"))
    for (const json::Value &entry : *starts)
      if (const json::Array *row = entry.getAsArray(); row && row->size() == 2)
        result.starts.push_back({(*row)[0].getAsString().value_or("").str(),
                                 (*row)[1].getAsInteger().value_or(0)});
}

llvm::Error MarkovSearch::fromJSON(const json::Value &value) {
  const json::Object *root = value.getAsObject();
  if (!root || root->getString("format").value_or("") != format)
    return llvm::createStringError("expected a file that --search-state wrote");
  const json::Value *of = root->get("of");
  json::Value own = identity(problem_, options_);
  if (!of || *of != own)
    return llvm::createStringError(llvm::formatv(
        "expected the search of {0}, got: one of {1}; remove the file or name "
        "another one",
        own, of ? *of : json::Value(nullptr)));
  auto bad = [](const char *what) {
    return llvm::createStringError(llvm::Twine("expected '") + what +
                                   "' as --search-state writes it; remove "
                                   "the file");
  };
  const json::Array *chains = root->getArray("chains");
  std::optional<int64_t> stage = root->getInteger("stage"),
                         bestNs = root->getInteger("best_ns"),
                         foundNs = root->getInteger("found_ns");
  if (!chains || chains->size() != chains_.size())
    return bad("chains");
  if (!stage || *stage < 0 || *stage >= static_cast<int64_t>(parts_.size()))
    return bad("stage");
  if (!bestNs || *bestNs <= 0)
    return bad("best_ns");
  if (!foundNs || *foundNs <= 0)
    return bad("found_ns");
  llvm::Expected<Strategy> best = toStrategy(root->get("best"), problem_);
  if (!best)
    return best.takeError();
  llvm::Expected<Strategy> found = toStrategy(root->get("found"), problem_);
  if (!found)
    return found.takeError();
  for (auto [name, mix] :
       {std::pair("mix", &mix_), {"mix_behind", &mixBehind_}})
    if (!readMix(root->getObject(name), *mix))
      return bad(name);
  stage_ = static_cast<size_t>(*stage);
  machine_ =
      std::make_unique<SubMachine>(problem_, options_.maxTasks, parts_[stage_]);
  for (auto [chain, entry] : llvm::zip_equal(chains_, *chains)) {
    const json::Object *object = entry.getAsObject();
    if (!object)
      return bad("chains");
    llvm::Expected<Strategy> current =
        toStrategy(object->get("current"), problem_);
    if (!current)
      return current.takeError();
    chain->start(*current);
    chain->resume(static_cast<uint64_t>(object->getInteger("step").value_or(0)),
                  object->getInteger("best_ns").value_or(INT64_MAX),
                  object->getInteger("asked_ns").value_or(0));
  }
  best_ = std::move(*best);
  bestNs_ = *bestNs;
  found_ = std::move(*found);
  foundNs_ = *foundNs;
  stageBegun_ = root->getBoolean("stage_begun").value_or(true);
  for (auto [name, number] : {std::pair("round", &round_),
                              {"attempt", &attempt_},
                              {"attempt_at", &attemptAt_},
                              {"first_length", &firstLength_},
                              {"whole_at", &wholeAt_},
                              {"found_at", &foundAt_},
                              {"improved_at", &improvedAt_},
                              {"stage_at", &stageProposals_},
                              {"recombined_at", &recombinedAt_},
                              {"tried_in_windows", &triedInWindows_}})
    *number = static_cast<uint64_t>(root->getInteger(name).value_or(0));
  notedNs_ = root->getInteger("noted_ns").value_or(INT64_MAX);
  notedFoundNs_ = root->getInteger("noted_found_ns").value_or(INT64_MAX);
  descendedNs_ = root->getInteger("descended_ns").value_or(INT64_MAX);
  secondsBefore_ = root->getNumber("seconds").value_or(0);
  stageSeconds_ = secondsBefore_;
  if (const json::Object *statistics = root->getObject("statistics"))
    statisticsBefore_ = statisticsOf(*statistics);
  proposalsBefore_ = statisticsBefore_.proposals;
  readHistory(*root, result_);
  const json::Array *ends = root->getArray("ends");
  if (!ends)
    return bad("ends");
  for (const json::Value &entry : *ends) {
    llvm::Expected<Strategy> end = toStrategy(&entry, problem_);
    if (!end)
      return end.takeError();
    ends_.push_back(std::move(*end));
  }
  const json::Array *descents = root->getArray("descents");
  if (!descents || (!descents->empty() && descents->size() != chains_.size()))
    return bad("descents");
  return descentsFromJSON(*descents);
}

llvm::Error MarkovSearch::load() {
  if (options_.stateFile.empty() || !llvm::sys::fs::exists(options_.stateFile))
    return llvm::Error::success();
  auto in = [&](llvm::Error error) {
    return llvm::createStringError("'" + options_.stateFile +
                                   "': " + llvm::toString(std::move(error)));
  };
  auto buffer = llvm::MemoryBuffer::getFile(options_.stateFile);
  if (!buffer)
    return in(llvm::errorCodeToError(buffer.getError()));
  llvm::Expected<json::Value> value =
      parseJSON((*buffer)->getBuffer(), "search state");
  if (!value)
    return in(value.takeError());
  if (llvm::Error error = fromJSON(*value))
    return in(std::move(error));
  return llvm::Error::success();
}

void MarkovSearch::save() {
  lastSave_ = seconds();
  // A file that is half written never has the name.
  llvm::Error error = writeWholeFile(options_.stateFile,
                                     llvm::formatv("{0}\n", toJSON()).str());
  if (error && result_.stateError.empty())
    result_.stateError = llvm::toString(std::move(error));
  llvm::consumeError(std::move(error));
}
