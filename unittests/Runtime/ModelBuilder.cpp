//===- ModelBuilder.cpp - Models by hand ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <cstdlib>
#include <cstring>
#include <random>
#include <unistd.h>

using namespace soap;
using namespace soap::test;

int64_t test::count(const Shape &shape) {
  int64_t result = 1;
  for (int64_t extent : shape)
    result *= extent;
  return result;
}

Floats test::randomFloats(int64_t count, uint32_t seed, float lo, float hi) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(lo, hi);
  Floats result(static_cast<size_t>(count));
  for (float &value : result)
    value = values(random);
  return result;
}

ModelBuilder::ModelBuilder(size_t devices) {
  model.abi = SOAP_ABI_VERSION;
  model.compiler = "test";
  model.name = "test";
  // All tests of models run on another target, too, if it is named.
  const char *target = std::getenv("SOAP_TEST_TARGET");
  model.target = target ? target : "cpu";
  for (size_t d = 0; d != devices; ++d)
    model.devices.push_back(std::make_unique<fb::DeviceT>());
  addProgram("main");
}

void ModelBuilder::addProgram(const std::string &name) {
  program = static_cast<uint32_t>(model.programs.size());
  model.programs.push_back(std::make_unique<fb::ProgramT>());
  model.programs[program]->name = name;
  for (auto &device : model.devices)
    device->programs.push_back(std::make_unique<fb::DeviceProgramT>());
}

uint32_t ModelBuilder::buffer(uint32_t device, uint64_t bytes,
                              fb::Space space) {
  fb::DeviceT &table = *model.devices[device];
  uint64_t &arena = space == fb::Space::Activations ? table.activation_bytes
                                                    : table.parameter_bytes;
  table.buffers.emplace_back(space, arena, bytes);
  arena += (bytes + 63) / 64 * 64;
  return static_cast<uint32_t>(table.buffers.size() - 1);
}

uint32_t ModelBuilder::kernel(fb::KernelOpUnion op,
                              const std::vector<Shape> &operands,
                              const std::vector<Shape> &results) {
  auto result = std::make_unique<fb::KernelT>();
  result->key = "kernel" + std::to_string(model.kernels.size());
  result->op = std::move(op);
  auto add = [](auto &list, const Shape &shape) {
    auto type = std::make_unique<fb::TensorTypeT>();
    type->shape = shape;
    list.push_back(std::move(type));
  };
  for (const Shape &shape : operands)
    add(result->operands, shape);
  for (const Shape &shape : results)
    add(result->results, shape);
  model.kernels.push_back(std::move(result));
  return static_cast<uint32_t>(model.kernels.size() - 1);
}

uint32_t ModelBuilder::native(std::vector<uint64_t> bytes,
                              std::vector<uint64_t> extents,
                              uint32_t sizeCount) {
  auto result = std::make_unique<fb::NativeKernelT>();
  extents.resize(bytes.size(), 0);
  result->bytes = std::move(bytes);
  result->extents = std::move(extents);
  result->size_count = sizeCount;
  model.natives.push_back(std::move(result));
  return static_cast<uint32_t>(model.natives.size() - 1);
}

static std::unique_ptr<fb::PortT>
port(const std::string &name, const Shape &shape, fb::ElementType element) {
  auto result = std::make_unique<fb::PortT>();
  result->name = name;
  result->shape = shape;
  result->element = element;
  return result;
}

uint32_t ModelBuilder::input(const std::string &name, const Shape &shape,
                             fb::ElementType element) {
  model.programs[program]->inputs.push_back(port(name, shape, element));
  return static_cast<uint32_t>(model.programs[program]->inputs.size() - 1);
}

uint32_t ModelBuilder::output(const std::string &name, const Shape &shape,
                              fb::ElementType element) {
  model.programs[program]->outputs.push_back(port(name, shape, element));
  return static_cast<uint32_t>(model.programs[program]->outputs.size() - 1);
}

std::unique_ptr<fb::BoxCopyT> test::denseCopy(uint32_t from, uint32_t to,
                                              uint64_t bytes,
                                              uint64_t fromOffset,
                                              uint64_t toOffset) {
  auto copy = std::make_unique<fb::BoxCopyT>();
  copy->from = from;
  copy->to = to;
  copy->from_offset = fromOffset;
  copy->to_offset = toOffset;
  copy->run = bytes;
  return copy;
}

fb::CollectiveT test::allReduce(uint32_t members, uint32_t member,
                                uint32_t buffer, uint64_t bytes) {
  fb::CollectiveT sum;
  sum.kind = fb::CollectiveKind::AllReduce;
  sum.combine = fb::Combine::Sum;
  for (uint32_t m = 0; m != members; ++m)
    sum.group.push_back(m);
  sum.member = member;
  sum.send.emplace_back(buffer, 0, bytes);
  sum.receive.emplace_back(buffer, 0, bytes);
  return sum;
}

uint32_t ModelBuilder::feed(uint32_t device, uint32_t input, uint32_t buffer) {
  fb::FeedT feed;
  feed.input = input;
  feed.copies.push_back(
      denseCopy(0, buffer, model.devices[device]->buffers[buffer].bytes()));
  return row(device, std::move(feed), fb::Stream::Compute, fb::Phase::Feed);
}

uint32_t ModelBuilder::drain(uint32_t device, uint32_t output,
                             uint32_t buffer) {
  fb::DrainT drain;
  drain.output = output;
  drain.copies.push_back(
      denseCopy(buffer, 0, model.devices[device]->buffers[buffer].bytes()));
  return row(device, std::move(drain), fb::Stream::Compute, fb::Phase::Drain);
}

void ModelBuilder::inlineLoad(uint32_t device, uint32_t buffer,
                              const Shape &shape, const Floats &values) {
  auto load = std::make_unique<fb::LoadT>();
  load->name = "load";
  load->buffer = buffer;
  load->shape = shape;
  for (int64_t extent : shape)
    load->box.emplace_back(0, extent);
  fb::InlineT source;
  source.bytes.resize(values.size() * sizeof(float));
  std::memcpy(source.bytes.data(), values.data(), source.bytes.size());
  load->source.Set(std::move(source));
  model.devices[device]->loads.push_back(std::move(load));
}

uint32_t ModelBuilder::value(const std::string &name, const Shape &shape) {
  auto value = std::make_unique<fb::ValueT>();
  value->name = name;
  value->shape = shape;
  model.programs[program]->values.push_back(std::move(value));
  return static_cast<uint32_t>(model.programs[program]->values.size() - 1);
}

fb::TileT &ModelBuilder::tile(uint32_t device, uint32_t value, uint32_t buffer,
                              std::vector<fb::Range> box, int32_t row) {
  auto tile = std::make_unique<fb::TileT>();
  tile->value = value;
  tile->data = std::make_unique<fb::Extent>(
      buffer, 0, model.devices[device]->buffers[buffer].bytes());
  tile->box = std::move(box);
  tile->row = row;
  model.devices[device]->programs[program]->tiles.push_back(std::move(tile));
  return *model.devices[device]->programs[program]->tiles.back();
}

std::vector<uint8_t> ModelBuilder::finish() const {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, &model));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

ModelPtr ModelBuilder::load(soap_status *status,
                            const std::vector<soap_native_kernel> &natives,
                            uint32_t coresPerDevice, soap_observer observe,
                            void *user, const LinkSpeed &link) const {
  std::vector<uint8_t> data = finish();
  soap_load_options options = {};
  options.size = sizeof(options);
  options.cores_per_device = coresPerDevice;
  options.link_bandwidth = link.bandwidth;
  options.link_latency_ns = static_cast<uint64_t>(link.latencyNs);
  options.warning = [](const char *, void *) {};
  options.observe = observe;
  options.user = user;
  if (const char *perGpu = std::getenv("SOAP_TEST_DEVICES_PER_GPU"))
    options.devices_per_gpu = static_cast<uint32_t>(std::atoi(perGpu));
  if (const char *transport = std::getenv("SOAP_TEST_GPU_TRANSPORT"))
    options.gpu_transport =
        static_cast<soap_gpu_transport>(std::atoi(transport));
  soap_model *model = nullptr;
  soap_status result =
      soap_model_load_from_memory(data.data(), data.size(), natives.data(),
                                  natives.size(), nullptr, &options, &model);
  if (status)
    *status = result;
  return ModelPtr(model);
}

std::string test::ownFile(const std::string &name) {
  return std::to_string(getpid()) + "-" + name;
}
