//===- CostModelTest.cpp - Kernel and communication costs -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/CostModel.h"
#include "gtest/gtest.h"

using namespace soap;

namespace {
DeviceKind testKind() {
  DeviceKind kind;
  kind.name = "cpu";
  kind.peakFlops = 100e9;
  kind.memoryBandwidth = 10e9;
  kind.halfRows = kind.halfColumns = 4;
  kind.halfDepth = 16;
  kind.launchNs = 1000;
  return kind;
}

KernelQuery gemm(int64_t m, int64_t n, int64_t k) {
  KernelQuery query;
  query.flops = 2.0 * m * n * k;
  query.bytes = 4.0 * (m * k + k * n + m * n);
  query.rows = m;
  query.columns = n;
  query.depth = k;
  return query;
}

TEST(CostModel, RooflineByHand) {
  DeviceKind kind = testKind();
  kind.halfRows = kind.halfColumns = kind.halfDepth = 0;
  // 2 * 1000^3 flops at 100 GF/s: 20 ms.
  EXPECT_EQ(CostModel::analyticNs(gemm(1000, 1000, 1000), kind),
            20'000'000 + 1000);
  // Bound by memory: 4 * (1000 + 10^6 + 1000) bytes at 10 GB/s.
  EXPECT_EQ(CostModel::analyticNs(gemm(1, 1000, 1000), kind), 400'800 + 1000);
  // No contraction: only bytes count, small or not.
  KernelQuery relu;
  relu.flops = 1000;
  relu.bytes = 8000;
  EXPECT_EQ(CostModel::analyticNs(relu, testKind()), 800 + 1000);
  EXPECT_EQ(CostModel::copyNs(5000, kind), 1000 + 1000);
}

TEST(CostModel, ProductsHaveTheRateOfWhatTheyMultiply) {
  DeviceKind kind = testKind();
  kind.halfRows = kind.halfColumns = kind.halfDepth = 0;
  kind.tf32Flops = 400e9;
  kind.bf16Flops = 2000e9;
  auto ns = [&](Precision precision) {
    KernelQuery query = gemm(1000, 1000, 1000);
    query.precision = precision;
    return CostModel::analyticNs(query, kind);
  };
  EXPECT_EQ(ns(Precision::F32), 20'000'000 + 1000);
  EXPECT_EQ(ns(Precision::TF32), 5'000'000 + 1000);
  // 1 ms of products wait for 12 MB at 10 GB/s.
  EXPECT_EQ(ns(Precision::BF16), 1'200'000 + 1000);
  // No rate is known: as f32.
  EXPECT_EQ(ns(Precision::F16), ns(Precision::F32));
  EXPECT_EQ(kind.knownFlops(Precision::F16), 0);
  EXPECT_EQ(kind.flopsOf(Precision::F16), kind.peakFlops);

  // Measured products of another precision say that of f32 nothing else than
  // they say of their own: both are twice as slow as the model has them.
  CostModel costs;
  KernelQuery measured = gemm(1000, 1000, 1000);
  measured.precision = Precision::TF32;
  costs.addMeasured("cpu", "nn.matmul tf32=1 a", 2 * ns(Precision::TF32),
                    measured);
  KernelQuery other = gemm(1000, 1000, 1000);
  other.key = "nn.matmul b";
  EXPECT_EQ(costs.kernelNs(other, kind), 2 * ns(Precision::F32));
}

TEST(CostModel, FilesOfMeasuredCostsNamePrecisions) {
  auto add = [](const char *precision) {
    CostModel costs;
    return llvm::toString(costs.addMeasured(
        std::string(R"({"format": "soap-costs", "device_kind": "cpu",
        "entries": [{"key": "a", "ns": 1, "flops": 2, "bytes": 3, )") +
        precision + "}]}"));
  };
  EXPECT_EQ(add(R"("depth": 1)"), "");
  EXPECT_EQ(add(R"("precision": "bf16")"), "");
  EXPECT_EQ(add(R"("precision": "f8")"),
            "entry 0: expected f32, tf32, bf16, f16 or i8 in 'precision'");
  EXPECT_EQ(add(R"("precision": 16)"),
            "entry 0: expected f32, tf32, bf16, f16 or i8 in 'precision'");
}

TEST(CostModel, FewRowsAreProductsWithVectors) {
  DeviceKind kind = testKind();
  kind.launchNs = 0;
  kind.halfRows = kind.halfColumns = 192;
  kind.halfDepth = 0;
  // One row, or column: the weights at 10 GB/s, not 1/193 of the peak.
  KernelQuery vector = gemm(1, 1000, 1000);
  EXPECT_EQ(CostModel::analyticNs(vector, kind), 400'800);
  std::swap(vector.rows, vector.columns);
  EXPECT_EQ(CostModel::analyticNs(vector, kind), 400'800);
  // Two are at most two of them, many what the curve says.
  EXPECT_EQ(CostModel::analyticNs(gemm(2, 1000, 1000), kind), 2 * 401'600);
  EXPECT_GT(CostModel::analyticNs(gemm(50, 1000, 1000), kind), 5'000'000);
}

TEST(CostModel, ViewsHaveNoKernel) {
  EXPECT_EQ(CostModel::analyticNs(KernelQuery(), testKind()), 0);
  CostModel costs;
  EXPECT_EQ(costs.kernelNs(KernelQuery(), testKind()), 0);
}

TEST(CostModel, WhatIsReadAgainComesFromACacheIfItFits) {
  DeviceKind kind = testKind();
  kind.launchNs = 0;
  KernelQuery query;
  query.bytes = 10'000;
  query.bytesAgain = 40'000;
  // No cache: 50,000 bytes at 10 GB/s.
  EXPECT_EQ(CostModel::analyticNs(query, kind), 5'000);
  kind.cacheBandwidth = 100e9;
  kind.cacheBytes = 10'000;
  EXPECT_EQ(CostModel::analyticNs(query, kind), 500);
  // A little less, and the next reading finds nothing that it wants.
  kind.cacheBytes = 9'000;
  EXPECT_EQ(CostModel::analyticNs(query, kind), 90 + 100 + 4'000);
}

TEST(CostModel, SmallTilesAreInefficient) {
  DeviceKind kind = testKind();
  kind.launchNs = 0;
  kind.memoryBandwidth = 100e9;
  double whole = CostModel::analyticNs(gemm(64, 64, 256), kind);
  for (auto [m, n, k] : {std::tuple(4, 64, 256), std::tuple(64, 4, 256),
                         std::tuple(64, 64, 16)}) {
    double part = CostModel::analyticNs(gemm(m, n, k), kind);
    double share = (m * n * k) / (64.0 * 64 * 256);
    EXPECT_GT(part, 1.5 * share * whole) << m << " " << n << " " << k;
    EXPECT_LT(part, whole);
  }
}

TEST(CostModel, KernelsWithFollowersAreTheFirstOperations) {
  CostModel costs;
  DeviceKind kind = testKind();
  int64_t analytic = costs.kernelNs(gemm(64, 64, 64), kind);
  ASSERT_FALSE(bool(costs.addMeasured(R"({"format": "soap-costs",
      "device_kind": "cpu", "entries": [{"key": "conv a + relu b", "ns": 50},
      {"key": "conv c + add d + relu e", "ns": 70}, {"key": "relu b", "ns": 3},
      {"key": "conv f", "ns": 90}, {"key": "conv f + relu g", "ns": 95}]})")));
  auto ns = [&](const char *key) {
    KernelQuery query = gemm(64, 64, 64);
    query.key = key;
    return costs.kernelNs(query, kind);
  };
  EXPECT_EQ(ns("conv a"), 50);
  EXPECT_EQ(ns("relu b"), 3); // Measured alone.
  EXPECT_EQ(ns("conv c"), 70);
  // What they take by themselves is not known.
  EXPECT_EQ(ns("add d"), analytic);
  EXPECT_EQ(ns("relu e"), analytic);
  EXPECT_EQ(ns("conv f"), 90);
  EXPECT_EQ(firstOfJoined("conv c + add d + relu e"), "conv c");
  EXPECT_EQ(firstOfJoined("relu b"), "relu b");
}

TEST(CostModel, MeasuredEntriesWin) {
  CostModel costs;
  DeviceKind kind = testKind();
  KernelQuery query = gemm(64, 64, 64);
  query.key = "gemm<64>";
  int64_t analytic = costs.kernelNs(query, kind);
  ASSERT_FALSE(bool(costs.addMeasured(R"({"format": "soap-costs",
      "device_kind": "cpu", "entries": [{"key": "gemm<64>", "ns": 1},
      {"key": "gemm<64>", "ns": 77.4}]})")));
  EXPECT_EQ(costs.numMeasured(), 1u);
  EXPECT_EQ(costs.kernelNs(query, kind), 77);
  kind.name = "gpu";
  EXPECT_EQ(costs.kernelNs(query, kind), analytic);
  for (const char *text :
       {"", "[]", R"({"format": "other"})", R"({"format": "soap-costs"})",
        R"({"format": "soap-costs", "device_kind": "c", "entries": [{}]})",
        R"({"format": "soap-costs", "device_kind": "c",
            "entries": [{"key": "a", "ns": -1}]})"}) {
    llvm::Error error = costs.addMeasured(text);
    EXPECT_NE(llvm::toString(std::move(error)).find("expected"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(costs.numMeasured(), 1u);
}

TEST(CostModel, DirectCollectivesByHand) {
  // Every device takes in 1 byte per ns; a hop costs 10 ns of latency.
  Topology machine = Topology::machine(
      4, {testKind(), 1e9, 10, 0, 1, /*occupiesReceiver=*/false});
  llvm::SmallVector<int32_t> group{0, 1, 2, 3};
  llvm::SmallVector<int64_t> equal{400, 400, 400, 400};
  auto cost = [&](ActionKind kind, llvm::ArrayRef<int64_t> bytes) {
    CollectiveCost best = CostModel::collective(kind, group, bytes, machine);
    // Receivers copy, so nothing beats reading from the source.
    EXPECT_EQ(best.algorithm, CollectiveAlgorithm::Direct);
    EXPECT_EQ(best.occupiesNs, 0);
    return best;
  };
  // 3 * 400 bytes into each, one latency.
  EXPECT_EQ(cost(ActionKind::AllGather, equal).ns, 10 + 1200);
  EXPECT_EQ(cost(ActionKind::AllGather, equal).links.size(), 4u);
  EXPECT_EQ(cost(ActionKind::AllGather, equal).links[0].ns, 1200);
  EXPECT_EQ(cost(ActionKind::AllToAll, equal).ns, 10 + 300);
  EXPECT_EQ(cost(ActionKind::Broadcast, {400, 0, 0, 0}).ns, 10 + 400);
  // 3 shares of 100 bytes come and are joined with one's own: 5 * 100 bytes of
  // memory traffic at 10 bytes per ns. An all-reduce collects 3 slices then.
  EXPECT_EQ(cost(ActionKind::ReduceScatter, equal).ns, 10 + 300 + 50);
  EXPECT_EQ(cost(ActionKind::AllReduce, equal).ns, 2 * (10 + 300) + 50);
  EXPECT_EQ(cost(ActionKind::AllReduce, equal).links[0].ns, 600);
  // Uneven inputs: the member that takes in most decides.
  EXPECT_EQ(cost(ActionKind::AllGather, {100, 200, 300, 400}).ns, 10 + 900);
}

/// Members of an all-reduce write to each other where they share memory.
TEST(CostModel, AllReduceInSharedMemoryByHand) {
  Topology machine =
      Topology::machine(4, {testKind(), 1e9, 10, 0, 1,
                            /*occupiesReceiver=*/true, /*sharesMemory=*/true});
  llvm::SmallVector<int32_t> group{0, 1, 2, 3};
  llvm::SmallVector<int64_t> equal{400, 400, 400, 400};
  CollectiveCost cost =
      CostModel::collective(ActionKind::AllReduce, group, equal, machine);
  EXPECT_EQ(cost.algorithm, CollectiveAlgorithm::Direct);
  // 3 slices of 100 bytes are read and written once, at the rate of copies,
  // then a member's own slice: 2 * 100 bytes at 10 bytes per ns. All wait until
  // the last one has said that it is done.
  EXPECT_EQ(cost.ns, 10 + 300 + 20 + 10);
  EXPECT_EQ(cost.occupiesNs, 300 + 20);
  EXPECT_EQ(cost.links[0].ns, 300);
  // Other collectives are what they were.
  EXPECT_EQ(
      CostModel::collective(ActionKind::ReduceScatter, group, equal, machine)
          .ns,
      10 + 300 + 50);
  llvm::Expected<Topology> again = Topology::parse(machine.toJSON());
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(
      CostModel::collective(ActionKind::AllReduce, group, equal, *again).ns,
      cost.ns);
  // Over slow links, each pair with its own, results are sent back.
  machine.throttle({1e9, 0});
  EXPECT_EQ(
      CostModel::collective(ActionKind::AllReduce, group, equal, machine).ns,
      2 * (10 + 100) + 50);
}

TEST(CostModel, RingsAndTreesByHand) {
  Topology machine = Topology::machine(
      4, {testKind(), 1e9, 10, 0, 1, /*occupiesReceiver=*/false});
  llvm::SmallVector<int32_t> group{0, 1, 2, 3};
  llvm::SmallVector<int64_t> equal{400, 400, 400, 400};
  auto cost = [&](ActionKind kind, CollectiveAlgorithm algorithm,
                  llvm::ArrayRef<int64_t> bytes) {
    return CostModel::collective(kind, group, bytes, algorithm, machine).ns;
  };
  constexpr auto ring = CollectiveAlgorithm::Ring,
                 tree = CollectiveAlgorithm::Tree;
  EXPECT_EQ(cost(ActionKind::AllGather, ring, equal), 3 * (10 + 400));
  // A round of a reduction: 100 bytes come, 300 bytes of traffic join them.
  EXPECT_EQ(cost(ActionKind::ReduceScatter, ring, equal), 3 * (10 + 100 + 30));
  EXPECT_EQ(cost(ActionKind::AllReduce, ring, equal),
            3 * (10 + 100 + 30) + 3 * (10 + 100));
  // One segment: a chain. Two levels: 1 and 2, then 3; back up before, where 1
  // joins two and 0 joins three, one child after the other.
  EXPECT_EQ(cost(ActionKind::Broadcast, ring, {400, 0, 0, 0}), 3 * (10 + 400));
  EXPECT_EQ(cost(ActionKind::Broadcast, tree, {400, 0, 0, 0}), 2 * (10 + 400));
  // Up: 3 to 1 (410, joined 120), then 1 to 0 while the link into 0 has taken
  // in what 2 sent.
  EXPECT_EQ(cost(ActionKind::AllReduce, tree, equal),
            410 + 120 + 410 + 160 + 2 * 410);
  // 4 segments of 64 KiB down a chain of 4: 6 hops one after the other.
  int64_t hop = 10 + (1 << 16);
  EXPECT_EQ(cost(ActionKind::Broadcast, ring, {4 << 16, 0, 0, 0}), 6 * hop);
}

/// Every algorithm is at hand, and the cheapest one is taken.
TEST(CostModel, TopologyChoosesTheAlgorithm) {
  // Two machines of 4 devices; the wire between them is slow.
  std::string json = R"({"kinds": {"g": {"peak_flops": 1e12,
    "memory_bandwidth_bytes_per_s": 1e13}}, "devices": [)";
  std::string links;
  for (int device = 0; device < 8; ++device) {
    std::string node = device < 4 ? "\"a\"" : "\"b\"";
    json += (device ? "," : "") + std::string("{\"id\": ") +
            std::to_string(device) + R"(, "kind": "g"})";
    links += R"({"from": )" + std::to_string(device) + R"(, "to": )" + node +
             R"(, "bandwidth_bytes_per_s": 1e11, "latency_s": 1e-6,
                 "duplex": true},)";
  }
  json += R"(], "links": [)" + links + R"(
    {"from": "a", "to": "b", "bandwidth_bytes_per_s": 1e9, "latency_s": 1e-5,
     "duplex": true},
    {"from": "host", "to": "a", "bandwidth_bytes_per_s": 1e9,
     "duplex": true}]})";
  llvm::Expected<Topology> topology = Topology::parse(json);
  ASSERT_TRUE(bool(topology)) << llvm::toString(topology.takeError());
  llvm::SmallVector<int32_t> group{0, 1, 2, 3, 4, 5, 6, 7};
  auto best = [&](ActionKind kind, int64_t bytes) {
    llvm::SmallVector<int64_t> all(8, bytes);
    CollectiveCost chosen = CostModel::collective(kind, group, all, *topology);
    for (CollectiveAlgorithm algorithm : algorithmsOf(kind)) {
      CollectiveCost other =
          CostModel::collective(kind, group, all, algorithm, *topology);
      EXPECT_EQ(other.algorithm, algorithm);
      EXPECT_LE(chosen.ns, other.ns) << stringify(algorithm).str();
    }
    return chosen.algorithm;
  };
  // Much data: a ring crosses the wire once per round. Little: few rounds.
  EXPECT_EQ(best(ActionKind::AllReduce, 64 << 20), CollectiveAlgorithm::Ring);
  EXPECT_EQ(best(ActionKind::AllGather, 8 << 20), CollectiveAlgorithm::Ring);
  EXPECT_EQ(best(ActionKind::AllReduce, 64), CollectiveAlgorithm::Direct);
  EXPECT_EQ(best(ActionKind::AllToAll, 64 << 20), CollectiveAlgorithm::Direct);
}

/// Copying and joining take the members' compute time where links say so.
TEST(CostModel, CollectivesOccupyTheirMembers) {
  Topology machine = Topology::machine(
      2, {testKind(), 1e9, 10, 0, 1, /*occupiesReceiver=*/true});
  CollectiveCost cost =
      CostModel::collective(ActionKind::AllReduce, {0, 1}, {400, 400}, machine);
  // 200 bytes come twice; one message is joined: 3 * 200 bytes of traffic.
  EXPECT_EQ(cost.occupiesNs, 200 + 200 + 60);
  // A slow link does not make copies slower; waking up takes as long as before.
  machine.throttle({1e8, 1000});
  EXPECT_EQ(toString(machine.check()), "");
  cost =
      CostModel::collective(ActionKind::AllReduce, {0, 1}, {400, 400}, machine);
  EXPECT_EQ(cost.occupiesNs, 200 + 200 + 60);
  EXPECT_EQ(cost.ns, 2 * (10 + 1000 + 2000) + 60);
  EXPECT_EQ(cost.links.size(), 2u);
  // Throttled links survive a file.
  llvm::Expected<Topology> again = Topology::parse(machine.toJSON());
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->route(0, 1).copyNs(400), 400);
  EXPECT_EQ(again->route(0, 1).latencyNs, 10 + 1000);
}

TEST(CostModel, SharedLinksAddUp) {
  llvm::Expected<Topology> topology = Topology::parse(R"({
    "kinds": {"g": {"peak_flops": 1e12, "memory_bandwidth_bytes_per_s": 1e11}},
    "devices": [{"id": 0, "kind": "g"}, {"id": 1, "kind": "g"}],
    "links": [
      {"from": 0, "to": "bus", "bandwidth_bytes_per_s": 1e9, "shared": "bus",
       "duplex": true},
      {"from": 1, "to": "bus", "bandwidth_bytes_per_s": 1e9, "shared": "up",
       "duplex": true},
      {"from": "host", "to": "bus", "bandwidth_bytes_per_s": 1e9,
       "duplex": true}]})");
  ASSERT_TRUE(bool(topology)) << llvm::toString(topology.takeError());
  // Both directions go over each shared resource: 2 * 1000 bytes.
  CollectiveCost cost = CostModel::collective(ActionKind::AllGather, {0, 1},
                                              {1000, 1000}, *topology);
  EXPECT_EQ(cost.ns, 2000);
  ASSERT_EQ(cost.links.size(), 2u);
  EXPECT_EQ(cost.links[0].ns, 2000);
}
TEST(CostModel, CachesHoldActivationsOnly) {
  DeviceKind kind;
  kind.memoryBandwidth = 10e9;
  kind.cacheBytes = 1e6;
  kind.cacheBandwidth = 100e9;
  kind.launchNs = 0;
  KernelQuery query;
  query.bytes = 1e6;
  EXPECT_EQ(CostModel::analyticNs(query, kind), 10000);
  // The rest comes from memory.
  query.bytes = 3e6;
  EXPECT_EQ(CostModel::analyticNs(query, kind), 210000);
  EXPECT_EQ(CostModel::copyNs(500000, kind), 10000);
  // A product reads weights.
  query.bytes = 1e6;
  query.depth = 1;
  EXPECT_EQ(CostModel::analyticNs(query, kind), 100000);
}
} // namespace
