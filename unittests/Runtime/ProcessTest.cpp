//===- ProcessTest.cpp - Several processes of one run ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Engine.h"
#include "ModelBuilder.h"
#include "Process/Group.h"
#include <gtest/gtest.h>

using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

namespace {
class BrokenReceiver final : public Receiver {
public:
  void post(char *, uint64_t) override {}
  void finish() override { failed("the cable is cut"); }
};

/// A group of a size, whose messages do not come.
class FakeGroup final : public Group {
public:
  explicit FakeGroup(uint32_t size) : all_(size) {}
  uint32_t rank() const override { return 1; }
  const std::vector<ProcessName> &names() const override { return all_; }
  void check() override {}
  const char *transport() const override { return "fake"; }
  std::string library() const override { return ""; }
  void setSpins(unsigned) override {}
  void barrier() override {}
  std::vector<std::string> allGather(const std::string &mine) override {
    return std::vector<std::string>(all_.size(), mine);
  }
  std::vector<std::string> gather(const std::string &mine) override {
    return allGather(mine);
  }
  void fail(const std::string &why) override {
    if (reason.empty())
      reason = why;
  }
  bool hasFailed() const override { return !reason.empty(); }
  std::shared_ptr<Group> duplicate() override { return nullptr; }
  void needChannels(uint64_t) const override {}
  std::unique_ptr<Sender> makeSender(uint64_t, uint32_t) override {
    return nullptr;
  }
  std::unique_ptr<Receiver> makeReceiver(uint64_t, uint32_t) override {
    return std::make_unique<BrokenReceiver>();
  }

  std::string reason;

private:
  std::vector<ProcessName> all_;
};
} // namespace

TEST(Placement, SpreadsDevicesEvenlyAndInOrder) {
  for (uint32_t ranks = 1; ranks != 9; ++ranks)
    for (size_t devices = ranks; devices != 12; ++devices) {
      FakeGroup group(ranks);
      Placement placement = placeDevices(devices, {}, &group);
      std::vector<size_t> count(ranks, 0);
      for (size_t d = 0; d != devices; ++d) {
        ++count[placement.rankOf[d]];
        if (d)
          EXPECT_GE(placement.rankOf[d], placement.rankOf[d - 1]);
      }
      for (size_t c : count) {
        EXPECT_GE(c, devices / ranks);
        EXPECT_LE(c, (devices + ranks - 1) / ranks);
      }
    }
}

TEST(Placement, FollowsTheMap) {
  FakeGroup group(3);
  Placement placement = placeDevices(4, {2, 1, 0, 1}, &group);
  EXPECT_EQ(placement.localDevices(), (std::vector<uint32_t>{1, 3}));
  EXPECT_THROW(placeDevices(2, {}, &group), Error);
  EXPECT_THROW(placeDevices(4, {0, 1, 2}, &group), Error);
  EXPECT_THROW(placeDevices(4, {0, 1, 2, 3}, &group), Error);
  EXPECT_THROW(placeDevices(4, {0, 0, 2, 2}, &group), Error);
}

TEST(Agreement, AllThrowWhatTheLowestRankDid) {
  FakeGroup group(2);
  try {
    agree(&group, [] { invalid("no such ", "file"); });
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.status, SOAP_INVALID);
    EXPECT_STREQ(error.what(), "no such file");
  }
  agree(&group, [] {});
  // Callbacks may throw anything; the others must hear of it, too.
  try {
    agree(&group, [] { throw 1; });
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.status, SOAP_FAILED);
  }
}

//===----------------------------------------------------------------------===//
// Messages that fail
//===----------------------------------------------------------------------===//

// Device 0 fails to get what it needs from another process, so that it never
// takes what device 1 sends to it: device 1 and all that wait for it end, too.
TEST(Abandonment, NobodyWaitsForARowThatFailed) {
  soap::test::ModelBuilder b(3);
  uint32_t buffers[3];
  for (uint32_t d = 0; d != 3; ++d)
    buffers[d] = b.buffer(d, 128);
  soap::fb::ExchangeT exchanges[3];
  for (uint32_t from : {2u, 1u}) {
    exchanges[from].sends.emplace_back(0, from,
                                       soap::fb::Extent(buffers[from], 0, 64));
    exchanges[0].receives.emplace_back(
        from, from, soap::fb::Extent(buffers[0], 64 * (from - 1), 64));
  }
  for (uint32_t d = 0; d != 3; ++d)
    b.row(d, std::move(exchanges[d]), soap::fb::Stream::Communication);
  std::vector<uint8_t> table = b.finish();
  EngineOptions options;
  auto group = std::make_shared<FakeGroup>(2);
  options.group = group;
  options.map = {1, 1, 0};
  Engine engine(
      CompiledModel::fromMemory(table.data(), table.size(), nullptr, 0, "."),
      options);
  auto step = [&] {
    try {
      engine.start(0, nullptr, nullptr);
      engine.wait();
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(step(), "the cable is cut");
  EXPECT_EQ(group->reason, "the cable is cut");
  EXPECT_EQ(step(), "the cable is cut");
}
