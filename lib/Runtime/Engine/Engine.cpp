//===- Engine.cpp - Runs the steps of a model -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Engine.h"
#include <algorithm>
#include <cstdlib>
#include <unistd.h>
#include <utility>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

namespace {
/// All engines of the program. When the program exits, their steps have to end
/// before its tensors, and the connections between its processes, are
/// destroyed.
struct LiveEngines {
  std::mutex mutex;
  std::vector<Engine *> all;
  pid_t process = getpid(); ///< Not one that it forks, which has no steps.

  static LiveEngines &get() {
    static auto *engines = new LiveEngines;
    return *engines;
  }
  void add(Engine *engine) {
    static const int atEnd = std::atexit(restAll);
    (void)atEnd;
    if (engine->group()) {
      // Registered once more, so that it runs before the connections between
      // the processes end.
      static const int beforeOthers = std::atexit(restAll);
      (void)beforeOthers;
    }
    std::lock_guard<std::mutex> lock(mutex);
    all.push_back(engine);
  }
  void remove(Engine *engine) {
    std::lock_guard<std::mutex> lock(mutex);
    all.erase(std::remove(all.begin(), all.end(), engine), all.end());
  }
  static void restAll();
};
} // namespace

void LiveEngines::restAll() {
  LiveEngines &engines = get();
  // A kernel that ends the program does not wait for its own step.
  if (runsCommands() || getpid() != engines.process)
    return;
  std::lock_guard<std::mutex> lock(engines.mutex);
  for (Engine *engine : engines.all)
    if (!engine->group() || !engine->group()->hasFailed())
      engine->rest();
}

Engine::Engine(std::shared_ptr<const CompiledModel> model,
               const EngineOptions &options)
    : model_(std::move(model)), observer_(options.observer),
      group_(options.group),
      devicesPerGpu_(std::max(options.devicesPerGpu, 1U)),
      deviceTransport_(options.deviceTransport),
      keepDenormals_(options.keepDenormals) {
  agree(group_.get(), [&] {
    placement_ = placeDevices(model_->table().devices()->size(), options.map,
                              group_.get());
    // The backend is loaded before threads are started, since it may be
    // missing.
    backend_ = &findBackend(toString(model_->table().target()));
    if (devicesPerGpu_ > 1 && backend_->traits().memoryIsHost)
      invalid("expected a model for GPUs with --devices-per-gpu, got: one for "
              "target '",
              toString(model_->table().target()), "'; leave the option out");
    std::string weightsPath = model_->weightsPath();
    if (!weightsPath.empty())
      weights_ = std::make_unique<Safetensors>(
          MappedFile::open(weightsPath, "the weights of the model"));
  });
  place(options);
  try {
    agree(group_.get(), [&] { makeDevices(options.link); });
    connectTransport();
    agree(group_.get(), [&] { startThreads(); });
    weights_.reset(); // The devices have their copies.
  } catch (...) {
    stopThreads();
    throw;
  }
  LiveEngines::get().add(this);
}

Engine::~Engine() {
  stopThreads();
  LiveEngines::get().remove(this);
  if (!group_ || !group_->hasFailed())
    return;
  // Messages of the step that failed may still come to these.
  for (auto &device : devices_)
    (void)device.release();
  for (RemoteEnds &ends : remoteEnds_)
    for (HostSides *sides : {&ends.feedSources, &ends.drainTargets})
      for (auto &side : *sides)
        (void)side.release();
  (void)new Arena(std::move(staging_));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

template <typename T>
static void checkBound(const void *data, int64_t count, int64_t bound,
                       const std::string &name) {
  const T *values = static_cast<const T *>(data);
  for (int64_t i = 0; i != count; ++i)
    if (values[i] < 0 || static_cast<int64_t>(values[i]) >= bound)
      invalid("expected values of input '", name, "' in [0, ", bound,
              "), got: ", static_cast<int64_t>(values[i]), " at element ", i,
              "; they index a table of that size");
}

void Engine::checkInputs(const fb::Program &program,
                         const void *const *inputs) const {
  uint32_t i = 0;
  for (const fb::Port *port : items(program.inputs())) {
    const void *data = inputs ? inputs[i] : nullptr;
    ++i;
    if (!data && byteCount(port->element(), toVector(port->shape())) != 0)
      invalid("expected data of input '", port->name()->str(),
              "', got: null; pass all inputs");
    int64_t count = elementCount(toVector(port->shape()));
    if (port->index_bound() <= 0 || count == 0)
      continue;
    std::string name = port->name()->str();
    if (port->element() == fb::ElementType::I64)
      checkBound<int64_t>(data, count, port->index_bound(), name);
    else if (port->element() == fb::ElementType::I32)
      checkBound<int32_t>(data, count, port->index_bound(), name);
  }
}

void Engine::start(uint32_t number, const void *const *inputs,
                   void *const *outputs) {
  wait();
  const fb::Program &program = *model_->table().programs()->Get(number);
  size_t inputCount = items(program.inputs()).size();
  size_t outputCount = items(program.outputs()).size();
  bool hosts = placement_.rank == 0;
  agree(group_.get(), [&] {
    if (hosts)
      checkInputs(program, inputs);
  });
  stepInputs_.assign(inputCount, nullptr);
  if (hosts && inputs)
    stepInputs_.assign(inputs, inputs + inputCount);
  stepOutputs_.assign(outputCount, nullptr);
  if (hosts && outputs)
    stepOutputs_.assign(outputs, outputs + outputCount);
  if (group_) {
    // Elsewhere an address only says that rank 0 wants the output.
    std::string wanted = std::to_string(number) + ' ';
    size_t start = wanted.size();
    for (size_t i = 0; i != outputCount; ++i)
      wanted += hosts && stepOutputs_[i] ? '1' : '0';
    std::vector<std::string> all = group_->allGather(wanted);
    for (const std::string &other : all)
      if (other.compare(0, start, wanted, 0, start) != 0)
        invalid("expected all ranks to run one program of the model, got: "
                "several, on this rank '",
                program.name()->str(),
                "'; call the same functions on all ranks");
    for (size_t i = 0; !hosts && i != outputCount; ++i)
      stepOutputs_[i] = all[0][start + i] == '1' ? this : nullptr;
  }
  step_.program = number;
  step_.inputs = stepInputs_.data();
  step_.outputs = stepOutputs_.data();
  traceThisStep_ = tracing_;
  ++step_.number;
  if (traceThisStep_)
    tracedStep_ = step_.number;
  stepOpen_ = true;
  go_.set(step_.number);
}

bool Engine::isDone() const {
  return done_.reached(step_.number * threadCount_);
}

void Engine::rest() { done_.wait(step_.number * threadCount_); }

void Engine::wait() {
  rest();
  if (!std::exchange(stepOpen_, false))
    return;
  agree(group_.get(), [&] {
    std::lock_guard<std::mutex> lock(errorMutex_);
    if (error_)
      std::rethrow_exception(std::exchange(error_, nullptr));
  });
}
