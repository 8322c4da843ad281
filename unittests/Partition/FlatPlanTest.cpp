//===- FlatPlanTest.cpp - Plans in flat lists -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/FlatPlan.h"
#include "../FromEnvironment.h"
#include "RandomPlans.h"
#include "soap/Partition/Needs.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;

/// SOAP_TEST_SEED, else a fixed seed; printed with every failure.
static uint64_t baseSeed() {
  return fromEnvironment("SOAP_TEST_SEED", 20190331);
}

namespace {
/// Every field of a plan, in order, as text.
struct FullText {
  std::string text;

  void add(int64_t number) { text += std::to_string(number) + " "; }
  template <typename List>
  void addAll(const List &list) {
    add(static_cast<int64_t>(list.size()));
    for (auto entry : list)
      add(static_cast<int64_t>(entry));
  }
  void add(const Box &box) { text += toString(box) + " "; }
  void add(llvm::ArrayRef<Piece> pieces) {
    add(static_cast<int64_t>(pieces.size()));
    for (const Piece &piece : pieces) {
      add(piece.shard);
      add(piece.box);
    }
  }
  explicit FullText(const ValuePlan &plan) {
    for (const Shard &shard : plan.shards) {
      add(shard.box);
      addAll(std::initializer_list<int32_t>{shard.device, shard.part,
                                            static_cast<int32_t>(shard.origin),
                                            shard.index, shard.position});
    }
    for (const LocalReduction &reduction : plan.reductions) {
      text += "\nreduction " + stringify(reduction.combine).str() + " ";
      addAll(reduction.inputs);
      add(reduction.output);
    }
    for (const Action &action : plan.actions) {
      text += "\n" + stringify(action.kind).str() + " " +
              stringify(action.combine).str() + " ";
      addAll(action.group);
      for (const Port &port : action.inputs) {
        add(port.device);
        add(port.box);
        add(llvm::ArrayRef<Piece>(port.pieces));
      }
      addAll(action.outputs);
      addAll(action.destinations);
      addAll(action.consumers);
    }
    for (const Read &read : plan.reads) {
      text += "\nread ";
      addAll(std::initializer_list<int32_t>{read.consumer, read.task,
                                            read.device});
      add(read.box);
      add(llvm::ArrayRef<Piece>(read.pieces));
    }
  }
};
} // namespace

TEST(FlatPlan, APlanLeavesNoTraceInTheNext) {
  uint64_t seed = baseSeed();
  ValuePlanner planner;
  for (int i = 0; i != 5000; ++i) {
    PlanCase c = PlanGenerator(seed + i).draw();
    ValuePlan again =
        expand(planner.plan(c.producer, c.consumers), c.consumers.size());
    ASSERT_EQ(FullText(planValue(c.producer, c.consumers)).text,
              FullText(again).text)
        << "seed " << seed + i;
  }
}

TEST(FlatPlan, SaysTheSameAsItsExpansion) {
  uint64_t seed = baseSeed();
  ValuePlanner planner;
  int whole = 0, cut = 0;
  for (int i = 0; i != 5000; ++i) {
    PlanCase c = PlanGenerator(seed + i).draw();
    const FlatPlan &flat = planner.plan(c.producer, c.consumers);
    ValuePlan plan = expand(flat, c.consumers.size());
    auto check = [&](FlatPlan::Slice which, int32_t id,
                     llvm::ArrayRef<Piece> pieces, const Box &box) {
      ASSERT_EQ(flat.volumes[id], volume(box)) << "seed " << seed + i;
      if (isEmpty(box))
        return;
      bool isWhole =
          pieces.size() == 1 && plan.shards[pieces[0].shard].box == box;
      ++(isWhole ? whole : cut);
      ASSERT_EQ(flat.isWholeShard(which, id), isWhole) << "seed " << seed + i;
    };
    for (auto [action, expanded] :
         llvm::zip_equal(flat.actions, plan.actions)) {
      ASSERT_EQ(linkBytes(flat, action, 4), linkBytes(expanded, 4));
      for (auto [port, input] :
           llvm::zip_equal(flat.inputsOf(action), expanded.inputs))
        check(port.pieces, port.box, input.pieces, input.box);
    }
    for (auto [read, expanded] : llvm::zip_equal(flat.reads, plan.reads))
      check(read.pieces, read.box, expanded.pieces, expanded.box);
  }
  EXPECT_GT(whole, 5000);
  EXPECT_GT(cut, 5000);
}

TEST(FlatPlan, LayoutsAndNeedsForgetWhatWasThere) {
  PartitionSpec spec;
  spec.loops = {{"n", 8}, {"k", 6}};
  spec.operands.resize(2);
  spec.operands[0].dims = {DimAccess::identity(0), DimAccess::identity(1)};
  spec.operands[1].dims = {DimAccess::identity(0)};
  spec.operands[1].firstOnly = true;
  spec.results.resize(1);
  spec.results[0].dims = {DimAccess::identity(0)};
  spec.results[0].combine = Combine::Sum;
  Degrees split{{4, 2}, 2}, plain{{2, 1}, 1};
  llvm::SmallVector<int32_t, 16> many;
  for (int32_t device = 0; device != 16; ++device)
    many.push_back(device);
  llvm::ArrayRef<int32_t> few = llvm::ArrayRef<int32_t>(many).take_front(2);

  Layout layout = makeLayout(spec, 0, split, many, {8});
  makeLayout(spec, 0, plain, few, {8}, layout);
  Layout fresh = makeLayout(spec, 0, plain, few, {8});
  EXPECT_EQ(layout.cuts, fresh.cuts);
  EXPECT_EQ(layout.parts, 1);
  EXPECT_EQ(layout.combine, Combine::None);
  EXPECT_EQ(layout.copies, 1);
  EXPECT_EQ(layout.devices, fresh.devices);
  EXPECT_EQ(layout.tasks, fresh.tasks);

  Need need = needOf({spec, 0, split, many, /*regather=*/true}, {8, 6});
  needOf({spec, 1, plain, few}, {8}, need);
  Need freshNeed = needOf({spec, 1, plain, few}, {8});
  EXPECT_EQ(need.ranges, freshNeed.ranges);
  EXPECT_EQ(need.copies, freshNeed.copies);
  EXPECT_EQ(need.devices, freshNeed.devices);
  EXPECT_EQ(need.tasks, freshNeed.tasks);
  EXPECT_FALSE(need.regather);
}
