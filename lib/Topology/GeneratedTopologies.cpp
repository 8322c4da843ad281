//===- GeneratedTopologies.cpp - Published machines by name ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Topology/GeneratedTopologies.h"
#include "soap/Links/PriorityStreams.h"
#include "soap/Support/NearestWords.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace soap;
using llvm::StringRef;
using llvm::Twine;

static constexpr GeneratedTopology names[] = {
    {"k80", "4 K80 devices, PCIe switches; 56 Gb/s InfiniBand", 4, 16},
    {"p100", "4 P100 with NVLink1; 100 Gb/s InfiniBand", 4, 4},
    {"v100", "8 V100 in a hybrid cube mesh of NVLink2; 100 Gb/s network", 8, 1},
    {"dgx-a100", "8 A100 on NVSwitch, 300 GB/s; 200 Gb/s InfiniBand per device",
     8, 1},
    {"dgx-h100", "8 H100 on NVSwitch, 450 GB/s; 400 Gb/s InfiniBand per device",
     8, 1},
    {"dgx-h200", "8 H200 on NVSwitch, 450 GB/s; 400 Gb/s InfiniBand per device",
     8, 1},
};

llvm::ArrayRef<GeneratedTopology> soap::generatedTopologies() { return names; }

//===----------------------------------------------------------------------===//
// Machines
//===----------------------------------------------------------------------===//

namespace {
constexpr int32_t host = Topology::hostVertex;

/// A topology of equal nodes under construction. Junctions are numbered in the
/// order in which links name them, as the reader of files does.
class Cluster {
public:
  Cluster(std::string name, StringRef kindName, int32_t nodes, int32_t perNode)
      : nodes(nodes), perNode(perNode) {
    topology.name = std::move(name);
    // Streams of CUDA with a priority, each with communicators of its own.
    topology.priorityBytes = gpuPriorityBytes;
    const PublishedDevice *device =
        llvm::find_if(publishedDevices(), [&](const PublishedDevice &known) {
          return known.name == kindName;
        });
    assert(device != publishedDevices().end() && "expected a published device");
    int32_t kind = topology.addKind(device->kind());
    for (int32_t id = 0; id < nodes * perNode; ++id)
      topology.addDevice(kind, id / perNode,
                         static_cast<int64_t>(device->memoryGiB) << 30);
  }

  /// The junction `name` of a node.
  int32_t in(int32_t node, const Twine &name) {
    return junction("node" + Twine(node) + "." + name);
  }
  /// The junction `name` between the nodes.
  int32_t junction(const Twine &name) {
    auto [it, isNew] = junctions_.try_emplace(name.str(), 0);
    if (isNew)
      it->second = topology.addJunction(it->first());
    return it->second;
  }
  /// One link in each direction, each a resource of its own.
  void connect(int32_t a, int32_t b, double gigabytesPerSecond,
               int64_t latencyNs) {
    Link link;
    link.from = a;
    link.to = b;
    link.bandwidth = gigabytesPerSecond * 1e9;
    link.latencyNs = latencyNs;
    topology.addDuplexLink(std::move(link));
  }
  void comment(const Twine &line) { topology.comments.push_back(line.str()); }

  Topology topology;
  int32_t nodes, perNode;

private:
  llvm::StringMap<int32_t> junctions_;
};
} // namespace

static constexpr StringRef kindComment =
    "peak_flops is about 85% of the published fp32 peak (K80: between base and "
    "boost clock), memory bandwidth 70-80% of the published one; half_* and "
    "launch_s are assumptions";

static std::string nameOf(StringRef name, int32_t nodes, int32_t perNode) {
  return (name + "-" + Twine(nodes) + "x" + Twine(perNode)).str();
}

static Cluster makeP100(int32_t nodes) {
  // Clusters of the papers keep the names of their files, here and below.
  std::string name = nodes == 1   ? "p100-node"
                     : nodes == 4 ? "p100-cluster"
                                  : nameOf("p100", nodes, 4);
  Cluster cluster(name, "P100-SXM2", nodes, 4);
  cluster.comment(kindComment);
  cluster.comment(
      (nodes == 1 ? "one node of 4 P100" : Twine(nodes) + " nodes x 4 P100") +
      " (Jia et al., 'Beyond data and model parallelism', figure 6)");
  cluster.comment(
      "assumed: every pair of a node has one NVLink1 of 20 GB/s per "
      "direction");
  cluster.comment("assumed: a GPU reaches the network card over PCIe3 x16, 12 "
                  "GB/s; EDR InfiniBand is 100 Gb/s = 12.5 GB/s per node and "
                  "direction; latencies 2, 3 and 2 microseconds");
  for (int32_t node = 0; node < nodes; ++node) {
    int32_t first = 4 * node, pcie = cluster.in(node, "pcie");
    for (int32_t a = 0; a < 4; ++a) {
      for (int32_t b = 0; b < a; ++b)
        cluster.connect(first + b, first + a, 20, 2000);
      cluster.connect(first + a, pcie, 12, 3000);
    }
    if (nodes > 1)
      cluster.connect(pcie, cluster.junction("infiniband"), 12.5, 2000);
    cluster.connect(pcie, host, 12, 3000);
  }
  return cluster;
}

static Cluster makeK80(int32_t nodes) {
  Cluster cluster(nodes == 16 ? "k80-cluster" : nameOf("k80", nodes, 4), "K80",
                  nodes, 4);
  cluster.comment(kindComment);
  cluster.comment(Twine(nodes) + " nodes x 4 K80 devices (Jia et al., 'Beyond "
                                 "data and model parallelism', figure 6)");
  cluster.comment("adjacent devices share a PCIe switch, all four share the "
                  "host's switch");
  cluster.comment("assumed: every PCIe segment 10 GB/s per direction; "
                  "InfiniBand 56 Gb/s = 7 GB/s per node and direction; "
                  "latencies 3, 3 and 2 microseconds");
  for (int32_t node = 0; node < nodes; ++node) {
    for (int32_t pair = 0; pair < 2; ++pair) {
      int32_t pcie = cluster.in(node, "switch" + Twine(pair));
      for (int32_t i = 0; i < 2; ++i)
        cluster.connect(4 * node + 2 * pair + i, pcie, 10, 3000);
      cluster.connect(pcie, cluster.in(node, "root"), 10, 3000);
    }
    int32_t root = cluster.in(node, "root");
    if (nodes > 1)
      cluster.connect(root, cluster.junction("infiniband"), 7, 2000);
    cluster.connect(root, host, 10, 3000);
  }
  return cluster;
}

static Cluster makeV100(int32_t nodes) {
  // NVLinks between the GPUs of one server: the hybrid cube mesh.
  static constexpr struct {
    int32_t a, b, links;
  } cubeMesh[] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2},
                  {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                  {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                  {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
  Cluster cluster(nodes == 1 ? "v100-8" : nameOf("v100", nodes, 8), "V100-SXM2",
                  nodes, 8);
  cluster.comment(kindComment);
  cluster.comment(
      "f16_flops is about 85% of the published peak of tensor cores");
  cluster.comment(
      "servers of 8 V100-16GB with NVLink (Yi et al., 'Fast training "
      "of deep learning models over multiple GPUs')");
  cluster.comment(
      "assumed: hybrid cube mesh, 25 GB/s per NVLink2 and direction; "
      "pairs without a link go over PCIe3 x16, 12 GB/s");
  cluster.comment("assumed: servers are connected by 100 Gb/s = 12.5 GB/s per "
                  "direction (not stated in the paper)");
  for (int32_t node = 0; node < nodes; ++node) {
    int32_t first = 8 * node;
    for (auto [a, b, links] : cubeMesh)
      cluster.connect(first + a, first + b, 25.0 * links, 2000);
    int32_t pcie = cluster.in(node, "pcie");
    for (int32_t i = 0; i < 8; ++i)
      cluster.connect(first + i, pcie, 12, 3000);
    cluster.connect(pcie, host, 12, 3000);
    if (nodes > 1)
      cluster.connect(pcie, cluster.junction("network"), 12.5, 2000);
  }
  return cluster;
}

namespace {
/// A generation of DGX systems: rates in GB/s per device and direction.
struct DGX {
  StringRef name, system, kind, nvlink, pcie, card;
  int32_t nvlinkRate, pcieRate, cardRate;
};
} // namespace

static Cluster makeDGX(int32_t nodes, const DGX &dgx) {
  Cluster cluster(nameOf(dgx.name, nodes, 8), dgx.kind, nodes, 8);
  cluster.comment("peak_flops is about 85% of the published fp32 peak without "
                  "tensor cores, memory bandwidth 80% of the published one; "
                  "half_* and launch_s are assumptions");
  cluster.comment("tf32_flops, bf16_flops and f16_flops are about 85% of the "
                  "published peaks of tensor cores, of dense matrices");
  cluster.comment(Twine(nodes) + (nodes == 1 ? " node" : " nodes") + " x 8 " +
                  dgx.kind + " (NVIDIA " + dgx.system +
                  "); memory_bytes is the published number of GB, in GiB");
  cluster.comment(
      llvm::formatv("published: {0} over NVSwitch, {1} GB/s per device and "
                    "direction; one {2} card per device, {3} Gb/s = {4} GB/s "
                    "per direction",
                    dgx.nvlink, dgx.nvlinkRate, dgx.card, 8 * dgx.cardRate,
                    dgx.cardRate)
          .str());
  cluster.comment(
      llvm::formatv("assumed: {0} x16 carries {1} GB/s per direction; a device "
                    "shares its port between its card and the host, two "
                    "devices share a switch's x16 to the host",
                    dgx.pcie, dgx.pcieRate)
          .str());
  cluster.comment(
      "assumed: the InfiniBand fabric is a fat tree that never "
      "blocks; latencies of a link to NVSwitch, PCIe and InfiniBand "
      "1, 1 and 1.5 microseconds");
  for (int32_t node = 0; node < nodes; ++node) {
    int32_t nvswitch = cluster.in(node, "nvswitch");
    for (int32_t i = 0; i < 8; ++i) {
      int32_t device = 8 * node + i, port = cluster.in(node, "port" + Twine(i));
      cluster.connect(device, nvswitch, dgx.nvlinkRate, 1000);
      cluster.connect(device, port, dgx.pcieRate, 1000);
      if (nodes > 1)
        cluster.connect(port, cluster.junction("infiniband"), dgx.cardRate,
                        1500);
      cluster.connect(port, cluster.in(node, "pcie" + Twine(i / 2)),
                      dgx.pcieRate, 0);
    }
    for (int32_t pair = 0; pair < 4; ++pair)
      cluster.connect(cluster.in(node, "pcie" + Twine(pair)), host,
                      dgx.pcieRate, 1000);
  }
  return cluster;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static llvm::Error unknownName(StringRef name) {
  std::vector<StringRef> known;
  for (const GeneratedTopology &topology : names)
    known.push_back(topology.name);
  return llvm::createStringError(
      "expected a topology file (*.json) or one of the names " +
      llvm::join(known, ", ") + ", as in dgx-h100:nodes=16, got: '" + name +
      "'" + nearestWords(name, known));
}

namespace {
/// What stands behind the colon.
struct Values {
  int32_t nodes, memory = 80;
};
} // namespace

static llvm::Expected<Values> readValues(const GeneratedTopology &topology,
                                         StringRef text, bool hasMemory) {
  Values values;
  values.nodes = topology.defaultNodes;
  int32_t most = maxGeneratedDevices / topology.devicesPerNode;
  llvm::SmallVector<StringRef, 2> entries, keys{"nodes"};
  if (hasMemory)
    keys.push_back("memory");
  text.split(entries, ',');
  llvm::SmallSet<StringRef, 2> seen;
  for (StringRef entry : entries) {
    auto [key, value] = entry.split('=');
    if (!llvm::is_contained(keys, key) || !entry.contains('='))
      return llvm::createStringError(
          "expected " + llvm::join(keys, "=N or ") + "=N behind '" +
          topology.name + ":', got: '" + entry + "'" +
          (entry.contains('=') ? nearestWords(key, keys) : ""));
    if (!seen.insert(key).second)
      return llvm::createStringError("expected '" + key + "' once in '" +
                                     topology.name + ":" + text +
                                     "', got: it again; remove one of them");
    int32_t number = 0;
    bool isNumber = !value.getAsInteger(10, number);
    if (key == "nodes") {
      if (!isNumber || number < 1 || number > most)
        return llvm::createStringError(
            "expected nodes=1 to " + Twine(most) + " for " + topology.name +
            ", whose nodes have " + Twine(topology.devicesPerNode) +
            " devices (" + Twine(maxGeneratedDevices) +
            " in all; describe larger machines in a file), got: '" + value +
            "'");
      values.nodes = number;
    } else {
      if (!isNumber || (number != 40 && number != 80))
        return llvm::createStringError(
            "expected memory=40 or memory=80, the GB "
            "of an A100, got: '" +
            value + "'");
      values.memory = number;
    }
  }
  return values;
}

llvm::Expected<Topology> soap::generateTopology(StringRef spec) {
  auto [name, text] = spec.split(':');
  const GeneratedTopology *known =
      llvm::find_if(names, [name = name](const GeneratedTopology &topology) {
        return topology.name == name;
      });
  if (known == std::end(names))
    return unknownName(name);
  Values values{known->defaultNodes};
  if (spec.contains(':')) {
    llvm::Expected<Values> read = readValues(*known, text, name == "dgx-a100");
    if (!read)
      return read.takeError();
    values = *read;
  }
  Cluster cluster = [&, name = name] {
    if (name == "k80")
      return makeK80(values.nodes);
    if (name == "p100")
      return makeP100(values.nodes);
    if (name == "v100")
      return makeV100(values.nodes);
    if (name == "dgx-a100") {
      bool has40 = values.memory == 40;
      return makeDGX(values.nodes,
                     {has40 ? "dgx-a100-40gb" : name, "DGX A100",
                      has40 ? "A100-SXM4-40GB" : "A100-SXM4-80GB", "NVLink3",
                      "PCIe4", "HDR InfiniBand", 300, 25, 25});
    }
    bool isH200 = name == "dgx-h200";
    return makeDGX(values.nodes,
                   {name, isH200 ? "DGX H200" : "DGX H100",
                    isH200 ? "H200-SXM5-141GB" : "H100-SXM5-80GB", "NVLink4",
                    "PCIe5", "NDR InfiniBand", 450, 50, 50});
  }();
  llvm::cantFail(cluster.topology.finish(),
                 "expected generated topologies to be complete");
  return std::move(cluster.topology);
}

llvm::Expected<Topology> soap::loadTopology(StringRef fileOrName) {
  if (fileOrName.ends_with(".json") ||
      (llvm::sys::fs::exists(fileOrName) &&
       !llvm::sys::fs::is_directory(fileOrName)))
    return Topology::load(fileOrName);
  return generateTopology(fileOrName);
}

std::string soap::describeGeneratedTopologies() {
  std::string text;
  for (const GeneratedTopology &topology : names)
    text +=
        llvm::formatv("  {0,-9} {1} (nodes={2} unless given)\n", topology.name,
                      topology.description, topology.defaultNodes)
            .str();
  return text;
}
