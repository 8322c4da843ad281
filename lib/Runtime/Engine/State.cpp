//===- State.cpp - What lasts from step to step ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/State.h"
#include "Engine/Engine.h"
#include "Model/WrittenBytes.h"
#include <cstring>
#include <map>
#include <set>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// In the tables
//===----------------------------------------------------------------------===//

uint64_t StateTensor::bytes(const Holder &holder) const {
  return static_cast<uint64_t>(byteCount(element, holder.size));
}

StridedCopy StateTensor::toHolder(const Holder &holder) const {
  StridedCopy copy;
  uint64_t size = elementSize(element);
  copy.run = size;
  copy.extents = holder.size;
  copy.fromStrides.resize(shape.size());
  copy.toStrides.resize(shape.size());
  auto from = static_cast<int64_t>(size), to = from;
  for (size_t dim = shape.size(); dim-- != 0;) {
    copy.fromStrides[dim] = from;
    copy.toStrides[dim] = to;
    copy.fromOffset += static_cast<uint64_t>(holder.lo[dim] * from);
    from *= shape[dim];
    to *= holder.size[dim];
  }
  copy.simplify();
  return copy;
}

StridedCopy StateTensor::fromHolder(const Holder &holder) const {
  StridedCopy copy = toHolder(holder);
  std::swap(copy.fromOffset, copy.toOffset);
  std::swap(copy.fromStrides, copy.toStrides);
  return copy;
}

std::vector<const StateTensor::Holder *> StateTensor::distinct() const {
  std::set<std::pair<Shape, Shape>> seen;
  std::vector<const Holder *> result;
  for (const Holder &holder : holders)
    if (seen.insert({holder.lo, holder.size}).second)
      result.push_back(&holder);
  return result;
}

std::vector<StateTensor> runtime::findState(const fb::Model &table) {
  std::map<std::string, StateTensor> found;
  uint32_t number = 0;
  for (const fb::Device *device : items(table.devices())) {
    WrittenBytes written(*device);
    for (const fb::Load *load : items(device->loads())) {
      if (load->init_row() >= 0 || !written.overlaps(load->buffer()))
        continue;
      std::string name = toString(load->name());
      Shape shape = toVector(load->shape());
      auto [entry, isNew] = found.try_emplace(name);
      StateTensor &tensor = entry->second;
      if (isNew) {
        tensor.name = name;
        tensor.element = load->element();
        tensor.shape = shape;
      } else if (tensor.element != load->element() || tensor.shape != shape) {
        invalid("expected one type and shape of '", name,
                "' on all devices, got: several; compile the model again");
      }
      StateTensor::Holder &holder = tensor.holders.emplace_back();
      holder.device = number;
      holder.buffer = load->buffer();
      for (const fb::Range *range : items(load->box())) {
        holder.lo.push_back(range->lo());
        holder.size.push_back(range->hi() - range->lo());
      }
    }
    ++number;
  }
  std::vector<StateTensor> state;
  for (auto &[name, tensor] : found)
    state.push_back(std::move(tensor));
  return state;
}

//===----------------------------------------------------------------------===//
// On the devices
//===----------------------------------------------------------------------===//

void Device::readBuffer(uint32_t buffer, uint64_t bytes, char *to) {
  Stream &stream = *streams_[0];
  stream.copyToHost(StridedCopy::dense(bytes), address(buffer), to);
  stream.synchronize();
}

void Device::writeBuffer(uint32_t buffer, uint64_t bytes, const char *from) {
  Stream &stream = *streams_[0];
  stream.copyFromHost(StridedCopy::dense(bytes), from, address(buffer));
  stream.synchronize();
}

Device *Engine::localDevice(uint32_t number) const {
  for (const std::unique_ptr<Device> &device : devices_)
    if (device->id() == number)
      return device.get();
  return nullptr;
}

void Engine::readState(const StateTensor &tensor, void *data) {
  rest();
  auto *whole = static_cast<char *>(data);
  std::vector<const StateTensor::Holder *> holders = tensor.distinct();
  // Every rank gives the boxes of its devices, in one order.
  std::string mine;
  for (const StateTensor::Holder *holder : holders)
    if (Device *device = localDevice(holder->device)) {
      uint64_t bytes = tensor.bytes(*holder);
      mine.resize(mine.size() + bytes);
      device->readBuffer(holder->buffer, bytes,
                         mine.data() + mine.size() - bytes);
    }
  std::vector<std::string> all =
      group_ ? group_->gather(mine) : std::vector<std::string>{std::move(mine)};
  if (group_ && group_->rank() != 0) // Only rank 0 gets them.
    return;
  std::vector<uint64_t> at(all.size(), 0);
  for (const StateTensor::Holder *holder : holders) {
    uint32_t rank = placement_.rankOf[holder->device];
    tensor.fromHolder(*holder).execute(all[rank].data() + at[rank], whole);
    at[rank] += tensor.bytes(*holder);
  }
}

void Engine::writeState(const StateTensor &tensor, const void *data) {
  rest();
  auto bytes = static_cast<size_t>(byteCount(tensor.element, tensor.shape));
  std::string received;
  const auto *whole = static_cast<const char *>(data);
  if (group_) {
    std::string mine(group_->rank() == 0 ? whole : "",
                     group_->rank() == 0 ? bytes : 0);
    received = std::move(group_->allGather(mine)[0]);
    whole = received.data();
  }
  std::vector<char> dense;
  for (const StateTensor::Holder &holder : tensor.holders)
    if (Device *device = localDevice(holder.device)) {
      dense.resize(tensor.bytes(holder));
      tensor.toHolder(holder).execute(whole, dense.data());
      device->writeBuffer(holder.buffer, dense.size(), dense.data());
    }
}
