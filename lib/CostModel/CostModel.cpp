//===- CostModel.cpp - Times of kernels and communication -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/CostModel.h"
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
  llvm::StringMap<int64_t> read;
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
    if (llvm::Error error = reader.takeError())
      return error;
    read[*key] = std::llround(ns);
  }
  for (const auto &entry : read)
    addMeasured(*kind, entry.getKey(), entry.getValue());
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
                            int64_t ns) {
  measured_[kind][key] = ns;
}

size_t CostModel::numMeasured() const {
  size_t count = 0;
  for (const auto &kind : measured_)
    count += kind.getValue().size();
  return count;
}

int64_t CostModel::kernelNs(const KernelQuery &query,
                            const DeviceKind &kind) const {
  if (!query.key.empty())
    if (auto table = measured_.find(kind.name); table != measured_.end())
      if (auto entry = table->getValue().find(query.key);
          entry != table->getValue().end())
        return entry->getValue();
  return analyticNs(query, kind);
}

double CostModel::trafficSeconds(double bytes, const DeviceKind &kind) {
  if (!(kind.cacheBytes > 0 && kind.cacheBandwidth > 0))
    return bytes / kind.memoryBandwidth;
  double cached = std::min(bytes, kind.cacheBytes);
  return cached / kind.cacheBandwidth + (bytes - cached) / kind.memoryBandwidth;
}

int64_t CostModel::analyticNs(const KernelQuery &query,
                              const DeviceKind &kind) {
  assert(kind.peakFlops > 0 && kind.memoryBandwidth > 0 && "Topology::check()");
  if (query.flops <= 0 && query.bytes <= 0)
    return 0;
  double efficiency = 1;
  if (query.depth > 0)
    for (auto [size, half] : {std::pair(query.rows, kind.halfRows),
                              std::pair(query.columns, kind.halfColumns),
                              std::pair(query.depth, kind.halfDepth)})
      efficiency *= size / (size + half);
  double compute = query.flops / (kind.peakFlops * std::max(efficiency, 1e-6));
  // A product of few rows or columns is no slower than so many products of a
  // matrix and a vector, which memory bounds.
  if (query.depth > 0) {
    auto vectors = static_cast<double>(std::min(query.rows, query.columns));
    compute = std::min(compute,
                       std::max(query.flops / kind.peakFlops,
                                vectors * query.bytes / kind.memoryBandwidth));
  }
  // Weights come from memory in every step.
  double memory = query.depth > 0 ? query.bytes / kind.memoryBandwidth
                                  : trafficSeconds(query.bytes, kind);
  // What is walked over again stays in a cache if all of it fits.
  bool fits = kind.cacheBandwidth > 0 && query.bytes <= kind.cacheBytes;
  memory +=
      query.bytesAgain / (fits ? kind.cacheBandwidth : kind.memoryBandwidth);
  return roundNs(static_cast<double>(kind.launchNs) +
                 std::round(std::max(compute, memory) * 1e9));
}

int64_t CostModel::copyNs(int64_t bytes, const DeviceKind &kind) {
  assert(bytes >= 0 && "a copy of some bytes or none");
  return roundNs(static_cast<double>(kind.launchNs) +
                 std::round(1e9 * trafficSeconds(2.0 * bytes, kind)));
}

bool CostModel::isView(llvm::ArrayRef<Range> box, llvm::ArrayRef<Range> shard,
                       int32_t elementBytes, const DeviceKind &kind) {
  assert(box.size() == shard.size() && "boxes of one value");
  assert(elementBytes > 0 && kind.alignment > 0 && "elements have an address");
  bool leading = true;
  int64_t first = 0;
  for (auto [part, whole] : llvm::zip_equal(box, shard)) {
    if (!leading && part.size() != whole.size())
      return false;
    leading &= part.size() == 1;
    first = first * whole.size() + part.lo - whole.lo;
  }
  return first * elementBytes % kind.alignment == 0;
}

int64_t CostModel::cutNs(llvm::ArrayRef<Range> box, llvm::ArrayRef<Range> shard,
                         int32_t elementBytes, const DeviceKind &kind) {
  if (isView(box, shard, elementBytes, kind))
    return 0;
  int64_t elements = 1;
  for (Range range : box)
    elements *= range.size();
  return copyNs(elements * elementBytes, kind);
}
