//===- CostModel.cpp - Times of kernels and communication -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/CostModel.h"
#include "JSONReader.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace soap;
namespace json = llvm::json;

llvm::StringRef soap::stringify(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
  case CollectiveAlgorithm::Ring:
    return "ring";
  case CollectiveAlgorithm::Tree:
    return "tree";
  case CollectiveAlgorithm::Direct:
    return "direct";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

llvm::Error CostModel::addMeasured(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return llvm::createStringError("expected measured costs in JSON, got: " +
                                   llvm::toString(value.takeError()));
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
    double ns = reader.number(*entry, "ns", where);
    if (reader.error.empty() && !(ns >= 0 && ns < 1e18))
      reader.fail(where + ": expected a time 'ns' of 0 or more");
    if (!reader.error.empty())
      return llvm::createStringError(reader.error);
    read[*key] = std::llround(ns);
  }
  for (const auto &entry : read)
    addMeasured(*kind, entry.getKey(), entry.getValue());
  return llvm::Error::success();
}

llvm::Error CostModel::loadMeasured(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("expected a file of measured costs, got: '" +
                                   path + "': " + buffer.getError().message());
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

/// Seconds for memory traffic of activations: what fits into caches, then the
/// rest.
static double trafficSeconds(double bytes, const DeviceKind &kind) {
  if (!(kind.cacheBytes > 0 && kind.cacheBandwidth > 0))
    return bytes / kind.memoryBandwidth;
  double cached = std::min(bytes, kind.cacheBytes);
  return cached / kind.cacheBandwidth + (bytes - cached) / kind.memoryBandwidth;
}

int64_t CostModel::analyticNs(const KernelQuery &query,
                              const DeviceKind &kind) {
  double efficiency = 1;
  if (query.depth > 0)
    for (auto [size, half] : {std::pair(query.rows, kind.halfRows),
                              std::pair(query.columns, kind.halfColumns),
                              std::pair(query.depth, kind.halfDepth)})
      efficiency *= size / (size + half);
  double compute = query.flops / (kind.peakFlops * std::max(efficiency, 1e-6));
  // Weights come from memory in every step.
  double memory = query.depth > 0 ? query.bytes / kind.memoryBandwidth
                                  : trafficSeconds(query.bytes, kind);
  return kind.launchNs + std::llround(std::max(compute, memory) * 1e9);
}

int64_t CostModel::copyNs(int64_t bytes, const DeviceKind &kind) {
  return kind.launchNs + std::llround(1e9 * trafficSeconds(2.0 * bytes, kind));
}

int64_t CostModel::cutNs(const Box &box, const Box &shard, int32_t elementBytes,
                         const DeviceKind &kind) {
  int64_t copied = copyNs(volume(box) * elementBytes, kind);
  bool leading = true;
  int64_t first = 0;
  for (auto [part, whole] : llvm::zip_equal(box, shard)) {
    if (!leading && part.size() != whole.size())
      return copied;
    leading &= part.size() == 1;
    first = first * whole.size() + part.lo - whole.lo;
  }
  return first * elementBytes % 64 ? copied : 0;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {
/// Adds up what a collective puts on links.
class Traffic {
public:
  explicit Traffic(const Topology &topology) : topology_(topology) {}

  void send(int32_t from, int32_t to, double bytes) {
    if (from == to)
      return;
    const Route &route = topology_.route(from, to);
    latencyNs_ = std::max(latencyNs_, route.latencyNs);
    occupies_ |= route.occupiesReceiver;
    for (int32_t link : route.links)
      uses_.push_back({topology_.links()[link].resource,
                       bytes / topology_.links()[link].bandwidth * 1e9});
  }

  /// `steps` rounds of latency, and as long as the busiest link needs.
  CollectiveCost finish(CollectiveAlgorithm algorithm, int64_t steps) {
    llvm::sort(uses_,
               [](const auto &a, const auto &b) { return a.first < b.first; });
    CollectiveCost cost;
    cost.algorithm = algorithm;
    cost.occupiesReceiver = occupies_;
    int64_t busiest = 0;
    for (size_t i = 0; i < uses_.size();) {
      double sum = 0;
      int32_t resource = uses_[i].first;
      for (; i < uses_.size() && uses_[i].first == resource; ++i)
        sum += uses_[i].second;
      cost.links.push_back({resource, std::llround(sum)});
      busiest = std::max<int64_t>(busiest, std::llround(sum));
    }
    cost.ns = steps * latencyNs_ + busiest;
    return cost;
  }

private:
  const Topology &topology_;
  llvm::SmallVector<std::pair<int32_t, double>, 64> uses_;
  int64_t latencyNs_ = 0;
  bool occupies_ = false;
};
} // namespace

CollectiveCost CostModel::collective(ActionKind kind,
                                     llvm::ArrayRef<int32_t> group,
                                     llvm::ArrayRef<int64_t> bytes,
                                     const Topology &topology) {
  int64_t members = static_cast<int64_t>(group.size());
  if (members < 2)
    return {};
  double total = 0, largest = 0;
  for (int64_t count : bytes) {
    total += static_cast<double>(count);
    largest = std::max(largest, static_cast<double>(count));
  }
  auto next = [&](int64_t member) { return (member + 1) % members; };
  // A ring in the order of the group: topologies number devices so that
  // neighbours are near.
  auto ring = [&](int64_t steps, auto bytesOfHop, bool closed = true) {
    Traffic traffic(topology);
    for (int64_t member = 0; member < members - !closed; ++member)
      traffic.send(group[member], group[next(member)], bytesOfHop(member));
    return traffic.finish(CollectiveAlgorithm::Ring, steps);
  };
  // A binary tree over the group, down from member 0, and up before if asked.
  auto tree = [&](double size, bool up) {
    Traffic traffic(topology);
    for (int64_t member = 1; member < members; ++member) {
      int32_t parent = group[(member - 1) / 2];
      traffic.send(parent, group[member], size);
      if (up)
        traffic.send(group[member], parent, size);
    }
    int64_t depth = llvm::Log2_64_Ceil(members);
    return traffic.finish(CollectiveAlgorithm::Tree, up ? 2 * depth : depth);
  };
  auto cheaper = [](CollectiveCost a, CollectiveCost b) {
    return b.ns < a.ns ? b : a;
  };

  // A member adds up its share: two reads and a write, on the slowest device.
  auto addUp = [&](CollectiveCost cost) {
    double bandwidth = std::numeric_limits<double>::max();
    for (int32_t device : group)
      if (device != topology.host())
        bandwidth =
            std::min(bandwidth, topology.kindOf(device).memoryBandwidth);
    cost.ns +=
        std::llround(3e9 * largest * (members - 1) / members / bandwidth);
    return cost;
  };

  switch (kind) {
  case ActionKind::AllGather:
    return ring(members - 1, [&](int64_t member) {
      return total - static_cast<double>(bytes[next(member)]);
    });
  case ActionKind::AllReduce: {
    double share = largest * (members - 1) / members;
    return addUp(
        cheaper(ring(2 * (members - 1), [&](int64_t) { return 2 * share; }),
                tree(largest, /*up=*/true)));
  }
  case ActionKind::ReduceScatter: {
    double share = largest * (members - 1) / members;
    return addUp(ring(members - 1, [&](int64_t) { return share; }));
  }
  case ActionKind::Broadcast:
    return cheaper(
        ring(
            members - 1, [&](int64_t) { return largest; }, /*closed=*/false),
        tree(largest, /*up=*/false));
  case ActionKind::AllToAll: {
    Traffic traffic(topology);
    for (int64_t from = 0; from < members; ++from)
      for (int64_t to = 0; to < members; ++to)
        traffic.send(group[from], group[to],
                     static_cast<double>(bytes[from]) / members);
    return traffic.finish(CollectiveAlgorithm::Direct, members - 1);
  }
  case ActionKind::Transfer:
  case ActionKind::HaloExchange:
    break;
  }
  return {};
}
