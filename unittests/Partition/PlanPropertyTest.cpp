//===- PlanPropertyTest.cpp - Plans of random strategies ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../FromEnvironment.h"
#include "PlanSimulation.h"
#include "RandomPlans.h"
#include "gtest/gtest.h"
#include <functional>
#include <iostream>
#include <map>

using namespace soap;
using namespace soap::test;

/// SOAP_TEST_SEED, else a fixed seed; printed with every failure.
static uint64_t baseSeed() {
  return fromEnvironment("SOAP_TEST_SEED", 20190331);
}

/// True if a reduce-scatter brings every piece straight to a reader.
static bool isDirect(const ValuePlan &plan, const Action &action) {
  for (int32_t output : action.outputs) {
    bool read = false;
    for (const Read &r : plan.reads)
      for (const Piece &piece : r.pieces)
        read |= piece.shard == output && r.box == plan.shards[output].box;
    if (!read)
      return false;
  }
  return true;
}

TEST(PlanProperty, EveryReadSeesTheCombinedValue) {
  constexpr int numCases = 50000;
  uint64_t seed = baseSeed();
  std::map<std::string, int> rows{
      {"local", 0},           {"broadcast", 0},       {"all_gather", 0},
      {"all_to_all", 0},      {"halo_exchange", 0},   {"all_reduce", 0},
      {"reduce_scatter", 0},  {"home layout", 0},     {"transfer", 0},
      {"local reduction", 0}, {"several actions", 0}, {"regather", 0},
      {"rounds", 0},          {"parts", 0},           {"parts reduced", 0}};
  for (int i = 0; i != numCases; ++i) {
    PlanCase c = PlanGenerator(seed + i).draw();
    ValuePlan plan = planValue(c.producer, c.consumers);
    ASSERT_EQ(toString(verify(plan, c.producer, c.consumers)), "")
        << "seed " << seed + i << "\n"
        << summarize(plan);
    ASSERT_EQ(simulate(plan, c.producer, c.consumers), "")
        << "seed " << seed + i << "\n"
        << summarize(plan);
    rows["local"] += plan.actions.empty() && !plan.reads.empty();
    rows["local reduction"] += !plan.reductions.empty();
    rows["several actions"] += plan.actions.size() > 1;
    rows["rounds"] += !plan.rounds.empty();
    for (const Need &need : c.consumers) {
      rows["regather"] += need.regather;
      rows["parts"] += takesParts(c.producer, need);
      rows["parts reduced"] += need.parts > 1 && c.producer.parts > 1 &&
                               !takesParts(c.producer, need);
    }
    for (const Action &action : plan.actions)
      ++rows[action.kind == ActionKind::ReduceScatter && !isDirect(plan, action)
                 ? "home layout"
                 : stringify(action.kind).str()];
  }
  std::cout << numCases << " cases from seed " << seed << ":";
  for (const auto &[row, count] : rows) {
    std::cout << "  " << row << " " << count;
    EXPECT_GT(count, 100) << row << " is hardly tested";
  }
  std::cout << std::endl;
}

TEST(PlanProperty, SourcesAreNearest) {
  uint64_t seed = baseSeed();
  auto route = [](int32_t a, int32_t b) {
    return int64_t((a * 7 + b * 3) % 5);
  };
  for (int i = 0; i != 2000; ++i) {
    PlanCase c = PlanGenerator(seed + i).draw();
    if (c.producer.parts > 1)
      continue;
    ValuePlan plan = planValue(c.producer, c.consumers, route);
    ASSERT_EQ(toString(verify(plan, c.producer, c.consumers)), "")
        << "seed " << seed + i;
    ASSERT_EQ(simulate(plan, c.producer, c.consumers), "")
        << "seed " << seed + i;
    for (const Action &action : plan.actions) {
      if (action.kind != ActionKind::Transfer)
        continue;
      for (size_t k = 0; k != action.inputs.size(); ++k)
        for (const Piece &piece : action.inputs[k].pieces)
          for (size_t s = 0; s != c.producer.tasks.size(); ++s) {
            const Shard &other = plan.shards[s];
            if (other.box != plan.shards[piece.shard].box)
              continue;
            int32_t to = action.destinations[k];
            ASSERT_NE(other.device, to) << "seed " << seed + i;
            auto key = [&](int32_t device) {
              return std::make_pair(route(device, to), device);
            };
            ASSERT_LE(key(action.inputs[k].device), key(other.device))
                << "seed " << seed + i;
          }
    }
  }
}

TEST(PlanProperty, PlansAreDeterministic) {
  for (int i = 0; i != 500; ++i) {
    PlanCase c = PlanGenerator(baseSeed() + i).draw();
    EXPECT_EQ(summarize(planValue(c.producer, c.consumers)),
              summarize(planValue(c.producer, c.consumers)));
  }
}

//===----------------------------------------------------------------------===//
// verify() reports broken plans
//===----------------------------------------------------------------------===//

namespace {
/// Breaks a plan; false if this plan has nothing that can be broken so.
using Mutation = std::function<bool(ValuePlan &, std::mt19937 &)>;

template <typename T>
T &any(llvm::SmallVectorImpl<T> &list, std::mt19937 &r) {
  return list[r() % list.size()];
}

/// The reads that take a part of a sum.
llvm::SmallVector<size_t, 8> readsOfParts(const ValuePlan &plan) {
  llvm::SmallVector<size_t, 8> taken;
  for (size_t i = 0; i != plan.reads.size(); ++i)
    if (plan.shards[plan.reads[i].pieces[0].shard].part >= 0)
      taken.push_back(i);
  return taken;
}

const std::pair<const char *, Mutation> mutations[] = {
    {"a piece of a read is dropped",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.reads.empty())
         return false;
       any(plan.reads, r).pieces.pop_back();
       return true;
     }},
    {"a piece of a read is there twice",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.reads.empty())
         return false;
       auto &pieces = any(plan.reads, r).pieces;
       Piece piece = pieces.front();
       pieces.push_back(piece);
       return true;
     }},
    {"a read is dropped",
     [](ValuePlan &plan, std::mt19937 &) {
       if (plan.reads.empty())
         return false;
       plan.reads.pop_back();
       return true;
     }},
    {"a read is on the wrong device",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.reads.empty())
         return false;
       ++any(plan.reads, r).device;
       return true;
     }},
    {"a read takes a shard of another device",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.reads.empty())
         return false;
       Read &read = any(plan.reads, r);
       Piece &piece = any(read.pieces, r);
       for (size_t s = 0; s != plan.shards.size(); ++s)
         if (plan.shards[s].device != read.device &&
             contains(plan.shards[s].box, piece.box)) {
           piece.shard = static_cast<int32_t>(s);
           return true;
         }
       return false;
     }},
    {"a piece reaches over its shard",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.reads.empty())
         return false;
       Piece &piece = any(plan.reads, r).pieces.front();
       if (piece.box.empty())
         return false;
       --piece.box[0].lo;
       return true;
     }},
    {"a task takes another part",
     [](ValuePlan &plan, std::mt19937 &r) {
       llvm::SmallVector<size_t, 8> taken = readsOfParts(plan);
       if (taken.empty())
         return false;
       Read &read = plan.reads[any(taken, r)];
       Piece &piece = read.pieces[0];
       for (size_t s = 0; s != plan.shards.size(); ++s)
         if (plan.shards[s].device == read.device &&
             plan.shards[s].box == read.box &&
             plan.shards[s].part != plan.shards[piece.shard].part) {
           piece.shard = static_cast<int32_t>(s);
           return true;
         }
       return false;
     }},
    {"a part is not taken",
     [](ValuePlan &plan, std::mt19937 &r) {
       llvm::SmallVector<size_t, 8> taken = readsOfParts(plan);
       if (taken.empty())
         return false;
       plan.reads.erase(plan.reads.begin() + any(taken, r));
       return true;
     }},
    {"an action comes too late",
     [](ValuePlan &plan, std::mt19937 &) {
       for (size_t i = 1; i < plan.actions.size(); ++i)
         for (const Port &port : plan.actions[i].inputs)
           for (const Piece &piece : port.pieces)
             if (plan.shards[piece.shard].origin == Shard::Origin::Action) {
               std::swap(plan.actions[i],
                         plan.actions[plan.shards[piece.shard].index]);
               return true;
             }
       return false;
     }},
    {"an action is dropped",
     [](ValuePlan &plan, std::mt19937 &) {
       if (plan.actions.empty())
         return false;
       plan.actions.pop_back();
       return true;
     }},
    {"an output is on the wrong device",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.actions.empty())
         return false;
       plan.shards[any(any(plan.actions, r).outputs, r)].device += 100;
       return true;
     }},
    {"an input is on the wrong device",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.actions.empty())
         return false;
       any(any(plan.actions, r).inputs, r).device += 100;
       return true;
     }},
    {"a transfer brings another box",
     [](ValuePlan &plan, std::mt19937 &) {
       for (Action &action : plan.actions)
         if (!action.destinations.empty() && !action.inputs[0].box.empty()) {
           ++plan.shards[action.outputs[0]].box[0].hi;
           return true;
         }
       return false;
     }},
    {"a piece of an input is dropped",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.actions.empty())
         return false;
       any(any(plan.actions, r).inputs, r).pieces.pop_back();
       return true;
     }},
    {"a destination is wrong",
     [](ValuePlan &plan, std::mt19937 &r) {
       for (Action &action : plan.actions)
         if (!action.destinations.empty()) {
           ++any(action.destinations, r);
           return true;
         }
       return false;
     }},
    {"transfers are out of order",
     [](ValuePlan &plan, std::mt19937 &) {
       for (size_t i = 0; i != plan.actions.size(); ++i) {
         Action &a = plan.actions[i];
         size_t n = a.destinations.size();
         if (n < 2)
           continue;
         std::swap(a.inputs[0], a.inputs[n - 1]);
         std::swap(a.outputs[0], a.outputs[n - 1]);
         std::swap(a.destinations[0], a.destinations[n - 1]);
         plan.shards[a.outputs[0]].position = 0;
         plan.shards[a.outputs[n - 1]].position = static_cast<int32_t>(n - 1);
         return true;
       }
       return false;
     }},
    {"the group is too large",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.actions.empty())
         return false;
       any(plan.actions, r).group.push_back(99);
       return true;
     }},
    {"a consumer is forgotten",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.actions.empty())
         return false;
       any(plan.actions, r).consumers.pop_back();
       return true;
     }},
    {"a part does not enter",
     [](ValuePlan &plan, std::mt19937 &) {
       for (size_t i = 0; i != plan.reductions.size(); ++i)
         if (plan.reductions[i].inputs.size() > 2) {
           plan.reductions[i].inputs.pop_back();
           return !plan.reads.empty() &&
                  plan.shards[plan.reductions[i].output].part == -1;
         }
       return false;
     }},
    {"a part enters a local reduction twice",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.reductions.empty())
         return false;
       auto &inputs = any(plan.reductions, r).inputs;
       int32_t first = inputs.front();
       inputs.push_back(first);
       return true;
     }},
    {"a part counts twice: one member reduces what another has",
     [](ValuePlan &plan, std::mt19937 &) {
       for (Action &action : plan.actions)
         if (action.combine != Combine::None) {
           Port port = action.inputs[0];
           port.device = action.inputs[1].device;
           action.inputs[1] = port;
           return true;
         }
       return false;
     }},
    {"a copy enters instead of copy 0",
     [](ValuePlan &plan, std::mt19937 &) {
       for (Action &action : plan.actions)
         if (action.combine != Combine::None)
           for (Port &port : action.inputs)
             for (Piece &piece : port.pieces)
               for (size_t s = 0; s != plan.shards.size(); ++s) {
                 const Shard &now = plan.shards[piece.shard];
                 const Shard &other = plan.shards[s];
                 if (now.origin == Shard::Origin::Task &&
                     other.origin == Shard::Origin::Task &&
                     s != static_cast<size_t>(piece.shard) &&
                     now.part == other.part && now.box == other.box) {
                   piece.shard = static_cast<int32_t>(s);
                   return true;
                 }
               }
       return false;
     }},
    {"another combiner",
     [](ValuePlan &plan, std::mt19937 &r) {
       if (plan.actions.empty())
         return false;
       Combine &combine = any(plan.actions, r).combine;
       combine = combine == Combine::Same ? Combine::None : Combine::Same;
       return true;
     }},
    {"a partial value passes for complete",
     [](ValuePlan &plan, std::mt19937 &) {
       for (Shard &shard : plan.shards)
         if (shard.part >= 0) {
           shard.part = -1;
           return true;
         }
       return false;
     }},
    {"a received shard is sent on",
     [](ValuePlan &plan, std::mt19937 &) {
       for (Action &later : plan.actions)
         for (size_t i = 0; i != later.inputs.size(); ++i)
           for (size_t s = 0; s != plan.shards.size(); ++s) {
             const Shard &shard = plan.shards[s];
             if (shard.origin != Shard::Origin::Action ||
                 plan.actions[shard.index].combine != Combine::None ||
                 shard.device != later.inputs[i].device ||
                 &plan.actions[shard.index] >= &later ||
                 !contains(shard.box, later.inputs[i].box))
               continue;
             later.inputs[i].pieces.assign(
                 1, Piece{static_cast<int32_t>(s), later.inputs[i].box});
             return true;
           }
       return false;
     }},
    {"a shard that nothing produces",
     [](ValuePlan &plan, std::mt19937 &) {
       plan.shards.push_back(plan.shards.back());
       return true;
     }},
    {"a task's shard is altered",
     [](ValuePlan &plan, std::mt19937 &) {
       ++plan.shards[0].device;
       return true;
     }},
};
} // namespace

TEST(PlanVerifier, ReportsEveryMutation) {
  std::mt19937 random(baseSeed());
  for (const auto &[name, mutate] : mutations) {
    int applied = 0;
    for (int i = 0; i != 30000 && applied != 60; ++i) {
      PlanCase c = PlanGenerator(baseSeed() + i).draw();
      ValuePlan plan = planValue(c.producer, c.consumers);
      if (!mutate(plan, random))
        continue;
      ++applied;
      EXPECT_NE(toString(verify(plan, c.producer, c.consumers)), "")
          << name << ", seed " << baseSeed() + i;
    }
    EXPECT_GE(applied, 5) << name << ": hardly ever possible";
  }
}
