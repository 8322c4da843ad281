//===- BackendTransportTest.cpp - Both kinds of transports ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "BackendTest.h"
#include "Transport/Staged.h"
#include <algorithm>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

using namespace soap;
using namespace soap::test;

namespace {
class BackendTransport : public BackendTest {
public:
  using BackendTest::placeOf;
};
} // namespace

//===----------------------------------------------------------------------===//
// Transports
//===----------------------------------------------------------------------===//

namespace {
/// Devices of one process, with a stream each, that exchange floats.
class Exchanging {
public:
  static constexpr uint32_t count = 3;

  /// `own`: the transport of the backend, where it has one.
  Exchanging(const Backend &backend, bool own)
      : backend(backend), channels(makeLocalChannels({})) {
    if (own)
      transport = makeOwn();
    else
      transport = makeStagedTransport(*channels, backend.traits());
    for (uint32_t d = 0; d != count; ++d) {
      devices.push_back(
          backend.makeDevice(BackendTransport::placeOf(d, count)));
      streams.push_back(devices.back()->makeStream({}, /*hasPriority=*/false));
      blocks.emplace_back(*devices.back(), 256);
    }
  }

  bool hasTransport() const { return transport != nullptr; }

  std::unique_ptr<Transport> makeOwn() const {
    std::vector<DevicePlace> places;
    for (uint32_t d = 0; d != count; ++d)
      places.push_back(BackendTransport::placeOf(d, count));
    std::unique_ptr<Transport> own =
        backend.makeTransport({*channels,
                               /*isThrottled=*/false,
                               DeviceTransport::Auto,
                               /*peers=*/nullptr,
                               count,
                               places,
                               {{{0, 1, 2}}},
                               /*messagesAreOrdered=*/true});
    if (own)
      own->connect({own->introduction()});
    return own;
  }

  void add(uint32_t device, std::unique_ptr<RowAction> row) {
    rows.emplace_back(device, std::move(row));
  }

  /// Rows of a device share their memory, as in a model: what is left there
  /// while somebody needs it is overwritten.
  void shareMemory() {
    uint64_t bytes = 0;
    for (const auto &[device, row] : rows)
      bytes = std::max(bytes, row->ownBytes());
    for (uint32_t d = 0; d != count; ++d)
      memories.emplace_back(bytes);
    for (const auto &[device, row] : rows)
      row->setOwnMemory(memories[device].data());
  }

  DeviceSpan span(uint32_t device, uint64_t offset, uint64_t bytes) const {
    return {blocks[device].data() + offset, bytes};
  }

  /// One step: uploads `contents`, runs the rows of every device on a thread of
  /// its own, and returns what the devices hold then.
  std::vector<std::vector<float>>
  step(const std::vector<std::vector<float>> &contents) {
    if (memories.empty())
      shareMemory();
    StridedCopy all = StridedCopy::dense(256);
    std::vector<std::vector<float>> results(count, std::vector<float>(64));
    std::vector<std::thread> threads;
    for (uint32_t d = 0; d != count; ++d)
      threads.emplace_back([&, d] {
        Stream &stream = *streams[d];
        try {
          stream.copyFromHost(
              all, reinterpret_cast<const char *>(contents[d].data()),
              blocks[d].data());
          for (const auto &[device, row] : rows)
            if (device == d)
              row->enqueue(stream, {});
          stream.copyToHost(all, blocks[d].data(),
                            reinterpret_cast<char *>(results[d].data()));
          stream.synchronize();
        } catch (const std::exception &error) {
          {
            std::lock_guard<std::mutex> lock(mutex);
            errors.insert(error.what());
          }
          // What was enqueued before ends while its memory is there.
          try {
            stream.synchronize();
          } catch (const std::exception &) {
          }
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    return results;
  }

  const Backend &backend;
  std::unique_ptr<Channels> channels;
  std::unique_ptr<Transport> transport;
  std::vector<std::unique_ptr<BackendDevice>> devices;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<DeviceBlock> blocks;
  std::vector<Arena> memories;
  std::vector<std::pair<uint32_t, std::unique_ptr<RowAction>>> rows;
  std::mutex mutex;
  std::set<std::string> errors;
};

std::vector<std::vector<float>> counting() {
  std::vector<std::vector<float>> contents;
  for (uint32_t d = 0; d != Exchanging::count; ++d) {
    contents.emplace_back(64);
    std::iota(contents[d].begin(), contents[d].end(), 100.0F * d);
  }
  return contents;
}
} // namespace

/// Every device sends floats 0 to 3 to the next one, in place of its 8 to 11,
/// then all add up floats 8 to 15, in place.
static void checkTransport(const Backend &backend, bool own) {
  Exchanging run(backend, own);
  if (!run.hasTransport())
    GTEST_SKIP() << "the backend stages all data";
  constexpr uint32_t n = Exchanging::count;
  for (uint32_t d = 0; d != n; ++d) {
    uint32_t next = (d + 1) % n, before = (d + n - 1) % n;
    ExchangePart exchange;
    exchange.device = d;
    exchange.sends = {{d, next, run.span(d, 0, 16)}};
    exchange.receives = {{before, before, run.span(d, 32, 16)}};
    run.add(d, run.transport->makeExchange(*run.devices[d], exchange));
    CollectivePart sum;
    sum.shape.kind = fb::CollectiveKind::AllReduce;
    sum.shape.algorithm = fb::Algorithm::Ring;
    sum.shape.meeting = 0;
    sum.shape.firstChannel = n;
    sum.shape.member = d;
    sum.shape.group = {0, 1, 2};
    sum.shape.combine = fb::Combine::Sum;
    sum.send = sum.receive = {run.span(d, 32, 32)};
    run.add(d, run.transport->makeCollective(*run.devices[d], sum));
  }
  auto contents = counting(), expected = contents;
  std::vector<float> sums(8);
  for (uint32_t d = 0; d != n; ++d)
    for (size_t i = 0; i != 8; ++i)
      sums[i] += i < 4 ? contents[(d + n - 1) % n][i] : contents[d][i + 8];
  for (auto &values : expected)
    std::copy(sums.begin(), sums.end(), values.begin() + 8);
  for (int step = 0; step != 3; ++step) {
    auto results = run.step(contents);
    ASSERT_EQ(run.errors, std::set<std::string>());
    for (uint32_t d = 0; d != n; ++d)
      ASSERT_EQ(results[d], expected[d]) << "step " << step << ", device " << d;
  }
  // What moved: a transfer per device, told by its receiver, and a collective.
  std::vector<Movement> moved;
  for (const auto &[device, row] : run.rows)
    row->movements(moved);
  ASSERT_EQ(moved.size(), size_t{2} * n);
  for (const Movement &movement : moved) {
    int64_t bytes = std::accumulate(movement.bytes.begin(),
                                    movement.bytes.end(), int64_t{0});
    EXPECT_EQ(bytes, movement.kind == SOAP_TRANSFER ? 16 : 32);
  }
}

TEST_P(BackendTransport, DataAreStagedThroughTheHost) {
  checkTransport(*backend_, /*own=*/false);
}

TEST_P(BackendTransport, TheBackendsTransportMovesData) {
  checkTransport(*backend_, /*own=*/true);
}

/// A step in which one device does not come ends with the reason.
static void checkAbandonment(const Backend &backend, bool own) {
  Exchanging run(backend, own);
  if (!run.hasTransport())
    GTEST_SKIP() << "the backend stages all data";
  for (uint32_t d = 0; d != 2; ++d) {
    ExchangePart part;
    part.device = d;
    part.receives = {{d, 2, run.span(d, 0, 16)}};
    run.add(d, run.transport->makeExchange(*run.devices[d], part));
  }
  std::thread abandons([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    run.transport->abandon("device 2 does not come");
  });
  run.step(counting());
  abandons.join();
  EXPECT_EQ(run.errors, std::set<std::string>{"device 2 does not come"});
}

TEST_P(BackendTransport, StagedActionsEndWithTheReasonOfAnAbandonment) {
  checkAbandonment(*backend_, /*own=*/false);
}

TEST_P(BackendTransport, TheBackendsActionsEndWithTheReasonOfAnAbandonment) {
  checkAbandonment(*backend_, /*own=*/true);
}

TEST_P(BackendTransport, ReductionsWithoutMeaningAreRefused) {
  for (bool own : {false, true}) {
    Exchanging run(*backend_, own);
    if (!run.hasTransport())
      continue;
    CollectivePart part;
    part.shape.kind = fb::CollectiveKind::AllReduce;
    part.shape.group = {0};
    part.shape.combine = fb::Combine::Sum;
    part.shape.element = fb::ElementType::Bool;
    part.send = part.receive = {run.span(0, 0, 16)};
    EXPECT_THROW((void)run.transport->makeCollective(*run.devices[0], part),
                 Error);
  }
}

SOAP_TEST_BACKENDS(BackendTransport);
