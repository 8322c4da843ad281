//===- ConfigurationSpaceTest.cpp - What a search may choose from ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/ConfigurationSpace.h"
#include "ExampleGraphs.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

namespace {
/// Degrees are allowed if they are listed.
TEST(ConfigurationSpace, AllowsWhatItLists) {
  for (int32_t devices : {1, 3, 8, 12}) {
    Topology machine = plainMachine(devices);
    OperatorGraph graph = smallChain(4);
    ConfigurationSpace space(graph, machine);
    uint64_t allowed = 0;
    for (int32_t group : space.groups()) {
      for (const Degrees &degrees : space.degrees(group))
        EXPECT_TRUE(space.allows(group, degrees));
      Random random(7, devices, group);
      for (int i = 0; i < 2000; ++i) {
        Degrees degrees = space.degrees(group)[0];
        for (int32_t &degree : degrees.loops)
          degree = static_cast<int32_t>(random.below(3) ? 1 : random.below(14));
        degrees.replicate = static_cast<int32_t>(1 + random.below(3));
        bool listed = llvm::is_contained(space.degrees(group), degrees);
        EXPECT_EQ(space.allows(group, degrees), listed);
        allowed += listed;
      }
    }
    EXPECT_GT(allowed, 0u);
  }
}
} // namespace
