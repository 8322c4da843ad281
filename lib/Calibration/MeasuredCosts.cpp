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
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <cmath>

using namespace soap;
namespace json = llvm::json;
namespace fs = llvm::sys::fs;

int64_t MeasuredKernel::ns() const {
  if (runs.empty())
    return 0;
  std::vector<int64_t> sorted = runs;
  auto middle =
      sorted.begin() + static_cast<ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
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
  return kernel;
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
    json.attributeArray("entries", [&] {
      for (const auto &[key, kernel] : kernels_)
        json.object([&, &key = key, &kernel = kernel] {
          json.attribute("key", key);
          json.attribute("ns", kernel.ns());
          json.attribute("runs", json::Array(kernel.runs));
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

void MeasuredCosts::add(llvm::StringRef key, int64_t ns,
                        const KernelWork &work) {
  MeasuredKernel &kernel = kernels_[key.str()];
  kernel.work = work;
  kernel.runs.push_back(ns);
  if (kernel.runs.size() > MeasuredKernel::mostRuns)
    kernel.runs.erase(kernel.runs.begin());
}

void MeasuredCosts::add(const MeasuredCosts &other) {
  for (const auto &[key, kernel] : other.kernels_)
    for (int64_t ns : kernel.runs)
      add(key, ns, kernel.work);
}

//===----------------------------------------------------------------------===//
// Machines whose speed changes
//===----------------------------------------------------------------------===//

/// By how much times of a device have to be multiplied to be comparable with
/// those that are known. 1 if too few are known of what ran there.
static double speedBeside(const TimedModel::Measurement &now,
                          const MeasuredCosts &costs, uint32_t device) {
  // Half of the time of a step stands for all of it, and so does a reference
  // that ran there, whose kernels are all known.
  constexpr double leastShare = 0.5;
  double known = 0, measured = 0, all = 0;
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
      measured += ns;
      known += samples * static_cast<double>(before->second.ns());
    }
  bool isEnough =
      measured > 0 && (measured >= leastShare * all || hasReference);
  return isEnough ? known / measured : 1;
}

std::map<std::string, double>
soap::comparableTimes(const TimedModel::Measurement &now,
                      const MeasuredCosts &costs) {
  std::map<uint32_t, double> speeds;
  std::map<std::string, std::pair<double, double>> sums; // Of ns, of samples.
  for (const auto &[kernel, time] : now.kernels) {
    auto [speed, isNew] = speeds.try_emplace(kernel.first, 1);
    if (isNew)
      speed->second = speedBeside(now, costs, kernel.first);
    auto &[ns, samples] = sums[kernel.second];
    ns += speed->second * static_cast<double>(time.samples) *
          static_cast<double>(time.ns);
    samples += static_cast<double>(time.samples);
  }
  std::map<std::string, double> result;
  for (const auto &[key, sum] : sums)
    result[key] = sum.first / sum.second;
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
  constexpr llvm::StringLiteral form = "; form 3";
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
                          llvm::StringRef kind, const MeasuredCosts &more) {
  llvm::Expected<MeasuredCosts> all = MeasuredCosts::load(path, kind);
  if (!all) {
    llvm::consumeError(all.takeError());
    all = MeasuredCosts(kind.str());
  }
  all->add(more);
  if (!more.kernels().empty())
    if (llvm::Error error = writeWholeFile(path, all->toJSON()))
      return std::move(error);
  return all;
}
