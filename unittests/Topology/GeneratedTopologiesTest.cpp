//===- GeneratedTopologiesTest.cpp - Published machines by name -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Topology/GeneratedTopologies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace soap;

namespace {
Topology make(llvm::StringRef spec) {
  llvm::Expected<Topology> topology = generateTopology(spec);
  if (topology)
    return std::move(*topology);
  ADD_FAILURE() << spec.str() << ": " << llvm::toString(topology.takeError());
  return {};
}

std::string errorOf(llvm::Expected<Topology> topology) {
  return topology ? "" : llvm::toString(topology.takeError());
}

TEST(GeneratedTopologies, FilesAreWhatIsGenerated) {
  for (auto [file, spec] :
       {std::pair("p100-cluster", "p100"),
        std::pair("p100-node", "p100:nodes=1"), std::pair("k80-cluster", "k80"),
        std::pair("v100-8", "v100"), std::pair("v100-2x8", "v100:nodes=2")}) {
    auto buffer = llvm::MemoryBuffer::getFile(llvm::Twine(SOAP_TOPOLOGIES "/") +
                                              file + ".json");
    ASSERT_TRUE(bool(buffer)) << file;
    EXPECT_EQ(make(spec).toJSON(), (*buffer)->getBuffer().str()) << file;
    EXPECT_EQ(make(spec).name, file);
  }
}

TEST(GeneratedTopologies, DefaultsAndSizes) {
  for (const GeneratedTopology &known : generatedTopologies()) {
    Topology topology = make(known.name);
    EXPECT_EQ(toString(topology.check()), "");
    EXPECT_EQ(topology.numDevices(), known.devicesPerNode * known.defaultNodes);
    EXPECT_FALSE(topology.comments.empty()) << known.name.str();
    for (int32_t nodes : {1, 2, 5}) {
      topology = make(
          (llvm::Twine(known.name) + ":nodes=" + llvm::Twine(nodes)).str());
      EXPECT_EQ(topology.numDevices(), known.devicesPerNode * nodes);
      for (const Device &device : topology.devices())
        EXPECT_EQ(device.node, device.id / known.devicesPerNode);
    }
    // In another node is farther than in the same one.
    EXPECT_LT(topology.routeCost(0, 1),
              topology.routeCost(0, known.devicesPerNode));
  }
}

TEST(GeneratedTopologies, FilesHoldThousandDevices) {
  for (const GeneratedTopology &known : generatedTopologies()) {
    int32_t nodes = maxGeneratedDevices / known.devicesPerNode;
    Topology topology =
        make((llvm::Twine(known.name) + ":nodes=" + llvm::Twine(nodes)).str());
    ASSERT_EQ(topology.numDevices(), maxGeneratedDevices);
    std::string text = topology.toJSON();
    llvm::Expected<Topology> again = Topology::parse(text);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(again->toJSON(), text);
    for (int32_t from : {0, 1, 511, 1023, topology.host()})
      for (int32_t to = 0; to <= topology.host(); ++to)
        ASSERT_EQ(topology.route(from, to).links, again->route(from, to).links)
            << known.name.str() << " from " << from << " to " << to;
  }
}

/// Which links a DGX's routes take, and which of them they share.
TEST(GeneratedTopologies, DGXRoutes) {
  Topology dgx = make("dgx-h100:nodes=2");
  // NVSwitch within a node.
  Route near = dgx.route(0, 7);
  EXPECT_EQ(near.links.size(), 2u);
  EXPECT_EQ(near.bandwidth, 450e9);
  EXPECT_EQ(near.latencyNs, 2000);
  // PCIe, a card, a card and PCIe between nodes.
  Route far = dgx.route(0, 8);
  EXPECT_EQ(far.links.size(), 4u);
  EXPECT_EQ(far.bandwidth, 50e9);
  EXPECT_EQ(far.latencyNs, 5000);
  auto shares = [&](Route a, Route b) {
    return llvm::any_of(a.links, [&](int32_t one) {
      return llvm::any_of(b.links, [&](int32_t other) {
        return dgx.links()[one].resource == dgx.links()[other].resource;
      });
    });
  };
  // Every device has a card of its own; both directions go at once.
  EXPECT_FALSE(shares(far, dgx.route(1, 9)));
  EXPECT_FALSE(shares(far, dgx.route(8, 0)));
  EXPECT_TRUE(shares(far, dgx.route(0, 9)));
  // NVSwitch does not share with the network, the host does.
  EXPECT_FALSE(shares(far, near));
  EXPECT_TRUE(shares(far, dgx.route(0, dgx.host())));
  // Two devices share the way to the host, four do not.
  EXPECT_TRUE(shares(dgx.route(0, dgx.host()), dgx.route(1, dgx.host())));
  EXPECT_FALSE(shares(dgx.route(0, dgx.host()), dgx.route(2, dgx.host())));
}

TEST(GeneratedTopologies, Generations) {
  auto devices = [](llvm::StringRef spec) {
    Topology topology = make(spec);
    return std::tuple(topology.kindOf(0).name, topology.route(0, 1).bandwidth,
                      topology.route(0, 8).bandwidth,
                      topology.device(0).memoryBytes >> 30);
  };
  EXPECT_EQ(devices("dgx-a100:nodes=2"),
            std::tuple("A100-SXM4-80GB", 300e9, 25e9, 80));
  EXPECT_EQ(devices("dgx-a100:nodes=2,memory=40"),
            std::tuple("A100-SXM4-40GB", 300e9, 25e9, 40));
  EXPECT_EQ(devices("dgx-a100:memory=80,nodes=2"),
            std::tuple("A100-SXM4-80GB", 300e9, 25e9, 80));
  EXPECT_EQ(devices("dgx-h100:nodes=2"),
            std::tuple("H100-SXM5-80GB", 450e9, 50e9, 80));
  EXPECT_EQ(devices("dgx-h200:nodes=2"),
            std::tuple("H200-SXM5-141GB", 450e9, 50e9, 141));
}

TEST(GeneratedTopologies, Names) {
  // Strategy files name the topology: another one has another name.
  EXPECT_EQ(make("p100:nodes=2").name, "p100-2x4");
  EXPECT_EQ(make("k80:nodes=1").name, "k80-1x4");
  EXPECT_EQ(make("v100:nodes=3").name, "v100-3x8");
  EXPECT_EQ(make("dgx-h100").name, "dgx-h100-1x8");
  EXPECT_EQ(make("dgx-a100:nodes=2").name, "dgx-a100-2x8");
  EXPECT_EQ(make("dgx-a100:nodes=2,memory=40").name, "dgx-a100-40gb-2x8");
}

TEST(GeneratedTopologies, SimulatedRatesAreSharesOfPublishedOnes) {
  EXPECT_EQ(publishedDevices().size(), 7u);
  for (const PublishedDevice &device : publishedDevices()) {
    SCOPED_TRACE(device.name.str());
    double flops = device.peakFlops / device.publishedFlops;
    double bandwidth = device.memoryBandwidth / device.publishedBandwidth;
    if (device.name == "K80") {
      // At the base clock of 562 MHz: 2.8 Tflop/s.
      EXPECT_GT(device.peakFlops, 2.8e12);
      EXPECT_LT(flops, 0.85);
      EXPECT_NEAR(bandwidth, 0.7, 0.005);
    } else {
      EXPECT_NEAR(flops, 0.85, 0.005);
      EXPECT_NEAR(bandwidth, 0.8, 0.005);
    }
    using Rates = PublishedDevice::TensorRates;
    for (double Rates::*rate : {&Rates::tf32, &Rates::bf16, &Rates::f16}) {
      double published = device.publishedTensorFlops.*rate;
      double simulated = device.tensorFlops.*rate;
      if (published == 0) {
        EXPECT_EQ(simulated, 0);
      } else {
        EXPECT_NEAR(simulated / published, 0.85, 0.005);
      }
    }
    DeviceKind kind = device.kind();
    EXPECT_EQ(kind.name, device.name);
    EXPECT_EQ(kind.tf32Flops, device.tensorFlops.tf32);
    EXPECT_EQ(kind.bf16Flops, device.tensorFlops.bf16);
    EXPECT_EQ(kind.f16Flops, device.tensorFlops.f16);
    EXPECT_EQ(kind.peakFlops, device.peakFlops);
    EXPECT_EQ(kind.memoryBandwidth, device.memoryBandwidth);
    EXPECT_EQ(kind.halfRows, device.halfRows);
    EXPECT_EQ(kind.launchNs, device.launchNs);
  }
}

TEST(GeneratedTopologies, Errors) {
  struct {
    std::string spec, expected;
  } cases[] = {
      {"dgx-h10", "expected a topology file (*.json) or one of the names k80, "
                  "p100, v100, dgx-a100, dgx-h100, dgx-h200, as in "
                  "dgx-h100:nodes=16, got: 'dgx-h10'; did you mean 'dgx-h100'"},
      {"", "got: ''"},
      {"tpu:nodes=2", "got: 'tpu'"},
      {"P100", "did you mean 'p100'"},
      {"p100:", "expected nodes=N behind 'p100:', got: ''"},
      {"p100:4", "expected nodes=N behind 'p100:', got: '4'"},
      {"p100:node=4", "got: 'node=4'; did you mean 'nodes'?"},
      {"p100:memory=40", "expected nodes=N behind 'p100:', got: 'memory=40'"},
      {"dgx-a100:gpus=4", "expected nodes=N or memory=N behind 'dgx-a100:'"},
      {"p100:nodes=4,", "expected nodes=N behind 'p100:', got: ''"},
      {"p100:nodes=4,nodes=4", "expected 'nodes' once in 'p100:nodes=4,nodes"},
      {"p100:nodes=0", "expected nodes=1 to 256 for p100"},
      {"p100:nodes=257", "whose nodes have 4 devices (1024 in all"},
      {"dgx-h100:nodes=129", "expected nodes=1 to 128 for dgx-h100"},
      {"dgx-h100:nodes=4x", "got: '4x'"},
      {"dgx-h100:nodes=-1", "got: '-1'"},
      {"dgx-h100:nodes=", "got: ''"},
      {"dgx-h100:nodes=99999999999999999999", "got: '99999999999999999999'"},
      {"dgx-a100:memory=60", "expected memory=40 or memory=80"},
  };
  for (const auto &[spec, expected] : cases) {
    std::string error = errorOf(generateTopology(spec));
    EXPECT_NE(error.find(expected), std::string::npos) << spec << "\n" << error;
  }
}

TEST(GeneratedTopologies, FileOrName) {
  llvm::Expected<Topology> file =
      loadTopology(SOAP_TOPOLOGIES "/v100-2x8.json");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->name, "v100-2x8");
  llvm::Expected<Topology> name = loadTopology("v100:nodes=2");
  ASSERT_TRUE(bool(name)) << llvm::toString(name.takeError());
  EXPECT_EQ(name->toJSON(), file->toJSON());
  // What ends in .json is a file, though it be missing.
  EXPECT_NE(errorOf(loadTopology("p100.json")).find("expected a topology file"),
            std::string::npos);
  EXPECT_NE(errorOf(loadTopology("p1000")).find("did you mean 'p100'"),
            std::string::npos);
  // A file of any name; a folder is none.
  EXPECT_NE(
      errorOf(loadTopology(SOAP_TOPOLOGIES "/../LICENSE")).find("in JSON"),
      std::string::npos);
  EXPECT_NE(errorOf(loadTopology(SOAP_TOPOLOGIES)).find("one of the names"),
            std::string::npos);
}

TEST(GeneratedTopologies, UsageNamesAll) {
  std::string usage = describeGeneratedTopologies();
  for (const GeneratedTopology &known : generatedTopologies())
    EXPECT_TRUE(llvm::StringRef(usage).contains(known.name)) << usage;
  EXPECT_NE(usage.find("nodes=16"), std::string::npos);
}
} // namespace
