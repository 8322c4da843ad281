//===- JSONTest.cpp - JSON that people write ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Support/JSON.h"
#include "soap/Calibration/Calibration.h"
#include "soap/CostModel/CostModel.h"
#include "soap/Topology/Topology.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace soap;

static std::string errorOf(llvm::StringRef text) {
  auto value = parseJSON(text, "a test");
  return value ? "" : llvm::toString(value.takeError());
}

TEST(JSON, KeysStandOnceInAnObject) {
  // The same key in different objects, as a value, and with an escaped quote.
  EXPECT_EQ(errorOf(R"({"a": {"a": 1, "b": "a"}, "b": [{"a": 1}, {"a": 2}],
                        "c": "\"a\": {", "a\"": "a"})"),
            "");
  EXPECT_EQ(errorOf("{\"a\": 1,\n \"b\": [{}, 2],\n \"a\" : 3}"),
            "expected a test in JSON, got: the key 'a' twice in one object, "
            "again in line 3; remove one of them");
  EXPECT_NE(errorOf(R"([{"x": [1, {"n": 2, "n": 2}]}])").find("the key 'n'"),
            std::string::npos);
  auto topology = Topology::parse(R"({"devices": [], "devices": []})");
  ASSERT_FALSE(bool(topology));
  EXPECT_NE(llvm::toString(topology.takeError())
                .find("expected a topology in JSON, got: the key 'devices'"),
            std::string::npos);
}

TEST(JSON, NestingEnds) {
  auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(errorOf(nested(64)), "");
  EXPECT_EQ(errorOf(nested(65)),
            "expected a test in JSON, got: more than 64 levels of nesting");
  EXPECT_NE(errorOf(std::string(1000000, '[')), "");
  EXPECT_EQ(errorOf("\"" + std::string(100, '[') + "\""), "");
}

TEST(JSON, WhatIsNoJSON) {
  for (llvm::StringRef text : {"", "{", "}", "\"", "\"\\", "{\"a\": 1,}", "]]",
                               "{\"a\": \"", "}{", "{\"a\":1}}"})
    EXPECT_NE(errorOf(text).find("expected a test in JSON, got: ["),
              std::string::npos)
        << text.str() << ": " << errorOf(text);
}

/// A machine in which one number is another.
static std::string topologyWith(llvm::StringRef field, llvm::StringRef number) {
  std::string kind, link, device;
  for (llvm::StringRef other :
       {"peak_flops", "memory_bandwidth_bytes_per_s", "cache_bytes",
        "cache_bandwidth_bytes_per_s", "half_rows", "half_columns",
        "half_depth", "launch_s"})
    kind += (kind.empty() ? "\"" : ", \"") + other.str() +
            "\": " + (other == field ? number : "1").str();
  for (llvm::StringRef other :
       {"bandwidth_bytes_per_s", "latency_s", "copy_bandwidth_bytes_per_s"})
    link +=
        ", \"" + other.str() + "\": " + (other == field ? number : "1").str();
  for (llvm::StringRef other : {"memory_bytes", "cores", "node"})
    device +=
        ", \"" + other.str() + "\": " + (other == field ? number : "1").str();
  return R"({"kinds": {"k": {)" + kind + R"(}}, "devices": [{"kind": "k")" +
         device + R"(}], "links": [{"from": 0, "to": "host", "duplex": true)" +
         link + "}]}";
}

/// Every number in a file has bounds, and the error says them.
TEST(JSON, NumbersHaveBounds) {
  auto errorWith = [](llvm::StringRef field, llvm::StringRef number) {
    auto topology = Topology::parse(topologyWith(field, number));
    return topology ? "" : llvm::toString(topology.takeError());
  };
  EXPECT_EQ(errorWith("none", "1"), "");
  for (llvm::StringRef field :
       {"peak_flops", "memory_bandwidth_bytes_per_s", "cache_bytes",
        "cache_bandwidth_bytes_per_s", "half_rows", "half_columns",
        "half_depth", "launch_s", "bandwidth_bytes_per_s", "latency_s",
        "copy_bandwidth_bytes_per_s", "memory_bytes", "cores", "node"})
    for (llvm::StringRef number : {"1e999", "-1e999", "1e40", "-1"}) {
      std::string error = errorWith(field, number);
      EXPECT_NE(error.find("'" + field.str() + "'"), std::string::npos)
          << field.str() << " " << number.str() << ": " << error;
      EXPECT_NE(error.find(" from "), std::string::npos) << error;
    }
  for (llvm::StringRef field :
       {"peak_flops", "memory_bandwidth_bytes_per_s",
        "cache_bandwidth_bytes_per_s", "bandwidth_bytes_per_s",
        "copy_bandwidth_bytes_per_s"})
    EXPECT_NE(errorWith(field, "1e-300"), "") << field.str();
  EXPECT_EQ(errorWith("cache_bandwidth_bytes_per_s", "0"), "");
  EXPECT_EQ(errorWith("copy_bandwidth_bytes_per_s", "1e-300"),
            "link 0: expected a number 'copy_bandwidth_bytes_per_s' of 0, or "
            "from 1 to 1e+18, got: 1e-300");
  EXPECT_EQ(errorWith("cores", "2000000"),
            "device 0: expected an integer 'cores' from 0 to 1000000, got: "
            "2000000");

  auto calibrationWith = [](llvm::StringRef number) {
    std::string text =
        R"({"format": "soap-calibration", "devices": 1, "copy_latency_s": 0, "device_kind": "k",)"
        R"("kind": {"peak_flops": 1, "memory_bandwidth_bytes_per_s": 1},)"
        R"("copy_bandwidth_bytes_per_s": )" +
        number.str() + "}";
    auto calibration = Calibration::parse(text);
    return calibration ? "" : llvm::toString(calibration.takeError());
  };
  EXPECT_EQ(calibrationWith("1"), "");
  EXPECT_EQ(
      calibrationWith("1e999"),
      "calibration: expected a number 'copy_bandwidth_bytes_per_s' from 1 "
      "to 1e+18, got: inf; remove the file to measure again");
  CostModel costs;
  auto error =
      costs.addMeasured(R"({"format": "soap-costs", "device_kind": "cpu",)"
                        R"("entries": [{"key": "k", "ns": 1e14}]})");
  EXPECT_EQ(llvm::toString(std::move(error)),
            "entry 0: expected a number 'ns' from 0 to 1e+13, got: 1e+14");
}

/// The slowest machine of a file has large times, and no negative ones.
TEST(JSON, TimesSaturate) {
  DeviceKind slow;
  slow.peakFlops = slow.memoryBandwidth = 1;
  KernelQuery query;
  query.flops = 1e18;
  query.bytes = 1e18;
  EXPECT_EQ(CostModel::analyticNs(query, slow), longestNs);
  EXPECT_EQ(CostModel::copyNs(int64_t{1} << 60, slow), longestNs);
  EXPECT_EQ(transferNs(1e18, 1), longestNs);
  EXPECT_EQ(transferNs(1e3, 1), 1000000000000);
  EXPECT_EQ(roundNs(-1e300), 0);
  EXPECT_EQ(roundNs(std::nan("")), longestNs);
  EXPECT_EQ(roundNs(1.5), 2);
}
