//===- ProbeRows.cpp - Rows of models made for measuring ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProbeRows.h"
#include <algorithm>
#include <cstring>

using namespace soap;

std::unique_ptr<fb::TensorTypeT> detail::tensor(std::vector<int64_t> shape) {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->element = fb::ElementType::F32;
  type->shape = std::move(shape);
  return type;
}

uint32_t detail::addBuffer(fb::DeviceT &device, const ProbeTarget &target,
                           uint64_t bytes, fb::Space space) {
  uint64_t &arena = space == fb::Space::Activations ? device.activation_bytes
                                                    : device.parameter_bytes;
  device.buffers.emplace_back(space, arena, bytes);
  arena += (bytes + target.alignment - 1) / target.alignment * target.alignment;
  return static_cast<uint32_t>(device.buffers.size() - 1);
}

uint32_t detail::addRow(fb::DeviceT &device, fb::RowBodyUnion body,
                        fb::Stream stream, fb::Phase phase,
                        std::vector<uint32_t> waits) {
  auto row = std::make_unique<fb::RowT>();
  row->phase = phase;
  row->body = std::move(body);
  row->stream = stream;
  row->waits = std::move(waits);
  row->name = "probe";
  auto &rows = device.programs[0]->rows;
  rows.push_back(std::move(row));
  return static_cast<uint32_t>(rows.size() - 1);
}

fb::RowBodyUnion detail::launch(std::vector<uint32_t> operands, uint32_t result,
                                std::vector<uint32_t> constants,
                                std::vector<int64_t> sizes) {
  fb::LaunchT body;
  body.constant_operands = std::move(constants);
  body.operands = std::move(operands);
  body.results = {result};
  body.sizes = std::move(sizes);
  fb::RowBodyUnion row;
  row.Set(std::move(body));
  return row;
}

std::unique_ptr<fb::BoxCopyT> detail::wholeCopy(uint32_t from, uint32_t to,
                                                uint64_t bytes) {
  auto copy = std::make_unique<fb::BoxCopyT>();
  copy->from = from;
  copy->to = to;
  copy->run = bytes;
  return copy;
}

/// A native kernel that makes as many floats as the step moves at a time.
static uint32_t addMaker(fb::DeviceT &device, uint32_t from, uint32_t to,
                         const ProbeStep &step, std::vector<uint32_t> waits) {
  return detail::addRow(device,
                        detail::launch({from}, to, {}, {step.bytes / 4}),
                        fb::Stream::Compute, fb::Phase::Step, std::move(waits));
}

/// How often a step moves `bytes` from one buffer to another.
static int64_t instancesOf(int64_t bytes) {
  constexpr int64_t least = 4, most = 1024;
  return std::clamp(detail::coldBytes / (2 * std::max<int64_t>(bytes, 1)),
                    least, most);
}

int64_t detail::sourceBytes(const ProbeStep &step) {
  return step.run < step.bytes ? 2 * step.bytes : step.bytes;
}

void detail::addBoxes(fb::DeviceT &device, const ProbeTarget &target,
                      const ProbeStep &step) {
  int64_t run = std::min(step.run, step.bytes);
  auto bytes = static_cast<uint64_t>(step.bytes);
  auto whole = static_cast<uint64_t>(sourceBytes(step));
  uint32_t x = addBuffer(device, target, whole);
  for (int64_t i = 0; i != instancesOf(step.bytes); ++i) {
    uint32_t from = addBuffer(device, target, whole);
    uint32_t to = addBuffer(device, target, bytes);
    if (target.stream)
      addRow(device, launch({x}, from, {}, {static_cast<int64_t>(whole / 4)}),
             fb::Stream::Compute);
    auto copy = wholeCopy(from, to, static_cast<uint64_t>(run));
    copy->extents = {step.bytes / run};
    copy->from_strides = {2 * run};
    copy->to_strides = {run};
    fb::CopyT body;
    body.copies.push_back(std::move(copy));
    fb::RowBodyUnion row;
    row.Set(std::move(body));
    addRow(device, std::move(row), fb::Stream::Compute);
  }
}

void detail::addHandOvers(fb::DeviceT &device, const ProbeTarget &target,
                          uint32_t id, const ProbeStep &step) {
  auto bytes = static_cast<uint64_t>(step.bytes);
  uint32_t count = target.devices;
  uint32_t read = addBuffer(device, target, bytes);
  uint32_t work = addBuffer(device, target, aloneBytes);
  constexpr int64_t most = 64;
  int64_t instances = std::min(instancesOf(step.bytes), most);
  std::vector<uint32_t> waits;
  for (int64_t i = 0; i != instances; ++i) {
    uint32_t made = addBuffer(device, target, bytes);
    uint32_t next = addBuffer(device, target, bytes);
    auto &rows = device.programs[0]->rows;
    if (i % count == id) {
      addRow(device, launch({work}, work, {}, {aloneBytes / 4}),
             fb::Stream::Compute, fb::Phase::Step, std::move(waits));
      rows.back()->body.AsLaunch()->kernel = 1;
      rows.back()->name = "alone";
      waits.clear();
    }
    uint32_t maker = addMaker(device, read, made, step, std::move(waits));
    fb::ExchangeT body;
    auto tag = static_cast<uint32_t>(i);
    body.sends.emplace_back((id + 1) % count, tag, fb::Extent(made, 0, bytes));
    body.receives.emplace_back((id + count - 1) % count, tag,
                               fb::Extent(next, 0, bytes));
    fb::RowBodyUnion row;
    row.Set(std::move(body));
    waits = {addRow(device, std::move(row), fb::Stream::Communication,
                    fb::Phase::Step, {maker})};
    read = next;
  }
  addMaker(device, read, addBuffer(device, target, bytes), step,
           std::move(waits));
}

void detail::addHandOverTimes(const std::vector<soap_event> &events,
                              std::vector<int64_t> &times) {
  struct Kernel {
    int64_t start, end; ///< The start is that of the work before it.
  };
  std::vector<std::vector<Kernel>> kernels; // By device.
  const soap_event *work = nullptr;
  for (const soap_event &event : events) {
    kernels.resize(std::max<size_t>(kernels.size(), event.device + 1));
    if (std::strcmp(event.kind, "launch") != 0)
      continue;
    if (std::strcmp(event.name, "alone") == 0) {
      work = &event;
      continue;
    }
    kernels[event.device].push_back(
        {work ? work->start_ns : event.start_ns, event.end_ns});
    work = nullptr;
  }
  size_t count = kernels.size();
  for (size_t device = 0; device != count; ++device)
    for (size_t i = 1; i < kernels[device].size(); ++i) {
      int64_t before = 0;
      for (size_t end :
           {device, (device + 1) % count, (device + count - 1) % count})
        before = std::max(before, kernels[end][i - 1].end);
      times.push_back(std::max<int64_t>(0, kernels[device][i].start - before));
    }
}
