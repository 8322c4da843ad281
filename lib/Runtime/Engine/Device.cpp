//===- Device.cpp - One device of the CPU backend -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Device.h"
#include "Engine/Copies.h"
#include "Engine/Loads.h"
#include <algorithm>
#include <chrono>
#include <set>

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
               unsigned streamSpins)
    : number(id), streamSpins(streamSpins), model(std::move(compiled)),
      device(model->table().devices()->Get(id)),
      activations(device->activation_bytes()),
      parameters(device->parameter_bytes()), scratch(device->scratch_bytes()),
      chosen(items(model->table().kernels()).size()) {
  makeRows(meetings, transport);
  linkWaits();
}

char *Device::address(uint32_t index) const {
  const fb::Buffer *buffer = device->buffers()->Get(index);
  const Arena &arena = buffer->space() == fb::Space::Activations  ? activations
                       : buffer->space() == fb::Space::Parameters ? parameters
                                                                  : scratch;
  return arena.data() + buffer->offset();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void Device::makeRows(const Meetings &meetings, Transport &transport) {
  BufferAddress at = [this](uint32_t buffer) { return address(buffer); };
  auto span = [&](const fb::Extent &extent) {
    return Span{address(extent.buffer()) + extent.offset(), extent.bytes()};
  };
  uint32_t index = 0;
  for (const fb::Row *row : items(device->main())) {
    const Meetings::RowLinks &links = meetings.rows[number][index++];
    ProgramRow result;
    result.row = row;
    if (const auto *copy = row->body_as_Copy()) {
      result.action = makeCopy(*copy, at);
    } else if (const auto *feed = row->body_as_Feed()) {
      result.action = makeFeed(*feed, number, at);
    } else if (const auto *drain = row->body_as_Drain()) {
      result.action = makeDrain(*drain, number, at);
    } else if (const auto *exchange = row->body_as_Exchange()) {
      ExchangePart part;
      part.device = number;
      for (uint32_t i = 0; i != links.sends.size(); ++i) {
        const fb::Message *message = exchange->sends()->Get(i);
        part.sends.push_back(
            {links.sends[i], message->peer(), span(message->data())});
      }
      for (uint32_t i = 0; i != links.receives.size(); ++i) {
        const fb::Message *message = exchange->receives()->Get(i);
        part.receives.push_back(
            {links.receives[i], message->peer(), span(message->data())});
      }
      result.action = transport.makeExchange(std::move(part));
    } else if (const auto *collective = row->body_as_Collective()) {
      CollectivePart part{collective->kind(),
                          links.meeting,
                          collective->member(),
                          toVector(collective->group()),
                          collective->combine(),
                          collective->element(),
                          {},
                          {}};
      for (const fb::Extent *extent : items(collective->send()))
        part.send.push_back(span(*extent));
      for (const fb::Extent *extent : items(collective->receive()))
        part.receive.push_back(span(*extent));
      result.action = transport.makeCollective(std::move(part));
    } // Launches: prepare().
    auto stream = static_cast<uint8_t>(row->stream());
    positions.emplace_back(stream, streams[stream].rows.size());
    streams[stream].rows.push_back(std::move(result));
  }
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
    if (row.waitFor)
      other.progress.wait(otherBase + row.waitFor, streamSpins);
    if (trace)
      stream.times[i].start = now();
    try {
      row.action->run(step);
    } catch (...) {
      if (!failure)
        failure = std::current_exception();
    }
    if (trace)
      stream.times[i].end = now();
    if (row.signals)
      stream.progress.set(base + i + 1);
  }
  return failure;
}

//===----------------------------------------------------------------------===//
// Kernels and parameters
//===----------------------------------------------------------------------===//

static std::vector<bool> constantOperands(const fb::Launch &launch) {
  std::vector<bool> result(items(launch.operands()).size(), false);
  for (uint32_t operand : items(launch.constant_operands()))
    result[operand] = true;
  return result;
}

Kernel &Device::kernelFor(const fb::Launch &launch) {
  auto &kernel = kernels[{launch.kernel(), constantOperands(launch)}];
  if (kernel)
    return *kernel;
  const fb::Kernel &table = *model->table().kernels()->Get(launch.kernel());
  if (const auto *native = table.op_as_Native())
    kernel = makeNativeKernel(model->native(native->symbol()));
  else
    kernel = makeKernel(table, constantOperands(launch));
  chosen[launch.kernel()] = kernel->implementation();
  return *kernel;
}

std::unique_ptr<RowAction> Device::makeLaunch(const fb::Launch &launch) {
  Binding binding;
  for (uint32_t buffer : items(launch.operands()))
    binding.operands.push_back(address(buffer));
  for (uint32_t buffer : items(launch.results()))
    binding.results.push_back(address(buffer));
  for (uint32_t buffer : items(launch.scratch()))
    binding.scratch.push_back(address(buffer));
  binding.sizes = toVector(launch.sizes());
  binding.scratchpad = scratchpad.data();
  binding.constants = &constants;
  return std::make_unique<LaunchRow>(kernelFor(launch).bind(binding));
}

/// One scratchpad serves all launches of a device, as they run one at a time.
void Device::reserveScratchpad(
    const std::vector<const fb::Launch *> &launches) {
  size_t bytes = 0;
  for (const fb::Launch *launch : launches)
    bytes = std::max(bytes, kernelFor(*launch).scratchpadBytes());
  scratchpad = Arena(bytes);
}

void Device::prepare(const Safetensors *weights) {
  for (const fb::Load *load : items(device->loads()))
    executeLoad(*load, weights, address(load->buffer()));

  std::vector<const fb::Launch *> launches;
  for (const auto *rows : {device->init(), device->main()})
    for (const fb::Row *row : items(rows))
      if (const auto *launch = row->body_as_Launch())
        launches.push_back(launch);
  reserveScratchpad(launches);

  BufferAddress at = [this](uint32_t buffer) { return address(buffer); };
  for (const fb::Row *row : items(device->init())) {
    if (const auto *launch = row->body_as_Launch())
      makeLaunch(*launch)->run({});
    else if (const auto *copy = row->body_as_Copy())
      makeCopy(*copy, at)->run({});
  }
  // Parameters that are only read from reordered copies need no memory of their
  // own once the last launch that copies them is made.
  std::map<uint32_t, uint32_t> originals = copiedParameters();
  for (StreamProgram &stream : streams)
    for (ProgramRow &row : stream.rows) {
      const auto *launch = row.row->body_as_Launch();
      if (!launch)
        continue;
      row.action = makeLaunch(*launch);
      Kernel &kernel = kernelFor(*launch);
      for (uint32_t i = 0; i != items(launch->operands()).size(); ++i) {
        auto original = originals.find(launch->operands()->Get(i));
        if (!kernel.reorders(i) || original == originals.end() ||
            --original->second != 0)
          continue;
        const fb::Buffer *buffer = device->buffers()->Get(original->first);
        parameters.discard(buffer->offset(), buffer->bytes());
      }
    }
}

/// The parameter buffers that the main program reads from reordered copies
/// only, with the number of operands that do. Buffers that overlap others are
/// left out.
std::map<uint32_t, uint32_t> Device::copiedParameters() {
  auto overlaps = [](const fb::Buffer &a, const fb::Buffer &b) {
    return a.offset() < b.offset() + b.bytes() &&
           b.offset() < a.offset() + a.bytes();
  };
  std::map<uint32_t, uint32_t> copied;
  std::set<uint32_t> read;
  auto use = [&](uint32_t buffer) {
    if (device->buffers()->Get(buffer)->space() == fb::Space::Parameters)
      read.insert(buffer);
  };
  for (const fb::Row *row : items(device->main())) {
    if (const auto *launch = row->body_as_Launch()) {
      Kernel &kernel = kernelFor(*launch);
      for (uint32_t i = 0; i != items(launch->operands()).size(); ++i) {
        if (kernel.reorders(i))
          ++copied[launch->operands()->Get(i)];
        else
          use(launch->operands()->Get(i));
      }
      for (uint32_t buffer : items(launch->results()))
        use(buffer);
      for (uint32_t buffer : items(launch->scratch()))
        use(buffer);
    } else if (const auto *copy = row->body_as_Copy()) {
      for (const fb::BoxCopy *box : items(copy->copies())) {
        use(box->from());
        use(box->to());
      }
      for (const fb::Fill *fill : items(copy->fills()))
        use(fill->buffer());
    } else if (const auto *exchange = row->body_as_Exchange()) {
      for (const fb::Message *message : items(exchange->sends()))
        use(message->data().buffer());
      for (const fb::Message *message : items(exchange->receives()))
        use(message->data().buffer());
    } else if (const auto *collective = row->body_as_Collective()) {
      for (const fb::Extent *extent : items(collective->send()))
        use(extent->buffer());
      for (const fb::Extent *extent : items(collective->receive()))
        use(extent->buffer());
    } else if (const auto *drain = row->body_as_Drain()) {
      for (const fb::BoxCopy *box : items(drain->copies()))
        use(box->from());
    } else if (const auto *feed = row->body_as_Feed()) {
      for (const fb::BoxCopy *box : items(feed->copies()))
        use(box->to());
    }
  }
  std::map<uint32_t, uint32_t> result;
  for (const auto &[index, count] : copied) {
    const fb::Buffer &buffer = *device->buffers()->Get(index);
    auto touches = [&](uint32_t other) {
      return overlaps(buffer, *device->buffers()->Get(other));
    };
    bool needed =
        std::any_of(read.begin(), read.end(), touches) ||
        std::any_of(copied.begin(), copied.end(),
                    [&, self = index](const auto &other) {
                      return other.first != self && touches(other.first);
                    });
    if (!needed)
      result.emplace(index, count);
  }
  return result;
}
