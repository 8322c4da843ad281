//===- Verification.cpp - A strategy against one device -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "Report.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

using namespace soap;
using namespace soap::run;

/// True if `boxes` together hold every element of `shape`.
static bool covers(const std::vector<Box> &boxes,
                   const std::vector<int64_t> &shape) {
  Box whole;
  size_t count = 1;
  for (int64_t extent : shape) {
    whole.emplace_back(0, extent);
    count *= static_cast<size_t>(extent);
  }
  if (std::find(boxes.begin(), boxes.end(), whole) != boxes.end())
    return true;
  std::vector<bool> held(count);
  for (const Box &box : boxes)
    forEachRow(shape, box, [&](size_t to, size_t, size_t run) {
      auto begin = held.begin() + static_cast<std::ptrdiff_t>(to);
      std::fill(begin, begin + static_cast<std::ptrdiff_t>(run), true);
    });
  return std::find(held.begin(), held.end(), false) == held.end();
}

static std::vector<int64_t> shapeOf(const soap_tile &tile) {
  return {tile.shape, tile.shape + tile.rank};
}

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

void Verification::runReference(
    const std::string &path, const std::map<std::string, std::string> &inputs) {
  Loading loading;
  loading.transport = SOAP_TRANSPORT_LOCAL;
  loading.build = SOAP_BUILD_REFERENCE;
  loading.program = program_;
  loading.observe = record;
  loading.user = this;
  Session reference(path, loading);
  reference.setInputs(inputs);
  // The host has inputs and outputs whole.
  for (size_t i = 0; i != reference.inputs().size(); ++i) {
    Value &value = addPort(reference.inputs()[i], reference.input(i));
    value.input = true;
    valueOf_[{value.name, 0}] = values_.size() - 1;
  }
  reference.step();
  for (size_t i = 0; i != reference.outputs().size(); ++i)
    addPort(reference.outputs()[i], reference.output(i)).output = true;
  bool areNarrow = false; // Values before this one.
  for (Value &value : values_) {
    // What may be made of 16-bit floats is as far apart as they are.
    areNarrow |=
        value.tensor.element == SOAP_F16 || value.tensor.element == SOAP_BF16;
    value.tolerance = tolerance_;
    if (areNarrow)
      value.tolerance.relative = tolerance_.relativeOf(SOAP_F16);
    value.known = covers(value.boxes, value.tensor.shape);
    value.scale = rootMeanSquare(value.tensor);
  }
  holdings_.resize(values_.size());
  hasReference_ = true;
}

Verification::Value &Verification::addPort(const soap_port &port,
                                           const Tensor &tensor) {
  Value &value = values_.emplace_back();
  value.name = port.name;
  value.tensor = tensor;
  Box &box = value.boxes.emplace_back();
  for (int64_t extent : tensor.shape)
    box.emplace_back(0, extent);
  return value;
}

void Verification::record(const soap_tile *tile, void *verification) {
  static_cast<Verification *>(verification)->record(*tile);
}

void Verification::record(const soap_tile &tile) {
  if (tile.parts_held || !concerns(tile))
    return;
  std::lock_guard<std::mutex> lock(mutex_);
  auto [entry, isNew] =
      valueOf_.try_emplace({tile.value, tile.result}, values_.size());
  if (isNew) {
    // The one device runs its program in graph order.
    Value &value = values_.emplace_back();
    value.name = tile.value;
    value.result = tile.result;
    value.tensor.element = tile.element;
    value.tensor.shape = shapeOf(tile);
    size_t bytes = soap_element_size(tile.element);
    for (int64_t extent : value.tensor.shape)
      bytes *= static_cast<size_t>(extent);
    value.tensor.bytes.resize(bytes);
  }
  Value &value = values_[entry->second];
  if (value.input)
    return;
  const auto *data = static_cast<const unsigned char *>(tile.data);
  size_t size = soap_element_size(tile.element);
  value.boxes.push_back(boxOf(tile));
  forEachRow(value.tensor.shape, value.boxes.back(),
             [&](size_t to, size_t from, size_t run) {
               std::memcpy(value.tensor.bytes.data() + to * size,
                           data + from * size, run * size);
             });
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

bool Verification::Difference::operator<(const Difference &other) const {
  // What was computed comes before what was made of it.
  auto key = [](const Difference &d) {
    return std::make_tuple(d.value, d.origin, d.row, d.device);
  };
  return key(*this) < key(other);
}

void Verification::show(const soap_tile *tile, void *verification) {
  auto *self = static_cast<Verification *>(verification);
  if (!self->running_ || !self->concerns(*tile))
    return;
  if (self->hasReference_)
    return self->compare(*tile);
  std::lock_guard<std::mutex> lock(self->mutex_);
  self->kept_.emplace_back(*tile);
}

void Verification::compare(const soap_tile &tile) {
  auto known = valueOf_.find({tile.value, tile.result});
  if (known != valueOf_.end()) {
    if (values_[known->second].known && isPartOfSum(tile))
      addPart(tile, known->second);
    return compare(tile, known->second);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  unknown_.try_emplace({tile.value, tile.result},
                       "the build for one device does not have it");
}

template <typename T>
static void add(std::vector<char> &sum, const void *part) {
  auto *to = reinterpret_cast<T *>(sum.data());
  const auto *from = static_cast<const T *>(part);
  for (size_t i = 0; i != sum.size() / sizeof(T); ++i)
    to[i] += from[i];
}

/// Parts may be added up without ever being combined, as those of gradients of
/// shared weights are: their sum is compared when the last one is there, and a
/// difference is reported at the first device of those that made parts. Of
/// equal copies of a part, the first counts.
void Verification::addPart(const soap_tile &tile, size_t index) {
  soap_tile whole = tile;
  whole.part_count = whole.parts_held = 0;
  PartSum *sum = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    sum = &partSums_[{index, boxOf(tile)}];
    if (sum->counted.empty()) {
      sum->counted.resize(tile.part_count);
      sum->missing = tile.part_count;
      size_t bytes = soap_element_size(tile.element);
      for (auto [lo, hi] : boxOf(tile))
        bytes *= static_cast<size_t>(hi - lo);
      sum->data.resize(bytes);
    }
    for (size_t i = 0; i != tile.parts_held; ++i)
      if (sum->counted[tile.parts[i]])
        return;
    for (size_t i = 0; i != tile.parts_held; ++i)
      sum->counted[tile.parts[i]] = true;
    tile.element == SOAP_F64 ? add<double>(sum->data, tile.data)
                             : add<float>(sum->data, tile.data);
    sum->device = std::min(sum->device, tile.device);
    sum->missing -= tile.parts_held;
    if (sum->missing != 0)
      return;
  }
  whole.data = sum->data.data();
  whole.device = sum->device;
  compare(whole, index);
  sum->data = {};
}

void Verification::compare(const soap_tile &tile, size_t index) {
  const Value &value = values_[index];
  if (!value.known)
    return;
  bool alike = value.tensor.element == tile.element &&
               value.tensor.shape == shapeOf(tile);
  Difference difference;
  if (alike && !tile.parts_held)
    difference.comparison =
        compareTile(tile, value.tensor, value.scale, value.tolerance);
  const TileComparison &comparison = difference.comparison;

  std::lock_guard<std::mutex> lock(mutex_);
  Holdings &held = holdings_[index];
  if (tile.parts_held) {
    ++held.partials;
    return;
  }
  ++tiles_;
  elements_ += comparison.elements;
  held.boxes.push_back(boxOf(tile));
  held.squaredError += comparison.squaredError;
  held.squaredExpected += comparison.squaredExpected;
  if (alike && comparison.equal)
    return;
  held.different = true;
  if (!alike)
    difference.reason = "expected " + typeOf(value.tensor) +
                        ", got: " + typeOf(tile.element, shapeOf(tile));
  difference.value = index;
  difference.box = boxOf(tile);
  difference.device = tile.device;
  difference.row = tile.row;
  difference.task = tile.task;
  difference.rowName = tile.row_name;
  difference.origin = tile.origin;
  differences_.push_back(std::move(difference));
}

static Json toJson(const Box &box) {
  Json result = Json::array();
  for (auto [lo, hi] : box)
    result.push_back({lo, hi});
  return result;
}

void Verification::finish(Session &session) {
  running_ = false;
  bringTiles(session, kept_,
             [&](const KeptTile &tile) { compare(tile.view()); });
  kept_.clear();
  session.onRoot([&] {
    compareOutputs(session);
    sumUp();
  });
}

void Verification::compareOutputs(const Session &session) {
  for (size_t i = 0; i != values_.size(); ++i) {
    if (!values_[i].output)
      continue;
    const Tensor &tensor = session.output(values_[i].name);
    soap_tile tile = {};
    tile.element = tensor.element;
    tile.rank = tensor.shape.size();
    tile.shape = tensor.shape.data();
    std::vector<int64_t> box;
    for (int64_t extent : tensor.shape)
      box.insert(box.end(), {0, extent});
    tile.box = box.data();
    tile.row = tile.task = -1;
    tile.row_name = "";
    tile.data = tensor.bytes.data();
    compare(tile, i);
  }
}

void Verification::sumUp() {
  for (size_t i = 0; i != values_.size(); ++i) {
    const Value &value = values_[i];
    const Holdings &held = holdings_[i];
    different_ += held.different;
    if (!held.boxes.empty() &&
        (value.input || covers(held.boxes, value.tensor.shape))) {
      ++tensors_;
      double error = held.squaredError == 0
                         ? 0
                         : std::sqrt(held.squaredError / held.squaredExpected);
      if (error > worstError_) {
        worstError_ = error;
        worst_ = i;
      }
      continue;
    }
    bool some = !held.boxes.empty();
    const char *reason = !value.known            ? "one device has only some"
                         : held.partials && some ? "only some is combined"
                         : held.partials ? "its parts are never combined"
                         : some          ? "the devices have only some"
                         : value.input   ? "no device reads it"
                                         : "no device has it";
    omissions_.push_back({value.name, reason, value.result});
  }
  for (const auto &[key, reason] : unknown_)
    omissions_.push_back({key.first, reason, key.second});
  std::sort(differences_.begin(), differences_.end());
  if (tensors_ == 0 && different_ == 0)
    throw UsageError("expected tensors that both builds have, got: none; "
                     "compile the model again");
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string Verification::nameOf(const Value &value) const {
  if (value.output)
    return "output '" + value.name + "'";
  return "'" + value.name + "'" +
         (value.result ? " result " + std::to_string(value.result) : "");
}

Json Verification::describe(const Difference &d) const {
  const Value &value = values_[d.value];
  const TileComparison &c = d.comparison;
  Json result = {{"name", value.name},
                 {"result", value.result},
                 {"output", value.output},
                 {"type", typeOf(value.tensor)},
                 {"box", toJson(d.box)}};
  if (!value.output) {
    result["device"] = d.device;
    result["row"] = d.row;
    result["row_name"] = d.rowName;
    result["task"] = d.task;
    result["how"] = soap_origin_name(d.origin);
  }
  if (!d.reason.empty()) {
    result["reason"] = d.reason;
    return result;
  }
  result["elements"] = c.elements;
  result["unequal"] = c.unequal;
  result["norm_rel"] = c.normRelative();
  result["worst"] = {
      {"index", c.worst}, {"got", c.got}, {"expected", c.expected}};
  return result;
}

void Verification::print(const Difference &d) const {
  const Value &value = values_[d.value];
  const TileComparison &c = d.comparison;
  std::printf("verify: first in graph order: %s, %s\n", nameOf(value).c_str(),
              typeOf(value.tensor).c_str());
  if (value.output)
    std::printf("  tile %s on the host\n", toString(d.box).c_str());
  else
    std::printf("  tile %s on device %u, %s%s%s%s%s\n", toString(d.box).c_str(),
                d.device, soap_origin_name(d.origin), d.row < 0 ? "" : " by '",
                d.rowName.c_str(), d.row < 0 ? "" : "'",
                d.task < 0 ? "" : (", task " + std::to_string(d.task)).c_str());
  if (!d.reason.empty())
    std::printf("  %s\n", d.reason.c_str());
  else
    std::printf("  worst element %s: got %.9g, expected %.9g; %zu of %zu "
                "unequal, norm rel error %.3g\n",
                toString(c.worst).c_str(), printable(c.got),
                printable(c.expected), c.unequal, c.elements, c.normRelative());
}

Json Verification::report(bool json) const {
  Json result = {{"equal", equal()},
                 {"tensors", tensors_},
                 {"tiles", tiles_},
                 {"elements", elements_},
                 {"different", different_}};
  if (tensors_)
    result["worst"] = {{"name", values_[worst_].name},
                       {"norm_rel", worstError_}};
  if (!differences_.empty())
    result["first"] = describe(differences_.front());
  result["not_compared"] = Json::array();
  for (const Omission &omission : omissions_)
    result["not_compared"].push_back({{"name", omission.name},
                                      {"result", omission.result},
                                      {"reason", omission.reason}});
  if (json)
    return result;
  std::printf("verify: %s, %zu tensors of %zu elements in %zu tiles",
              equal() ? "equal" : "DIFFERENT", tensors_, elements_, tiles_);
  if (tensors_)
    std::printf(", worst norm rel error %.3g in %s", worstError_,
                nameOf(values_[worst_]).c_str());
  std::printf("\n");
  for (const Omission &omission : omissions_)
    std::printf("verify: not compared: '%s': %s\n", omission.name.c_str(),
                omission.reason.c_str());
  if (!differences_.empty()) {
    std::printf("verify: %zu of %zu tensors differ\n", different_,
                values_.size());
    print(differences_.front());
  }
  return result;
}
