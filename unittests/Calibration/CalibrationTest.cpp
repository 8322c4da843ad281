//===- CalibrationTest.cpp - Fitting the analytic model -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Calibration/Calibration.h"
#include "soap/CostModel/CostModel.h"
#include "gtest/gtest.h"

using namespace soap;

namespace {
/// A machine that follows the model exactly.
struct Machine {
  DeviceKind kind;

  llvm::Expected<Calibration> calibrate(bool canCopy = true) {
    using Time = llvm::Expected<double>;
    auto gemm = [&](int64_t m, int64_t n, int64_t k) -> Time {
      KernelQuery query;
      query.flops = 2.0 * m * n * k;
      query.bytes = 4.0 * (m * k + k * n + m * n);
      query.rows = m;
      query.columns = n;
      query.depth = k;
      return CostModel::analyticNs(query, kind) * 1e-9;
    };
    auto launch = [&]() -> Time {
      return CostModel::analyticNs(KernelQuery(), kind) * 1e-9;
    };
    auto stream = [&](int64_t bytes) -> Time {
      KernelQuery query;
      query.bytes = static_cast<double>(bytes);
      return CostModel::analyticNs(query, kind) * 1e-9;
    };
    auto copy = [&](int64_t bytes) -> Time {
      if (!canCopy)
        return llvm::createStringError("no link");
      return 3e-6 + bytes / 6e9;
    };
    auto boxes = [&](int64_t bytes, int64_t run) -> Time {
      BoxCopies copies{bytes, bytes / std::min(bytes, run)};
      return CostModel::copyNs(copies, kind) * 1e-9;
    };
    return soap::calibrate({gemm, launch, stream, boxes, copy, copy}, "cpu",
                           "test machine", 2);
  }
};

TEST(Calibration, FindsTheParametersOfAMachine) {
  Machine machine;
  machine.kind.peakFlops = 120e9;
  machine.kind.memoryBandwidth = 12e9;
  machine.kind.halfRows = 6;
  machine.kind.halfColumns = 10;
  machine.kind.halfDepth = 20;
  machine.kind.launchNs = 800;
  llvm::Expected<Calibration> result = machine.calibrate();
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_LT(result->fitError, 0.03);
  EXPECT_NEAR(result->kind.peakFlops / 120e9, 1, 0.1);
  EXPECT_NEAR(result->kind.memoryBandwidth / 12e9, 1, 0.01);
  EXPECT_NEAR(result->copyBandwidth / 6e9, 1, 0.01);
  EXPECT_NEAR(result->copyLatencyNs, 3000, 100);
  EXPECT_NEAR(result->kind.halfColumns, 10, 4);

  llvm::Expected<Calibration> again = Calibration::parse(result->toJSON());
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->toJSON(), result->toJSON());
  Topology topology = again->topology(3, 1 << 30, 1, /*spareCore=*/false);
  EXPECT_EQ(toString(topology.check()), "");
  EXPECT_TRUE(topology.route(0, 1).occupiesReceiver);
  EXPECT_FALSE(again->topology(3, 0, 1, true).route(0, 1).occupiesReceiver);
}

TEST(Calibration, FindsWhatCopiesOfBoxesTake) {
  Machine machine;
  machine.kind.boxBandwidth = 14e9;
  machine.kind.boxRunSeconds = 2e-9;
  machine.kind.boxLaunchNs = 600;
  llvm::Expected<Calibration> result = machine.calibrate();
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_NEAR(result->kind.boxBandwidth / 14e9, 1, 0.01);
  EXPECT_NEAR(result->kind.boxRunSeconds / 2e-9, 1, 0.01);
  EXPECT_NEAR(result->kind.boxLaunchNs, 600, 20);
  llvm::Expected<Calibration> again = Calibration::parse(result->toJSON());
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->kind.boxBandwidth, result->kind.boxBandwidth);
  EXPECT_EQ(again->kind.boxRunSeconds, result->kind.boxRunSeconds);
  EXPECT_EQ(again->kind.boxLaunchNs, result->kind.boxLaunchNs);
}

TEST(Calibration, FindsCaches) {
  Machine machine;
  machine.kind.memoryBandwidth = 12e9;
  machine.kind.cacheBytes = 2 << 20;
  machine.kind.cacheBandwidth = 60e9;
  machine.kind.launchNs = 1000;
  llvm::Expected<Calibration> result = machine.calibrate();
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->kind.cacheBytes, 2 << 20);
  EXPECT_NEAR(result->kind.cacheBandwidth / 60e9, 1, 0.01);
  llvm::Expected<Calibration> again = Calibration::parse(result->toJSON());
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->toJSON(), result->toJSON());
}

TEST(Calibration, Errors) {
  Machine machine;
  llvm::Expected<Calibration> result = machine.calibrate(/*canCopy=*/false);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "calibration: expected a time for a copy between devices, got: "
            "no link");
  for (const char *text : {"", "{}", R"({"format": "soap-calibration"})"}) {
    llvm::Expected<Calibration> bad = Calibration::parse(text);
    ASSERT_FALSE(bool(bad));
    EXPECT_NE(llvm::toString(bad.takeError()).find("expected"),
              std::string::npos);
  }
}
} // namespace
