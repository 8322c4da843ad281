//===- BackendStreamTest.cpp - Order, events and replay -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackendTest.h"
#include <functional>
#include <numeric>
#include <thread>

using namespace soap;
using namespace soap::test;

namespace {
/// A host call of any function.
class Call final : public HostCall {
public:
  explicit Call(std::function<void()> body) : body_(std::move(body)) {}
  void run() override { body_(); }

private:
  std::function<void()> body_;
};

class PingPong;

class BackendStream : public BackendTest {
protected:
  /// Enqueues as the engine does: from a thread for each stream where streams
  /// run in place, else from one; and waits for both streams.
  void run(PingPong &game, Stream &producer, Stream &consumer);
};
} // namespace

//===----------------------------------------------------------------------===//
// Order, events and failures
//===----------------------------------------------------------------------===//

TEST_P(BackendStream, AStreamRunsItsCommandsInOrder) {
  constexpr int rounds = 100;
  DeviceBlock a = block(Bytes(64)), b = block(Bytes(64));
  StridedCopy all = StridedCopy::dense(64);
  std::vector<std::vector<uint8_t>> patterns;
  std::vector<std::unique_ptr<Call>> calls;
  Bytes host(64);
  std::vector<int> seen;
  int64_t before = 0, after = 0;
  for (int i = 0; i != rounds; ++i)
    patterns.push_back({static_cast<uint8_t>(i)});
  stream_->stamp(before);
  for (int i = 0; i != rounds; ++i) {
    stream_->fill(a.data(), 64, patterns[static_cast<size_t>(i)]);
    stream_->copy(all, a.data(), b.data());
    stream_->copyToHost(all, b.data(), host.data());
    calls.push_back(std::make_unique<Call>([&] { seen.push_back(host[63]); }));
    stream_->call(*calls.back());
  }
  stream_->stamp(after);
  stream_->synchronize();
  ASSERT_EQ(seen.size(), size_t{rounds});
  for (int i = 0; i != rounds; ++i)
    EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  EXPECT_GT(before, 0);
  EXPECT_GE(after, before);
}

/// No pattern; streams refer to it until they have run.
static const std::vector<uint8_t> zeros;

TEST_P(BackendStream, AFailureIsReportedAndStopsNothing) {
  DeviceBlock own = block(Bytes(8, 'a'));
  Call fails([] { failed("the first reason"); });
  Call failsAgain([] { failed("the second reason"); });
  std::string reason;
  auto attempt = [&](auto body) {
    try {
      body();
    } catch (const Error &error) {
      if (reason.empty())
        reason = error.what();
    }
  };
  attempt([&] { stream_->call(fails); });
  attempt([&] { stream_->call(failsAgain); });
  attempt([&] { stream_->fill(own.data(), 8, zeros); });
  attempt([&] { stream_->synchronize(); });
  EXPECT_EQ(reason, "the first reason");
  EXPECT_EQ(download(*stream_, own.data(), 8), Bytes(8, 0));
  stream_->synchronize(); // A failure is reported once.
  EXPECT_FALSE(stream_->hasFailed());
}

namespace {
constexpr size_t rounds = 20;

/// A producer writes one byte that a consumer reads, over and over: it must not
/// be read before it is written, nor written before it is read. The consumer
/// keeps what it has read, in a buffer of `rounds` bytes of its device.
class PingPong {
public:
  /// `through`: host memory that both devices copy from and to; null if they
  /// are one device.
  PingPong(BackendDevice &device, Stream &producer, Stream &consumer,
           DevicePointer byte, DevicePointer kept, char *through)
      : producer_(producer), consumer_(consumer), byte_(byte), kept_(kept),
        through_(through) {
    for (size_t i = 0; i != rounds; ++i) {
      written_.push_back(device.makeEvent());
      read_.push_back(device.makeEvent());
      patterns_.push_back({static_cast<uint8_t>(i + 1)});
    }
  }

  void write(size_t i) {
    if (i)
      producer_.wait(*read_[i - 1]);
    producer_.fill(byte_, 1, patterns_[i]);
    if (through_)
      producer_.copyToHost(one_, byte_, through_);
    producer_.record(*written_[i]);
  }
  void take(size_t i) {
    consumer_.wait(*written_[i]);
    if (through_)
      consumer_.copyFromHost(one_, through_, kept_ + i);
    else
      consumer_.copy(one_, byte_, kept_ + i);
    if (i + 1 != rounds)
      consumer_.record(*read_[i]);
  }
  /// A record is enqueued before its wait.
  void interleave() {
    for (size_t i = 0; i != rounds; ++i) {
      write(i);
      take(i);
    }
  }

private:
  Stream &producer_, &consumer_;
  DevicePointer byte_, kept_;
  char *through_;
  StridedCopy one_ = StridedCopy::dense(1);
  std::vector<std::unique_ptr<Event>> written_, read_;
  std::vector<std::vector<uint8_t>> patterns_;
};

Bytes countedBytes() {
  Bytes expected(rounds);
  std::iota(expected.begin(), expected.end(), 1);
  return expected;
}
} // namespace

void BackendStream::run(PingPong &game, Stream &producer, Stream &consumer) {
  if (traits_.runsInPlace) {
    std::thread first([&] {
      for (size_t i = 0; i != rounds; ++i)
        game.write(i);
    });
    for (size_t i = 0; i != rounds; ++i)
      game.take(i);
    first.join();
  } else {
    game.interleave();
  }
  producer.synchronize();
  consumer.synchronize();
}

TEST_P(BackendStream, EventsOrderTheStreamsOfADevice) {
  std::unique_ptr<Stream> other =
      device_->makeStream({100, 0}, /*hasPriority=*/false);
  DeviceBlock byte = block(Bytes(1)), kept = block(Bytes(rounds));
  PingPong game(*device_, *stream_, *other, byte.data(), kept.data(), nullptr);
  for (int step = 0; step != 3; ++step) {
    stream_->fill(kept.data(), rounds, zeros);
    stream_->synchronize();
    run(game, *stream_, *other);
    ASSERT_EQ(download(*stream_, kept.data(), rounds), countedBytes())
        << "step " << step;
  }
}

TEST_P(BackendStream, EventsOrderTheStreamsOfTwoDevices) {
  std::unique_ptr<BackendDevice> second = backend_->makeDevice(placeOf(1, 2));
  std::unique_ptr<Stream> other = second->makeStream({}, /*hasPriority=*/false);
  DeviceBlock byte = block(Bytes(1)), kept(*second, rounds);
  char through = 0;
  PingPong game(*device_, *stream_, *other, byte.data(), kept.data(), &through);
  run(game, *stream_, *other);
  EXPECT_EQ(download(*other, kept.data(), rounds), countedBytes());
}

//===----------------------------------------------------------------------===//
// Capture and replay
//===----------------------------------------------------------------------===//

TEST_P(BackendStream, CapturedCommandsRunWhenTheyAreLaunched) {
  if (!traits_.captures)
    GTEST_SKIP() << "the backend does not capture";
  std::unique_ptr<Stream> other =
      device_->makeStream({}, /*hasPriority=*/false);
  DeviceBlock byte = block(Bytes(1)), kept = block(Bytes(rounds)),
              result = block(Bytes(rounds));
  PingPong game(*device_, *stream_, *other, byte.data(), kept.data(), nullptr);
  std::unique_ptr<Event> begun = device_->makeEvent(),
                         ended = device_->makeEvent();
  Bytes input(rounds), output(rounds);
  StridedCopy all = StridedCopy::dense(rounds);
  std::vector<uint8_t> zero = {0};
  int calls = 0;
  Call counts([&] { ++calls; });
  device_->beginCapture();
  stream_->copyFromHost(all, input.data(), result.data());
  stream_->fill(kept.data(), rounds, zero);
  stream_->record(*begun);
  other->wait(*begun);
  game.interleave();
  other->call(counts);
  other->record(*ended);
  stream_->wait(*ended);
  stream_->copyToHost(all, result.data(), output.data());
  std::unique_ptr<Graph> graph = device_->endCapture();
  stream_->synchronize();
  EXPECT_EQ(calls, 0) << "captured commands ran";
  for (int step = 1; step != 6; ++step) {
    SCOPED_TRACE("launch " + std::to_string(step));
    std::fill(input.begin(), input.end(), static_cast<char>(step));
    graph->launch();
    stream_->synchronize();
    other->synchronize();
    EXPECT_EQ(calls, step);
    EXPECT_EQ(output, input);
    EXPECT_EQ(download(*stream_, kept.data(), rounds), countedBytes());
  }
}

SOAP_TEST_BACKENDS(BackendStream);
