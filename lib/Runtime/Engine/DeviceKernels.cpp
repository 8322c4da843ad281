//===- DeviceKernels.cpp - Kernels of a device, and their memory ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/DeviceKernels.h"
#include <algorithm>
#include <set>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// DeviceKernels
//===----------------------------------------------------------------------===//

DeviceKernels::DeviceKernels(const Backend &backend, BackendDevice &device,
                             const fb::Model &model, Natives natives)
    : backend_(backend), device_(device), model_(model),
      natives_(std::move(natives)),
      implementations_(items(model.kernels()).size()) {}

static std::vector<bool> constantOperands(const fb::Launch &launch) {
  std::vector<bool> result(items(launch.operands()).size(), false);
  for (uint32_t operand : items(launch.constant_operands()))
    result[operand] = true;
  return result;
}

Kernel &DeviceKernels::get(const fb::Launch &launch) {
  auto &kernel = kernels_[{launch.kernel(), constantOperands(launch)}];
  if (kernel)
    return *kernel;
  const fb::Kernel &row = *model_.kernels()->Get(launch.kernel());
  const auto *native = row.op_as_Native();
  NativeCode code;
  if (native) {
    code.description = model_.natives()->Get(native->symbol());
    code.device = model_.device_code();
    if (!code.device)
      code.function = natives_(native->symbol());
  }
  kernel = device_.makeKernel(row, constantOperands(launch), code);
  implementations_[launch.kernel()] = kernel->implementation();
  return *kernel;
}

size_t DeviceKernels::scratchpadBytes(const fb::Device &device) {
  size_t bytes = 0;
  auto add = [&](const fb::Row *row) {
    if (const auto *launch = row->body_as_Launch())
      bytes = std::max(bytes, get(*launch).scratchpadBytes());
  };
  for (const fb::Row *row : items(device.init()))
    add(row);
  forEachRow(device, add);
  return bytes;
}

//===----------------------------------------------------------------------===//
// ParameterUses
//===----------------------------------------------------------------------===//

/// Calls fn(buffer, operand of a launch or -1) for every buffer that a row
/// touches.
template <typename Fn>
static void forEachBuffer(const fb::Row &row, Fn fn) {
  auto list = [&](const flatbuffers::Vector<uint32_t> *buffers) {
    for (uint32_t buffer : items(buffers))
      fn(buffer, -1);
  };
  auto extents = [&](const flatbuffers::Vector<const fb::Extent *> *buffers) {
    for (const fb::Extent *extent : items(buffers))
      fn(extent->buffer(), -1);
  };
  auto messages = [&](const flatbuffers::Vector<const fb::Message *> *all) {
    for (const fb::Message *message : items(all))
      fn(message->data().buffer(), -1);
  };
  if (const auto *launch = row.body_as_Launch()) {
    int operand = 0;
    for (uint32_t buffer : items(launch->operands()))
      fn(buffer, operand++);
    list(launch->results());
  } else if (const auto *copy = row.body_as_Copy()) {
    for (const fb::BoxCopy *box : items(copy->copies())) {
      fn(box->from(), -1);
      fn(box->to(), -1);
    }
    for (const fb::Fill *fill : items(copy->fills()))
      fn(fill->buffer(), -1);
  } else if (const auto *exchange = row.body_as_Exchange()) {
    messages(exchange->sends());
    messages(exchange->receives());
  } else if (const auto *collective = row.body_as_Collective()) {
    extents(collective->send());
    extents(collective->receive());
  } else if (const auto *drain = row.body_as_Drain()) {
    for (const fb::BoxCopy *box : items(drain->copies()))
      fn(box->from(), -1);
  } else if (const auto *feed = row.body_as_Feed()) {
    for (const fb::BoxCopy *box : items(feed->copies()))
      fn(box->to(), -1);
  }
}

uint64_t runtime::activationBytes(const fb::Device &device, uint32_t program) {
  uint64_t end = 0;
  for (const fb::Row *row : rowsOf(device, program))
    forEachBuffer(*row, [&](uint32_t index, int) {
      const fb::Buffer *buffer = device.buffers()->Get(index);
      if (buffer->space() == fb::Space::Activations)
        end = std::max(end, buffer->offset() + buffer->bytes());
    });
  return end;
}

static bool overlap(const fb::Buffer &a, const fb::Buffer &b) {
  return a.offset() < b.offset() + b.bytes() &&
         b.offset() < a.offset() + a.bytes();
}

ParameterUses::ParameterUses(DeviceKernels &kernels, const fb::Device &device)
    : kernels_(kernels), device_(device) {
  if (!device.buffers())
    return;
  const auto &buffers = *device.buffers();
  std::set<uint32_t> read;
  forEachRow(device, [&](const fb::Row *row) {
    std::set<size_t> operands;
    if (const auto *launch = row->body_as_Launch())
      for (const ConstantCopy &copy : kernels.get(*launch).constantCopies())
        operands.insert(copy.operand);
    forEachBuffer(*row, [&](uint32_t buffer, int operand) {
      if (operand >= 0 && operands.count(operand))
        ++copied_[buffer];
      else if (buffers[buffer]->space() == fb::Space::Parameters)
        read.insert(buffer);
    });
  });
  // Buffers may overlap: those that share bytes with others are kept.
  std::vector<uint32_t> kept;
  for (const auto &[index, count] : copied_) {
    auto shares = [&, self = index](uint32_t other) {
      return other != self && overlap(*buffers[self], *buffers[other]);
    };
    bool needed = read.count(index) ||
                  std::any_of(read.begin(), read.end(), shares) ||
                  std::any_of(copied_.begin(), copied_.end(),
                              [&](auto &other) { return shares(other.first); });
    if (needed)
      kept.push_back(index);
  }
  for (uint32_t index : kept)
    copied_.erase(index);
}

std::vector<const fb::Buffer *>
ParameterUses::release(const fb::Launch &launch) {
  std::vector<const fb::Buffer *> released;
  for (const ConstantCopy &copy : kernels_.get(launch).constantCopies()) {
    auto it = copied_.find(
        launch.operands()->Get(static_cast<uint32_t>(copy.operand)));
    if (it != copied_.end() && --it->second == 0)
      released.push_back(device_.buffers()->Get(it->first));
  }
  return released;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

MemoryNeeds runtime::planMemory(DeviceKernels &kernels,
                                const fb::Device &device,
                                uint64_t communication) {
  MemoryNeeds needs(device);
  needs.communication = communication;
  needs.scratchpad = kernels.scratchpadBytes(device);
  std::set<std::pair<uint64_t, std::string>> copies;
  auto bind = [&](const fb::Launch &launch) {
    for (const ConstantCopy &copy : kernels.get(launch).constantCopies()) {
      uint32_t operand =
          launch.operands()->Get(static_cast<uint32_t>(copy.operand));
      if (copies.emplace(device.buffers()->Get(operand)->offset(), copy.layout)
              .second)
        needs.reordered += copy.bytes;
    }
    needs.updatePeak();
  };
  needs.updatePeak();
  for (const fb::Row *row : items(device.init()))
    if (const auto *launch = row->body_as_Launch())
      bind(*launch);
  ParameterUses uses(kernels, device);
  for (const fb::DeviceProgram *program : items(device.programs()))
    for (fb::Stream stream : fb::EnumValuesStream())
      for (const fb::Row *row : items(program->rows())) {
        const auto *launch = row->body_as_Launch();
        if (!launch || row->stream() != stream)
          continue;
        bind(*launch);
        for (const fb::Buffer *buffer : uses.release(*launch))
          needs.released += kernels.backend().discardableBytes(buffer->offset(),
                                                               buffer->bytes());
      }
  return needs;
}
