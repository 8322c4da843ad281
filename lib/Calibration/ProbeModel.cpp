//===- ProbeModel.cpp - A model made for measuring ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProbeModel.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Runtime/Runtime.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <memory>

namespace soap {
namespace {

std::unique_ptr<fb::TensorTypeT> tensor(std::vector<int64_t> shape) {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->element = fb::ElementType::F32;
  type->shape = std::move(shape);
  return type;
}

/// Adds a buffer of an arena and returns its index.
uint32_t addBuffer(fb::DeviceT &device, const Target &target, uint64_t bytes,
                   fb::Space space = fb::Space::Activations) {
  uint64_t &arena = space == fb::Space::Activations ? device.activation_bytes
                                                    : device.parameter_bytes;
  device.buffers.emplace_back(space, arena, bytes);
  arena += llvm::alignTo(bytes, target.getAlignment());
  return static_cast<uint32_t>(device.buffers.size() - 1);
}

void addRow(fb::DeviceT &device, fb::RowBodyUnion body, fb::Stream stream) {
  auto row = std::make_unique<fb::RowT>();
  row->body = std::move(body);
  row->stream = stream;
  row->name = "probe";
  device.programs[0]->rows.push_back(std::move(row));
}

fb::RowBodyUnion launch(std::vector<uint32_t> operands, uint32_t result,
                        std::vector<uint32_t> constants = {},
                        std::vector<int64_t> sizes = {}) {
  fb::LaunchT body;
  body.constant_operands = std::move(constants);
  body.operands = std::move(operands);
  body.results = {result};
  body.sizes = std::move(sizes);
  fb::RowBodyUnion row;
  row.Set(std::move(body));
  return row;
}

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
std::unique_ptr<fb::KernelT> launchKernel() {
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->key = "probe.launch";
  fb::LayerNormT norm;
  norm.axis = 1;
  norm.epsilon = 1;
  kernel->op.Set(std::move(norm));
  kernel->operands.push_back(tensor({1, launchElements}));
  kernel->operands.push_back(tensor({launchElements}));
  kernel->results.push_back(tensor({1, launchElements}));
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

void addExchange(fb::DeviceT &device, const Target &target, uint32_t id,
                 uint32_t devices, uint64_t bytes) {
  uint32_t from = addBuffer(device, target, bytes),
           to = addBuffer(device, target, bytes);
  fb::RowBodyUnion row;
  if (devices == 1) {
    auto copy = std::make_unique<fb::BoxCopyT>();
    copy->from = from;
    copy->to = to;
    copy->run = bytes;
    fb::CopyT body;
    body.copies.push_back(std::move(copy));
    row.Set(std::move(body));
    return addRow(device, std::move(row), fb::Stream::Compute);
  }
  fb::ExchangeT body;
  body.sends.emplace_back((id + 1) % devices, 0, fb::Extent(from, 0, bytes));
  body.receives.emplace_back((id + devices - 1) % devices, 0,
                             fb::Extent(to, 0, bytes));
  row.Set(std::move(body));
  addRow(device, std::move(row), fb::Stream::Communication);
}

fb::ModelT makeModel(const ProbeStep &step, const Target &target,
                     uint32_t devices, uint32_t coresPerDevice) {
  fb::ModelT model;
  model.abi = SOAP_ABI_VERSION;
  model.compiler = "calibration";
  model.name = "probe";
  model.target = target.getName().str();
  model.cores_per_device = coresPerDevice;
  model.programs.push_back(std::make_unique<fb::ProgramT>());
  model.programs[0]->name = "main";
  int64_t elements = std::max<int64_t>(1, step.bytes / 8);
  if (step.kind == ProbeStep::Kind::Gemm)
    model.kernels.push_back(productKernel(ProductShapes(step)));
  if (step.kind == ProbeStep::Kind::Launch)
    model.kernels.push_back(launchKernel());
  if (step.kind == ProbeStep::Kind::Stream) {
    model.kernels.push_back(streamKernel(elements));
    model.natives.push_back(streamNative());
  }
  for (uint32_t id = 0; id < devices; ++id) {
    auto device = std::make_unique<fb::DeviceT>();
    device->programs.push_back(std::make_unique<fb::DeviceProgramT>());
    switch (step.kind) {
    case ProbeStep::Kind::Gemm: {
      // As in a network: neither weights nor activations are in the caches of
      // a core when a kernel starts.
      constexpr int64_t coldBytes = 24 << 20, mostInstances = 64;
      int64_t taps = ProductShapes(step).taps;
      int64_t bytesA = step.m * step.k * 4 / (taps * taps);
      int64_t bytesB = step.k * step.n * 4, bytesC = step.m * step.n * 4;
      int64_t instances = std::clamp<int64_t>(
          coldBytes / (bytesA + bytesB + bytesC), 1, mostInstances);
      for (int64_t i = 0; i < instances; ++i) {
        uint32_t a = addBuffer(*device, target, bytesA);
        uint32_t b = addBuffer(*device, target, bytesB, fb::Space::Parameters);
        uint32_t c = addBuffer(*device, target, bytesC);
        addRow(*device, launch({a, b}, c, {1}), fb::Stream::Compute);
      }
      break;
    }
    case ProbeStep::Kind::Launch: {
      uint32_t x = addBuffer(*device, target, launchElements * 4);
      uint32_t scale = addBuffer(*device, target, launchElements * 4);
      uint32_t y = addBuffer(*device, target, launchElements * 4);
      addRow(*device, launch({x, scale}, y), fb::Stream::Compute);
      break;
    }
    case ProbeStep::Kind::Stream: {
      uint32_t x = addBuffer(*device, target, elements * 4);
      uint32_t y = addBuffer(*device, target, elements * 4);
      addRow(*device, launch({x}, y, {}, {elements}), fb::Stream::Compute);
      break;
    }
    case ProbeStep::Kind::Exchange:
      addExchange(*device, target, id, devices,
                  std::max<int64_t>(4, step.bytes));
      break;
    }
    model.devices.push_back(std::move(device));
  }
  return model;
}

void ignoreWarning(const char *, void *) {}

} // namespace

llvm::Expected<double> measureProbe(const ProbeStep &step, const Target &target,
                                    int32_t devices, int32_t coresPerDevice) {
  fb::ModelT table = makeModel(step, target, static_cast<uint32_t>(devices),
                               static_cast<uint32_t>(coresPerDevice));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Model::Pack(builder, &table), fb::ModelIdentifier());
  soap_load_options options{};
  options.size = sizeof(options);
  options.transport = SOAP_TRANSPORT_LOCAL;
  options.warning = ignoreWarning;
  soap_native_kernel stream = target.getStreamKernel();
  soap_model *model = nullptr;
  auto fail = [&] {
    llvm::Error error = llvm::createStringError(llvm::Twine(soap_last_error()));
    soap_model_release(model);
    return error;
  };
  if (soap_model_load_from_memory(builder.GetBufferPointer(), builder.GetSize(),
                                  &stream, 1, nullptr, &options,
                                  &model) != SOAP_OK ||
      soap_model_set_tracing(model, 1) != SOAP_OK)
    return fail();

  // Enough repetitions for a median; the first steps touch the memory.
  constexpr int warmup = 2, repetitions = 9;
  std::vector<int64_t> times;
  for (int i = 0; i < warmup + repetitions; ++i) {
    if (soap_model_run(model, nullptr, nullptr) != SOAP_OK)
      return fail();
    const soap_event *events = nullptr;
    size_t count = 0;
    if (soap_model_events(model, &events, &count) != SOAP_OK)
      return fail();
    for (size_t e = 0; i >= warmup && e < count; ++e)
      times.push_back(events[e].end_ns - events[e].start_ns);
  }
  soap_model_release(model);
  if (times.empty())
    return llvm::createStringError("the runtime recorded no events");
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle) * 1e-9;
}

} // namespace soap
