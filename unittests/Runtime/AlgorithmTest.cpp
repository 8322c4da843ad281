//===- AlgorithmTest.cpp - Every algorithm of every collective ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithms x kinds x group sizes x pieces x combiners x types against the
// plain result, in place and not.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

using namespace soap;
using namespace soap::test;

namespace {
using Bytes = std::vector<uint8_t>;
using fb::Algorithm;
using fb::CollectiveKind;

/// How many elements go from one member to another (or are one member's part).
using Pieces = std::function<int64_t(uint32_t from, uint32_t to)>;

struct Case {
  CollectiveKind kind;
  Algorithm algorithm;
  fb::Combine combine = fb::Combine::None;
  fb::ElementType element = fb::ElementType::F32;
  bool inPlace = false;
};

template <typename T>
T combined(fb::Combine combine, T a, T b) {
  switch (combine) {
  case fb::Combine::Sum:
    return static_cast<T>(a + b);
  case fb::Combine::Prod:
    return static_cast<T>(a * b);
  case fb::Combine::Max:
    return std::max(a, b);
  case fb::Combine::Min:
    return std::min(a, b);
  case fb::Combine::And:
    return static_cast<T>(a && b);
  case fb::Combine::Or:
    return static_cast<T>(a || b);
  case fb::Combine::None:
    break;
  }
  return a;
}

/// Values whose sums and products are exact in every order.
template <typename T>
std::vector<T> values(int64_t count, uint32_t seed, bool isBool) {
  std::mt19937 random(seed);
  std::vector<T> result(count);
  for (T &value : result)
    value = isBool ? static_cast<T>(random() % 3 != 0)
                   : static_cast<T>(1 + random() % 2);
  return result;
}

/// One collective among devices that are not in the order of the group.
template <typename T>
class Rehearsal {
public:
  Rehearsal(const Case &what, uint32_t n, const Pieces &pieces)
      : what_(what), n_(n), pieces_(pieces), builder_(n) {
    for (uint32_t m = 0; m != n; ++m)
      addMember(m);
  }

  uint32_t deviceOf(uint32_t member) const { return (member + 1) % n_; }

  /// What member m gets, from what all hold.
  std::vector<T> expected(uint32_t m) const {
    std::vector<T> result;
    switch (what_.kind) {
    case CollectiveKind::Broadcast:
      return m == 0 ? std::vector<T>() : inputs_[0];
    case CollectiveKind::AllGather:
      for (const std::vector<T> &input : inputs_)
        result.insert(result.end(), input.begin(), input.end());
      return result;
    case CollectiveKind::AllToAll:
      for (uint32_t k = 0; k != n_; ++k) {
        auto begin = inputs_[k].begin() + offset(k, m);
        result.insert(result.end(), begin, begin + pieces_(k, m));
      }
      return result;
    case CollectiveKind::AllReduce:
      return reduced(0, static_cast<int64_t>(inputs_[0].size()));
    case CollectiveKind::ReduceScatter:
      return reduced(offset(0, m), pieces_(0, m));
    }
    return result;
  }

  /// Two steps, to see that channels can be used again.
  void check() {
    ModelPtr model = builder_.load();
    ASSERT_TRUE(model) << soap_last_error();
    std::vector<const void *> in;
    std::vector<std::vector<T>> results(n_);
    std::vector<void *> out;
    for (uint32_t m = 0; m != n_; ++m) {
      results[m].resize(expected(m).size());
      in.push_back(inputs_[m].data());
      out.push_back(results[m].data());
    }
    for (int step = 0; step != 2; ++step) {
      for (std::vector<T> &result : results)
        std::fill(result.begin(), result.end(), T(77));
      ASSERT_EQ(soap_model_run(model.get(), in.data(), out.data()), SOAP_OK)
          << soap_last_error();
      for (uint32_t m = 0; m != n_; ++m)
        ASSERT_EQ(results[m], expected(m))
            << "member " << m << " of " << n_ << ", step " << step << ", "
            << fb::EnumNameAlgorithm(what_.algorithm) << " "
            << fb::EnumNameCollectiveKind(what_.kind) << " "
            << fb::EnumNameCombine(what_.combine) << " "
            << fb::EnumNameElementType(what_.element);
    }
  }

  /// Loads the model; what its first device needs for communication beside
  /// buffers, and what is planned for it.
  std::pair<uint64_t, uint64_t> ownBytes() {
    std::vector<uint8_t> table = builder_.finish();
    std::vector<soap_memory> plan(n_);
    ModelPtr model = builder_.load();
    if (!model || soap_plan_memory(table.data(), table.size(), 0, plan.data(),
                                   n_) != SOAP_OK) {
      ADD_FAILURE() << soap_last_error();
      return {};
    }
    auto device = nlohmann::json::parse(
        soap_model_info(model.get()))["devices"][deviceOf(0)];
    const soap_memory &planned = plan[deviceOf(0)];
    uint64_t taken = device["communication_bytes"], peak = device["peak_bytes"];
    EXPECT_EQ(peak - taken, planned.peak_bytes - planned.communication_bytes);
    return {taken, planned.communication_bytes};
  }

private:
  /// Where the piece of member `from` for member `to` starts in its input.
  int64_t offset(uint32_t from, uint32_t to) const {
    int64_t result = 0;
    for (uint32_t k = 0; k != to; ++k)
      result += pieces_(from, k);
    return result;
  }

  std::vector<T> reduced(int64_t begin, int64_t count) const {
    std::vector<T> result(inputs_[0].begin() + begin,
                          inputs_[0].begin() + begin + count);
    for (uint32_t m = 1; m != n_; ++m)
      for (int64_t i = 0; i != count; ++i)
        result[i] = combined(what_.combine, result[i], inputs_[m][begin + i]);
    return result;
  }

  void addMember(uint32_t m) {
    constexpr auto size = sizeof(T);
    int64_t inCount = what_.kind == CollectiveKind::Broadcast ||
                              what_.kind == CollectiveKind::AllReduce
                          ? pieces_(0, 0)
                      : what_.kind == CollectiveKind::AllGather ? pieces_(m, m)
                                                                : offset(m, n_);
    inputs_.push_back(
        values<T>(inCount, m, what_.element == fb::ElementType::Bool));
    int64_t outCount =
        what_.kind == CollectiveKind::AllGather       ? gatherOffset(n_)
        : what_.kind == CollectiveKind::AllToAll      ? receiveOffset(m, n_)
        : what_.kind == CollectiveKind::ReduceScatter ? pieces_(0, m)
        : what_.kind == CollectiveKind::Broadcast && m == 0 ? 0
                                                            : pieces_(0, 0);
    uint32_t d = deviceOf(m);
    uint32_t in = builder_.buffer(d, inCount * size);
    uint32_t out = what_.inPlace ? in : builder_.buffer(d, outCount * size);
    builder_.feed(
        d, builder_.input("x" + std::to_string(m), {inCount}, what_.element),
        in);
    fb::CollectiveT c;
    c.kind = what_.kind;
    c.algorithm = what_.algorithm;
    c.combine = what_.combine;
    c.element = what_.element;
    c.member = m;
    for (uint32_t k = 0; k != n_; ++k)
      c.group.push_back(deviceOf(k));
    auto send = [&](int64_t at, int64_t count) {
      c.send.emplace_back(in, at * size, count * size);
    };
    auto receive = [&](int64_t at, int64_t count) {
      c.receive.emplace_back(out, at * size, count * size);
    };
    switch (what_.kind) {
    case CollectiveKind::Broadcast:
      m == 0 ? send(0, inCount) : receive(0, outCount);
      break;
    case CollectiveKind::AllGather:
      send(0, inCount);
      for (uint32_t k = 0; k != n_; ++k)
        receive(gatherOffset(k), pieces_(k, k));
      break;
    case CollectiveKind::AllToAll:
      for (uint32_t k = 0; k != n_; ++k) {
        send(offset(m, k), pieces_(m, k));
        receive(receiveOffset(m, k), pieces_(k, m));
      }
      break;
    case CollectiveKind::AllReduce:
      send(0, inCount);
      receive(0, outCount);
      break;
    case CollectiveKind::ReduceScatter:
      for (uint32_t k = 0; k != n_; ++k)
        send(offset(m, k), pieces_(m, k));
      receive(what_.inPlace ? offset(m, m) : 0, outCount);
      break;
    }
    builder_.row(d, std::move(c), fb::Stream::Communication, fb::Phase::Step,
                 {0});
    uint32_t drain = builder_.drain(
        d, builder_.output("y" + std::to_string(m), {outCount}, what_.element),
        out);
    if (what_.inPlace && what_.kind == CollectiveKind::ReduceScatter)
      builder_.model.devices[d]
          ->programs[0]
          ->rows[drain]
          ->body.AsDrain()
          ->copies[0] = denseCopy(out, 0, outCount * size, offset(m, m) * size);
  }

  int64_t gatherOffset(uint32_t m) const {
    int64_t result = 0;
    for (uint32_t k = 0; k != m; ++k)
      result += pieces_(k, k);
    return result;
  }
  int64_t receiveOffset(uint32_t to, uint32_t from) const {
    int64_t result = 0;
    for (uint32_t k = 0; k != from; ++k)
      result += pieces_(k, to);
    return result;
  }

  Case what_;
  uint32_t n_;
  Pieces pieces_;
  ModelBuilder builder_;
  std::vector<std::vector<T>> inputs_;
};

/// Pieces that differ by their receiver, some of them empty.
int64_t unevenPiece(uint32_t, uint32_t to) {
  return to % 3 == 2 ? 0 : 3 + 5 * int64_t{to};
}
/// Pieces that differ by both ends.
int64_t pairPiece(uint32_t from, uint32_t to) {
  return (from + 2 * to) % 4 == 3 ? 0 : 1 + 2 * int64_t{from} + to;
}

class Algorithms : public testing::TestWithParam<uint32_t> {};

std::vector<Algorithm> algorithmsOf(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::Broadcast:
  case CollectiveKind::AllReduce:
    return {Algorithm::Direct, Algorithm::Ring, Algorithm::Tree};
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return {Algorithm::Direct, Algorithm::Ring};
  case CollectiveKind::AllToAll:
    return {Algorithm::Direct};
  }
  return {};
}

template <typename T>
void checkReductions(uint32_t n, fb::ElementType element,
                     const std::vector<fb::Combine> &combiners) {
  for (fb::Combine combine : combiners)
    for (CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter})
      for (Algorithm algorithm : algorithmsOf(kind))
        for (bool inPlace : {false, true}) {
          // Fewer elements than members, too.
          std::vector<int64_t> sizes{37};
          if (kind == CollectiveKind::AllReduce && sizeof(T) == 4)
            sizes = {0, 5, 1001};
          for (int64_t size : sizes) {
            Pieces whole = [&](uint32_t, uint32_t) { return size; };
            Rehearsal<T>({kind, algorithm, combine, element, inPlace}, n,
                         kind == CollectiveKind::AllReduce ? whole
                                                           : unevenPiece)
                .check();
            if (testing::Test::HasFatalFailure())
              return;
          }
        }
}
} // namespace

TEST_P(Algorithms, Move) {
  for (CollectiveKind kind :
       {CollectiveKind::Broadcast, CollectiveKind::AllGather,
        CollectiveKind::AllToAll})
    for (Algorithm algorithm : algorithmsOf(kind)) {
      std::vector<Pieces> cuts{pairPiece};
      if (kind == CollectiveKind::Broadcast)
        // One segment, several, and sizes that are no multiple of them.
        cuts = {[](uint32_t, uint32_t) { return 7; },
                [](uint32_t, uint32_t) { return 100003; }};
      for (const Pieces &pieces : cuts) {
        Rehearsal<float>({kind, algorithm}, GetParam(), pieces).check();
        if (HasFatalFailure())
          return;
      }
    }
}

TEST_P(Algorithms, Reduce) {
  using fb::Combine;
  using fb::ElementType;
  uint32_t n = GetParam();
  std::vector<Combine> arithmetic{Combine::Sum, Combine::Prod, Combine::Max,
                                  Combine::Min};
  checkReductions<float>(n, ElementType::F32, arithmetic);
  checkReductions<double>(n, ElementType::F64, arithmetic);
  checkReductions<int32_t>(n, ElementType::I32, arithmetic);
  checkReductions<int64_t>(n, ElementType::I64, arithmetic);
  checkReductions<int8_t>(n, ElementType::I8, {Combine::Sum, Combine::Max});
  checkReductions<uint8_t>(n, ElementType::U8, {Combine::Sum, Combine::Min});
  checkReductions<uint8_t>(n, ElementType::Bool, {Combine::And, Combine::Or});
}

// What joins need beside buffers: a place for each message that comes from
// another process, and for sums on their way. A feed from another process is
// packed; rows that run one after the other share their memory.
TEST(AlgorithmMemory, IsPlanned) {
  using Sizes = std::pair<uint64_t, uint64_t>; // In one process, at most.
  auto sizes = [](CollectiveKind kind, Algorithm algorithm, int64_t count) {
    return Rehearsal<float>({kind, algorithm, fb::Combine::Sum}, 3,
                            [=](uint32_t, uint32_t) { return count; })
        .ownBytes();
  };
  // Of three pieces of 40 elements, in whole cache lines; the feed has 480.
  EXPECT_EQ(sizes(CollectiveKind::ReduceScatter, Algorithm::Ring, 40),
            Sizes(2 * 192, 3 * 192));
  EXPECT_EQ(sizes(CollectiveKind::ReduceScatter, Algorithm::Direct, 40),
            Sizes(0, 3 * 160));
  // Of 160 elements: 54 per slice at most; both children; the feed has 640.
  EXPECT_EQ(sizes(CollectiveKind::AllReduce, Algorithm::Ring, 160),
            Sizes(0, 640));
  EXPECT_EQ(sizes(CollectiveKind::AllReduce, Algorithm::Tree, 160),
            Sizes(0, 2 * 640));
  EXPECT_EQ(sizes(CollectiveKind::AllGather, Algorithm::Ring, 160),
            Sizes(0, 3 * 640));
}

INSTANTIATE_TEST_SUITE_P(Members, Algorithms, testing::Range(1u, 9u));

/// Sums of floats depend on the order: all members get the same bits, in that
/// of the algorithm.
TEST(AlgorithmOrder, SameBitsEverywhere) {
  constexpr int64_t size = 1000;
  for (Algorithm algorithm :
       {Algorithm::Direct, Algorithm::Ring, Algorithm::Tree})
    for (uint32_t n : {3u, 5u, 8u}) {
      ModelBuilder b(n);
      std::vector<Floats> in, out(n, Floats(size));
      std::vector<const void *> inputs;
      std::vector<void *> outputs;
      for (uint32_t d = 0; d != n; ++d) {
        in.push_back(randomFloats(size, d));
        uint32_t buffer = b.buffer(d, size * 4);
        b.feed(d, b.input("x" + std::to_string(d), {size}), buffer);
        fb::CollectiveT c;
        c.kind = CollectiveKind::AllReduce;
        c.algorithm = algorithm;
        c.combine = fb::Combine::Sum;
        c.member = d;
        for (uint32_t m = 0; m != n; ++m)
          c.group.push_back(m);
        c.send.emplace_back(buffer, 0, size * 4);
        c.receive = c.send;
        b.row(d, std::move(c), fb::Stream::Communication, fb::Phase::Step, {0});
        b.drain(d, b.output("y" + std::to_string(d), {size}), buffer);
      }
      for (uint32_t d = 0; d != n; ++d) {
        inputs.push_back(in[d].data());
        outputs.push_back(out[d].data());
      }
      ModelPtr model = b.load();
      ASSERT_TRUE(model) << soap_last_error();
      ASSERT_EQ(soap_model_run(model.get(), inputs.data(), outputs.data()),
                SOAP_OK);
      // The documented order of element i.
      auto sum = [&](int64_t i) {
        auto x = [&](uint32_t m) { return in[m][i]; };
        if (algorithm == Algorithm::Tree) {
          std::function<float(uint32_t)> below = [&](uint32_t m) {
            float result = x(m);
            for (uint32_t child : {2 * m + 1, 2 * m + 2})
              if (child < n)
                result += below(child);
            return result;
          };
          return below(0);
        }
        uint32_t first = 0;
        if (algorithm == Algorithm::Ring) {
          uint32_t slice = 0;
          while (size * (slice + 1) / n <= i)
            ++slice;
          first = (slice + 1) % n;
        }
        float result = x(first);
        for (uint32_t k = 1; k != n; ++k)
          result += x((first + k) % n);
        return result;
      };
      for (int64_t i = 0; i != size; ++i)
        ASSERT_EQ(out[0][i], sum(i)) << fb::EnumNameAlgorithm(algorithm)
                                     << " of " << n << ", element " << i;
      for (uint32_t d = 1; d != n; ++d)
        ASSERT_EQ(std::memcmp(out[d].data(), out[0].data(), size * 4), 0)
            << fb::EnumNameAlgorithm(algorithm) << ", member " << d;
    }
}
