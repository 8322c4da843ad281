//===- RunStore.cpp - Finished searches in a file -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunStore.h"
#include "soap/Support/JSON.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <limits>

using namespace soap;
namespace json = llvm::json;

static constexpr const char *format = "soap-bench-quality";
static constexpr double never = std::numeric_limits<double>::infinity();

double FinishedRun::secondsUntil(double limit) const {
  for (const SearchProgress &progress : history)
    if (static_cast<double>(progress.bestNs) <= limit)
      return progress.seconds;
  return never;
}

double FinishedRun::stepAt(double limit) const {
  double best = never;
  for (const SearchProgress &progress : history)
    if (progress.seconds <= limit)
      best = std::min(best, static_cast<double>(progress.bestNs));
  return best;
}

/// The keys of an object are printed in order, so equal ones have equal texts.
static std::string textOf(const json::Object &object) {
  return llvm::formatv("{0}", json::Value(json::Object(object))).str();
}

static json::Value valueOf(const std::string &of, const FinishedRun &run) {
  json::Array history;
  for (const SearchProgress &progress : run.history)
    history.push_back(json::Array{static_cast<int64_t>(progress.proposals),
                                  progress.seconds, progress.bestNs});
  return json::Object{{"of", llvm::cantFail(json::parse(of))},
                      {"step_ns", run.stepNs},
                      {"seconds", run.seconds},
                      {"proposals", static_cast<int64_t>(run.proposals)},
                      {"detail", run.detail},
                      {"history", std::move(history)}};
}

static bool fromJSON(const json::Value &value, std::string &of,
                     FinishedRun &run) {
  const json::Object *object = value.getAsObject();
  const json::Object *key = object ? object->getObject("of") : nullptr;
  const json::Array *history = object ? object->getArray("history") : nullptr;
  if (!key || !history || !object->getInteger("step_ns") ||
      !object->getNumber("seconds") || !object->getInteger("proposals") ||
      !object->getString("detail"))
    return false;
  of = textOf(*key);
  run.stepNs = *object->getInteger("step_ns");
  run.seconds = *object->getNumber("seconds");
  run.proposals = static_cast<uint64_t>(*object->getInteger("proposals"));
  run.detail = object->getString("detail")->str();
  for (const json::Value &entry : *history) {
    const json::Array *numbers = entry.getAsArray();
    if (!numbers || numbers->size() != 3 || !(*numbers)[0].getAsInteger() ||
        !(*numbers)[1].getAsNumber() || !(*numbers)[2].getAsInteger())
      return false;
    run.history.push_back({static_cast<uint64_t>(*(*numbers)[0].getAsInteger()),
                           *(*numbers)[1].getAsNumber(),
                           *(*numbers)[2].getAsInteger()});
  }
  return true;
}

llvm::Expected<RunStore> RunStore::open(llvm::StringRef path) {
  RunStore store;
  store.path_ = path.str();
  if (path.empty() || !llvm::sys::fs::exists(path))
    return store;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("expected a readable file, got: '" + path +
                                   "': " + buffer.getError().message());
  llvm::Expected<json::Value> value =
      parseJSON((*buffer)->getBuffer(), "a list of searches");
  if (!value)
    return value.takeError();
  const json::Object *root = value->getAsObject();
  const json::Array *runs = root ? root->getArray("runs") : nullptr;
  bool isValid = runs && root->getString("format").value_or("") == format;
  for (size_t i = 0; isValid && i < runs->size(); ++i) {
    std::string of;
    FinishedRun run;
    isValid = fromJSON((*runs)[i], of, run);
    store.runs_[of] = std::move(run);
  }
  if (!isValid)
    return llvm::createStringError(
        "expected a file that --state wrote, got: '" + path +
        "'; remove it or name another one");
  return store;
}

const FinishedRun *RunStore::find(const json::Object &of) const {
  auto found = runs_.find(textOf(of));
  return found == runs_.end() ? nullptr : &found->second;
}

llvm::Error RunStore::add(const json::Object &of, FinishedRun run) {
  runs_[textOf(of)] = std::move(run);
  return path_.empty() ? llvm::Error::success() : write();
}

llvm::Error RunStore::write() const {
  return llvm::writeToOutput(path_, [&](llvm::raw_ostream &os) {
    os << "{\"format\": \"" << format << "\", \"runs\": [";
    const char *separator = "\n";
    for (const auto &[of, run] : runs_) {
      os << separator << llvm::formatv("{0}", valueOf(of, run));
      separator = ",\n";
    }
    os << "]}\n";
    return llvm::Error::success();
  });
}
