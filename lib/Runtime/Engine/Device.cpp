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

namespace {
class LaunchRow final : public RowAction {
public:
  explicit LaunchRow(std::unique_ptr<BoundKernel> kernel)
      : kernel_(std::move(kernel)) {}
  void enqueue(Stream &stream, const Step &) override {
    kernel_->enqueue(stream);
  }

private:
  std::unique_ptr<BoundKernel> kernel_;
};
} // namespace

Device::Device(const DevicePlace &place,
               std::shared_ptr<const CompiledModel> compiled,
               const Backend &backend, const Links &links,
               const CoreSplit &split)
    : id_(place.number), model_(std::move(compiled)),
      table_(model_->table().devices()->Get(id_)), backend_(backend),
      traits_(backend.traits()), device_(backend.makeDevice(place)),
      activations_(*device_, table_->activation_bytes()),
      parameters_(*device_, table_->parameter_bytes()),
      kernels_(backend, *device_, model_->table(),
               [this](uint32_t symbol) { return model_->native(symbol); }) {
  Patience computing = split.computeStream;
  if (split.areMates)
    computing.mates = &mates_;
  streams_[static_cast<size_t>(fb::Stream::Compute)] =
      device_->makeStream(computing, /*hasPriority=*/false);
  streams_[static_cast<size_t>(fb::Stream::Communication)] =
      device_->makeStream(split.communicationStream, /*hasPriority=*/false);
  programs_.resize(items(table_->programs()).size());
  for (uint32_t p = 0; p != programs_.size(); ++p) {
    makeRows(p, links);
    linkWaits(programs_[p]);
  }
  if (hasRows(fb::Stream::Priority))
    streams_[static_cast<size_t>(fb::Stream::Priority)] =
        device_->makeStream(split.communicationStream, /*hasPriority=*/true);
  shareMovingMemory();
}

bool Device::hasRows(fb::Stream stream) const {
  return std::any_of(
      programs_.begin(), programs_.end(), [&](const DeviceProgram &program) {
        return !program.streams[static_cast<size_t>(stream)].rows.empty();
      });
}

std::vector<fb::Stream> Device::otherThreads() const {
  std::vector<fb::Stream> streams;
  for (fb::Stream stream : {fb::Stream::Communication, fb::Stream::Priority})
    if (traits_.runsInPlace && hasRows(stream))
      streams.push_back(stream);
  return streams;
}

Device::~Device() {
  if (communication_.size())
    device_->unpin(communication_.data());
}

DevicePointer Device::address(uint32_t index) const {
  const fb::Buffer *buffer = table_->buffers()->Get(index);
  const DeviceBlock &block =
      buffer->space() == fb::Space::Activations ? activations_ : parameters_;
  return block.data() + buffer->offset();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void Device::makeRows(uint32_t number, const Links &links) {
  DeviceProgram &program = programs_[number];
  BufferAddress at = [this](uint32_t buffer) { return address(buffer); };
  MovingRows moving{id_, *device_, links, at};
  uint32_t index = 0;
  for (const fb::Row *row : rowsOf(*table_, number)) {
    ProgramRow result;
    result.row = row;
    if (const auto *copy = row->body_as_Copy())
      result.action = makeCopy(*copy, at);
    else if (movesData(*row))
      result.action = moving.make(*row, number, index);
    // Launches: prepare().
    ++index;
    auto stream = static_cast<uint8_t>(row->stream());
    program.positions.emplace_back(stream, program.streams[stream].rows.size());
    program.streams[stream].rows.push_back(std::move(result));
  }
  for (StreamProgram &stream : program.streams) {
    stream.times.resize(stream.rows.size());
    for (const ProgramRow &row : stream.rows)
      for (auto next = static_cast<size_t>(row.row->phase()) + 1; next != 4;
           ++next)
        ++stream.phases[next];
  }
}

void Device::shareMovingMemory() {
  MovingMemory memory;
  auto forEachMoving = [&](auto fn) {
    for (DeviceProgram &program : programs_)
      for (StreamProgram &stream : program.streams)
        for (ProgramRow &row : stream.rows)
          if (movesData(*row.row))
            fn(row.row->stream(), *row.action);
  };
  forEachMoving([&](fb::Stream stream, RowAction &row) {
    memory.add(stream, row.ownBytes());
  });
  communication_ = Arena(memory.bytes());
  if (memory.bytes())
    device_->pin(communication_.data(), memory.bytes());
  forEachMoving([&](fb::Stream stream, RowAction &row) {
    row.setOwnMemory(communication_.data() + memory.begin(stream));
  });
}

void Device::linkWaits(DeviceProgram &program) {
  // A stream is in order: a wait stands for all earlier rows of the other
  // stream, and for all later rows of this one. [stream that waits][other]
  std::array<std::array<uint32_t, streamCount>, streamCount> awaited = {};
  for (const auto &[stream, position] : program.positions) {
    ProgramRow &row = program.streams[stream].rows[position];
    std::array<uint32_t, streamCount> last = awaited[stream];
    for (uint32_t wait : items(row.row->waits())) {
      auto [other, at] = program.positions[wait];
      // Phases come one after the other by themselves, and a captured one must
      // not wait for what is not in it.
      const ProgramRow &before = program.streams[other].rows[at];
      if (other != stream && before.row->phase() == row.row->phase())
        last[other] = std::max(last[other], at + 1);
    }
    for (size_t other = 0; other != streamCount; ++other) {
      if (last[other] == awaited[stream][other])
        continue;
      awaited[stream][other] = last[other];
      ProgramRow &signal = program.streams[other].rows[last[other] - 1];
      signal.events[stream] = device_->makeEvent();
      row.awaited[other] = signal.events[stream].get();
    }
  }
}

[[gnu::always_inline]] inline void
Device::enqueue(uint8_t number, uint32_t position, const Step &current,
                bool trace, std::exception_ptr &failure) {
  StreamProgram &program = programs_[current.program].streams[number];
  ProgramRow &row = program.rows[position];
  Stream &stream = *streams_[number];
  for (Event *awaited : row.awaited)
    if (awaited && !SOAP_FAULT("wait-ignored"))
      stream.wait(*awaited);
  // This is no fault. It delays the communication of each device by another
  // time, so that a missing wait shows.
  if (SOAP_FAULT("communication-slow") && number != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(50 * (id_ + 1)));
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
  for (const std::unique_ptr<Event> &event : row.events)
    if (event)
      stream.record(*event);
}

std::exception_ptr Device::runInPlace(fb::Stream stream, fb::Phase phase,
                                      const Step &current, bool trace) {
  std::exception_ptr failure;
  auto number = static_cast<uint8_t>(stream);
  auto index = static_cast<size_t>(phase);
  const auto &phases = programs_[current.program].streams[number].phases;
  for (uint32_t i = phases[index], end = phases[index + 1]; i != end; ++i)
    enqueue(number, i, current, trace, failure);
  return failure;
}

bool Device::canCapture(const DeviceProgram &program) const {
  auto canCaptureRow = [&](const ProgramRow &row) {
    return row.row->phase() != fb::Phase::Step ||
           (row.action->isCapturable() &&
            (traits_.capturedCallsWait || !row.action->callsHost()));
  };
  auto canCaptureAll = [&](const StreamProgram &stream) {
    return std::all_of(stream.rows.begin(), stream.rows.end(), canCaptureRow);
  };
  return traits_.captures &&
         std::all_of(std::begin(program.streams), std::end(program.streams),
                     canCaptureAll);
}

std::exception_ptr Device::runQueued(fb::Phase phase, const Step &current,
                                     bool trace) {
  std::exception_ptr failure;
  DeviceProgram &program = programs_[current.program];
  auto enqueueAll = [&] {
    for (const auto &[stream, position] : program.positions)
      if (program.streams[stream].rows[position].row->phase() == phase)
        enqueue(stream, position, current, trace, failure);
  };
  auto guarded = [&](auto body) {
    try {
      body();
    } catch (...) {
      if (!failure)
        failure = std::current_exception();
    }
  };
  bool captures = program.step || (program.plainSteps && canCapture(program));
  if (phase != fb::Phase::Step || trace || !captures) {
    guarded(enqueueAll);
    program.plainSteps += phase == fb::Phase::Step;
  } else if (!program.step) {
    guarded([&] { device_->beginCapture(); });
    guarded(enqueueAll);
    guarded([&] { program.step = device_->endCapture(); });
    // A graph of rows that failed is none.
    if (failure)
      program.step.reset();
    else
      guarded([&] { program.step->launch(); });
  } else {
    auto index = static_cast<size_t>(phase);
    for (StreamProgram &stream : program.streams)
      stream.rowsRun += stream.phases[index + 1] - stream.phases[index];
    guarded([&] { program.step->launch(); });
  }
  for (const std::unique_ptr<Stream> &stream : streams_)
    if (stream)
      guarded([&] { stream->synchronize(); });
  return failure;
}

std::exception_ptr Device::run(fb::Stream stream, fb::Phase phase,
                               const Step &current, bool trace) {
  return traits_.runsInPlace ? runInPlace(stream, phase, current, trace)
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
  binding.scratchpad = scratchpad_.data();
  binding.constants = &constants_;
  return std::make_unique<LaunchRow>(kernels_.get(launch).bind(binding));
}

void Device::load(const fb::Load &load, const Safetensors *weights) {
  DevicePointer target = address(load.buffer());
  if (traits_.memoryIsHost)
    return executeLoad(load, weights, hostAddress(target));
  uint64_t bytes = elementSize(load.element());
  for (const fb::Range *range : items(load.box()))
    bytes *= static_cast<uint64_t>(range->hi() - range->lo());
  std::vector<char> host(bytes);
  executeLoad(load, weights, host.data());
  StridedCopy box = StridedCopy::dense(bytes);
  streams_[0]->copyFromHost(box, host.data(), target);
  streams_[0]->synchronize();
}

void Device::runInit(const Safetensors *weights) {
  // Loads in table order before the row that they stand before.
  std::multimap<int64_t, const fb::Load *> loads;
  for (const fb::Load *load : items(table_->loads()))
    loads.emplace(load->init_row(), load);
  auto loadBefore = [&](int64_t row) {
    auto [begin, end] = loads.equal_range(row);
    for (auto it = begin; it != end; ++it)
      load(*it->second, weights);
  };
  loadBefore(-1);
  BufferAddress at = [this](uint32_t buffer) { return address(buffer); };
  Stream &stream = *streams_[0];
  int64_t index = 0;
  for (const fb::Row *row : items(table_->init())) {
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
  memory_ = MemoryNeeds(*table_);
  memory_.communication = communication_.size();
  memory_.scratchpad = kernels_.scratchpadBytes(*table_);
  scratchpad_ = DeviceBlock(
      *device_, std::max(memory_.scratchpad, table_->scratchpad_bytes()));
  runInit(weights);
  if (observer)
    observeParameters(observer);
  auto meter = [&] {
    memory_.reordered = constants_.bytes();
    memory_.updatePeak();
  };
  meter();
  ParameterUses uses(kernels_, *table_);
  auto bind = [&](ProgramRow &row) {
    const auto *launch = row.row->body_as_Launch();
    if (!launch)
      return;
    row.action = makeLaunch(*launch);
    meter();
    for (const fb::Buffer *buffer : uses.release(*launch)) {
      parameters_.discard(buffer->offset(), buffer->bytes());
      memory_.released +=
          backend_.discardableBytes(buffer->offset(), buffer->bytes());
    }
  };
  for (DeviceProgram &program : programs_)
    for (StreamProgram &stream : program.streams)
      for (ProgramRow &row : stream.rows)
        bind(row);
  for (uint32_t p = 0; observer && p != programs_.size(); ++p)
    observeRows(p, observer);
}

//===----------------------------------------------------------------------===//
// Observed tiles
//===----------------------------------------------------------------------===//

DeviceTile Device::tileOf(uint32_t program, const fb::Tile &tile) const {
  const fb::Extent *data = tile.data();
  return describeTile(model_->table(), program, id_, tile,
                      address(data->buffer()) + data->offset());
}

void Device::observeParameters(const Observer &observer) {
  std::vector<DeviceTile> tiles;
  for (uint32_t p = 0; p != programs_.size(); ++p)
    for (const fb::Tile *tile : items(table_->programs()->Get(p)->tiles()))
      if (tile->row() < 0)
        tiles.push_back(tileOf(p, *tile));
  TileShow show(std::move(tiles), observer, traits_);
  show.enqueue(*streams_[0]);
  streams_[0]->synchronize();
}

void Device::observeRows(uint32_t number, const Observer &observer) {
  std::map<uint32_t, std::vector<DeviceTile>> tilesOfRow;
  for (const fb::Tile *tile : items(table_->programs()->Get(number)->tiles()))
    if (tile->row() >= 0)
      tilesOfRow[static_cast<uint32_t>(tile->row())].push_back(
          tileOf(number, *tile));
  DeviceProgram &program = programs_[number];
  for (auto &[row, tiles] : tilesOfRow) {
    auto [stream, position] = program.positions[row];
    std::unique_ptr<RowAction> &action =
        program.streams[stream].rows[position].action;
    action = observe(std::move(action), std::move(tiles), observer, traits_);
  }
}
