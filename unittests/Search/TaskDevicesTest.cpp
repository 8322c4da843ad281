//===- TaskDevicesTest.cpp - Lists of devices, and tasks made of them -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleGraphs.h"
#include "NodeTaskCache.h"
#include "soap/Search/ConfigurationSpace.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;
using Ints = llvm::SmallVector<int32_t, 8>;

namespace {
TEST(TaskDevices, CopiesShareUntilTheyAreWrittenTo) {
  TaskDevices a = {3, 1, 2}, b = a, c;
  EXPECT_TRUE(a.isSame(b));
  EXPECT_EQ(a.hash(), b.hash());
  b.edit()[0] = 0;
  EXPECT_FALSE(a.isSame(b));
  EXPECT_EQ(a, Ints({3, 1, 2}));
  EXPECT_EQ(b, Ints({0, 1, 2}));
  EXPECT_NE(a.hash(), b.hash());
  // Equal lists need not be the same.
  b.edit()[0] = 3;
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a.isSame(b));
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_NE(a, c);
  EXPECT_NE(a.hash(), c.hash());
  EXPECT_EQ(c.hash(), TaskDevices().hash());
}

TEST(TaskDevices, GrowAndShrink) {
  TaskDevices list;
  for (int32_t device = 0; device < 100; ++device)
    list.push_back(device);
  TaskDevices copy = list;
  list.resize(2);
  EXPECT_EQ(list, Ints({0, 1}));
  EXPECT_EQ(copy.size(), 100u);
  list.resize(4);
  EXPECT_EQ(list, Ints({0, 1, 0, 0}));
  copy.clear();
  EXPECT_TRUE(copy.empty());
  EXPECT_EQ(copy, TaskDevices());
  copy.append(list.begin(), list.begin() + 2);
  EXPECT_EQ(copy, Ints({0, 1}));
  copy.assign(size_t(3), 7);
  EXPECT_EQ(copy, Ints({7, 7, 7}));
  copy = TaskDevices(std::move(list));
  EXPECT_EQ(copy, Ints({0, 1, 0, 0}));
  copy = Ints({5});
  EXPECT_EQ(copy.front(), 5);
  EXPECT_EQ(copy.back(), 5);
}

/// Tasks that are in use stay what they are when others are forgotten.
TEST(NodeTaskCache, MovesWhatIsInUse) {
  OperatorGraph graph = inception(4, 1);
  Topology machine = plainMachine(64);
  CostModel costs;
  SearchProblem problem{graph, machine, costs};
  ConfigurationSpace space(graph, machine);
  detail::DegreesCosts degrees(problem);
  detail::SlabPool pool;
  detail::NodeTaskCache cache(machine, pool);
  std::vector<detail::NodeTasks> live;
  std::vector<std::vector<int32_t>> devices;
  std::vector<std::vector<int64_t>> ns;
  uint64_t number = 0;
  for (; !cache.isFull(); ++number) {
    Random random(1, 0, number);
    int32_t group = space.groups()[random.below(space.groups().size())];
    const detail::NodeTasks &tasks =
        cache.of(graph, graph.group(group).front(), space.sample(group, random),
                 {number, number}, degrees);
    ASSERT_TRUE(llvm::is_sorted(tasks.devices));
    if (number % 100 != 0)
      continue;
    live.push_back(tasks);
    devices.emplace_back(tasks.devices.begin(), tasks.devices.end());
    ns.emplace_back(tasks.ns.begin(), tasks.ns.end());
  }
  live.push_back(live.front());
  cache.collect(live);
  EXPECT_FALSE(cache.isFull());
  EXPECT_EQ(live.back().devices.data(), live.front().devices.data());
  for (size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(live[i].devices, llvm::ArrayRef<int32_t>(devices[i]));
    EXPECT_EQ(live[i].ns, llvm::ArrayRef<int64_t>(ns[i]));
  }
}
} // namespace
