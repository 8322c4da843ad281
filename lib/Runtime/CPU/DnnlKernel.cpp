//===- DnnlKernel.cpp - A kernel made of oneDNN primitives ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/DnnlKernel.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;
using dnnl::memory;

dnnl::engine &runtime::dnnlEngine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream &runtime::dnnlStream() {
  thread_local dnnl::stream stream(dnnlEngine());
  return stream;
}

bool runtime::isReference(const std::string &implementation) {
  // Those called "simple" visit elements one by one, too.
  return implementation.find("ref") != std::string::npos ||
         implementation.find("simple") != std::string::npos;
}

memory::data_type runtime::dnnlType(fb::ElementType element) {
  switch (element) {
  case fb::ElementType::F32:
    return memory::data_type::f32;
  case fb::ElementType::F16:
    return memory::data_type::f16;
  case fb::ElementType::BF16:
    return memory::data_type::bf16;
  case fb::ElementType::I32:
    return memory::data_type::s32;
  case fb::ElementType::I8:
    return memory::data_type::s8;
  case fb::ElementType::U8:
    return memory::data_type::u8;
  default:
    return memory::data_type::undef;
  }
}

memory::desc runtime::denseDesc(fb::ElementType element, const Shape &shape) {
  memory::dims dims(shape.begin(), shape.end());
  if (dims.empty())
    dims.push_back(1);
  memory::dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = strides[d] * dims[d];
  return {dims, dnnlType(element), strides};
}

memory::desc runtime::orderedDesc(const fb::TensorType &type) {
  return type.order() == fb::ElementOrder::RowMajor
             ? denseDesc(type.element(), toVector(type.shape()))
             : channelsLastDesc(type);
}

memory::desc runtime::channelsLastDesc(const fb::TensorType &type) {
  using Tag = memory::format_tag;
  Shape shape = toVector(type.shape());
  Tag tag = shape.size() == 3   ? Tag::nwc
            : shape.size() == 4 ? Tag::nhwc
                                : Tag::ndhwc;
  return {shape, dnnlType(type.element()), tag};
}

static std::string layoutId(const memory::desc &desc) {
  return std::string(reinterpret_cast<const char *>(&desc.data),
                     sizeof(desc.data));
}

namespace {
/// Primitives with all their arguments.
class BoundDnnl final : public BoundKernel {
public:
  void enqueue(Stream &) override {
    dnnl_stream_t stream = dnnlStream().get();
    for (const Step &step : steps_) {
      dnnl_status_t status = dnnl_primitive_execute(
          step.primitive.get(), stream, static_cast<int>(step.arguments.size()),
          step.arguments.data());
      if (status != dnnl_success)
        failed("a oneDNN primitive failed with status ", status);
    }
  }

  void add(const dnnl::primitive &primitive,
           const std::vector<std::pair<int, memory>> &arguments) {
    Step step{primitive, {}};
    for (const auto &[arg, object] : arguments) {
      step.arguments.push_back({arg, object.get()});
      keep_.push_back(object);
    }
    steps_.push_back(std::move(step));
  }

  void add(const memory &from, const memory &to) {
    dnnl::reorder::primitive_desc desc(from, to);
    add(dnnl::reorder(desc), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }

  std::vector<std::shared_ptr<void>> constants;

private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  std::vector<Step> steps_;
  std::vector<memory> keep_;
};
} // namespace

size_t DnnlKernel::addSlot(Slot slot) {
  slots_.push_back(slot);
  return slots_.size() - 1;
}

void DnnlKernel::addStage(Stage stage) {
  stageScratch_ =
      std::max(stageScratch_, alignedBytes(stage.scratchpad.get_size()));
  stages_.push_back(std::move(stage));
}

std::vector<ConstantCopy> DnnlKernel::constantCopies() const {
  std::vector<ConstantCopy> copies;
  for (const Slot &slot : slots_)
    if (slot.constant && slot.user != slot.wanted)
      copies.push_back({slot.index, layoutId(slot.user) + layoutId(slot.wanted),
                        alignedBytes(slot.wanted.get_size())});
  return copies;
}

size_t DnnlKernel::scratchpadBytes() const {
  size_t bytes = stageScratch_;
  for (const Slot &slot : slots_)
    if (!slot.constant && slot.user != slot.wanted)
      bytes += alignedBytes(slot.wanted.get_size());
  return bytes;
}

/// Reorders a constant into memory of its own, or finds that this was done.
static std::shared_ptr<void> reorderedConstant(const DnnlKernel::Slot &slot,
                                               DevicePointer address,
                                               ConstantCache &cache) {
  std::string id = layoutId(slot.user) + layoutId(slot.wanted);
  if (auto copy = cache.find(address, id))
    return copy;
  size_t bytes = alignedBytes(slot.wanted.get_size());
  std::shared_ptr<void> copy = cache.allocate(bytes);
  memory from(slot.user, dnnlEngine(), hostAddress(address));
  memory to(slot.wanted, dnnlEngine(), copy.get());
  dnnl::reorder(from, to).execute(dnnlStream(), from, to);
  dnnlStream().wait();
  cache.add(address, id, copy, bytes);
  return copy;
}

std::unique_ptr<BoundKernel> DnnlKernel::bind(const Binding &binding) {
  auto bound = std::make_unique<BoundDnnl>();
  char *temporary = hostAddress(binding.scratchpad) + stageScratch_;
  std::vector<memory> objects;
  std::vector<std::pair<memory, memory>> after;
  for (const Slot &slot : slots_) {
    DevicePointer address = slot.result ? binding.results[slot.index]
                                        : binding.operands[slot.index];
    if (slot.user == slot.wanted) {
      objects.emplace_back(slot.user, dnnlEngine(), hostAddress(address));
      continue;
    }
    if (slot.constant) {
      auto copy = reorderedConstant(slot, address, *binding.constants);
      bound->constants.push_back(copy);
      objects.emplace_back(slot.wanted, dnnlEngine(), copy.get());
      continue;
    }
    memory user(slot.user, dnnlEngine(), hostAddress(address));
    memory wanted(slot.wanted, dnnlEngine(), temporary);
    temporary += alignedBytes(slot.wanted.get_size());
    if (slot.result)
      after.emplace_back(wanted, user);
    if (!slot.result || slot.accumulates)
      bound->add(user, wanted);
    objects.push_back(wanted);
  }
  for (Stage &stage : stages_) {
    if (!stage.primitive)
      stage.primitive = stage.make();
    std::vector<std::pair<int, memory>> arguments;
    arguments.reserve(stage.arguments.size() + 1);
    for (const auto &[arg, slot] : stage.arguments)
      arguments.emplace_back(arg, objects[slot]);
    if (stage.scratchpad.get_size())
      arguments.emplace_back(DNNL_ARG_SCRATCHPAD,
                             memory(stage.scratchpad, dnnlEngine(),
                                    hostAddress(binding.scratchpad)));
    bound->add(stage.primitive, arguments);
  }
  for (const auto &[wanted, user] : after)
    bound->add(wanted, user);
  return bound;
}
