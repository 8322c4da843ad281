//===- Topology.cpp - Devices and the links between them ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Topology/Topology.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cassert>
#include <limits>

using namespace soap;

int32_t Topology::addKind(DeviceKind kind) {
  kinds_.push_back(std::move(kind));
  return static_cast<int32_t>(kinds_.size()) - 1;
}

int32_t Topology::addDevice(int32_t kind, int32_t node, int64_t memoryBytes,
                            int32_t cores) {
  int32_t id = numDevices();
  devices_.push_back({id, kind, node, memoryBytes, cores});
  return id;
}

int32_t Topology::addJunction(llvm::StringRef name) {
  junctions_.push_back(name.str());
  return -static_cast<int32_t>(junctions_.size());
}

void Topology::addLink(Link link) { links_.push_back(std::move(link)); }

void Topology::addDuplexLink(Link link) {
  addLink(link);
  std::swap(link.from, link.to);
  addLink(std::move(link));
}

llvm::Error Topology::finish() {
  if (!finished_) {
    auto number = [&](int32_t vertex) {
      if (vertex == hostVertex)
        return host();
      return vertex < 0 ? host() - vertex : vertex;
    };
    llvm::StringMap<int32_t> shared;
    for (Link &link : links_) {
      link.from = number(link.from);
      link.to = number(link.to);
      if (link.shared.empty()) {
        link.resource = numResources_++;
        continue;
      }
      auto [it, isNew] = shared.try_emplace(link.shared, numResources_);
      link.resource = it->second;
      numResources_ += isNew;
    }
    finished_ = true;
  }
  // Routes are looked for only if all links are valid.
  int32_t numVertices = host() + 1 + static_cast<int32_t>(junctions_.size());
  for (const Link &link : links_)
    if (link.from < 0 || link.to < 0 || link.from >= numVertices ||
        link.to >= numVertices || !(link.bandwidth > 0) || link.latencyNs < 0)
      return check();
  findRoutes();
  return check();
}

llvm::Error Topology::check() const {
  if (devices_.empty())
    return llvm::createStringError("expected at least one device, got: none");
  if (!finished_)
    return llvm::createStringError(
        "expected finish() before the topology is used");
  for (const DeviceKind &kind : kinds_) {
    if (!(kind.peakFlops > 0) || !(kind.memoryBandwidth > 0))
      return llvm::createStringError("device kind '" + kind.name +
                                     "': expected positive peak_flops and "
                                     "memory_bandwidth_bytes_per_s");
    if (kind.halfRows < 0 || kind.halfColumns < 0 || kind.halfDepth < 0 ||
        kind.launchNs < 0)
      return llvm::createStringError(
          "device kind '" + kind.name +
          "': expected sizes and launch cost of 0 or more");
  }
  for (const Device &device : devices_) {
    if (device.kind < 0 || device.kind >= static_cast<int32_t>(kinds_.size()))
      return llvm::createStringError(
          "device " + llvm::Twine(device.id) +
          ": expected a kind that the topology describes");
    if (device.memoryBytes < 0)
      return llvm::createStringError(
          "device " + llvm::Twine(device.id) +
          ": expected memory_bytes of 0 (unlimited) or more, got: " +
          llvm::Twine(device.memoryBytes));
  }
  int32_t numVertices = host() + 1 + static_cast<int32_t>(junctions_.size());
  for (auto [index, link] : llvm::enumerate(links_)) {
    std::string where = "link " + std::to_string(index) + ": ";
    for (int32_t vertex : {link.from, link.to})
      if (vertex < 0 || vertex >= numVertices)
        return llvm::createStringError(
            where +
            "expected ends that are devices or junctions of the topology");
    if (link.from == link.to)
      return llvm::createStringError(
          where + "expected two different ends, got: the same twice");
    if (!(link.bandwidth > 0))
      return llvm::createStringError(
          where + "expected a positive bandwidth_bytes_per_s");
    if (link.latencyNs < 0)
      return llvm::createStringError(where +
                                     "expected a latency_s of 0 or more");
  }
  int32_t ends = numDevices() + 1;
  auto endName = [&](int32_t id) {
    return id == host() ? std::string("the host")
                        : "device " + std::to_string(id);
  };
  for (int32_t from = 0; from < ends; ++from)
    for (int32_t to = 0; to < ends; ++to)
      if (from != to && route(from, to).links.empty())
        return llvm::createStringError(
            "expected a route from " + endName(from) + " to " + endName(to) +
            ", got: none; add a link, or links through a junction");
  return llvm::Error::success();
}

Topology Topology::machine(int32_t count, const MachineDevice &device) {
  assert(count > 0 && device.copyBandwidth > 0 && "devices exchange data");
  Topology topology;
  topology.name = "machine-" + std::to_string(count);
  int32_t kind = topology.addKind(device.kind);
  for (int32_t id = 0; id < count; ++id)
    topology.addDevice(kind, 0, device.memoryBytes, device.cores);
  // The receiver copies, one thing at a time: what enters a device shares one
  // resource.
  auto connect = [&](int32_t from, int32_t to, const llvm::Twine &shared) {
    topology.addLink({from, to, device.copyBandwidth, device.latencyNs,
                      shared.str(), -1, device.occupiesReceiver,
                      /*copyBandwidth=*/0, device.sharesMemory});
  };
  for (int32_t to = 0; to < count; ++to) {
    for (int32_t from = 0; from < count; ++from)
      if (from != to)
        connect(from, to, "into-" + llvm::Twine(to));
    connect(hostVertex, to, "into-" + llvm::Twine(to));
    connect(to, hostVertex, "into-host");
  }
  // Searches call check(), which finds the same mistake of `device` again.
  llvm::consumeError(topology.finish());
  return topology;
}

void Topology::reserveMemory(int32_t device, int64_t bytes) {
  assert(device >= 0 && device < numDevices() && "a device of the topology");
  assert(bytes >= 0 && "nothing is given back");
  int64_t &memory = devices_[device].memoryBytes;
  if (memory > 0)
    memory = std::max<int64_t>(1, memory - bytes);
}

void Topology::throttle(const LinkSpeed &speed) {
  assert(finished_ && "links are throttled after finish()");
  assert(speed.bandwidth > 0 && speed.latencyNs >= 0 && "a link moves data");
  name += "-link";
  for (Link &link : links_) {
    if (link.from >= numDevices() || link.to >= numDevices())
      continue;
    link.copyBandwidth =
        std::min(link.bandwidth, link.copyBandwidth > 0
                                     ? link.copyBandwidth
                                     : std::numeric_limits<double>::infinity());
    link.bandwidth = speed.bandwidth;
    link.latencyNs += speed.latencyNs;
    link.sharesMemory = false;
    link.shared.clear();
    link.resource = numResources_++;
  }
  findRoutes();
}
