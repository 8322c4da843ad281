//===- Topology.cpp - The topology of this machine, measured --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Topology.h"
#include "Measure.h"
#include "soap/Links/PriorityStreams.h"
#include "soap/Probe/RateFit.h"
#include "soap/Tensors/Files.h"
#include <algorithm>
#include <iostream>

using namespace soap;
using namespace soap::run;

namespace {
/// The rates of DeviceKind (soap/Topology/Topology.h), which needs LLVM, with
/// its defaults.
struct Rates {
  double peakFlops = 100e9, memoryBandwidth = 10e9;
  double cacheBytes = 0, cacheBandwidth = 0;
  double halfRows = 4, halfColumns = 4, halfDepth = 16;
  int64_t launchNs = 1000;
  double boxBandwidth = 0, boxRunSeconds = 0;
  int64_t boxLaunchNs = 0;
};

/// What a link does: bytes/s, and seconds until the first byte is there.
struct LinkRates {
  double bandwidth = 0, latency = 0;
};

/// The devices that are measured.
struct Machine {
  ProbeTarget target;
  std::string name;
  std::vector<int64_t> memoryBytes; ///< By device.
  uint32_t cores = 0;               ///< Of the host that a device has.
  bool hasSpareCore = false;
};
} // namespace

/// The entry of a target in soap_list_devices(); by default that of the last
/// one that has devices, GPUs before cores.
static Json findTarget(const std::string &name) {
  Json found;
  std::string reason;
  Json machine = Json::parse(soap_list_devices());
  for (const Json &entry : machine["devices"]) {
    bool isWanted = name.empty() || entry["kind"] == name;
    if (isWanted && entry.contains("name"))
      found = entry;
    else if (isWanted)
      reason = entry["library"];
  }
  if (found.is_null())
    throw UsageError("expected devices" +
                     (name.empty() ? "" : " of target " + name) + ", got: " +
                     (reason.empty() ? "none; soap-run --list-devices shows "
                                       "what is there"
                                     : reason));
  return found;
}

/// GPUs: as many as asked for, or all. `entry` as soap_list_devices() has it.
static void takeGpus(const Json &entry, uint32_t devices, Machine &machine) {
  const Json &gpus = entry["devices"];
  auto count = static_cast<uint32_t>(gpus.size());
  if (devices > count)
    throw UsageError("expected at most " + std::to_string(count) +
                     " devices with --devices, as there are GPUs, got: " +
                     std::to_string(devices));
  machine.target.devices = devices ? devices : count;
  // What the target cuda of the compiler says.
  machine.target.alignment = 256;
  machine.hasSpareCore = true;
  for (uint32_t i = 0; i != machine.target.devices; ++i)
    machine.memoryBytes.push_back(gpus[i]["memory_bytes"].get<int64_t>());
}

/// Cores of the host: one per device unless asked for otherwise.
static void takeCores(const Json &entry, const TopologyRequest &request,
                      Machine &machine) {
  auto cores = static_cast<uint32_t>(entry["cores"].size());
  uint32_t each = std::max(request.coresPerDevice, 1U);
  uint32_t devices =
      request.devices ? request.devices : std::max(cores / each, 1U);
  if (!request.coresPerDevice)
    each = std::max(cores / devices, 1U);
  machine.target.devices = devices;
  machine.target.coresPerDevice = machine.cores = each;
  machine.target.stream = hostStreamKernel();
  machine.hasSpareCore = devices * each < cores;
  machine.memoryBytes.assign(devices,
                             entry["memory_bytes"].get<int64_t>() / devices);
}

static Machine findMachine(const TopologyRequest &request) {
  Json entry = findTarget(request.target);
  Machine machine;
  machine.target.name = entry["kind"];
  machine.name = entry["name"];
  if (entry.contains("devices"))
    takeGpus(entry, request.devices, machine);
  else
    takeCores(entry, request, machine);
  return machine;
}

static ProbeTime checked(ProbeTime time) {
  if (!time.error.empty())
    throw RunError(time.error);
  return time;
}

static Rates measureKind(const ProbeTarget &target) {
  using Kind = ProbeStep::Kind;
  auto measure = [&](Kind kind, int64_t bytes) {
    ProbeStep step{kind};
    step.bytes = bytes;
    return measureProbe(step, target);
  };
  RateProbe probe;
  probe.gemm = [&](int64_t m, int64_t n, int64_t k) {
    return measureProbe({Kind::Gemm, m, n, k}, target);
  };
  probe.launch = [&] { return measure(Kind::Launch, 0); };
  probe.stream = [&](int64_t bytes) { return measure(Kind::Stream, bytes); };
  probe.boxes = [&](int64_t bytes, int64_t run) {
    ProbeStep step{Kind::Boxes};
    step.bytes = bytes;
    step.run = run;
    return measureProbe(step, target);
  };
  probe.copy = [&](int64_t bytes) { return measure(Kind::Exchange, bytes); };
  probe.handOver = [&](int64_t bytes) {
    return measure(Kind::HandOver, bytes);
  };
  Rates rates;
  RateFit fit;
  std::string error =
      measureRates(probe, static_cast<int32_t>(target.devices), rates, fit);
  if (!error.empty())
    throw RunError(error);
  return rates;
}

/// Of one step between few bytes and many.
static LinkRates measureLink(ProbeStep step, const ProbeTarget &target) {
  constexpr int64_t many = 8 << 20, few = 256;
  step.bytes = many;
  double large = checked(measureProbe(step, target)).seconds;
  step.bytes = few;
  double small = checked(measureProbe(step, target)).seconds;
  return {many / std::max(large - small, 0.01 * large), small};
}

static Json linkOf(uint32_t from, uint32_t to, const LinkRates &rates,
                   const std::string &shared, const Machine &machine) {
  Json link = {{"from", from},
               {"to", to},
               {"bandwidth_bytes_per_s", std::round(rates.bandwidth)},
               {"latency_s", rates.latency}};
  // What enters the memory of cores is copied by these, one thing at a time.
  if (machine.cores)
    link["shared"] = shared;
  if (!machine.hasSpareCore && to != machine.target.devices)
    link["occupies"] = "receiver";
  return link;
}

static Json measureLinks(const Machine &machine) {
  uint32_t host = machine.target.devices;
  LinkRates fed = measureLink({ProbeStep::Kind::Feed}, machine.target);
  Json links = Json::array();
  // Cores that wait have to wake up, which takes longer than a message.
  double handOver = 0;
  if (machine.target.stream && host > 1) {
    ProbeStep step{ProbeStep::Kind::HandOver};
    step.bytes = 256;
    handOver = checked(measureProbe(step, machine.target)).seconds;
  }
  for (uint32_t to = 0; to != host; ++to) {
    std::string into = "into-" + std::to_string(to);
    for (uint32_t from = 0; from != host; ++from) {
      if (from == to)
        continue;
      ProbeStep step{ProbeStep::Kind::Exchange};
      step.from = static_cast<int32_t>(from);
      step.to = static_cast<int32_t>(to);
      LinkRates rates = measureLink(step, machine.target);
      rates.latency = std::max(rates.latency, handOver);
      links.push_back(linkOf(from, to, rates, into, machine));
    }
    links.push_back(linkOf(host, to, fed, into, machine));
    links.push_back(linkOf(to, host, fed, "into-host", machine));
  }
  return links;
}

static Json describeKind(const Rates &rates, uint64_t alignment) {
  Json kind = {
      {"peak_flops", std::round(rates.peakFlops)},
      {"memory_bandwidth_bytes_per_s", std::round(rates.memoryBandwidth)}};
  if (rates.cacheBytes > 0) {
    kind["cache_bytes"] = rates.cacheBytes;
    kind["cache_bandwidth_bytes_per_s"] = std::round(rates.cacheBandwidth);
  }
  kind["half_rows"] = rates.halfRows;
  kind["half_columns"] = rates.halfColumns;
  kind["half_depth"] = rates.halfDepth;
  kind["launch_s"] = static_cast<double>(rates.launchNs) * 1e-9;
  kind["box_bandwidth_bytes_per_s"] = std::round(rates.boxBandwidth);
  kind["box_run_s"] = rates.boxRunSeconds;
  kind["box_launch_s"] = static_cast<double>(rates.boxLaunchNs) * 1e-9;
  kind["alignment"] = alignment;
  return kind;
}

void run::describeTopology(const TopologyRequest &request) {
  Machine machine = findMachine(request);
  const ProbeTarget &target = machine.target;
  Json devices = Json::array();
  for (uint32_t id = 0; id != target.devices; ++id) {
    devices.push_back({{"id", id},
                       {"kind", target.name},
                       {"node", 0},
                       {"memory_bytes", machine.memoryBytes[id]}});
    if (machine.cores)
      devices.back()["cores"] = machine.cores;
  }
  devices.push_back({{"id", target.devices}, {"kind", "host"}});
  Json kinds;
  kinds[target.name] = describeKind(measureKind(target), target.alignment);
  Json topology = {
      {"format", "soap-topology"},
      {"name", "measured-" + std::to_string(target.devices)},
      {"comment",
       {"measured by soap-run --describe-topology on " + machine.name,
        "rates with all devices at work, links one by one; that from the host "
        "stands for that to it, too"}},
      {"kinds", std::move(kinds)},
      {"devices", std::move(devices)},
      {"links", measureLinks(machine)}};
  // Cores have no priority streams.
  if (!machine.cores && target.devices > 1)
    topology["priority_bytes"] = gpuPriorityBytes;
  writeFile(request.file,
            [&](std::ostream &file) { file << topology.dump(1) << '\n'; });
  std::cout << "measured " << target.devices << " device(s) of " << machine.name
            << "\n";
}
