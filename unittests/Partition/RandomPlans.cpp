//===- RandomPlans.cpp - Random producers and consumers -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomPlans.h"
#include <algorithm>
#include <numeric>
#include <optional>

using namespace soap;
using namespace soap::test;
using llvm::SmallVector;

/// Even tiles most of the time, else cut anywhere.
SmallVector<int64_t, 5> PlanGenerator::cut(int64_t extent, int32_t degree) {
  SmallVector<int64_t, 5> cuts{0};
  if (chance(0.7)) {
    for (int32_t i = 0; i != degree; ++i)
      cuts.push_back(tileRange(extent, degree, i).hi);
    return cuts;
  }
  std::vector<int64_t> inner(extent - 1);
  std::iota(inner.begin(), inner.end(), 1);
  std::shuffle(inner.begin(), inner.end(), random);
  inner.resize(degree - 1);
  std::sort(inner.begin(), inner.end());
  cuts.append(inner.begin(), inner.end());
  cuts.push_back(extent);
  return cuts;
}

SmallVector<int32_t, 8> PlanGenerator::assign(size_t count, bool structured) {
  SmallVector<int32_t, 8> devices;
  // The set in order, in runs or in turn; or anything.
  bool runs = chance(0.5);
  size_t n = deviceSet.size();
  for (size_t i = 0; i != count; ++i) {
    size_t index = runs ? i * n / std::max(count, n) : i % n;
    devices.push_back(structured ? deviceSet[count <= n ? i : index]
                                 : static_cast<int32_t>(pick(0, 7)));
  }
  if (structured && chance(0.1))
    std::shuffle(devices.begin(), devices.end(), random);
  return devices;
}

Layout PlanGenerator::drawProducer(bool structured) {
  Layout layout;
  int64_t rank = chance(0.05) ? 0 : pick(1, 3);
  int64_t tiles = 1;
  int64_t onlyCut = structured && chance(0.4) ? pick(0, 2) : -1;
  for (int64_t d = 0; d != rank; ++d) {
    int64_t extent = pick(1, 8);
    bool whole = onlyCut == -1 ? chance(0.5) : onlyCut != d;
    auto degree =
        static_cast<int32_t>(whole ? 1 : std::min<int64_t>(extent, pick(1, 4)));
    if (tiles * degree > 8)
      degree = 1;
    tiles *= degree;
    layout.cuts.push_back(cut(extent, degree));
  }
  static constexpr Combine combiners[] = {Combine::Sum, Combine::Max,
                                          Combine::Min, Combine::Prod,
                                          Combine::And, Combine::Or};
  if (chance(0.4))
    layout.parts = static_cast<int32_t>(pick(2, 4));
  if (layout.parts > 1)
    layout.combine = combiners[pick(0, 5)];
  if (chance(0.25))
    layout.copies = static_cast<int32_t>(pick(2, 3));
  layout.devices = assign(tiles * layout.parts * layout.copies, structured);
  layout.tasks.resize(layout.devices.size());
  std::iota(layout.tasks.begin(), layout.tasks.end(), 0);
  if (chance(0.3))
    std::shuffle(layout.tasks.begin(), layout.tasks.end(), random);
  return layout;
}

/// Every task of the producer (copy 0) gets a piece of its tile: what a
/// reduce-scatter leaves.
static std::optional<Need> scatteredNeed(const Layout &producer, size_t dim) {
  Need need;
  int32_t parts = producer.parts;
  for (size_t d = 0; d != producer.cuts.size(); ++d) {
    auto &ranges = need.ranges.emplace_back();
    for (size_t i = 0; i + 1 != producer.cuts[d].size(); ++i) {
      Range tile{producer.cuts[d][i], producer.cuts[d][i + 1]};
      if (d != dim) {
        ranges.push_back(tile);
        continue;
      }
      if (tile.size() < parts)
        return std::nullopt;
      for (int32_t p = 0; p != parts; ++p) {
        Range piece = tileRange(tile.size(), parts, p);
        ranges.push_back({tile.lo + piece.lo, tile.lo + piece.hi});
      }
    }
  }
  for (int64_t t = 0, e = need.numTiles(); t != e; ++t) {
    int64_t rest = t, tile = 0, part = 0, stride = 1;
    for (size_t d = need.ranges.size(); d-- != 0;) {
      auto count = static_cast<int64_t>(need.ranges[d].size());
      int64_t index = rest % count;
      rest /= count;
      if (d == dim) {
        part = index % parts;
        index /= parts;
        count /= parts;
      }
      tile += index * stride;
      stride *= count;
    }
    need.devices.push_back(
        producer.devices[(tile * parts + part) * producer.copies]);
    need.tasks.push_back(static_cast<int32_t>(t));
  }
  return need;
}

/// Takes the parts of the producer where they are; now and then, one device is
/// another one.
Need PlanGenerator::drawTaker(const Layout &producer) {
  Need need;
  for (const auto &cuts : producer.cuts) {
    auto &ranges = need.ranges.emplace_back();
    for (size_t i = 0; i + 1 != cuts.size(); ++i)
      ranges.push_back({cuts[i], cuts[i + 1]});
  }
  need.parts = producer.parts;
  need.copies = static_cast<int32_t>(pick(1, producer.copies + 1));
  for (int64_t place = 0; place != producer.numTiles() * producer.parts;
       ++place)
    for (int32_t copy = 0; copy != need.copies; ++copy)
      need.devices.push_back(
          producer.devices[place * producer.copies + copy % producer.copies]);
  if (chance(0.2))
    ++need.devices[pick(0, int64_t(need.devices.size()) - 1)];
  need.tasks.resize(need.devices.size());
  std::iota(need.tasks.begin(), need.tasks.end(), 0);
  need.regather = chance(0.05);
  return need;
}

Need PlanGenerator::drawConsumer(const Layout &producer, bool structured) {
  if (producer.parts > 1 && chance(0.25))
    return drawTaker(producer);
  Need need;
  SmallVector<int64_t, 5> shape = producer.shape();
  if (structured && producer.parts > 1 && !shape.empty() && chance(0.3))
    if (auto scattered =
            scatteredNeed(producer, pick(0, int64_t(shape.size()) - 1)))
      return *scattered;
  enum { Identical, Whole, Other, Transposed } kind = Other;
  if (structured)
    kind = static_cast<decltype(kind)>(pick(0, 3));
  int64_t tiles = 1;
  bool halo = chance(0.35);
  int64_t before = pick(0, 2), after = pick(0, 2);
  for (size_t d = 0, rank = shape.size(); d != rank; ++d) {
    SmallVector<int64_t, 5> cuts{0, shape[d]};
    if (kind == Identical) {
      cuts = producer.cuts[d];
    } else if (kind != Whole) {
      // The degree of the opposite dimension, or any.
      auto degree = static_cast<int64_t>(
          kind == Transposed ? producer.cuts[rank - 1 - d].size() - 1
                             : (chance(0.5) ? 1 : pick(1, 4)));
      degree = std::min(degree, shape[d]);
      if (tiles * degree <= 8)
        cuts = cut(shape[d], static_cast<int32_t>(degree));
    }
    auto &ranges = need.ranges.emplace_back();
    for (size_t i = 0; i + 1 != cuts.size(); ++i)
      ranges.push_back({cuts[i], cuts[i + 1]});
    tiles *= static_cast<int64_t>(ranges.size());
    if (halo && ranges.size() > 1)
      for (Range &range : ranges)
        range = {std::max<int64_t>(0, range.lo - before),
                 std::min(shape[d], range.hi + after)};
    if (chance(0.08))
      for (Range &range : ranges) // Gaps, and tiles that need nothing.
        range.lo = std::min(range.hi, range.lo + pick(0, 2));
    if (chance(0.05)) // Reads backwards.
      std::reverse(ranges.begin(), ranges.end());
  }
  // Fill the producer's device set with copies, or draw some.
  auto n = static_cast<int64_t>(deviceSet.size());
  if (structured && tiles < n && n % tiles == 0 && chance(0.8))
    need.copies = static_cast<int32_t>(n / tiles);
  else if (chance(0.3))
    need.copies = static_cast<int32_t>(pick(2, 3));
  if (chance(0.1))
    need.parts = static_cast<int32_t>(pick(2, 4));
  need.devices = assign(tiles * need.parts * need.copies, structured);
  if (structured && chance(0.15)) // On other devices.
    for (int32_t &device : need.devices)
      device += 3;
  need.tasks.resize(need.devices.size());
  std::iota(need.tasks.begin(), need.tasks.end(), 0);
  need.regather = chance(0.1);
  return need;
}

PlanCase PlanGenerator::draw() {
  PlanCase result;
  bool structured = chance(0.5);
  result.producer = Layout();
  // The set is as large as the producer has tasks, up to 8.
  deviceSet.resize(8);
  std::iota(deviceSet.begin(), deviceSet.end(), 0);
  std::rotate(deviceSet.begin(), deviceSet.begin() + pick(0, 7),
              deviceSet.end());
  result.producer = drawProducer(structured);
  if (structured) {
    size_t tasks = result.producer.tasks.size();
    deviceSet.resize(
        std::clamp<size_t>(chance(0.8) ? tasks : pick(1, 8), 1, 8));
    result.producer.devices = assign(tasks, true);
  }
  for (int64_t i = 0, e = chance(0.6) ? 1 : pick(0, 4); i != e; ++i) {
    if (i != 0 && chance(0.3))
      result.consumers.push_back(result.consumers.back());
    else
      result.consumers.push_back(drawConsumer(result.producer, structured));
  }
  // Of values that lie in memory.
  if (result.producer.parts == 1 && chance(0.3))
    for (Need &need : result.consumers)
      need.startsRound = !need.regather && chance(0.4);
  return result;
}
