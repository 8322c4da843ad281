//===- TopologyTest.cpp - Topologies and their files ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Topology/Topology.h"
#include "gtest/gtest.h"

using namespace soap;

namespace {
std::string errorOf(llvm::Expected<Topology> topology) {
  if (topology)
    return "";
  return llvm::toString(topology.takeError());
}

TEST(Topology, MachineConnectsAllPairs) {
  Topology machine = Topology::machine(
      3, {DeviceKind{"cpu"}, 5e9, 1000, 1 << 20, 1, /*occupiesReceiver=*/true});
  EXPECT_EQ(toString(machine.check()), "");
  EXPECT_EQ(machine.numDevices(), 3);
  EXPECT_EQ(machine.host(), 3);
  const Route &route = machine.route(0, 2);
  ASSERT_EQ(route.links.size(), 1u);
  EXPECT_EQ(route.latencyNs, 1000);
  EXPECT_EQ(route.bandwidth, 5e9);
  EXPECT_TRUE(route.occupiesReceiver);
  EXPECT_FALSE(machine.route(3, 1).links.empty());
  // What enters a device shares one resource, what leaves does not.
  auto resource = [&](int32_t from, int32_t to) {
    return machine.links()[machine.route(from, to).links[0]].resource;
  };
  EXPECT_EQ(resource(0, 2), resource(1, 2));
  EXPECT_NE(resource(0, 1), resource(0, 2));
}

TEST(Topology, RoutesGoThroughJunctionsNotDevices) {
  // 0 - 1 - 2 in a row, and a slow switch between 0 and 2.
  llvm::Expected<Topology> topology = Topology::parse(R"({
    "name": "row",
    "kinds": {"g": {"peak_flops": 1e12, "memory_bandwidth_bytes_per_s": 1e11}},
    "devices": [{"id": 0, "kind": "g"}, {"id": 1, "kind": "g"},
                {"id": 2, "kind": "g"}, {"id": 3, "kind": "host"}],
    "links": [
      {"from": 0, "to": 1, "bandwidth_bytes_per_s": 1e10, "duplex": true},
      {"from": 1, "to": 2, "bandwidth_bytes_per_s": 1e10, "duplex": true},
      {"from": 0, "to": "sw", "bandwidth_bytes_per_s": 1e9,
       "latency_s": 1e-6, "duplex": true},
      {"from": "sw", "to": 2, "bandwidth_bytes_per_s": 2e9,
       "latency_s": 2e-6, "duplex": true},
      {"from": "sw", "to": "host", "bandwidth_bytes_per_s": 1e9,
       "duplex": true},
      {"from": 1, "to": "host", "bandwidth_bytes_per_s": 1e9, "duplex": true}
    ]})");
  ASSERT_TRUE(bool(topology)) << llvm::toString(topology.takeError());
  const Route &route = topology->route(0, 2);
  ASSERT_EQ(route.links.size(), 2u);
  EXPECT_EQ(route.latencyNs, 3000);
  EXPECT_EQ(route.bandwidth, 1e9);
  EXPECT_EQ(topology->route(0, 1).links.size(), 1u);
  // A copy keeps its routes when the original is gone.
  Topology copy = *topology;
  *topology = Topology();
  EXPECT_EQ(copy.route(0, 2).links.size(), 2u);
  EXPECT_EQ(copy.links()[copy.route(0, 2).links[1]].to, 2);
}

TEST(Topology, FilesRoundTrip) {
  for (auto [file, devices, nodes] :
       {std::tuple("p100-cluster", 16, 4), std::tuple("k80-cluster", 64, 16),
        std::tuple("v100-8", 8, 1), std::tuple("v100-2x8", 16, 2)}) {
    llvm::Expected<Topology> topology =
        Topology::load(std::string(SOAP_TOPOLOGIES "/") + file + ".json");
    ASSERT_TRUE(bool(topology)) << llvm::toString(topology.takeError());
    EXPECT_EQ(topology->name, file);
    EXPECT_EQ(topology->numDevices(), devices);
    EXPECT_EQ(topology->device(devices - 1).node, nodes - 1);
    std::string text = topology->toJSON();
    llvm::Expected<Topology> again = Topology::parse(text);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(again->toJSON(), text);
    // Nearer is cheaper: inside a node against across nodes.
    if (nodes > 1) {
      EXPECT_LT(topology->routeCost(0, 1), topology->routeCost(0, devices - 1));
    }
  }
}

TEST(Topology, JSONKeepsWhatFilesSay) {
  // Comments, kinds in whatever order, links in one or both directions, shared
  // and not, with all that they can say.
  const char *text = R"({
  "format": "soap-topology",
  "name": "all",
  "comment": [
    "assumed: something",
    "published: the rest"
  ],
  "kinds": {
    "a": {"peak_flops":1.25e+12,"tf32_flops":2.5e+12,"bf16_flops":5e+12,"f16_flops":6e+12,"memory_bandwidth_bytes_per_s":1e+11,"half_rows":4,"half_columns":0.1,"half_depth":16,"launch_s":3e-06},
    "b": {"peak_flops":1e+12,"memory_bandwidth_bytes_per_s":1e+11,"cache_bytes":1048576,"cache_bandwidth_bytes_per_s":2e+11,"half_rows":4,"half_columns":4,"half_depth":16,"launch_s":1e-06}
  },
  "devices": [
    {"id":0,"kind":"b","node":0,"memory_bytes":0,"cores":2},
    {"id":1,"kind":"a","node":1,"memory_bytes":9007199254740993},
    {"id":2,"kind":"host"}
  ],
  "links": [
    {"from":0,"to":"sw","bandwidth_bytes_per_s":1e+10,"latency_s":7e-09,"duplex":true},
    {"from":"sw","to":1,"bandwidth_bytes_per_s":1e+10,"latency_s":2e-06,"shared":"bus","duplex":true},
    {"from":1,"to":0,"bandwidth_bytes_per_s":1234567.8,"latency_s":0,"occupies":"receiver","copy_bandwidth_bytes_per_s":5e+09},
    {"from":0,"to":1,"bandwidth_bytes_per_s":1234567.8,"latency_s":0,"occupies":"receiver"},
    {"from":"sw","to":"host","bandwidth_bytes_per_s":1e+10,"latency_s":1.5,"duplex":true}
  ]
}
)";
  llvm::Expected<Topology> topology = Topology::parse(text);
  ASSERT_TRUE(bool(topology)) << llvm::toString(topology.takeError());
  EXPECT_EQ(topology->links().size(), 8u);
  EXPECT_EQ(topology->toJSON(), text);
  // A single text is one comment; what is no text is skipped.
  auto commentsOf = [](std::string comment) {
    llvm::Expected<Topology> topology = Topology::parse(
        R"({"comment": )" + comment +
        R"(, "kinds": {"g": {"peak_flops": 1, "memory_bandwidth_bytes_per_s": 1}},
            "devices": [{"id": 0, "kind": "g"}],
            "links": [{"from": 0, "to": "host", "bandwidth_bytes_per_s": 1,
                       "duplex": true}]})");
    EXPECT_TRUE(bool(topology));
    return topology ? topology->comments : std::vector<std::string>();
  };
  EXPECT_EQ(commentsOf("\"one\""), std::vector<std::string>{"one"});
  EXPECT_EQ(commentsOf("[1, \"two\"]"), std::vector<std::string>{"two"});
  EXPECT_TRUE(commentsOf("{\"a\": 1}").empty());
}

TEST(Topology, AdjacentK80ArePreferred) {
  llvm::Expected<Topology> k80 =
      Topology::load(SOAP_TOPOLOGIES "/k80-cluster.json");
  ASSERT_TRUE(bool(k80));
  EXPECT_LT(k80->routeCost(0, 1), k80->routeCost(0, 2));
  EXPECT_LT(k80->routeCost(0, 2), k80->routeCost(0, 4));
  // The way out of a node is shared by all its devices.
  auto middle = [&](int32_t from, int32_t to) {
    llvm::ArrayRef<int32_t> links = k80->route(from, to).links;
    return k80->links()[links[links.size() / 2]].resource;
  };
  EXPECT_EQ(middle(0, 4), middle(3, 4));
  EXPECT_NE(middle(0, 4), middle(4, 0));
}

TEST(Topology, Errors) {
  auto wrap = [](std::string devices, std::string links) {
    return R"({"kinds": {"g": {"peak_flops": 1e12,
        "memory_bandwidth_bytes_per_s": 1e11}}, "devices": [)" +
           devices + "], \"links\": [" + links + "]}";
  };
  std::string two = R"({"id": 0, "kind": "g"}, {"id": 1, "kind": "g"})";
  auto link = [](std::string from, std::string to, std::string more = "") {
    return "{\"from\": " + from + ", \"to\": " + to +
           ", \"bandwidth_bytes_per_s\": 1e9, \"duplex\": true" + more + "}";
  };
  struct {
    std::string text, expected;
  } cases[] = {
      {"{", "expected a topology in JSON"},
      {"[]", "expected a JSON object"},
      {"{}", "expected an object 'kinds'"},
      {"{\"kinds\": {}}", "expected an array 'devices'"},
      {wrap("", ""), "expected at least one device"},
      {wrap(R"({"id": 1, "kind": "g"})", ""), "expected ids 0, 1, 2"},
      {wrap(R"({"id": 0, "kind": "x"})", ""), "expected a kind that 'kinds'"},
      {wrap(R"({"id": 0, "kind": "g", "memory_bytes": -1})", ""),
       "expected an integer 'memory_bytes' from 0 to"},
      {wrap(two, ""), "expected a route from device 0 to device 1"},
      {wrap(two, link("0", "1")), "expected a route from device 0 to the host"},
      {wrap(two, link("0", "7")), "expected 'to' below 2"},
      {wrap(two, link("0", "0")), "expected two different ends"},
      {wrap(two, R"({"from": 0, "to": 1})"),
       "expected a number 'bandwidth_bytes_per_s'"},
      {wrap(two, R"({"from": 0, "to": 1, "bandwidth_bytes_per_s": 0})"),
       "link 0: expected a number 'bandwidth_bytes_per_s' from 1 to 1e+18, "
       "got: 0"},
      {wrap(two, link("0", "1", R"(, "occupies": "all")")),
       "expected \"receiver\""},
      {wrap(two, link("0", "1", R"(, "shared": 3)")),
       "link 0: expected a text 'shared'"},
      {wrap(two, link("0", "1", R"(, "shares_memory": "yes")")),
       "link 0: expected true or false for 'shares_memory'"},
      {wrap(two, R"({"from": 0, "to": 1, "bandwidth_bytes_per_s": 1,
                     "duplex": 1})"),
       "link 0: expected true or false for 'duplex'"},
      {R"({"format": "soap-strategy", "kinds": {}, "devices": []})",
       "expected the 'format' \"soap-topology\""},
      {wrap(R"({"id": 0, "kind": "g", "node": 2147483647})", ""),
       "expected an integer 'node' from 0 to"},
  };
  for (const auto &[text, expected] : cases)
    EXPECT_NE(errorOf(Topology::parse(text)).find(expected), std::string::npos)
        << text << "\n"
        << errorOf(Topology::parse(text));
  EXPECT_NE(errorOf(Topology::load("/nowhere.json")).find("/nowhere.json"),
            std::string::npos);
}
} // namespace
