//===- WaitTest.cpp - Waiting between threads -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wait.h"
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace soap::runtime;

/// Computes for up to 0.1 ms, or not at all.
static void compute(std::mt19937 &random) {
  int64_t ns = random() % 2 * static_cast<int64_t>(random() % 100000);
  for (int64_t end = now() + ns; now() < end;)
    continue;
}

/// Messages that a communication thread hands on to the compute thread of its
/// device arrive, whether the latter waits or computes meanwhile, and whether
/// both still look or sleep: `yields` are few or many.
static void handOn(unsigned yields) {
  constexpr uint32_t messages = 1000;
  CoreMates mates;
  Counter sent, received;
  std::atomic<uint32_t> handled{0};
  std::thread communication([&] {
    for (uint32_t i = 1; i <= messages; ++i) {
      ASSERT_TRUE(sent.waitBeside(i, {2, yields}, mates));
      received.set(i);
    }
  });
  std::thread computing([&] {
    std::mt19937 random(1);
    for (uint32_t i = 1; i <= messages; ++i) {
      compute(random);
      ASSERT_TRUE(received.wait(i, {0, yields, &mates}));
      handled = i;
    }
  });
  std::mt19937 random(2);
  for (uint32_t i = 1; i <= messages; ++i) {
    compute(random);
    sent.set(i);
    // Half of the time both threads are waiting for the next one.
    while (i % 2 == 0 && handled != i)
      std::this_thread::yield();
  }
  communication.join();
  computing.join();
  EXPECT_EQ(handled, messages);
  EXPECT_FALSE(mates.isIdle());
}

TEST(CoreMates, MessagesArrive) {
  for (unsigned yields : {0, 1, 20, 5000})
    handOn(yields);
}

TEST(CoreMates, NobodyWaitsForWhatIsAbandoned) {
  for (unsigned yields : {0, 20, 100000}) {
    CoreMates mates;
    Counter sent, received;
    std::thread communication(
        [&] { EXPECT_FALSE(sent.waitBeside(1000, {2, yields}, mates)); });
    std::thread computing(
        [&] { EXPECT_FALSE(received.wait(1000, {0, yields, &mates})); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    sent.abandon();
    received.abandon();
    communication.join();
    computing.join();
    EXPECT_FALSE(mates.isIdle());
  }
}
