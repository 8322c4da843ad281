//===- CostModel.cpp - Times of kernels and communication -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/CostModel.h"
#include "soap/Links/AnalyticTime.h"
#include "soap/Topology/JSONReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace soap;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

bool soap::readPrecision(const json::Object &entry, Precision &precision) {
  const json::Value *value = entry.get("precision");
  if (!value)
    return true;
  std::optional<Precision> known =
      symbolize<Precision>(value->getAsString().value_or(""));
  precision = known.value_or(precision);
  return known.has_value();
}

/// What an entry of a file says of its kernel's work, if it does.
static std::optional<KernelWork> readWork(detail::JSONReader &reader,
                                          const json::Object &entry,
                                          const std::string &where) {
  if (!entry.get("flops") && !entry.get("bytes"))
    return std::nullopt;
  constexpr detail::Bounds<double> amounts{0, 1e21};
  constexpr detail::Bounds<int64_t> sizes{0, int64_t(1) << 60};
  KernelWork work;
  work.flops = reader.number(entry, "flops", where, amounts);
  work.bytes = reader.number(entry, "bytes", where, amounts);
  work.bytesAgain = reader.number(entry, "bytes_again", where, amounts, 0);
  work.rows = reader.integer(entry, "rows", where, sizes, 1);
  work.columns = reader.integer(entry, "columns", where, sizes, 1);
  work.depth = reader.integer(entry, "depth", where, sizes, 0);
  if (!readPrecision(entry, work.precision))
    reader.fail(where + ": expected f32, tf32, bf16, f16 or i8 in 'precision'");
  return work;
}

llvm::Error CostModel::addMeasured(llvm::StringRef text) {
  llvm::Expected<json::Value> value = parseJSON(text, "measured costs");
  if (!value)
    return value.takeError();
  const json::Object *root = value->getAsObject();
  if (!root || root->getString("format").value_or("") != "soap-costs")
    return llvm::createStringError(
        "expected measured costs with \"format\": \"soap-costs\"; write them "
        "with soap-run --profile-ops");
  std::optional<llvm::StringRef> kind = root->getString("device_kind");
  const json::Array *entries = root->getArray("entries");
  if (!kind || !entries)
    return llvm::createStringError("expected measured costs with a string "
                                   "'device_kind' and an array 'entries'");
  std::vector<std::tuple<llvm::StringRef, int64_t, std::optional<KernelWork>>>
      read;
  detail::JSONReader reader;
  for (auto [index, element] : llvm::enumerate(*entries)) {
    std::string where = "entry " + std::to_string(index);
    const json::Object *entry = element.getAsObject();
    std::optional<llvm::StringRef> key;
    if (entry)
      key = entry->getString("key");
    if (!key)
      return llvm::createStringError(where + ": expected a string 'key'");
    double ns =
        reader.number(*entry, "ns", where, {0, static_cast<double>(longestNs)});
    std::optional<KernelWork> work = readWork(reader, *entry, where);
    if (llvm::Error error = reader.takeError())
      return error;
    read.emplace_back(*key, std::llround(ns), work);
  }
  // The time of a kernel that the library applies others behind is that of the
  // first one, unless that was measured alone.
  auto isJoined = [&](const auto &entry) {
    return std::get<0>(entry) != firstOfJoined(std::get<0>(entry));
  };
  for (const auto &entry : read)
    if (!isJoined(entry))
      addMeasured(*kind, std::get<0>(entry), std::get<1>(entry),
                  std::get<2>(entry));
  KernelTable &table = measured_[*kind];
  for (auto [keys, ns, work] : llvm::make_filter_range(read, isJoined))
    if (llvm::StringRef key = firstOfJoined(keys); !table.find(key))
      table.add(key, ns, std::nullopt);
  return llvm::Error::success();
}

llvm::Error CostModel::loadMeasured(llvm::StringRef path) {
  auto buffer = readRegularFile(path);
  if (!buffer)
    return llvm::createStringError("expected a file of measured costs, got: '" +
                                   path +
                                   "': " + llvm::toString(buffer.takeError()));
  if (llvm::Error error = addMeasured((*buffer)->getBuffer()))
    return llvm::createStringError("'" + path +
                                   "': " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}

void CostModel::addMeasured(llvm::StringRef kind, llvm::StringRef key,
                            int64_t ns, std::optional<KernelWork> work) {
  measured_[kind].add(key, ns, work);
}

size_t CostModel::numMeasured() const {
  size_t count = 0;
  for (const auto &kind : measured_)
    count += kind.getValue().size();
  return count;
}

bool CostModel::isMeasured(llvm::StringRef key, const DeviceKind &kind) const {
  auto table = measured_.find(kind.name);
  return table != measured_.end() && table->getValue().find(key);
}

std::vector<ClassError> CostModel::classErrors(const DeviceKind &kind) const {
  auto table = measured_.find(kind.name);
  if (table == measured_.end())
    return {};
  return table->getValue().errors(kind);
}

int64_t CostModel::kernelNs(const KernelQuery &query,
                            const DeviceKind &kind) const {
  int64_t analytic = analyticNs(query, kind);
  auto table = measured_.find(kind.name);
  if (query.key.empty() || table == measured_.end())
    return analytic;
  if (std::optional<int64_t> ns = table->getValue().find(query.key))
    return *ns;
  if (analytic == 0)
    return 0;
  return roundNs(static_cast<double>(analytic) *
                 table->getValue().factor(query.key, query, kind));
}

double CostModel::trafficSeconds(double bytes, const DeviceKind &kind) {
  return analyticTrafficSeconds(bytes, kind);
}

int64_t CostModel::analyticNs(const KernelWork &work, const DeviceKind &kind) {
  assert(kind.peakFlops > 0 && kind.memoryBandwidth > 0 && "Topology::check()");
  return analyticTimeNs(work, kind, kind.flopsOf(work.precision));
}
