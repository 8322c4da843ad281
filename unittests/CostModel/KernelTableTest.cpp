//===- KernelTableTest.cpp - Tests of measured kernels --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/CostModel.h"
#include <gtest/gtest.h>

using namespace soap;

namespace {

DeviceKind someKind() {
  DeviceKind kind;
  kind.name = "cpu";
  kind.peakFlops = 1e11;
  kind.memoryBandwidth = 1e10;
  kind.launchNs = 1000;
  return kind;
}

/// A kernel that streams `bytes`.
KernelWork stream(double bytes) {
  KernelWork work;
  work.flops = bytes / 4;
  work.bytes = bytes;
  return work;
}

/// The time of `work` if the analytic model is wrong by this factor.
int64_t times(double factor, const KernelWork &work) {
  return static_cast<int64_t>(
      factor * static_cast<double>(CostModel::analyticNs(work, someKind())));
}

TEST(KernelTable, ClassesAreOperations) {
  EXPECT_EQ(kernelClass("nn.matmul alpha=1.0 64x128xf32"), "nn.matmul");
  EXPECT_EQ(kernelClass("nn.fused(relu)"), "nn.fused");
  EXPECT_EQ(kernelClass(""), "");
}

TEST(KernelTable, GapsTakeTheFactorOfTheirClass) {
  KernelTable table;
  DeviceKind kind = someKind();
  EXPECT_EQ(table.factor("nn.relu 1", stream(1e6), kind), 1);
  table.add("nn.relu a", times(3, stream(1e6)), stream(1e6));
  table.add("nn.pool a", times(0.5, stream(1e6)), stream(1e6));
  table.add("nn.softmax a", 12345, std::nullopt);
  EXPECT_NEAR(table.factor("nn.relu b", stream(2e6), kind), 3, 0.01);
  EXPECT_NEAR(table.factor("nn.relu b", stream(1e12), kind), 3, 0.01);
  EXPECT_NEAR(table.factor("nn.pool b", stream(2e6), kind), 0.5, 0.01);
  // What was measured without its work says nothing about others.
  EXPECT_EQ(table.factor("nn.softmax b", stream(1e6), kind), 1);
  EXPECT_EQ(table.find("nn.softmax a"), 12345);
  EXPECT_EQ(table.find("nn.softmax b"), std::nullopt);
}

TEST(KernelTable, SimilarWorkCountsMost) {
  KernelTable table;
  DeviceKind kind = someKind();
  table.add("nn.relu small", times(2, stream(1e4)), stream(1e4));
  table.add("nn.relu large", times(8, stream(1e8)), stream(1e8));
  // Nearer to its neighbour than to the mean of the class, which is 4.
  EXPECT_NEAR(table.factor("nn.relu x", stream(1.2e4), kind), 2.2, 0.1);
  EXPECT_NEAR(table.factor("nn.relu x", stream(0.8e8), kind), 7.2, 0.1);
  EXPECT_NEAR(table.factor("nn.relu x", stream(1e6), kind), 4, 0.1);
}

TEST(KernelTable, EqualAttributesCountMoreThanSizes) {
  KernelTable table;
  DeviceKind kind = someKind();
  for (int i = 1; i <= 8; ++i) {
    KernelWork work = stream(1e5 * i);
    std::string shape = " " + std::to_string(25000 * i) + "xf32";
    table.add("nn.pool strides=1" + shape, times(1, work), work);
    table.add("nn.pool strides=2" + shape, times(4, work), work);
  }
  KernelWork work = stream(4.5e5);
  EXPECT_LT(table.factor("nn.pool strides=1 112500xf32", work, kind), 1.3);
  EXPECT_GT(table.factor("nn.pool strides=2 112500xf32", work, kind), 3);
  // Nothing is known of these: the mean of the class.
  EXPECT_NEAR(table.factor("nn.pool strides=3 112500xf32", work, kind), 2, 0.1);
  EXPECT_NEAR(table.factor("nn.pool strides=3 112500xi8", work, kind), 2, 0.1);
  // Ranks and element types say what a kernel is, as attributes do.
  EXPECT_LT(table.factor("nn.pool strides=1 112500xf32", work, kind),
            table.factor("nn.pool strides=1 112500xi8", work, kind));
}

TEST(KernelTable, TrendsGoOnForAWhile) {
  KernelTable table;
  DeviceKind kind = someKind();
  for (int i = 0; i < 10; ++i) {
    KernelWork work = stream(1e5 * (1 << i));
    table.add("nn.relu " + std::to_string(i), times(1 + 0.2 * i, work), work);
  }
  double last = 2.8;
  EXPECT_GT(table.factor("nn.relu x", stream(1e5 * (1 << 10)), kind), last);
  EXPECT_LE(table.factor("nn.relu x", stream(1e18), kind), 1.5 * last + 0.01);
  EXPECT_GE(table.factor("nn.relu x", stream(1), kind), 1 / 1.5 - 0.01);
}

TEST(KernelTable, LargeClassesAreSampled) {
  KernelTable table;
  DeviceKind kind = someKind();
  for (int i = 0; i < 2000; ++i) {
    KernelWork work = stream(1e4 * (i + 1));
    table.add("nn.relu " + std::to_string(i), times(i < 1000 ? 2 : 3, work),
              work);
  }
  EXPECT_NEAR(table.factor("nn.relu x", stream(2e6), kind), 2, 0.2);
  EXPECT_NEAR(table.factor("nn.relu x", stream(1.5e7), kind), 3, 0.2);
  EXPECT_EQ(table.errors(kind)[0].count, 512u);
}

TEST(KernelTable, CopiesAreApart) {
  KernelTable table;
  DeviceKind kind = someKind();
  KernelWork work = stream(1e6);
  table.add("nn.relu a", times(2, work), work);
  KernelTable copy = table;
  EXPECT_NEAR(copy.factor("nn.relu x", work, kind), 2, 0.01);
  copy.add("nn.relu a", times(3, work), work);
  EXPECT_NEAR(table.factor("nn.relu x", work, kind), 2, 0.01);
  EXPECT_NEAR(copy.factor("nn.relu x", work, kind), 3, 0.01);
  // Other rates are another model to correct.
  DeviceKind faster = kind;
  faster.memoryBandwidth *= 2;
  faster.launchNs = 0;
  EXPECT_GT(table.factor("nn.relu x", work, faster), 4);
  EXPECT_NEAR(table.factor("nn.relu x", work, kind), 2, 0.01);
}

TEST(KernelTable, OrderDoesNotMatterAndLaterEntriesWin) {
  KernelTable forward, backward;
  DeviceKind kind = someKind();
  for (int i = 0; i < 20; ++i) {
    KernelWork work = stream(1e5 * (i + 1)), other = stream(1e5 * (20 - i));
    forward.add("nn.relu " + std::to_string(i), times(1 + i * 0.1, work), work);
    backward.add("nn.relu " + std::to_string(19 - i),
                 times(1 + (19 - i) * 0.1, other), other);
  }
  EXPECT_EQ(forward.size(), 20u);
  EXPECT_EQ(forward.factor("nn.relu x", stream(777777), kind),
            backward.factor("nn.relu x", stream(777777), kind));
  forward.add("nn.relu 0", 5, stream(1e5));
  EXPECT_EQ(forward.size(), 20u);
  EXPECT_EQ(forward.find("nn.relu 0"), 5);
}

TEST(KernelTable, ErrorsLeaveTheKernelOut) {
  KernelTable table;
  DeviceKind kind = someKind();
  for (int i = 0; i < 8; ++i) {
    KernelWork work = stream(1e6 * (1 + i * 0.1));
    table.add("nn.relu " + std::to_string(i), times(2, work), work);
  }
  // One of its kind: another class, and a class alone has no error.
  table.add("nn.pool a", 1, stream(1e6));
  std::vector<ClassError> errors = table.errors(kind);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].name, "nn.relu");
  EXPECT_EQ(errors[0].count, 8u);
  EXPECT_NEAR(errors[0].analytic, 0.5, 0.01);
  EXPECT_LT(errors[0].leaveOneOut, 0.01);
  // A kernel unlike all others is not foretold by itself.
  table.add("nn.relu odd", times(6, stream(1.4e6)), stream(1.4e6));
  EXPECT_GT(table.errors(kind)[0].leaveOneOut, 0.07);
}

TEST(KernelTable, FilesSayWhatKernelsDo) {
  CostModel costs;
  DeviceKind kind = someKind();
  KernelQuery query;
  query.key = "nn.relu unknown";
  query.flops = 2.5e5;
  query.bytes = 1e6;
  int64_t analytic = costs.kernelNs(query, kind);
  std::string entry = R"("entries": [{"key": "nn.relu known", "ns": )" +
                      std::to_string(3 * analytic);
  std::string head = R"({"format": "soap-costs", "device_kind": "cpu", )";
  llvm::cantFail(costs.addMeasured(head + entry + "}]}"));
  EXPECT_EQ(costs.kernelNs(query, kind), analytic);
  llvm::cantFail(
      costs.addMeasured(head + entry + R"(, "flops": 2.5e5, "bytes": 1e6}]})"));
  EXPECT_NEAR(static_cast<double>(costs.kernelNs(query, kind)),
              3.0 * static_cast<double>(analytic), 2);
  EXPECT_TRUE(costs.isMeasured("nn.relu known", kind));
  EXPECT_FALSE(costs.isMeasured(query.key, kind));
  // Half of a description is a mistake.
  llvm::Error error =
      costs.addMeasured(head + entry + R"(, "flops": 2.5e5}]})");
  EXPECT_EQ(llvm::toString(std::move(error)),
            "entry 0: expected a number 'bytes' from 0 to 1e+21, got: none");
  // Views cost nothing, whatever their class.
  KernelQuery view;
  view.key = "nn.relu view";
  EXPECT_EQ(costs.kernelNs(view, kind), 0);
}

} // namespace
