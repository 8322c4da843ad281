//===- CollectiveTest.cpp - Every communication among 1 to 6 devices ------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::test;

namespace {
/// A model in which every device has one input and one output buffer, joined by
/// one communication row.
class Mesh {
public:
  explicit Mesh(uint32_t devices) : builder(devices), devices(devices) {}

  /// Gives a device its input and output; returns (input, output) buffers.
  std::pair<uint32_t, uint32_t> device(uint32_t d, int64_t in, int64_t out,
                                       uint32_t seed) {
    std::string name = std::to_string(d);
    inputs.push_back(randomFloats(in, seed));
    outputs.emplace_back(out, NAN);
    uint32_t inBuffer = builder.buffer(d, in * 4);
    uint32_t outBuffer = builder.buffer(d, out * 4);
    builder.feed(d, builder.input("x" + name, {in}), inBuffer);
    results.push_back({builder.output("y" + name, {out}), outBuffer});
    return {inBuffer, outBuffer};
  }

  template <typename Body>
  void communicate(uint32_t d, Body body) {
    auto feed = static_cast<uint32_t>(
                    builder.model.devices[d]->programs[0]->rows.size()) -
                1;
    builder.row(d, std::move(body), fb::Stream::Communication, fb::Phase::Step,
                {feed});
  }

  /// Runs three steps; `expected` of each device after every one of them.
  void run(const std::vector<Floats> &expected, float tolerance = 0) {
    for (uint32_t d = 0; d != devices; ++d)
      builder.drain(d, results[d].first, results[d].second);
    model = builder.load();
    ASSERT_TRUE(model) << soap_last_error();
    std::vector<const void *> in;
    std::vector<void *> out;
    for (uint32_t d = 0; d != devices; ++d) {
      in.push_back(inputs[d].data());
      out.push_back(outputs[d].data());
    }
    for (int step = 0; step != 3; ++step) {
      for (Floats &values : outputs)
        std::fill(values.begin(), values.end(), NAN);
      ASSERT_EQ(soap_model_run(model.get(), in.data(), out.data()), SOAP_OK)
          << soap_last_error();
      for (uint32_t d = 0; d != devices; ++d)
        for (size_t i = 0; i != expected[d].size(); ++i)
          ASSERT_NEAR(outputs[d][i], expected[d][i], tolerance)
              << "device " << d << ", element " << i;
    }
  }

  /// The movements of the step phase as text.
  std::vector<std::string> movements() {
    const soap_movement *list;
    size_t size;
    EXPECT_EQ(soap_model_movements(model.get(), &list, &size), SOAP_OK);
    std::vector<std::string> result;
    for (size_t i = 0; i != size; ++i) {
      if (list[i].phase != SOAP_STEP)
        continue;
      std::string text = soap_movement_kind_name(list[i].kind);
      for (size_t k = 0; k != list[i].device_count; ++k)
        text += (k ? "," : " ") + std::to_string(list[i].devices[k]);
      for (size_t k = 0; k != list[i].byte_count; ++k)
        text += (k ? "," : ":") + std::to_string(list[i].bytes[k]);
      result.push_back(text);
    }
    return result;
  }

  ModelBuilder builder;
  uint32_t devices;
  std::vector<Floats> inputs, outputs;
  std::vector<std::pair<uint32_t, uint32_t>> results;
  ModelPtr model;
};

using Strings = std::vector<std::string>;

/// Uneven sizes: member m puts in m + 3 elements, the last one nothing.
int64_t uneven(uint32_t m, uint32_t n) {
  return m + 1 == n && n > 1 ? 0 : m + 3;
}

class Collective : public testing::TestWithParam<uint32_t> {
protected:
  uint32_t n() const { return GetParam(); }
  /// Members in descending order, so that member != device.
  std::vector<uint32_t> group() const {
    std::vector<uint32_t> result;
    for (uint32_t m = 0; m != n(); ++m)
      result.push_back(n() - 1 - m);
    return result;
  }
  uint32_t deviceOf(uint32_t member) const { return n() - 1 - member; }
  uint32_t memberOf(uint32_t device) const { return n() - 1 - device; }
  fb::CollectiveT part(fb::CollectiveKind kind, uint32_t device) const {
    fb::CollectiveT result;
    result.kind = kind;
    result.group = group();
    result.member = memberOf(device);
    return result;
  }
  std::string groupText() const {
    std::string text;
    for (uint32_t d : group())
      text += (text.empty() ? "" : ",") + std::to_string(d);
    return text;
  }
};
} // namespace

TEST_P(Collective, AllGather) {
  Mesh mesh(n());
  int64_t total = 0;
  for (uint32_t m = 0; m != n(); ++m)
    total += uneven(m, n());
  for (uint32_t d = 0; d != n(); ++d) {
    int64_t own = uneven(memberOf(d), n());
    auto [in, out] = mesh.device(d, own, total, d);
    auto c = part(fb::CollectiveKind::AllGather, d);
    c.send.emplace_back(in, 0, own * 4);
    int64_t offset = 0;
    for (uint32_t m = 0; m != n(); ++m) {
      c.receive.emplace_back(out, offset * 4, uneven(m, n()) * 4);
      offset += uneven(m, n());
    }
    mesh.communicate(d, std::move(c));
  }
  Floats all;
  std::string bytes;
  for (uint32_t m = 0; m != n(); ++m) {
    const Floats &x = mesh.inputs[deviceOf(m)];
    all.insert(all.end(), x.begin(), x.end());
    bytes += (m ? "," : "") + std::to_string(x.size() * 4);
  }
  mesh.run(std::vector<Floats>(n(), all));
  EXPECT_EQ(mesh.movements(),
            Strings{"all_gather " + groupText() + ":" + bytes});
}

TEST_P(Collective, AllToAll) {
  Mesh mesh(n());
  // Member m sends m + k + 1 elements to member k.
  auto size = [](uint32_t m, uint32_t k) { return int64_t{m} + k + 1; };
  auto sum = [&](uint32_t m) {
    int64_t total = 0;
    for (uint32_t k = 0; k != n(); ++k)
      total += size(m, k);
    return total;
  };
  for (uint32_t d = 0; d != n(); ++d) {
    uint32_t me = memberOf(d);
    auto [in, out] = mesh.device(d, sum(me), sum(me), d);
    auto c = part(fb::CollectiveKind::AllToAll, d);
    int64_t offset = 0;
    for (uint32_t m = 0; m != n(); ++m) {
      c.send.emplace_back(in, offset * 4, size(me, m) * 4);
      c.receive.emplace_back(out, offset * 4, size(m, me) * 4);
      offset += size(me, m);
    }
    mesh.communicate(d, std::move(c));
  }
  std::vector<Floats> expected(n());
  for (uint32_t d = 0; d != n(); ++d)
    for (uint32_t m = 0; m != n(); ++m) {
      const Floats &x = mesh.inputs[deviceOf(m)];
      int64_t offset = 0;
      for (uint32_t k = 0; k != memberOf(d); ++k)
        offset += size(m, k);
      expected[d].insert(expected[d].end(), x.begin() + offset,
                         x.begin() + offset + size(m, memberOf(d)));
    }
  mesh.run(expected);
}

TEST_P(Collective, Broadcast) {
  Mesh mesh(n());
  for (uint32_t d = 0; d != n(); ++d) {
    bool root = memberOf(d) == 0;
    auto [in, out] = mesh.device(d, 11, 11, d);
    auto c = part(fb::CollectiveKind::Broadcast, d);
    if (root)
      c.send.emplace_back(in, 0, 44);
    else
      c.receive.emplace_back(out, 0, 44);
    mesh.communicate(d, std::move(c));
  }
  std::vector<Floats> expected(n(), mesh.inputs[deviceOf(0)]);
  expected[deviceOf(0)].clear(); // The root's output is not written.
  mesh.run(expected);
  std::string bytes = "44";
  for (uint32_t m = 1; m != n(); ++m)
    bytes += ",0";
  EXPECT_EQ(mesh.movements(),
            Strings{"broadcast " + groupText() + ":" + bytes});
}

/// All members get the same bits, those of the sum in member order.
TEST_P(Collective, AllReduceInMemberOrder) {
  for (int64_t size : {1, 3, 10007}) {
    Mesh mesh(n());
    for (uint32_t d = 0; d != n(); ++d) {
      auto [in, out] = mesh.device(d, size, size, d);
      auto c = part(fb::CollectiveKind::AllReduce, d);
      c.combine = fb::Combine::Sum;
      c.send.emplace_back(in, 0, size * 4);
      c.receive.emplace_back(out, 0, size * 4);
      mesh.communicate(d, std::move(c));
    }
    Floats sum = mesh.inputs[deviceOf(0)];
    for (uint32_t m = 1; m != n(); ++m)
      for (int64_t i = 0; i != size; ++i)
        sum[i] += mesh.inputs[deviceOf(m)][i];
    mesh.run(std::vector<Floats>(n(), sum));
  }
}

TEST_P(Collective, AllReduceInPlace) {
  Mesh mesh(n());
  for (uint32_t d = 0; d != n(); ++d) {
    auto [in, out] = mesh.device(d, 101, 101, d);
    (void)in;
    mesh.builder.model.devices[d]
        ->programs[0]
        ->rows[0]
        ->body.AsFeed()
        ->copies[0]
        ->to = out;
    auto c = part(fb::CollectiveKind::AllReduce, d);
    c.combine = fb::Combine::Max;
    c.send.emplace_back(out, 0, 404);
    c.receive.emplace_back(out, 0, 404);
    mesh.communicate(d, std::move(c));
  }
  Floats max = mesh.inputs[0];
  for (uint32_t d = 1; d != n(); ++d)
    for (size_t i = 0; i != max.size(); ++i)
      max[i] = std::max(max[i], mesh.inputs[d][i]);
  mesh.run(std::vector<Floats>(n(), max));
}

TEST_P(Collective, ReduceScatter) {
  Mesh mesh(n());
  int64_t total = 0;
  for (uint32_t m = 0; m != n(); ++m)
    total += uneven(m, n());
  for (uint32_t d = 0; d != n(); ++d) {
    int64_t own = uneven(memberOf(d), n()), offset = 0;
    auto [in, out] = mesh.device(d, total, own, d);
    auto c = part(fb::CollectiveKind::ReduceScatter, d);
    c.combine = fb::Combine::Sum;
    for (uint32_t m = 0; m != n(); ++m) {
      c.send.emplace_back(in, offset * 4, uneven(m, n()) * 4);
      offset += uneven(m, n());
    }
    c.receive.emplace_back(out, 0, own * 4);
    mesh.communicate(d, std::move(c));
  }
  std::vector<Floats> expected(n());
  int64_t offset = 0;
  for (uint32_t m = 0; m != n(); ++m)
    for (int64_t i = 0; i != uneven(m, n()); ++i, ++offset) {
      float sum = mesh.inputs[deviceOf(0)][offset];
      for (uint32_t k = 1; k != n(); ++k)
        sum += mesh.inputs[deviceOf(k)][offset];
      expected[deviceOf(m)].push_back(sum);
    }
  mesh.run(expected);
  std::string bytes = std::to_string(total * 4), all = bytes;
  for (uint32_t m = 1; m != n(); ++m)
    all += "," + bytes;
  EXPECT_EQ(mesh.movements(),
            Strings{"reduce_scatter " + groupText() + ":" + all});
}

/// Everybody sends its input to everybody else, twice with one tag, all in one
/// group.
TEST_P(Collective, Exchange) {
  Mesh mesh(n());
  for (uint32_t d = 0; d != n(); ++d) {
    auto [in, out] = mesh.device(d, 5, 10 * n(), d);
    fb::ExchangeT exchange;
    for (uint32_t peer = 0; peer != n(); ++peer) {
      if (peer == d)
        continue;
      for (uint64_t half : {0, 1}) {
        exchange.sends.emplace_back(peer, 7, fb::Extent(in, half * 8, 8));
        exchange.receives.emplace_back(
            peer, 7, fb::Extent(out, (peer * 10 + half * 5) * 4, 8));
      }
    }
    mesh.communicate(d, std::move(exchange));
  }
  std::vector<Floats> expected(n());
  mesh.run(expected);
  for (uint32_t d = 0; d != n(); ++d)
    for (uint32_t peer = 0; peer != n(); ++peer)
      for (int half = 0; half != 2 && peer != d; ++half)
        for (int i = 0; i != 2; ++i)
          EXPECT_EQ(mesh.outputs[d][peer * 10 + half * 5 + i],
                    mesh.inputs[peer][half * 2 + i]);
  Strings moved = mesh.movements();
  ASSERT_EQ(moved.size(), 2 * n() * (n() - 1));
  if (n() > 1) {
    EXPECT_EQ(moved[0], "transfer 1,0:8");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Collective, testing::Range(1u, 7u));

//===----------------------------------------------------------------------===//
// Other types and combiners
//===----------------------------------------------------------------------===//

template <typename T>
static std::vector<T> reduceTwo(fb::ElementType element, fb::Combine combine,
                                std::vector<T> a, std::vector<T> b) {
  ModelBuilder builder(2);
  std::vector<std::vector<T>> in{a, b}, out(2, std::vector<T>(a.size()));
  auto size = static_cast<int64_t>(a.size());
  for (uint32_t d = 0; d != 2; ++d) {
    uint32_t buffer = builder.buffer(d, size * sizeof(T));
    std::string name = std::to_string(d);
    builder.feed(d, builder.input("x" + name, {size}, element), buffer);
    fb::CollectiveT c;
    c.kind = fb::CollectiveKind::AllReduce;
    c.combine = combine;
    c.element = element;
    c.group = {0, 1};
    c.member = d;
    c.send.emplace_back(buffer, 0, size * sizeof(T));
    c.receive = c.send;
    builder.row(d, std::move(c), fb::Stream::Communication, fb::Phase::Step,
                {0});
    builder.drain(d, builder.output("y" + name, {size}, element), buffer);
  }
  ModelPtr model = builder.load();
  EXPECT_TRUE(model) << soap_last_error();
  if (!model)
    return {};
  const void *inputs[] = {in[0].data(), in[1].data()};
  void *outputs[] = {out[0].data(), out[1].data()};
  EXPECT_EQ(soap_model_run(model.get(), inputs, outputs), SOAP_OK);
  EXPECT_EQ(out[0], out[1]);
  return out[0];
}

TEST(Reduction, CombinersAndTypes) {
  using fb::Combine;
  using fb::ElementType;
  EXPECT_EQ(
      (reduceTwo<double>(ElementType::F64, Combine::Prod, {2, 3}, {5, 7})),
      (std::vector<double>{10, 21}));
  EXPECT_EQ(
      (reduceTwo<int64_t>(ElementType::I64, Combine::Min, {2, 9}, {5, 7})),
      (std::vector<int64_t>{2, 7}));
  EXPECT_EQ(
      (reduceTwo<int32_t>(ElementType::I32, Combine::Sum, {2, 9}, {5, 7})),
      (std::vector<int32_t>{7, 16}));
  // Integers wrap around, and those without a sign are ordered as such.
  EXPECT_EQ((reduceTwo<int16_t>(ElementType::I16, Combine::Sum, {32767, -1},
                                {1, -32768})),
            (std::vector<int16_t>{-32768, 32767}));
  EXPECT_EQ((reduceTwo<uint16_t>(ElementType::U16, Combine::Prod, {65535, 300},
                                 {65535, 300})),
            (std::vector<uint16_t>{1, 90000 - 65536}));
  EXPECT_EQ(
      (reduceTwo<int8_t>(ElementType::I8, Combine::Max, {-1, 5}, {1, -128})),
      (std::vector<int8_t>{1, 5}));
  EXPECT_EQ(
      (reduceTwo<uint8_t>(ElementType::U8, Combine::Max, {255, 5}, {1, 128})),
      (std::vector<uint8_t>{255, 128}));
  EXPECT_EQ((reduceTwo<uint32_t>(ElementType::U32, Combine::Min,
                                 {0xffffffff, 7}, {1, 0x80000000})),
            (std::vector<uint32_t>{1, 7}));
  EXPECT_EQ((reduceTwo<uint64_t>(ElementType::U64, Combine::Max,
                                 {uint64_t{1} << 63, 7}, {1, 9})),
            (std::vector<uint64_t>{uint64_t{1} << 63, 9}));
  EXPECT_EQ((reduceTwo<uint8_t>(ElementType::Bool, Combine::And, {0, 1, 1},
                                {1, 1, 0})),
            (std::vector<uint8_t>{0, 1, 0}));
  EXPECT_EQ((reduceTwo<uint8_t>(ElementType::Bool, Combine::Or, {0, 1, 0},
                                {0, 1, 1})),
            (std::vector<uint8_t>{0, 1, 1}));
}

/// By their bits: 1, -2, NaN; then 0, of which one term of a look-up is not.
TEST(Reduction, HalvesAreOrdered) {
  using fb::Combine;
  using fb::ElementType;
  using Bits = std::vector<uint16_t>;
  EXPECT_EQ((reduceTwo<uint16_t>(ElementType::F16, Combine::Max,
                                 {0x3c00, 0xc000, 0x7e00, 0x3c00},
                                 {0xc000, 0xbc00, 0x3c00, 0x7e00})),
            (Bits{0x3c00, 0xbc00, 0x7e00, 0x7e00}));
  EXPECT_EQ((reduceTwo<uint16_t>(ElementType::BF16, Combine::Min,
                                 {0x3f80, 0xc000, 0x7fc0, 0x3f80},
                                 {0xc000, 0xbf80, 0x3f80, 0x7fc0})),
            (Bits{0xc000, 0xc000, 0x7fc0, 0x7fc0}));
  EXPECT_EQ((reduceTwo<uint16_t>(ElementType::F16, Combine::Sum,
                                 {0x3c00, 0, 0x8000}, {0, 0xc000, 0})),
            (Bits{0x3c00, 0xc000, 0x8000}));
}
