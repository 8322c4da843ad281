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
  explicit Call(std::function<void()> body) : body(std::move(body)) {}
  void run() override { body(); }

private:
  std::function<void()> body;
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
  stream->stamp(before);
  for (int i = 0; i != rounds; ++i) {
    stream->fill(a.data(), 64, patterns[static_cast<size_t>(i)]);
    stream->copy(all, a.data(), b.data());
    stream->copyToHost(all, b.data(), host.data());
    calls.push_back(std::make_unique<Call>([&] { seen.push_back(host[63]); }));
    stream->call(*calls.back());
  }
  stream->stamp(after);
  stream->synchronize();
  ASSERT_EQ(seen.size(), size_t{rounds});
  for (int i = 0; i != rounds; ++i)
    EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  EXPECT_GT(before, 0);
  EXPECT_GE(after, before);
}

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
  attempt([&] { stream->call(fails); });
  attempt([&] { stream->call(failsAgain); });
  attempt([&] { stream->fill(own.data(), 8, {}); });
  attempt([&] { stream->synchronize(); });
  EXPECT_EQ(reason, "the first reason");
  EXPECT_EQ(download(*stream, own.data(), 8), Bytes(8, 0));
  stream->synchronize(); // A failure is reported once.
  EXPECT_FALSE(stream->hasFailed());
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
      : producer(producer), consumer(consumer), byte(byte), kept(kept),
        through(through) {
    for (size_t i = 0; i != rounds; ++i) {
      written.push_back(device.makeEvent());
      read.push_back(device.makeEvent());
      patterns.push_back({static_cast<uint8_t>(i + 1)});
    }
  }

  void write(size_t i) {
    if (i)
      producer.wait(*read[i - 1]);
    producer.fill(byte, 1, patterns[i]);
    if (through)
      producer.copyToHost(one, byte, through);
    producer.record(*written[i]);
  }
  void take(size_t i) {
    consumer.wait(*written[i]);
    if (through)
      consumer.copyFromHost(one, through, kept + i);
    else
      consumer.copy(one, byte, kept + i);
    if (i + 1 != rounds)
      consumer.record(*read[i]);
  }
  /// A record is enqueued before its wait.
  void interleave() {
    for (size_t i = 0; i != rounds; ++i) {
      write(i);
      take(i);
    }
  }

private:
  Stream &producer, &consumer;
  DevicePointer byte, kept;
  char *through;
  StridedCopy one = StridedCopy::dense(1);
  std::vector<std::unique_ptr<Event>> written, read;
  std::vector<std::vector<uint8_t>> patterns;
};

Bytes countedBytes() {
  Bytes expected(rounds);
  std::iota(expected.begin(), expected.end(), 1);
  return expected;
}
} // namespace

void BackendStream::run(PingPong &game, Stream &producer, Stream &consumer) {
  if (traits.runsInPlace) {
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
  std::unique_ptr<Stream> other = device->makeStream(100);
  DeviceBlock byte = block(Bytes(1)), kept = block(Bytes(rounds));
  PingPong game(*device, *stream, *other, byte.data(), kept.data(), nullptr);
  for (int step = 0; step != 3; ++step) {
    stream->fill(kept.data(), rounds, {});
    stream->synchronize();
    run(game, *stream, *other);
    ASSERT_EQ(download(*stream, kept.data(), rounds), countedBytes())
        << "step " << step;
  }
}

TEST_P(BackendStream, EventsOrderTheStreamsOfTwoDevices) {
  std::unique_ptr<BackendDevice> second = backend->makeDevice(1);
  std::unique_ptr<Stream> other = second->makeStream(0);
  DeviceBlock byte = block(Bytes(1)), kept(*second, rounds);
  char through = 0;
  PingPong game(*device, *stream, *other, byte.data(), kept.data(), &through);
  run(game, *stream, *other);
  EXPECT_EQ(download(*other, kept.data(), rounds), countedBytes());
}

//===----------------------------------------------------------------------===//
// Capture and replay
//===----------------------------------------------------------------------===//

TEST_P(BackendStream, CapturedCommandsRunWhenTheyAreLaunched) {
  if (!traits.captures)
    GTEST_SKIP() << "the backend does not capture";
  std::unique_ptr<Stream> other = device->makeStream(0);
  DeviceBlock byte = block(Bytes(1)), kept = block(Bytes(rounds)),
              result = block(Bytes(rounds));
  PingPong game(*device, *stream, *other, byte.data(), kept.data(), nullptr);
  std::unique_ptr<Event> begun = device->makeEvent(),
                         ended = device->makeEvent();
  Bytes input(rounds), output(rounds);
  StridedCopy all = StridedCopy::dense(rounds);
  std::vector<uint8_t> zero = {0};
  int calls = 0;
  Call counts([&] { ++calls; });
  device->beginCapture();
  stream->copyFromHost(all, input.data(), result.data());
  stream->fill(kept.data(), rounds, zero);
  stream->record(*begun);
  other->wait(*begun);
  game.interleave();
  other->call(counts);
  other->record(*ended);
  stream->wait(*ended);
  stream->copyToHost(all, result.data(), output.data());
  std::unique_ptr<Graph> graph = device->endCapture();
  stream->synchronize();
  EXPECT_EQ(calls, 0) << "captured commands ran";
  for (int step = 1; step != 6; ++step) {
    SCOPED_TRACE("launch " + std::to_string(step));
    std::fill(input.begin(), input.end(), static_cast<char>(step));
    graph->launch();
    stream->synchronize();
    other->synchronize();
    EXPECT_EQ(calls, step);
    EXPECT_EQ(output, input);
    EXPECT_EQ(download(*stream, kept.data(), rounds), countedBytes());
  }
}

SOAP_TEST_BACKENDS(BackendStream);
