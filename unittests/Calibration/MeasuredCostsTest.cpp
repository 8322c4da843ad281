//===- MeasuredCostsTest.cpp - Tests of the file of measured kernels ------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Calibration/MeasuredCosts.h"
#include "soap/Calibration/TimedModel.h"
#include "soap/CostModel/CostModel.h"
#include "soap/Support/JSON.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace soap;
namespace fs = llvm::sys::fs;

namespace {

class MeasuredCostsTest : public testing::Test {
protected:
  MeasuredCostsTest() {
    llvm::SmallString<128> folder;
    EXPECT_FALSE(fs::createUniqueDirectory("soap-costs", folder));
    folder_ = folder.str().str();
    path_ = folder_ + "/new/costs.json";
  }
  ~MeasuredCostsTest() override { (void)fs::remove_directories(folder_); }

  static MeasuredRun one(const std::string &key, int64_t ns,
                         Precision precision = Precision::F32) {
    KernelWork work;
    work.flops = 3;
    work.bytes = 0.1 + 0.2; // No short decimal.
    work.depth = 7;
    work.precision = precision;
    return {"first", 1, {{key, {static_cast<double>(ns), work}}}};
  }
  MeasuredCosts extend(const MeasuredRun &run) {
    auto lock = MeasuredCostsLock::take(path_, 60);
    EXPECT_TRUE(static_cast<bool>(lock));
    return llvm::cantFail(extendMeasuredCosts(**lock, path_, "cpu", run));
  }
  std::string text() {
    return llvm::cantFail(readRegularFile(path_))->getBuffer().str();
  }

  std::string folder_, path_;
};

TEST_F(MeasuredCostsTest, PrecisionsAreKept) {
  MeasuredCosts costs("cpu");
  costs.add(one("a", 1));
  costs.add(one("b", 1, Precision::BF16));
  llvm::Expected<MeasuredCosts> again =
      MeasuredCosts::parse(costs.toJSON(), "cpu");
  ASSERT_TRUE(static_cast<bool>(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->toJSON(), costs.toJSON());
  EXPECT_EQ(llvm::StringRef(costs.toJSON()).count("precision"), 1u);
  EXPECT_NE(costs.toJSON().find(R"("precision": "bf16")"), std::string::npos);
}

TEST_F(MeasuredCostsTest, TheMedianOfTheLastRunsCounts) {
  MeasuredCosts costs("cpu");
  for (int64_t ns = 1; ns <= 20; ++ns)
    costs.add(one("k", ns));
  const MeasuredKernel &kernel = costs.kernels().at("k");
  EXPECT_EQ(kernel.runs.size(), MeasuredKernel::mostRuns);
  EXPECT_EQ(kernel.ns(), 16);
  MeasuredCosts two("cpu");
  two.add(one("k", 9));
  two.add(one("k", 4));
  EXPECT_EQ(two.kernels().at("k").ns(), 4);
}

TEST_F(MeasuredCostsTest, ReadsWhatItWrites) {
  MeasuredCosts costs("cpu");
  costs.add(one("nn.relu \"1\"", 12));
  costs.add(one("nn.conv", 5));
  MeasuredCosts again =
      llvm::cantFail(MeasuredCosts::parse(costs.toJSON(), "cpu"));
  EXPECT_EQ(again.toJSON(), costs.toJSON());
  EXPECT_EQ(again.kernels().at("nn.conv").work.bytes, 0.1 + 0.2);
  CostModel model;
  llvm::cantFail(model.addMeasured(costs.toJSON()));
  EXPECT_EQ(model.numMeasured(), 2u);
  auto other = MeasuredCosts::parse(costs.toJSON(), "cuda");
  EXPECT_FALSE(static_cast<bool>(other));
  llvm::consumeError(other.takeError());
}

TEST_F(MeasuredCostsTest, IsExtendedByEveryRun) {
  EXPECT_TRUE(extend(MeasuredRun()).kernels().empty());
  EXPECT_FALSE(fs::exists(path_));
  extend(one("a", 1));
  extend(one("b", 2));
  MeasuredCosts all = extend(one("a", 3));
  EXPECT_EQ(all.kernels().size(), 2u);
  EXPECT_EQ(all.kernels().at("a").runs, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(llvm::cantFail(MeasuredCosts::load(path_, "cpu")).toJSON(),
            all.toJSON());
}

TEST_F(MeasuredCostsTest, ADamagedFileIsReplaced) {
  extend(one("a", 1));
  for (std::string damaged : {std::string(), text().substr(0, 40),
                              std::string("{\"format\": \"other\"}")}) {
    llvm::cantFail(writeWholeFile(path_, damaged));
    EXPECT_EQ(extend(one("b", 2)).kernels().size(), 1u) << damaged;
    EXPECT_EQ(
        llvm::cantFail(MeasuredCosts::load(path_, "cpu")).kernels().size(), 1u);
  }
}

TEST_F(MeasuredCostsTest, ThreadsAndProcessesLoseNothing) {
  constexpr int writers = 4, keys = 10;
  auto write = [&](int writer) {
    for (int i = 0; i < keys; ++i)
      extend(one(std::to_string(writer) + "." + std::to_string(i), i + 1));
  };
  std::vector<pid_t> children;
  for (int child = 0; child < writers; ++child) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      write(child);
      _exit(testing::Test::HasFailure());
    }
    children.push_back(pid);
  }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < writers; ++thread)
    threads.emplace_back(write, writers + thread);
  for (std::thread &thread : threads)
    thread.join();
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(llvm::cantFail(MeasuredCosts::load(path_, "cpu")).kernels().size(),
            2u * writers * keys);
}

TEST_F(MeasuredCostsTest, AKillLeavesAFileAndNoLock) {
  extend(one("first", 1));
  for (int round = 0; round < 20; ++round) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0)
      for (int i = 0;; ++i)
        extend(one("k" + std::to_string(i), i));
    usleep(2000 + 500 * round);
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
    auto known = MeasuredCosts::load(path_, "cpu");
    ASSERT_TRUE(static_cast<bool>(known)) << text();
    EXPECT_EQ(known->kernels().count("first"), 1u);
  }
  auto lock = MeasuredCostsLock::take(path_, 5);
  EXPECT_TRUE(static_cast<bool>(lock));
}

TEST_F(MeasuredCostsTest, WhoWaitsTooLongIsTold) {
  auto first = MeasuredCostsLock::take(path_, 5);
  ASSERT_TRUE(static_cast<bool>(first));
  std::string reason;
  std::thread([&] {
    auto second = MeasuredCostsLock::take(path_, 0.01);
    ASSERT_FALSE(static_cast<bool>(second));
    reason = llvm::toString(second.takeError());
  }).join();
  EXPECT_NE(reason.find("another compilation measures"), std::string::npos);
}

/// So many samples of one time.
TimeSummary timeOf(int64_t ns, size_t samples) { return {ns, ns, ns, samples}; }

MeasuredCosts knownCosts() {
  MeasuredCosts costs("cpu");
  costs.add({"first", 1, {{"known", {1000, {}}}, {"also", {4000, {}}}}});
  return costs;
}

TEST(ComparableTimesTest, ReferenceSaysHowFastEachDeviceIs) {
  TimedModel::Measurement now;
  // Device 0 takes twice, device 1 half of the time that it took before.
  now.reference = {{{0, "known"}, timeOf(2000, 5)},
                   {{0, "also"}, timeOf(8000, 5)},
                   {{1, "known"}, timeOf(500, 5)}};
  now.kernels = {{{0, "new"}, timeOf(600, 4)},
                 {{1, "new"}, timeOf(140, 12)},
                 {{1, "known"}, timeOf(500, 4)},
                 {{2, "elsewhere"}, timeOf(70, 1)},
                 {{2, "known"}, timeOf(10, 1)}};
  MeasuredRun run = comparableTimes(now, knownCosts());
  EXPECT_EQ(run.kernels.size(), 3u);
  EXPECT_NEAR(run.kernels["new"].ns, (4 * 300 + 12 * 280) / 16.0, 1e-9);
  EXPECT_NEAR(run.kernels["known"].ns, (4 * 1000 + 1 * 10) / 5.0, 1e-9);
  // A device on which no reference ran, and little that is known.
  EXPECT_NEAR(run.kernels["elsewhere"].ns, 70, 1e-9);
  // Of both devices together: known kernels cost 5 * 5000 + 9 * 1000.
  EXPECT_EQ(run.baseline, "first");
  EXPECT_NEAR(run.slowdown, (5 * 10000 + 9 * 500) / 34000.0, 1e-9);
}

TEST(ComparableTimesTest, KernelsThatAreKnownDoWhereTheyTakeHalfOfTheTime) {
  TimedModel::Measurement now;
  now.kernels = {{{0, "known"}, timeOf(1500, 3)}, {{0, "new"}, timeOf(300, 3)}};
  MeasuredRun run = comparableTimes(now, knownCosts());
  EXPECT_NEAR(run.kernels["new"].ns, 200, 1e-9);
  EXPECT_NEAR(run.slowdown, 1.5, 1e-9);
  EXPECT_EQ(run.baseline, "first");
  now.kernels[{0, "new"}] = timeOf(3000, 3);
  for (const MeasuredCosts &costs : {knownCosts(), MeasuredCosts("cpu")}) {
    run = comparableTimes(now, costs);
    EXPECT_NEAR(run.kernels["new"].ns, 3000, 1e-9);
    EXPECT_EQ(run.slowdown, 1);
    EXPECT_NE(run.baseline, "first");
    EXPECT_FALSE(run.baseline.empty());
  }
}

TEST(MeasuredCosts, AreAsLongAsKernelsMostlyTake) {
  // Two models, each first measured at a moment of its own; the second one's
  // was slow.
  MeasuredCosts costs = knownCosts();
  costs.add({"second", 1, {{"slow", {3000, {}}}}});
  auto cost = [&](const char *key) {
    return costs.cost(costs.kernels().at(key));
  };
  EXPECT_EQ(cost("slow"), 3000);
  costs.add({"second", 0.5, {{"later", {600, {}}}}});
  // Half of the measurements say so: the smaller one of two counts.
  EXPECT_EQ(cost("slow"), 1500);
  EXPECT_EQ(cost("later"), 300);
  costs.add({"second", 1, {{"later", {310, {}}}}});
  costs.add({"second", 1.2, {{"known", {1100, {}}}, {"new", {500, {}}}}});
  EXPECT_EQ(cost("slow"), 1500);
  EXPECT_EQ(cost("new"), 500);
  // The other model stays as it is, and what is added to it has its scale.
  EXPECT_EQ(cost("also"), 4000);
  EXPECT_EQ(costs.kernels().at("known").runs,
            (std::vector<int64_t>{1000, 1100}));
  EXPECT_EQ(costs.kernels().at("new").runs, (std::vector<int64_t>{1000}));
  // A file says what kernels cost, and what was measured.
  std::string text = costs.toJSON();
  MeasuredCosts again = llvm::cantFail(MeasuredCosts::parse(text, "cpu"));
  EXPECT_EQ(again.toJSON(), text);
  EXPECT_EQ(again.kernels().at("slow").ns(), 3000);
  CostModel model;
  llvm::cantFail(model.addMeasured(text));
  EXPECT_NE(text.find("\"ns\": 1500"), std::string::npos) << text;
  // The newest ones count.
  for (size_t i = 0; i != MeasuredCosts::mostSlowdowns; ++i)
    costs.add({"second", 2 / costs.slowdown("second"), {}});
  EXPECT_EQ(cost("slow"), 6000);
  for (const char *bad : {"{\"b\": 1}", "{\"b\": [0]}", "{\"b\": [-1]}",
                          "{\"b\": [\"a\"]}", "[1]"}) {
    auto parsed = MeasuredCosts::parse(
        std::string(R"({"format": "soap-costs", "device_kind": "cpu", )"
                    R"("entries": [], "baselines": )") +
            bad + "}",
        "cpu");
    EXPECT_FALSE(static_cast<bool>(parsed)) << bad;
    llvm::consumeError(parsed.takeError());
  }
}

TEST(TimeSummaryTest, HasMiddleAndInterval) {
  TimeSummary one = summarize({7});
  EXPECT_EQ(one.ns, 7);
  EXPECT_EQ(one.low, 7);
  EXPECT_EQ(one.high, 7);
  std::vector<int64_t> times;
  for (int64_t i = 100; i > 0; --i)
    times.push_back(i);
  TimeSummary many = summarize(times);
  EXPECT_NEAR(static_cast<double>(many.ns), 50.5, 0.5);
  EXPECT_EQ(many.samples, 100u);
  // Of the squares of all times from 50.5, those outside of 26 to 75 as if they
  // were at these ends, the root of the mean is 20.2; 20.2 / (0.5 sqrt(100)) is
  // the standard error, and 2.01 Student's quantile of 49 degrees of freedom.
  EXPECT_NEAR(static_cast<double>(many.high - many.low) / 2, 2.01 * 4.04, 0.5);
  EXPECT_NEAR(many.spread(), 2.01 * 4.04 / 50.5, 0.01);
}

TEST(TimeSummaryTest, LateTimesDoNotCount) {
  std::vector<int64_t> times(16, 1000);
  for (int i = 0; i < 4; ++i)
    times[i] = 1'000'000;
  TimeSummary summary = summarize(times);
  EXPECT_EQ(summary.ns, 1000);
  EXPECT_EQ(summary.low, 1000);
  EXPECT_EQ(summary.high, 1000);
}

TEST(TimeSummaryTest, TwoSpeedsHaveTheirMean) {
  // The median of the same times without the last one is 1000.
  TimeSummary summary = summarize(
      {1000, 2000, 1000, 2000, 1000, 2000, 1000, 2000, 1000, 2000, 1000, 2000});
  EXPECT_EQ(summary.ns, 1500);
  EXPECT_LE(summary.low, 1200);
  EXPECT_GE(summary.high, 1800);
}

} // namespace
