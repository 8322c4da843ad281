//===- Device.cpp - One device of the CPU backend -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Device.h"
#include "Engine/Copies.h"
#include "Engine/Loads.h"
#include "Engine/MovingRows.h"
#include "soap/Testing/PlantedFault.h"
#include <algorithm>
#include <chrono>
#include <thread>

using namespace soap;
using namespace soap::runtime;

int64_t runtime::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

namespace {
class LaunchRow final : public RowAction {
public:
  explicit LaunchRow(std::unique_ptr<BoundKernel> kernel)
      : kernel(std::move(kernel)) {}
  void run(const Step &) override { kernel->run(); }

private:
  std::unique_ptr<BoundKernel> kernel;
};
} // namespace

Device::Device(uint32_t id, std::shared_ptr<const CompiledModel> compiled,
               const Meetings &meetings, Transport &transport,
               const HostLinks &links, unsigned streamSpins)
    : number(id), streamSpins(streamSpins), model(std::move(compiled)),
      device(model->table().devices()->Get(id)),
      activations(device->activation_bytes()),
      parameters(device->parameter_bytes()), transport(transport),
      kernels(model->table(),
              [this](uint32_t symbol) { return model->native(symbol); }) {
  makeRows(meetings, links);
  linkWaits();
}

char *Device::address(uint32_t index) const {
  const fb::Buffer *buffer = device->buffers()->Get(index);
  const Arena &arena =
      buffer->space() == fb::Space::Activations ? activations : parameters;
  return arena.data() + buffer->offset();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void Device::makeRows(const Meetings &meetings, const HostLinks &hostLinks) {
  BufferAddress at = [this](uint32_t buffer) { return address(buffer); };
  MovingRows moving{number, meetings, transport, hostLinks, at};
  uint32_t index = 0;
  for (const fb::Row *row : items(device->main())) {
    ProgramRow result;
    result.row = row;
    if (const auto *copy = row->body_as_Copy())
      result.action = makeCopy(*copy, at);
    else if (movesData(*row))
      result.action = moving.make(*row, index);
    // Launches: prepare().
    ++index;
    auto stream = static_cast<uint8_t>(row->stream());
    positions.emplace_back(stream, streams[stream].rows.size());
    streams[stream].rows.push_back(std::move(result));
  }
  // Rows that move data run one after the other: feeds and drains outside of
  // the step, the others in one stream.
  uint64_t bytes = 0;
  auto forEachMoving = [&](auto fn) {
    for (StreamProgram &stream : streams)
      for (ProgramRow &row : stream.rows)
        if (movesData(*row.row))
          fn(*row.action);
  };
  forEachMoving(
      [&](RowAction &row) { bytes = std::max(bytes, row.ownBytes()); });
  communication = Arena(bytes);
  forEachMoving(
      [&](RowAction &row) { row.setOwnMemory(communication.data()); });
  for (StreamProgram &stream : streams)
    stream.times.resize(stream.rows.size());
}

void Device::linkWaits() {
  // A stream is in order: of all waits on the other one, the last counts.
  for (const auto &[stream, position] : positions) {
    ProgramRow &row = streams[stream].rows[position];
    for (uint32_t wait : items(row.row->waits())) {
      auto [other, at] = positions[wait];
      if (other != stream)
        row.waitFor = std::max(row.waitFor, at + 1);
    }
    if (row.waitFor)
      streams[1 - stream].rows[row.waitFor - 1].signals = true;
  }
}

std::exception_ptr Device::run(fb::Stream streamKind, fb::Phase phase,
                               const Step &step, bool trace) {
  std::exception_ptr failure;
  auto index = static_cast<unsigned>(streamKind);
  StreamProgram &stream = streams[index], &other = streams[1 - index];
  auto size = static_cast<uint32_t>(stream.rows.size());
  uint32_t base = (step.number - 1) * size;
  uint32_t otherBase =
      (step.number - 1) * static_cast<uint32_t>(other.rows.size());
  // Phases stand in order: skip to the first row of this one.
  uint32_t i = 0;
  while (i != size && stream.rows[i].row->phase() < phase)
    ++i;
  for (; i != size && stream.rows[i].row->phase() == phase; ++i) {
    ProgramRow &row = stream.rows[i];
    if (row.waitFor && !SOAP_FAULT("wait-ignored"))
      other.progress.wait(otherBase + row.waitFor, streamSpins);
    // No fault, but what brings missing waits to light: devices fall apart.
    if (SOAP_FAULT("communication-slow") &&
        streamKind == fb::Stream::Communication)
      std::this_thread::sleep_for(std::chrono::milliseconds(50 * (number + 1)));
    if (trace)
      stream.times[i].start = now();
    try {
      row.action->run(step);
    } catch (...) {
      if (!failure)
        failure = std::current_exception();
      // Half of its messages would be waited for, for ever.
      if (movesData(*row.row))
        transport.abandon(messageOf(std::current_exception()));
    }
    if (trace)
      stream.times[i].end = now();
    ++stream.rowsRun;
    if (row.signals)
      stream.progress.set(base + i + 1);
  }
  return failure;
}

//===----------------------------------------------------------------------===//
// Kernels and parameters
//===----------------------------------------------------------------------===//

std::unique_ptr<RowAction> Device::makeLaunch(const fb::Launch &launch) {
  Binding binding;
  for (uint32_t buffer : items(launch.operands()))
    binding.operands.push_back(address(buffer));
  for (uint32_t buffer : items(launch.results()))
    binding.results.push_back(address(buffer));
  binding.sizes = toVector(launch.sizes());
  binding.scratchpad = scratchpad.data();
  binding.constants = &constants;
  return std::make_unique<LaunchRow>(kernels.get(launch).bind(binding));
}

void Device::runInit(const Safetensors *weights) {
  // Loads in table order before the row that they stand before.
  std::multimap<int64_t, const fb::Load *> loads;
  for (const fb::Load *load : items(device->loads()))
    loads.emplace(load->init_row(), load);
  auto loadBefore = [&](int64_t row) {
    auto [begin, end] = loads.equal_range(row);
    for (auto it = begin; it != end; ++it)
      executeLoad(*it->second, weights, address(it->second->buffer()));
  };
  loadBefore(-1);
  BufferAddress at = [this](uint32_t buffer) { return address(buffer); };
  int64_t index = 0;
  for (const fb::Row *row : items(device->init())) {
    loadBefore(index++);
    if (const auto *launch = row->body_as_Launch())
      makeLaunch(*launch)->run({});
    else if (const auto *copy = row->body_as_Copy())
      makeCopy(*copy, at)->run({});
  }
}

void Device::prepare(const Safetensors *weights, const Observer &observer) {
  scratchpad = Arena(std::max<uint64_t>(kernels.scratchpadBytes(*device),
                                        device->scratchpad_bytes()));
  needs = MemoryNeeds(*device);
  needs.communication = communication.size();
  needs.scratchpad = kernels.scratchpadBytes(*device);
  runInit(weights);
  if (observer)
    observeParameters(observer);
  auto meter = [&] {
    needs.reordered = constants.bytes();
    needs.updatePeak();
  };
  meter();
  ParameterUses uses(kernels, *device);
  for (StreamProgram &stream : streams)
    for (ProgramRow &row : stream.rows) {
      const auto *launch = row.row->body_as_Launch();
      if (!launch)
        continue;
      row.action = makeLaunch(*launch);
      meter();
      for (const fb::Buffer *buffer : uses.release(*launch))
        needs.released += parameters.discard(buffer->offset(), buffer->bytes());
    }
  if (observer)
    observeRows(observer);
}

//===----------------------------------------------------------------------===//
// Observed tiles
//===----------------------------------------------------------------------===//

soap_tile Device::tileOf(const fb::Tile &tile) const {
  const fb::Extent *data = tile.data();
  return describeTile(model->table(), number, tile,
                      address(data->buffer()) + data->offset());
}

void Device::observeParameters(const Observer &observer) const {
  for (const fb::Tile *tile : items(device->tiles()))
    if (tile->row() < 0)
      observer(tileOf(*tile));
}

void Device::observeRows(const Observer &observer) {
  std::map<uint32_t, std::vector<soap_tile>> tilesOfRow;
  for (const fb::Tile *tile : items(device->tiles()))
    if (tile->row() >= 0)
      tilesOfRow[static_cast<uint32_t>(tile->row())].push_back(tileOf(*tile));
  for (auto &[row, tiles] : tilesOfRow) {
    auto [stream, position] = positions[row];
    std::unique_ptr<RowAction> &action = streams[stream].rows[position].action;
    action = observe(std::move(action), std::move(tiles), observer);
  }
}
