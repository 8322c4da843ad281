//===- BackendMemoryTest.cpp - Memory, copies and fills -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackendTest.h"
#include <cstring>
#include <numeric>

using namespace soap;
using namespace soap::test;

namespace {
class BackendMemory : public BackendTest {};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_P(BackendMemory, BlocksKeepTheirContents) {
  std::mt19937 random(1);
  std::vector<Bytes> contents;
  std::vector<DeviceBlock> blocks;
  for (size_t bytes : {1, 63, 64, 4096, 100000, 3}) {
    contents.push_back(randomBytes(bytes, random));
    blocks.push_back(block(contents.back()));
  }
  for (size_t i = 0; i != blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].data().value() % 64, 0u);
    EXPECT_EQ(download(*stream_, blocks[i].data(), contents[i].size()),
              contents[i]);
  }
}

TEST(BlockList, BlocksLieApartAndOutliveTheList) {
  std::vector<std::pair<std::shared_ptr<void>, Bytes>> blocks;
  std::mt19937 random(3);
  {
    BlockList list;
    // The last ones need arenas of their own.
    for (size_t bytes : {1, 64, 65, 5 << 20, 65 << 20, 3, 62 << 20}) {
      auto memory = list.allocate(bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
      Bytes contents = randomBytes(std::min<size_t>(bytes, 4096), random);
      std::memcpy(memory.get(), contents.data(), contents.size());
      blocks.emplace_back(std::move(memory), std::move(contents));
    }
  }
  for (const auto &[memory, contents] : blocks)
    EXPECT_EQ(std::memcmp(memory.get(), contents.data(), contents.size()), 0);
}

TEST_P(BackendMemory, DiscardedRangesLeaveTheRest) {
  std::mt19937 random(2);
  Bytes contents = randomBytes(5 << 12, random);
  DeviceBlock own = block(contents);
  uint64_t offset = 100, bytes = (3 << 12) + 50;
  EXPECT_LE(backend_->discardableBytes(offset, bytes), bytes);
  own.discard(offset, bytes);
  Bytes left = download(*stream_, own.data(), contents.size());
  EXPECT_TRUE(std::equal(left.begin(), left.begin() + 100, contents.begin()));
  EXPECT_TRUE(std::equal(left.begin() + 100 + (3 << 12) + 50, left.end(),
                         contents.begin() + 100 + (3 << 12) + 50));
}

TEST_P(BackendMemory, OutOfMemoryIsAnErrorThatNamesTheSize) {
  uint64_t bytes = uint64_t{1} << 60;
  try {
    DeviceBlock block(*device_, bytes);
    FAIL() << "allocated 2^60 bytes";
  } catch (const Error &error) {
    EXPECT_EQ(error.status, SOAP_INVALID);
    EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)),
              std::string::npos)
        << error.what();
  }
  Bytes contents(100, 'x'); // The device goes on.
  EXPECT_EQ(download(*stream_, block(contents).data(), 100), contents);
}

TEST_P(BackendMemory, TheHostCannotTouchOtherMemory) {
  if (traits_.memoryIsHost)
    GTEST_SKIP() << "device memory is the host's";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  DeviceBlock own = block(Bytes(64, 'x'));
  auto *address = reinterpret_cast<volatile char *>(own.data().value());
  EXPECT_DEATH((void)*address, "");
  EXPECT_DEATH(*address = 'y', "");
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

namespace {
/// A random box, between two buffers of `bytes` bytes, of distinct targets;
/// with at most `most` indices along a dim, and so many bytes in a run.
StridedCopy randomBox(std::mt19937 &random, int64_t bytes, int64_t most = 4) {
  auto draw = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  StridedCopy box;
  box.run = static_cast<uint64_t>(draw(0, 2 * most + 1));
  auto fromSize = static_cast<int64_t>(box.run), toSize = fromSize;
  for (int64_t rank = draw(0, 4); rank > 0; --rank) {
    int64_t extent = draw(draw(0, 9) == 0 ? 0 : 1, most);
    // Targets of different indices do not overlap; sources may.
    int64_t fromStride = draw(0, 2 * fromSize + 1);
    int64_t toStride = toSize + draw(0, 3);
    int64_t steps = std::max<int64_t>(extent - 1, 0);
    if (fromSize + fromStride * steps > bytes ||
        toSize + toStride * steps > bytes)
      break;
    fromSize += fromStride * steps;
    toSize += toStride * steps;
    box.extents.insert(box.extents.begin(), extent);
    box.fromStrides.insert(box.fromStrides.begin(), fromStride);
    box.toStrides.insert(box.toStrides.begin(), toStride);
  }
  box.fromOffset = static_cast<uint64_t>(draw(0, bytes - fromSize));
  box.toOffset = static_cast<uint64_t>(draw(0, bytes - toSize));
  return box;
}

/// By definition: index by index, byte by byte.
void copyNaively(const StridedCopy &box, const Bytes &from, Bytes &to) {
  int64_t count = std::accumulate(box.extents.begin(), box.extents.end(),
                                  int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i != count; ++i) {
    uint64_t source = box.fromOffset, target = box.toOffset;
    int64_t rest = i;
    for (size_t d = box.extents.size(); d-- > 0;) {
      source +=
          static_cast<uint64_t>(rest % box.extents[d] * box.fromStrides[d]);
      target += static_cast<uint64_t>(rest % box.extents[d] * box.toStrides[d]);
      rest /= box.extents[d];
    }
    for (uint64_t byte = 0; byte != box.run; ++byte)
      to[target + byte] = from[source + byte];
  }
}
} // namespace

TEST_P(BackendMemory, BoxesAreCopiedEveryWay) {
  constexpr size_t bytes = 2000;
  for (uint32_t seed = 0; seed != 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Bytes from = randomBytes(bytes, random), to = randomBytes(bytes, random);
    StridedCopy box = randomBox(random, bytes);
    if (seed % 2)
      box.simplify();
    Bytes expected = to;
    copyNaively(box, from, expected);
    DeviceBlock source = block(from);
    DeviceBlock within = block(to), fed = block(to);
    Bytes drained = to;
    stream_->copy(box, source.data(), within.data());
    stream_->copyFromHost(box, from.data(), fed.data());
    stream_->copyToHost(box, source.data(), drained.data());
    stream_->synchronize();
    ASSERT_EQ(download(*stream_, within.data(), bytes), expected);
    ASSERT_EQ(download(*stream_, fed.data(), bytes), expected);
    ASSERT_EQ(drained, expected);
  }
}

/// Long enough for several threads, where the device has them.
TEST_P(BackendMemory, LargeBoxesAreCopied) {
  constexpr size_t bytes = 3000000;
  for (uint32_t seed = 0; seed != 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Bytes from = randomBytes(bytes, random), to(bytes, 'x');
    StridedCopy box = seed == 0 ? StridedCopy::dense(bytes - 7)
                                : randomBox(random, bytes, /*most=*/40);
    box.simplify();
    Bytes expected = to;
    copyNaively(box, from, expected);
    DeviceBlock source = block(from), target = block(to);
    stream_->copy(box, source.data(), target.data());
    stream_->synchronize();
    ASSERT_TRUE(download(*stream_, target.data(), bytes) == expected);
  }
}

/// Each byte is copied by one of the parts, however many there are.
TEST(StridedCopy, PartsAreTheWhole) {
  constexpr size_t bytes = 3000;
  for (uint32_t seed = 0; seed != 300; ++seed) {
    std::mt19937 random(seed);
    Bytes from = randomBytes(bytes, random), to(bytes, 'x');
    StridedCopy box = seed < 30 ? StridedCopy::dense(random() % bytes)
                                : randomBox(random, bytes, /*most=*/9);
    if (seed >= 250) { // Few long runs.
      box = StridedCopy();
      box.run = 400 + random() % 500;
      box.extents = {3};
      box.fromStrides = {1000};
      box.toStrides = {950};
    }
    if (seed % 2)
      box.simplify();
    Bytes expected = to;
    copyNaively(box, from, expected);
    size_t parts = 1 + seed % 7;
    for (size_t part = 0; part != parts; ++part) {
      Bytes own(bytes, 'x');
      box.execute(from.data(), own.data(), part, parts);
      for (size_t i = 0; i != bytes; ++i)
        if (own[i] != 'x')
          to[i] = own[i];
    }
    ASSERT_TRUE(to == expected) << "seed " << seed;
  }
}

TEST_P(BackendMemory, FillsRepeatTheirPattern) {
  // One byte after the other, and one byte all over.
  for (uint8_t step : {1, 0})
    for (size_t size : {0, 1, 2, 4, 8, 12})
      for (size_t bytes : {0, 96, 4080, 12288, 13008, 300000}) {
        SCOPED_TRACE("pattern of " + std::to_string(size) + " bytes, " +
                     std::to_string(bytes) + " of them");
        std::vector<uint8_t> pattern(size);
        for (size_t i = 0; i != size; ++i)
          pattern[i] = static_cast<uint8_t>(7 + step * i);
        Bytes expected(bytes + 104, 'x');
        DeviceBlock own = block(expected);
        for (size_t i = 0; i != bytes; ++i)
          expected[i + 24] = static_cast<char>(size ? pattern[i % size] : 0);
        stream_->fill(own.data() + 24, bytes, pattern);
        stream_->synchronize();
        EXPECT_EQ(download(*stream_, own.data(), expected.size()), expected);
      }
}

SOAP_TEST_BACKENDS(BackendMemory);
