//===- MeasuredCosts.cpp - The file of measured kernels -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Calibration/MeasuredCosts.h"
#include "soap/Calibration/MachineCalibration.h"
#include "soap/CostModel/CostModel.h"
#include "soap/Runtime/Runtime.h"
#include "soap/Topology/JSONReader.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <chrono>
#include <cmath>

using namespace soap;
namespace json = llvm::json;
namespace fs = llvm::sys::fs;

/// The smaller one of two; `otherwise` if there are none.
template <typename T>
static T medianOf(std::vector<T> values, T otherwise) {
  if (values.empty())
    return otherwise;
  auto middle =
      values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Appends a value, and forgets the oldest ones beyond `most`.
template <typename T>
static void keepNewest(std::vector<T> &values, T value, size_t most) {
  values.push_back(value);
  if (values.size() > most)
    values.erase(values.begin());
}

int64_t MeasuredKernel::ns() const { return medianOf<int64_t>(runs, 0); }

double MeasuredCosts::slowdown(llvm::StringRef baseline) const {
  auto known = slowdowns_.find(baseline.str());
  return known == slowdowns_.end() ? 1 : medianOf(known->second, 1.0);
}

int64_t MeasuredCosts::cost(const MeasuredKernel &kernel) const {
  return std::llround(static_cast<double>(kernel.ns()) *
                      slowdown(kernel.baseline));
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

static MeasuredKernel readKernel(detail::JSONReader &reader,
                                 const json::Object &entry,
                                 const std::string &where) {
  constexpr detail::Bounds<double> amounts{0, 1e21};
  constexpr detail::Bounds<int64_t> sizes{0, int64_t(1) << 60};
  MeasuredKernel kernel;
  KernelWork &work = kernel.work;
  work.flops = reader.number(entry, "flops", where, amounts);
  work.bytes = reader.number(entry, "bytes", where, amounts);
  work.bytesAgain = reader.number(entry, "bytes_again", where, amounts);
  work.rows = reader.integer(entry, "rows", where, sizes);
  work.columns = reader.integer(entry, "columns", where, sizes);
  work.depth = reader.integer(entry, "depth", where, sizes);
  if (!readPrecision(entry, work.precision))
    reader.fail(where + ": expected f32, tf32, bf16, f16 or i8 in 'precision'");
  const json::Array *runs = entry.getArray("runs");
  if (!runs || runs->empty() || runs->size() > MeasuredKernel::mostRuns) {
    reader.fail(where + ": expected 'runs' with one time to " +
                llvm::Twine(MeasuredKernel::mostRuns));
    return kernel;
  }
  for (const json::Value &run : *runs) {
    std::optional<int64_t> ns = run.getAsInteger();
    if (!ns || *ns < 0 || *ns > longestNs)
      reader.fail(where + ": expected times in ns in 'runs'");
    kernel.runs.push_back(ns.value_or(0));
  }
  kernel.baseline = entry.getString("baseline").value_or("").str();
  return kernel;
}

static std::vector<double> readSlowdowns(detail::JSONReader &reader,
                                         const json::Value &value,
                                         llvm::StringRef baseline) {
  std::vector<double> result;
  const json::Array *list = value.getAsArray();
  bool isGood = list && list->size() <= MeasuredCosts::mostSlowdowns;
  for (const json::Value &each : isGood ? *list : json::Array()) {
    result.push_back(each.getAsNumber().value_or(0));
    isGood &= result.back() > 0 && std::isfinite(result.back());
  }
  if (!isGood)
    reader.fail("expected up to " + llvm::Twine(MeasuredCosts::mostSlowdowns) +
                " numbers above 0 for baseline '" + baseline + "'");
  return result;
}

llvm::Expected<MeasuredCosts> MeasuredCosts::parse(llvm::StringRef text,
                                                   llvm::StringRef kind) {
  llvm::Expected<json::Value> value = parseJSON(text, "measured costs");
  if (!value)
    return value.takeError();
  const json::Object *root = value->getAsObject();
  const json::Array *entries = root ? root->getArray("entries") : nullptr;
  if (!entries || root->getString("format").value_or("") != "soap-costs" ||
      root->getString("device_kind").value_or("") != kind)
    return llvm::createStringError(
        "expected measured costs with \"format\": \"soap-costs\", "
        "\"device_kind\": \"" +
        kind + "\" and an array 'entries'");
  MeasuredCosts result(kind.str());
  detail::JSONReader reader;
  const json::Object *baselines = root->getObject("baselines");
  if (!baselines && root->get("baselines"))
    reader.fail("expected an object 'baselines'");
  if (baselines)
    for (const auto &[baseline, slowdowns] : *baselines)
      result.slowdowns_[baseline.str()] =
          readSlowdowns(reader, slowdowns, baseline.str());
  for (auto [index, element] : llvm::enumerate(*entries)) {
    std::string where = "entry " + std::to_string(index);
    const json::Object *entry = element.getAsObject();
    std::optional<llvm::StringRef> key;
    if (entry)
      key = entry->getString("key");
    if (!key)
      return llvm::createStringError(where + ": expected a string 'key'");
    result.kernels_[key->str()] = readKernel(reader, *entry, where);
  }
  if (llvm::Error error = reader.takeError())
    return std::move(error);
  return result;
}

llvm::Expected<MeasuredCosts> MeasuredCosts::load(llvm::StringRef path,
                                                  llvm::StringRef kind) {
  if (!fs::exists(path))
    return MeasuredCosts(kind.str());
  auto buffer = readRegularFile(path);
  if (!buffer)
    return buffer.takeError();
  return parse((*buffer)->getBuffer(), kind);
}

std::string MeasuredCosts::toJSON() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", "soap-costs");
    json.attribute("device_kind", kind_);
    if (!slowdowns_.empty())
      json.attributeObject("baselines", [&] {
        for (const auto &[baseline, slowdowns] : slowdowns_)
          json.attribute(baseline, json::Array(slowdowns));
      });
    json.attributeArray("entries", [&] {
      for (const auto &[key, kernel] : kernels_)
        json.object([&, &key = key, &kernel = kernel] {
          json.attribute("key", key);
          json.attribute("ns", cost(kernel));
          json.attribute("runs", json::Array(kernel.runs));
          if (!kernel.baseline.empty())
            json.attribute("baseline", kernel.baseline);
          detail::writeNumber(json, "flops", kernel.work.flops);
          detail::writeNumber(json, "bytes", kernel.work.bytes);
          detail::writeNumber(json, "bytes_again", kernel.work.bytesAgain);
          json.attribute("rows", kernel.work.rows);
          json.attribute("columns", kernel.work.columns);
          json.attribute("depth", kernel.work.depth);
          if (kernel.work.precision != Precision::F32)
            json.attribute("precision", stringify(kernel.work.precision));
        });
    });
  });
  os << '\n';
  return text;
}

void MeasuredCosts::add(const MeasuredRun &run) {
  for (const auto &[key, now] : run.kernels) {
    auto [known, isNew] = kernels_.try_emplace(key);
    MeasuredKernel &kernel = known->second;
    if (isNew)
      kernel.baseline = run.baseline;
    kernel.work = now.work;
    int64_t ns = std::llround(now.ns / slowdown(kernel.baseline));
    keepNewest(kernel.runs, std::max<int64_t>(1, ns), MeasuredKernel::mostRuns);
  }
  double before = slowdown(run.baseline);
  keepNewest(slowdowns_[run.baseline], before * run.slowdown, mostSlowdowns);
}

//===----------------------------------------------------------------------===//
// Machines whose speed changes
//===----------------------------------------------------------------------===//

namespace {
/// What known kernels took on a device, and what they cost.
struct KnownWork {
  double measured = 0, cost = 0;
  std::map<std::string, double> baselines; ///< What those of each took.

  /// By how much times of the device have to be multiplied to be costs.
  double factor() const { return measured > 0 ? cost / measured : 1; }
  void add(const std::string &baseline, double ns, double known) {
    measured += ns;
    cost += known;
    baselines[baseline] += ns;
  }
};
} // namespace

/// Nothing if too little is known of what ran there.
static KnownWork workOn(const TimedModel::Measurement &now,
                        const MeasuredCosts &costs, uint32_t device) {
  // Half of the time of a step stands for all of it, and so does a reference
  // that ran there, whose kernels are all known.
  constexpr double leastShare = 0.5;
  KnownWork work;
  double all = 0;
  bool hasReference = false;
  for (const KernelTimes *times : {&now.kernels, &now.reference})
    for (const auto &[kernel, time] : *times) {
      if (kernel.first != device)
        continue;
      hasReference |= times == &now.reference;
      auto samples = static_cast<double>(time.samples);
      double ns = samples * static_cast<double>(time.ns);
      all += ns;
      auto before = costs.kernels().find(kernel.second);
      if (before == costs.kernels().end())
        continue;
      auto cost = static_cast<double>(costs.cost(before->second));
      work.add(before->second.baseline, ns, samples * cost);
    }
  bool isEnough = work.measured >= leastShare * all || hasReference;
  return isEnough ? work : KnownWork();
}

/// A name that no other process gives.
static std::string newBaseline() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(now);
  return llvm::utohexstr(static_cast<uint64_t>(count.count()),
                         /*LowerCase=*/true) +
         "-" +
         llvm::utohexstr(llvm::sys::Process::getProcessId(),
                         /*LowerCase=*/true);
}

MeasuredRun soap::comparableTimes(const TimedModel::Measurement &now,
                                  const MeasuredCosts &costs) {
  std::map<uint32_t, KnownWork> devices;
  std::map<std::string, std::pair<double, double>> sums; // Of ns, of samples.
  for (const auto &[kernel, time] : now.kernels) {
    auto [device, isNew] = devices.try_emplace(kernel.first);
    if (isNew)
      device->second = workOn(now, costs, kernel.first);
    auto &[ns, samples] = sums[kernel.second];
    ns += device->second.factor() * static_cast<double>(time.samples) *
          static_cast<double>(time.ns);
    samples += static_cast<double>(time.samples);
  }
  MeasuredRun result;
  for (const auto &[key, sum] : sums)
    result.kernels[key].ns = sum.first / sum.second;
  KnownWork all;
  for (const auto &[device, work] : devices) {
    all.measured += work.measured;
    all.cost += work.cost;
    for (const auto &[baseline, ns] : work.baselines)
      all.baselines[baseline] += ns;
  }
  if (all.cost <= 0 || all.measured <= 0) {
    result.baseline = newBaseline();
    return result;
  }
  result.slowdown = all.measured / all.cost;
  result.baseline = std::max_element(all.baselines.begin(), all.baselines.end(),
                                     llvm::less_second())
                        ->first;
  return result;
}

//===----------------------------------------------------------------------===//
// The file of a machine
//===----------------------------------------------------------------------===//

std::string soap::measuredCostsPath(const Target &target, int32_t devices,
                                    int32_t coresPerDevice,
                                    llvm::StringRef variant) {
  std::string calibration = calibrationPath(target, devices, coresPerDevice);
  if (calibration.empty())
    return "";
  // Kernels are as the compiler makes them and the runtime chooses them: when
  // either changes, costs get another name, and are measured again.
  constexpr llvm::StringLiteral form = "; form 8";
  std::string machine = target.getMachineName() + "; SOAP " + soap_version() +
                        "; LLVM " LLVM_VERSION_STRING + variant.str() +
                        form.str();
  llvm::SmallString<128> path(llvm::sys::path::parent_path(calibration));
  llvm::sys::path::append(path, "costs-" + target.getName() + "-" +
                                    llvm::utohexstr(llvm::xxh3_64bits(machine),
                                                    /*LowerCase=*/true,
                                                    /*Width=*/16) +
                                    "-" + std::to_string(devices) + "x" +
                                    std::to_string(coresPerDevice) + ".json");
  return path.str().str();
}

llvm::Expected<std::unique_ptr<MeasuredCostsLock>>
MeasuredCostsLock::take(llvm::StringRef path, double seconds) {
  // The lock of a file is one of a process, whose threads need another one.
  static std::timed_mutex threads;
  std::chrono::milliseconds limit(static_cast<int64_t>(seconds * 1000));
  auto late = [&] {
    return llvm::createStringError(
        "expected '" + path + "' to be free within " +
        llvm::Twine(limit.count()) + " ms, got: another compilation measures");
  };
  std::unique_lock<std::timed_mutex> lock(threads, limit);
  if (!lock)
    return late();
  if (std::error_code code =
          fs::create_directories(llvm::sys::path::parent_path(path)))
    return llvm::createStringError("expected to make the folder of '" + path +
                                   "', got: " + code.message());
  int descriptor = -1;
  // Not the file itself, which is replaced.
  if (std::error_code code =
          fs::openFileForWrite(path + ".lock", descriptor, fs::CD_OpenAlways))
    return llvm::createStringError("expected to write '" + path +
                                   ".lock', got: " + code.message());
  if (fs::tryLockFile(descriptor, limit)) {
    fs::file_t file = fs::convertFDToNativeFile(descriptor);
    (void)fs::closeFile(file);
    return late();
  }
  return std::unique_ptr<MeasuredCostsLock>(
      new MeasuredCostsLock(std::move(lock), descriptor));
}

MeasuredCostsLock::~MeasuredCostsLock() {
  (void)fs::unlockFile(descriptor_);
  fs::file_t file = fs::convertFDToNativeFile(descriptor_);
  (void)fs::closeFile(file);
}

llvm::Expected<MeasuredCosts>
soap::extendMeasuredCosts(const MeasuredCostsLock &, llvm::StringRef path,
                          llvm::StringRef kind, const MeasuredRun &run) {
  llvm::Expected<MeasuredCosts> all = MeasuredCosts::load(path, kind);
  if (!all) {
    llvm::consumeError(all.takeError());
    all = MeasuredCosts(kind.str());
  }
  if (run.kernels.empty())
    return all;
  all->add(run);
  if (llvm::Error error = writeWholeFile(path, all->toJSON()))
    return std::move(error);
  return all;
}
