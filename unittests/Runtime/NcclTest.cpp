//===- NcclTest.cpp - What is asked of NCCL -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/Backend.h"
#include "CUDA/CommunicatorPlan.h"
#include "Error.h"
#include "Transport/Channel.h"
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace soap;
using namespace soap::runtime;
using cuda::CommunicatorPlan;

using Groups = std::vector<CollectiveGroup>;

/// Groups of communication streams.
static Groups groupsOf(const std::vector<std::vector<uint32_t>> &members) {
  Groups groups;
  for (const std::vector<uint32_t> &list : members)
    groups.push_back({list, /*hasPriority=*/false});
  return groups;
}

TEST(CommunicatorPlan, GroupsGetTheirsInTableOrder) {
  CommunicatorPlan plan(
      4, groupsOf({{0, 1}, {2, 3}, {0, 1}, {1, 0}, {3}, {0, 1, 2, 3}}));
  EXPECT_EQ(plan.groups(), groupsOf({{0, 1, 2, 3}, {0, 1}, {2, 3}, {1, 0}}));
  EXPECT_EQ(plan.find({{2, 3}}), 2U);
  EXPECT_EQ(plan.find({{0, 1, 2, 3}}), 0U);
  EXPECT_EQ(plan.find({{3}}), std::nullopt);
}

TEST(CommunicatorPlan, PriorityStreamsHaveTheirOwn) {
  CommunicatorPlan plan(
      3, {{{0, 1}, false}, {{0, 1}, true}, {{0, 1, 2}, true}, {{0, 1}, true}});
  EXPECT_EQ(plan.groups(), (Groups{{{0, 1, 2}, false},
                                   {{0, 1, 2}, true},
                                   {{0, 1}, false},
                                   {{0, 1}, true}}));
  EXPECT_EQ(plan.find({{0, 1, 2}, true}), CommunicatorPlan::ofAll(true));
  EXPECT_EQ(plan.find({{0, 1, 2}, false}), CommunicatorPlan::ofAll(false));
  EXPECT_EQ(plan.find({{0, 1}, true}), 3U);
}

TEST(CommunicatorPlan, ADeviceIsInAFewAtMost) {
  CommunicatorPlan plan(4, groupsOf({{0, 1}, {0, 2}, {2, 3}, {1, 3}, {0, 3}}),
                        2);
  // Device 0 has that of all and its first one; 2 and 3 have one left.
  EXPECT_EQ(plan.groups(), groupsOf({{0, 1, 2, 3}, {0, 1}, {2, 3}}));
  EXPECT_EQ(plan.find({{0, 2}}), std::nullopt);
  CommunicatorPlan none(2, groupsOf({{1, 0}}), 1);
  EXPECT_EQ(none.groups(), groupsOf({{0, 1}}));
}

namespace {
/// What the stand-in has written, without the numbers of streams.
std::vector<std::string> loggedCalls() {
  std::ifstream file(std::getenv("SOAP_CUDA_LOG"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("rank 0 of ", 0) == 0)
      lines.push_back(line);
  return lines;
}

class NoChannels final : public Channels {
public:
  std::unique_ptr<Sender> makeSender(uint32_t, uint32_t, uint32_t) override {
    return nullptr;
  }
  std::unique_ptr<Receiver> makeReceiver(uint32_t, uint32_t,
                                         uint32_t) override {
    return nullptr;
  }
  void abandon(const std::string &) override {}
};

/// Two devices on two GPUs.
struct Pair {
  Pair() {
    for (uint32_t d = 0; d != 2; ++d) {
      places.push_back({d, d, d, 2, 2, 1});
      devices.push_back(backend.makeDevice(places[d]));
      streams.push_back(devices[d]->makeStream({}, /*hasPriority=*/false));
      blocks.emplace_back(*devices[d], 1024);
    }
  }
  std::unique_ptr<Transport> transport(DeviceTransport choice, Groups groups) {
    return backend.makeTransport({channels, /*isThrottled=*/false, choice,
                                  /*peers=*/nullptr, 2, places,
                                  std::move(groups),
                                  /*messagesAreOrdered=*/true});
  }
  DeviceSpan span(uint32_t d, uint64_t offset, uint64_t bytes) const {
    return {blocks[d].data() + offset, bytes};
  }
  CollectivePart part(fb::CollectiveKind kind, uint32_t d) const {
    CollectivePart part;
    part.shape.kind = kind;
    part.shape.group = {0, 1};
    part.shape.member = d;
    part.shape.combine = fb::Combine::Sum;
    return part;
  }

  const Backend &backend = findBackend("cuda");
  NoChannels channels;
  std::vector<DevicePlace> places;
  std::vector<std::unique_ptr<BackendDevice>> devices;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<DeviceBlock> blocks;
};
} // namespace

TEST(Nccl, PriorityStreamsDoNotWaitForOthers) {
  Pair pair;
  auto transport =
      pair.transport(DeviceTransport::Nccl, {{{0, 1}, false}, {{0, 1}, true}});
  transport->connect({transport->introduction()});
  // Device 1 begins with the small sum and ends it before it comes to the large
  // one; device 0 enqueues the large one first.
  auto run = [&](uint32_t d) {
    auto make = [&](uint64_t bytes, bool hasPriority) {
      auto sum = pair.part(fb::CollectiveKind::AllReduce, d);
      sum.send = sum.receive = {pair.span(d, hasPriority ? 512 : 0, bytes)};
      sum.hasPriority = hasPriority;
      return transport->makeCollective(*pair.devices[d], std::move(sum));
    };
    auto large = make(256, false), small = make(16, true);
    auto priority = pair.devices[d]->makeStream({}, /*hasPriority=*/true);
    if (d == 0)
      large->enqueue(*pair.streams[d], {});
    small->enqueue(*priority, {});
    priority->synchronize();
    if (d == 1)
      large->enqueue(*pair.streams[d], {});
    pair.streams[d]->synchronize();
  };
  size_t before = loggedCalls().size();
  std::thread first(run, 0);
  run(1);
  first.join();
  EXPECT_EQ(loggedCalls().size(), before + 2);
}

TEST(Nccl, CollectivesAreThoseOfTheLibrary) {
  Pair pair;
  auto transport = pair.transport(DeviceTransport::Nccl, groupsOf({{0, 1}}));
  EXPECT_EQ(transport->name().rfind("NCCL ", 0), 0U);
  transport->connect({transport->introduction()});
  std::vector<std::unique_ptr<RowAction>> rows[2];
  for (uint32_t d = 0; d != 2; ++d) {
    auto add = [&](CollectivePart part) {
      rows[d].push_back(
          transport->makeCollective(*pair.devices[d], std::move(part)));
    };
    auto sum = pair.part(fb::CollectiveKind::AllReduce, d);
    sum.send = sum.receive = {pair.span(d, 0, 64)};
    add(sum);
    // Parts side by side, apart, and of several sizes.
    auto gather = pair.part(fb::CollectiveKind::AllGather, d);
    gather.send = {pair.span(d, 0, 16)};
    gather.receive = {pair.span(d, 256, 16), pair.span(d, 272, 16)};
    add(gather);
    gather.receive = {pair.span(d, 256, 16), pair.span(d, 512, 16)};
    add(gather);
    gather.send = {pair.span(d, 0, d ? 8 : 16)};
    gather.receive = {pair.span(d, 256, 16), pair.span(d, 512, 8)};
    add(gather);
    auto scatter = pair.part(fb::CollectiveKind::ReduceScatter, d);
    scatter.send = {pair.span(d, 0, 16), pair.span(d, 16, 16)};
    scatter.receive = {pair.span(d, 256, 16)};
    add(scatter);
    scatter.send = {pair.span(d, 0, 16), pair.span(d, 16, 8)};
    scatter.receive = {pair.span(d, 256, d ? 8 : 16)};
    add(scatter);
  }
  size_t before = loggedCalls().size();
  std::vector<std::thread> threads;
  for (uint32_t d = 0; d != 2; ++d)
    threads.emplace_back([&, d] {
      for (const auto &row : rows[d]) {
        row->enqueue(*pair.streams[d], {});
        EXPECT_FALSE(row->isCapturable()); // There are two in this process.
      }
      pair.streams[d]->synchronize();
    });
  for (std::thread &thread : threads)
    thread.join();
  std::vector<std::string> calls = loggedCalls();
  calls.erase(calls.begin(), calls.begin() + static_cast<long>(before));
  std::string prefix = "rank 0 of 2: ", f32 = " of type 7, op 0, root ";
  EXPECT_EQ(calls, (std::vector<std::string>{
                       prefix + "all-reduce 16" + f32 + '0',
                       prefix + "all-gather 16 of type 1, root 0",
                       prefix + "all-gather 16 of type 1, root 0",
                       prefix + "receive 8 of type 1, peer 1",
                       prefix + "send 16 of type 1, peer 1",
                       prefix + "reduce-scatter 4" + f32 + '0',
                       prefix + "reduce 4" + f32 + '0',
                       prefix + "reduce 2" + f32 + '1'}));
}

/// Ends the program as making a transport does.
[[noreturn]] static void makeTransportAndExit(const Groups &groups) {
  try {
    (void)Pair().transport(DeviceTransport::Nccl, groups);
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(error.status);
  }
  std::_Exit(0);
}

TEST(Nccl, WhatIsMissingOrTooOldIsSaid) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("SOAP_NCCL_VERSION", "21403", 1);
  EXPECT_EXIT(makeTransportAndExit({}), testing::ExitedWithCode(SOAP_INVALID),
              "expected NCCL 2.18.0 or newer, got: 2.14.3; install NCCL");
  // Several communicators at once need more than one does.
  setenv("SOAP_NCCL_VERSION", "22501", 1);
  EXPECT_EXIT(makeTransportAndExit({{{0, 1}, true}}),
              testing::ExitedWithCode(SOAP_INVALID),
              "expected NCCL 2.26.0 or newer for a model with priority "
              "streams, .*, got: 2.25.1");
  EXPECT_EXIT(makeTransportAndExit({{{0, 1}, false}}),
              testing::ExitedWithCode(0), "");
  unsetenv("SOAP_NCCL_VERSION");
}

TEST(Nccl, ThrottledLinksAreRefused) {
  Pair pair;
  EXPECT_THROW((void)pair.backend.makeTransport({pair.channels,
                                                 /*isThrottled=*/true,
                                                 DeviceTransport::Nccl,
                                                 nullptr,
                                                 2,
                                                 pair.places,
                                                 {},
                                                 true}),
               Error);
}
