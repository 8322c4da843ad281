//===- WindowDescentTest.cpp - Joint changes of neighbours ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowDescent.h"
#include "Change.h"
#include "ExampleGraphs.h"
#include "soap/Search/RandomStrategies.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::detail;
using namespace soap::test;

namespace {
bool never() { return false; }

/// From local optima of single changes on. A descent is never above where it
/// began nor below the optimum, says what a simulation from nothing says, and
/// finds joint changes.
TEST(WindowDescent, FindsWhatSingleChangesDoNot) {
  CostModel costs;
  int gains = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    bool isSmall = seed % 2 == 0;
    OperatorGraph graph =
        isSmall ? randomSmallGraph(seed, 4) : randomGraph(seed);
    Topology machine = plainMachine(2);
    SearchProblem problem{graph, machine, costs};
    SearchOptions options;
    options.namedStarts = false;
    options.starts = {dataParallel(graph, machine)};
    auto local = createLocal()->run(problem, options);
    ASSERT_TRUE(bool(local)) << llvm::toString(local.takeError());
    TaskGraph tasks(problem);
    SubMachine part(problem, /*maxTasks=*/0, machine.numDevices());
    WindowDescent descent(problem, part, tasks, seed);
    descent.start(local->strategy, {});
    descent.run(UINT64_MAX, UINT64_MAX, never);
    EXPECT_TRUE(descent.isDone());
    EXPECT_EQ(llvm::toString(problem.verify(descent.current())), "");
    tasks.setStrategy(descent.current());
    EXPECT_EQ(FullSimulator(tasks).stepNs(), descent.stepNs());
    EXPECT_LE(descent.stepNs(), local->stepNs);
    gains += descent.stepNs() < local->stepNs;
    if (!isSmall)
      continue;
    auto best = createExhaustive(/*limit=*/50000)->run(problem, {});
    if (!best)
      llvm::consumeError(best.takeError());
    else
      EXPECT_GE(descent.stepNs(), best->stepNs);
  }
  EXPECT_GE(gains, 2);
}

/// In slices, each from what the one before left, as a search in a file goes
/// on; and never more changes than allowed.
TEST(WindowDescent, IsTheSameInSlices) {
  CostModel costs;
  OperatorGraph graph = inception(8, 1);
  Topology machine = plainMachine(4);
  SearchProblem problem{graph, machine, costs};
  TaskGraph tasks(problem);
  SubMachine part(problem, /*maxTasks=*/0, machine.numDevices());
  Strategy start = randomStrategy(graph, machine, 3, /*structured=*/true);
  WindowDescent whole(problem, part, tasks, 7);
  whole.start(start, {});
  uint64_t all = whole.run(20000, UINT64_MAX, never), tried = 0;
  EXPECT_GE(all, 20000u);
  Strategy current = start;
  WindowDescent::Position position;
  while (tried < all) {
    WindowDescent slice(problem, part, tasks, 7);
    slice.start(current, position);
    tried += slice.run(1, UINT64_MAX, never);
    current = slice.current();
    position = slice.position();
  }
  EXPECT_EQ(tried, all);
  EXPECT_EQ(current, whole.current());
  EXPECT_EQ(position.looked, whole.position().looked);

  WindowDescent limited(problem, part, tasks, 7);
  limited.start(start, {});
  EXPECT_EQ(limited.run(20000, 100, never), 100u);
}

TEST(Change, SplitsFurtherOverDevicesThatAreLeftAlone) {
  Configuration config;
  config.degrees.loops = {2, 1};
  config.degrees.replicate = 1;
  config.devices = {1, 3};
  auto check = [&](size_t loop, bool keepsFirst,
                   llvm::SmallVector<int32_t, 8> devices) {
    auto further = splitFurther(config, loop, keepsFirst, 4);
    ASSERT_TRUE(further.has_value());
    EXPECT_EQ(further->degrees.loops[loop], 2 * config.degrees.loops[loop]);
    EXPECT_EQ(further->devices, devices);
  };
  check(0, true, {1, 0, 3, 2});
  check(0, false, {0, 1, 2, 3});
  check(1, true, {1, 0, 3, 2});
  EXPECT_FALSE(splitFurther(config, 0, true, 2).has_value());
  // The loop that is split stands outside of another one.
  config.degrees.loops = {1, 2};
  check(0, true, {1, 3, 0, 2});
  check(0, false, {0, 2, 1, 3});
}
} // namespace
