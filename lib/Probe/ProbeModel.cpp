//===- ProbeModel.cpp - A model made for measuring ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProbeRows.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

using namespace soap;
using namespace soap::detail;

namespace {

/// Shapes of a product as the kernel that networks have: a convolution where
/// the rows make a square image, of 3x3 where the depth is nine times
/// something, else a matrix product.
struct ProductShapes {
  bool isConvolution = false;
  int64_t taps = 1;
  std::vector<int64_t> input, weights, result;

  explicit ProductShapes(const ProbeStep &step) {
    auto side = static_cast<int64_t>(
        std::llround(std::sqrt(static_cast<double>(step.m))));
    isConvolution = side >= 7 && side * side == step.m;
    if (!isConvolution) {
      input = {step.m, step.k};
      weights = {step.k, step.n};
      result = {step.m, step.n};
      return;
    }
    taps = step.k % 9 == 0 ? 3 : 1;
    int64_t channels = step.k / (taps * taps);
    input = {1, channels, side, side};
    weights = {step.n, channels, taps, taps};
    result = {1, step.n, side, side};
  }
};

std::unique_ptr<fb::KernelT> productKernel(const ProductShapes &shapes) {
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->key = "probe.product";
  if (shapes.isConvolution) {
    fb::ConvT conv;
    conv.strides = conv.dilations = {1, 1};
    conv.pads_lo = conv.pads_hi = {shapes.taps / 2, shapes.taps / 2};
    kernel->op.Set(std::move(conv));
  } else {
    kernel->op.Set(fb::MatMulT());
  }
  kernel->operands.push_back(tensor(shapes.input));
  kernel->operands.push_back(tensor(shapes.weights));
  kernel->results.push_back(tensor(shapes.result));
  return kernel;
}

/// A kernel of the library that computes hardly anything.
constexpr int64_t launchElements = 16;
std::unique_ptr<fb::KernelT> launchKernel(const ProbeTarget &target) {
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->key = "probe.launch";
  int64_t results = 1;
  if (target.stream) {
    fb::LayerNormT norm;
    norm.axis = 1;
    norm.epsilon = 1;
    kernel->op.Set(std::move(norm));
    kernel->operands.push_back(tensor({1, launchElements}));
    kernel->operands.push_back(tensor({launchElements}));
    results = launchElements;
  } else {
    kernel->op.Set(fb::MatMulT());
    kernel->operands.push_back(tensor({1, launchElements}));
    kernel->operands.push_back(tensor({launchElements, 1}));
  }
  kernel->results.push_back(tensor({1, results}));
  return kernel;
}

std::unique_ptr<fb::KernelT> streamKernel(int64_t elements) {
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->key = "probe.stream";
  kernel->op.Set(fb::NativeT());
  kernel->operands.push_back(tensor({elements}));
  kernel->results.push_back(tensor({elements}));
  return kernel;
}

std::unique_ptr<fb::NativeKernelT> streamNative() {
  auto native = std::make_unique<fb::NativeKernelT>();
  native->bytes = {4, 4};   // Per element, of both buffers,
  native->extents = {1, 1}; // of which there are sizes[0].
  native->size_count = 1;
  return native;
}

void addCopy(fb::DeviceT &device, const ProbeTarget &target, uint64_t bytes) {
  fb::CopyT body;
  uint32_t from = addBuffer(device, target, bytes);
  body.copies.push_back(
      wholeCopy(from, addBuffer(device, target, bytes), bytes));
  fb::RowBodyUnion row;
  row.Set(std::move(body));
  addRow(device, std::move(row), fb::Stream::Compute);
}

void addExchange(fb::DeviceT &device, const ProbeTarget &target, uint32_t id,
                 const ProbeStep &step) {
  auto bytes = static_cast<uint64_t>(std::max<int64_t>(4, step.bytes));
  if (target.devices == 1)
    return addCopy(device, target, bytes);
  bool isRing = step.from < 0;
  bool sends = isRing || id == static_cast<uint32_t>(step.from);
  bool receives = isRing || id == static_cast<uint32_t>(step.to);
  if (!sends && !receives)
    return;
  uint32_t count = target.devices;
  fb::ExchangeT body;
  if (sends)
    body.sends.emplace_back(
        isRing ? (id + 1) % count : static_cast<uint32_t>(step.to), 0,
        fb::Extent(addBuffer(device, target, bytes), 0, bytes));
  if (receives)
    body.receives.emplace_back(
        isRing ? (id + count - 1) % count : static_cast<uint32_t>(step.from), 0,
        fb::Extent(addBuffer(device, target, bytes), 0, bytes));
  fb::RowBodyUnion row;
  row.Set(std::move(body));
  addRow(device, std::move(row), fb::Stream::Communication);
}

void addProducts(fb::DeviceT &device, const ProbeTarget &target,
                 const ProbeStep &step) {
  // As in a network: neither weights nor activations are in the caches of
  // a core when a kernel starts.
  constexpr int64_t mostInstances = 64;
  int64_t taps = ProductShapes(step).taps;
  int64_t bytesA = step.m * step.k * 4 / (taps * taps);
  int64_t bytesB = step.k * step.n * 4, bytesC = step.m * step.n * 4;
  int64_t instances = std::clamp<int64_t>(
      coldBytes / (bytesA + bytesB + bytesC), 1, mostInstances);
  for (int64_t i = 0; i < instances; ++i) {
    uint32_t a = addBuffer(device, target, bytesA);
    uint32_t b = addBuffer(device, target, bytesB, fb::Space::Parameters);
    uint32_t c = addBuffer(device, target, bytesC);
    addRow(device, launch({a, b}, c, {1}), fb::Stream::Compute);
  }
}

void addFeed(fb::DeviceT &device, const ProbeTarget &target, uint64_t bytes) {
  fb::FeedT body;
  body.copies.push_back(wholeCopy(0, addBuffer(device, target, bytes), bytes));
  fb::RowBodyUnion row;
  row.Set(std::move(body));
  addRow(device, std::move(row), fb::Stream::Compute, fb::Phase::Feed);
}

/// Floats that a step streams, copies, hands over or feeds.
int64_t elementsOf(const ProbeStep &step) {
  int64_t elements = step.bytes / 4;
  if (step.kind == ProbeStep::Kind::Stream)
    elements /= 2;
  if (step.kind == ProbeStep::Kind::Boxes)
    elements = sourceBytes(step) / 4;
  return std::max<int64_t>(1, elements);
}

/// True for steps whose data a native kernel makes, if there is one.
bool isStreamed(const ProbeStep &step) {
  return step.kind == ProbeStep::Kind::Stream ||
         step.kind == ProbeStep::Kind::Boxes ||
         step.kind == ProbeStep::Kind::HandOver;
}

/// The rows of a device.
void addStep(fb::DeviceT &device, const ProbeTarget &target, uint32_t id,
             const ProbeStep &step) {
  int64_t elements = elementsOf(step);
  switch (step.kind) {
  case ProbeStep::Kind::Gemm:
    return addProducts(device, target, step);
  case ProbeStep::Kind::Launch: {
    uint32_t x = addBuffer(device, target, launchElements * 4);
    uint32_t scale = addBuffer(device, target, launchElements * 4);
    uint32_t y =
        addBuffer(device, target, target.stream ? launchElements * 4 : 4);
    addRow(device, launch({x, scale}, y), fb::Stream::Compute);
    return;
  }
  case ProbeStep::Kind::Stream: {
    if (!target.stream)
      return addCopy(device, target, static_cast<uint64_t>(elements) * 4);
    uint32_t x = addBuffer(device, target, elements * 4);
    uint32_t y = addBuffer(device, target, elements * 4);
    addRow(device, launch({x}, y, {}, {elements}), fb::Stream::Compute);
    return;
  }
  case ProbeStep::Kind::Boxes:
    return addBoxes(device, target, step);
  case ProbeStep::Kind::HandOver:
    return addHandOvers(device, target, id, step);
  case ProbeStep::Kind::Exchange:
    return addExchange(device, target, id, step);
  case ProbeStep::Kind::Feed:
    return addFeed(device, target, static_cast<uint64_t>(elements) * 4);
  }
}

fb::ModelT makeModel(const ProbeStep &step, const ProbeTarget &target) {
  fb::ModelT model;
  model.abi = SOAP_ABI_VERSION;
  model.compiler = "calibration";
  model.name = "probe";
  model.target = target.name;
  model.cores_per_device = target.coresPerDevice;
  model.programs.push_back(std::make_unique<fb::ProgramT>());
  model.programs[0]->name = "main";
  if (step.kind == ProbeStep::Kind::Gemm)
    model.kernels.push_back(productKernel(ProductShapes(step)));
  if (step.kind == ProbeStep::Kind::Launch)
    model.kernels.push_back(launchKernel(target));
  if (isStreamed(step) && target.stream) {
    model.kernels.push_back(streamKernel(elementsOf(step)));
    if (step.kind == ProbeStep::Kind::HandOver)
      model.kernels.push_back(streamKernel(aloneBytes / 4));
    model.natives.push_back(streamNative());
  }
  if (step.kind == ProbeStep::Kind::Feed) {
    auto port = std::make_unique<fb::PortT>();
    port->name = "x";
    port->shape = {elementsOf(step)};
    model.programs[0]->inputs.push_back(std::move(port));
  }
  for (uint32_t id = 0; id < target.devices; ++id) {
    auto device = std::make_unique<fb::DeviceT>();
    device->programs.push_back(std::make_unique<fb::DeviceProgramT>());
    addStep(*device, target, id, step);
    model.devices.push_back(std::move(device));
  }
  return model;
}

void ignoreWarning(const char *, void *) {}

/// What the rows of one step say.
void addTimes(const ProbeStep &step, const std::vector<soap_event> &events,
              std::vector<int64_t> &times) {
  if (step.kind == ProbeStep::Kind::HandOver)
    return addHandOverTimes(events, times);
  for (const soap_event &event : events)
    if (step.kind != ProbeStep::Kind::Boxes ||
        std::strcmp(event.kind, "copy") == 0)
      times.push_back(event.end_ns - event.start_ns);
}

/// The times of all rows in steps after the first ones, which touch the memory;
/// false, with soap_last_error(), if a step fails.
bool timeRows(soap_model *model, const ProbeStep &step,
              std::vector<int64_t> &times) {
  // Enough repetitions for a median.
  constexpr int warmup = 2, repetitions = 9;
  std::vector<float> fed(step.kind == ProbeStep::Kind::Feed ? elementsOf(step)
                                                            : 0);
  const void *inputs[] = {fed.data()};
  for (int i = 0; i < warmup + repetitions; ++i) {
    const soap_event *events = nullptr;
    size_t count = 0;
    if (soap_model_run(model, inputs, nullptr) != SOAP_OK ||
        soap_model_events(model, &events, &count) != SOAP_OK)
      return false;
    if (i >= warmup)
      addTimes(step, {events, events + count}, times);
  }
  return true;
}

} // namespace

ProbeTime soap::measureProbe(const ProbeStep &wanted,
                             const ProbeTarget &target) {
  ProbeStep step = wanted;
  if (step.kind == ProbeStep::Kind::HandOver &&
      (target.devices == 1 || !target.stream))
    step.kind = ProbeStep::Kind::Exchange;
  fb::ModelT table = makeModel(step, target);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Model::Pack(builder, &table), fb::ModelIdentifier());
  soap_load_options options{};
  options.size = sizeof(options);
  options.transport = SOAP_TRANSPORT_LOCAL;
  options.warning = ignoreWarning;
  options.devices_per_gpu = target.devicesPerGpu;
  soap_model *model = nullptr;
  std::vector<int64_t> times;
  bool isDone =
      soap_model_load_from_memory(builder.GetBufferPointer(), builder.GetSize(),
                                  &target.stream, target.stream ? 1 : 0,
                                  nullptr, &options, &model) == SOAP_OK &&
      soap_model_set_tracing(model, 1) == SOAP_OK &&
      timeRows(model, step, times);
  ProbeTime result;
  if (!isDone)
    result.error = soap_last_error();
  else if (times.empty())
    result.error = "the runtime recorded no events";
  soap_model_release(model);
  if (!result.error.empty())
    return result;
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  result.seconds = static_cast<double>(*middle) * 1e-9;
  return result;
}
