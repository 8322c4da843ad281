//===- Device.cpp - One device of a model ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Device.h"
#include "Engine/Copies.h"
#include "Engine/Loads.h"
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
  void enqueue(Stream &stream, const Step &) override {
    kernel->enqueue(stream);
  }

private:
  std::unique_ptr<BoundKernel> kernel;
};
} // namespace

Device::Device(uint32_t id, std::shared_ptr<const CompiledModel> compiled,
               const Backend &backend, const Links &links, unsigned streamSpins)
    : number(id), model(std::move(compiled)),
      rows(model->table().devices()->Get(id)), backend(backend),
      traits(backend.traits()), device(backend.makeDevice(id)),
      activations(*device, rows->activation_bytes()),
      parameters(*device, rows->parameter_bytes()),
      kernels(backend, model->table(),
              [this](uint32_t symbol) { return model->native(symbol); }) {
  for (StreamProgram &program : streams)
    program.stream = device->makeStream(streamSpins);
  makeRows(links);
  linkWaits();
}

Device::~Device() {
  if (communication.size())
    device->unpin(communication.data());
}

DevicePointer Device::address(uint32_t index) const {
  const fb::Buffer *buffer = rows->buffers()->Get(index);
  const DeviceBlock &block =
      buffer->space() == fb::Space::Activations ? activations : parameters;
  return block.data() + buffer->offset();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void Device::makeRows(const Links &links) {
  BufferAddress at = [this](uint32_t buffer) { return address(buffer); };
  MovingRows moving{number, *device, links, at};
  uint32_t index = 0;
  for (const fb::Row *row : items(rows->main())) {
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
    for (StreamProgram &program : streams)
      for (ProgramRow &row : program.rows)
        if (movesData(*row.row))
          fn(*row.action);
  };
  forEachMoving(
      [&](RowAction &row) { bytes = std::max(bytes, row.ownBytes()); });
  communication = Arena(bytes);
  if (bytes)
    device->pin(communication.data(), bytes);
  forEachMoving(
      [&](RowAction &row) { row.setOwnMemory(communication.data()); });
  for (StreamProgram &program : streams) {
    program.times.resize(program.rows.size());
    for (const ProgramRow &row : program.rows)
      for (auto next = static_cast<size_t>(row.row->phase()) + 1; next != 4;
           ++next)
        ++program.phases[next];
  }
}

void Device::linkWaits() {
  // A stream is in order: a wait stands for all earlier rows of the other
  // stream, and for all later rows of this one.
  uint32_t awaited[2] = {0, 0};
  for (const auto &[stream, position] : positions) {
    ProgramRow &row = streams[stream].rows[position];
    uint32_t last = awaited[stream];
    for (uint32_t wait : items(row.row->waits())) {
      auto [other, at] = positions[wait];
      if (other != stream)
        last = std::max(last, at + 1);
    }
    if (last == awaited[stream])
      continue;
    awaited[stream] = last;
    ProgramRow &signal = streams[1 - stream].rows[last - 1];
    signal.event = device->makeEvent();
    row.awaited = signal.event.get();
  }
}

// A call would take as long as all else that a row costs beside its work.
[[gnu::always_inline]] inline void
Device::enqueue(StreamProgram &program, uint32_t position, const Step &current,
                bool trace, std::exception_ptr &failure) {
  ProgramRow &row = program.rows[position];
  Stream &stream = *program.stream;
  if (row.awaited && !SOAP_FAULT("wait-ignored"))
    stream.wait(*row.awaited);
  // This is no fault, but brings missing waits to light: devices fall apart.
  if (SOAP_FAULT("communication-slow") && &program == &streams[1])
    std::this_thread::sleep_for(std::chrono::milliseconds(50 * (number + 1)));
  if (trace)
    stream.stamp(program.times[position].start);
  try {
    row.action->enqueue(stream, current);
  } catch (...) {
    if (!failure)
      failure = std::current_exception();
  }
  if (trace)
    stream.stamp(program.times[position].end);
  ++program.rowsRun;
  if (row.event)
    stream.record(*row.event);
}

std::exception_ptr Device::runInPlace(StreamProgram &program, fb::Phase phase,
                                      const Step &current, bool trace) {
  std::exception_ptr failure;
  auto index = static_cast<size_t>(phase);
  uint32_t end = program.phases[index + 1];
  for (uint32_t i = program.phases[index]; i != end; ++i)
    enqueue(program, i, current, trace, failure);
  return failure;
}

std::exception_ptr Device::runQueued(fb::Phase phase, const Step &current,
                                     bool trace) {
  std::exception_ptr failure;
  auto enqueueAll = [&] {
    for (const auto &[stream, position] : positions)
      if (streams[stream].rows[position].row->phase() == phase)
        enqueue(streams[stream], position, current, trace, failure);
  };
  if (phase != fb::Phase::Step || !traits.captures || trace) {
    enqueueAll();
  } else if (!step) {
    device->beginCapture();
    enqueueAll();
    step = device->endCapture();
    step->launch();
  } else {
    auto index = static_cast<size_t>(phase);
    for (StreamProgram &program : streams)
      program.rowsRun += program.phases[index + 1] - program.phases[index];
    step->launch();
  }
  for (StreamProgram &program : streams)
    try {
      program.stream->synchronize();
    } catch (...) {
      if (!failure)
        failure = std::current_exception();
    }
  return failure;
}

std::exception_ptr Device::run(fb::Stream stream, fb::Phase phase,
                               const Step &current, bool trace) {
  return traits.runsInPlace ? runInPlace(streams[static_cast<unsigned>(stream)],
                                         phase, current, trace)
                            : runQueued(phase, current, trace);
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

void Device::load(const fb::Load &load, const Safetensors *weights) {
  DevicePointer target = address(load.buffer());
  if (traits.memoryIsHost)
    return executeLoad(load, weights, hostAddress(target));
  uint64_t bytes = elementSize(load.element());
  for (const fb::Range *range : items(load.box()))
    bytes *= static_cast<uint64_t>(range->hi() - range->lo());
  std::vector<char> host(bytes);
  executeLoad(load, weights, host.data());
  StridedCopy box = StridedCopy::dense(bytes);
  streams[0].stream->copyFromHost(box, host.data(), target);
  streams[0].stream->synchronize();
}

void Device::runInit(const Safetensors *weights) {
  // Loads in table order before the row that they stand before.
  std::multimap<int64_t, const fb::Load *> loads;
  for (const fb::Load *load : items(rows->loads()))
    loads.emplace(load->init_row(), load);
  auto loadBefore = [&](int64_t row) {
    auto [begin, end] = loads.equal_range(row);
    for (auto it = begin; it != end; ++it)
      load(*it->second, weights);
  };
  loadBefore(-1);
  BufferAddress at = [this](uint32_t buffer) { return address(buffer); };
  Stream &stream = *streams[0].stream;
  int64_t index = 0;
  for (const fb::Row *row : items(rows->init())) {
    loadBefore(index++);
    std::unique_ptr<RowAction> action;
    if (const auto *launch = row->body_as_Launch())
      action = makeLaunch(*launch);
    else if (const auto *copy = row->body_as_Copy())
      action = makeCopy(*copy, at);
    if (!action)
      continue;
    action->enqueue(stream, {});
    stream.synchronize();
  }
}

void Device::prepare(const Safetensors *weights, const Observer &observer) {
  needs = MemoryNeeds(*rows);
  needs.communication = communication.size();
  needs.scratchpad = kernels.scratchpadBytes(*rows);
  scratchpad = DeviceBlock(
      *device, std::max(needs.scratchpad, rows->scratchpad_bytes()));
  runInit(weights);
  if (observer)
    observeParameters(observer);
  auto meter = [&] {
    needs.reordered = constants.bytes();
    needs.updatePeak();
  };
  meter();
  ParameterUses uses(kernels, *rows);
  for (StreamProgram &program : streams)
    for (ProgramRow &row : program.rows) {
      const auto *launch = row.row->body_as_Launch();
      if (!launch)
        continue;
      row.action = makeLaunch(*launch);
      meter();
      for (const fb::Buffer *buffer : uses.release(*launch)) {
        parameters.discard(buffer->offset(), buffer->bytes());
        needs.released +=
            backend.discardableBytes(buffer->offset(), buffer->bytes());
      }
    }
  if (observer)
    observeRows(observer);
}

//===----------------------------------------------------------------------===//
// Observed tiles
//===----------------------------------------------------------------------===//

DeviceTile Device::tileOf(const fb::Tile &tile) const {
  const fb::Extent *data = tile.data();
  return describeTile(model->table(), number, tile,
                      address(data->buffer()) + data->offset());
}

void Device::observeParameters(const Observer &observer) {
  std::vector<DeviceTile> tiles;
  for (const fb::Tile *tile : items(rows->tiles()))
    if (tile->row() < 0)
      tiles.push_back(tileOf(*tile));
  TileShow show(std::move(tiles), observer, traits);
  show.enqueue(*streams[0].stream);
  streams[0].stream->synchronize();
}

void Device::observeRows(const Observer &observer) {
  std::map<uint32_t, std::vector<DeviceTile>> tilesOfRow;
  for (const fb::Tile *tile : items(rows->tiles()))
    if (tile->row() >= 0)
      tilesOfRow[static_cast<uint32_t>(tile->row())].push_back(tileOf(*tile));
  for (auto &[row, tiles] : tilesOfRow) {
    auto [stream, position] = positions[row];
    std::unique_ptr<RowAction> &action = streams[stream].rows[position].action;
    action = observe(std::move(action), std::move(tiles), observer, traits);
  }
}
