//===- Device.cpp - A GPU, or a share of it, for one model ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Device.h"
#include "CUDA/CudaKernels.h"
#include "CUDA/Stream.h"

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

//===----------------------------------------------------------------------===//
// What a device has
//===----------------------------------------------------------------------===//

PinnedWord::PinnedWord(const Gpu &gpu) : gpu_(gpu) {
  gpu_.use();
  void *word = nullptr;
  check(driver().cuMemHostAlloc(&word, sizeof(uint32_t),
                                CU_MEMHOSTALLOC_DEVICEMAP),
        "to lock memory of the host");
  word_ = static_cast<uint32_t *>(word);
  value() = 0;
  check(driver().cuMemHostGetDevicePointer(&onDevice_, word, 0),
        "to map memory of the host");
}

PinnedWord::~PinnedWord() {
  if (driver().cuCtxSetCurrent(gpu_.context) == CUDA_SUCCESS)
    driver().cuMemFreeHost(word_);
}

Module::Module(const Gpu &gpu, const char *ptx, const std::string &what)
    : gpu_(gpu) {
  gpu_.use();
  std::string log(16384, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CUresult result =
      driver().cuModuleLoadDataEx(&module_, ptx, 2, options, values);
  if (result == CUDA_SUCCESS)
    return;
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  while (!log.empty() && (log.back() == '\n' || log.back() == ' '))
    log.pop_back();
  invalid("expected the driver to compile ", what, " for GPU ", gpu_.ordinal,
          " (", gpu_.name, ", sm_", gpu_.major, gpu_.minor,
          "), got: ", errorText(result), log.empty() ? "" : ": ", log,
          result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION
              ? "; install a newer driver"
              : "");
}

Module::~Module() {
  if (driver().cuCtxSetCurrent(gpu_.context) == CUDA_SUCCESS)
    driver().cuModuleUnload(module_);
}

CUfunction Module::find(const std::string &entry) const {
  gpu_.use();
  CUfunction function = nullptr;
  CUresult result =
      driver().cuModuleGetFunction(&function, module_, entry.c_str());
  if (result != CUDA_SUCCESS)
    invalid("expected a kernel '", entry,
            "' in the model's code, got: ", errorText(result),
            "; compile the model again");
  return function;
}

CudaEvent::CudaEvent(const Gpu &gpu, bool isTimed) : gpu_(gpu) {
  gpu_.use();
  check(driver().cuEventCreate(&event_, isTimed ? CU_EVENT_DEFAULT
                                                : CU_EVENT_DISABLE_TIMING),
        "to make an event on GPU ", gpu_.ordinal);
}

CudaEvent::~CudaEvent() {
  if (driver().cuCtxSetCurrent(gpu_.context) == CUDA_SUCCESS)
    driver().cuEventDestroy(event_);
}

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

namespace {
/// What all streams of a device have enqueued. It is launched on the first one;
/// the others come before and after it by events.
class CudaGraph final : public Graph {
public:
  CudaGraph(std::vector<CudaStream *> streams, CUgraph graph)
      : streams_(std::move(streams)), gpu_(streams_[0]->gpu()), graph_(graph) {
    for (size_t i = 0; i != streams_.size(); ++i)
      events_.push_back(std::make_unique<CudaEvent>(gpu_, /*isTimed=*/false));
    // Else all has the priority of the stream that it is launched on.
    check(driver().cuGraphInstantiateWithFlags(
              &exec_, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY),
          "to instantiate the graph of a step on ",
          streams_[0]->device().name());
  }
  ~CudaGraph() override {
    if (driver().cuCtxSetCurrent(gpu_.context) != CUDA_SUCCESS)
      return;
    if (exec_)
      driver().cuGraphExecDestroy(exec_);
    driver().cuGraphDestroy(graph_);
  }

  void launch() override {
    for (size_t i = 1; i != streams_.size(); ++i) {
      streams_[i]->record(*events_[i]);
      streams_[0]->wait(*events_[i]);
    }
    check(driver().cuGraphLaunch(exec_, streams_[0]->handle()),
          "to launch the graph of a step on ", streams_[0]->device().name());
    streams_[0]->record(*events_[0]);
    for (size_t i = 1; i != streams_.size(); ++i)
      streams_[i]->wait(*events_[0]);
  }

private:
  std::vector<CudaStream *> streams_;
  const Gpu &gpu_;
  CUgraph graph_;
  CUgraphExec exec_ = nullptr;
  std::vector<std::unique_ptr<CudaEvent>> events_; ///< By stream.
};
} // namespace

void CudaDevice::beginCapture() {
  gpu_.use();
  // Another thread may allocate meanwhile: only this one's calls are checked.
  check(driver().cuStreamBeginCapture(streams_[0]->handle(),
                                      CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "to capture a step on ", name());
  isCapturing_ = true;
  // A stream takes part once it waits for one that does.
  while (forks_.size() < streams_.size())
    forks_.push_back(std::make_unique<CudaEvent>(gpu_, /*isTimed=*/false));
  streams_[0]->record(*forks_[0]);
  for (size_t i = 1; i != streams_.size(); ++i)
    streams_[i]->wait(*forks_[0]);
}

std::unique_ptr<Graph> CudaDevice::endCapture() {
  for (size_t i = 1; i != streams_.size(); ++i) {
    streams_[i]->record(*forks_[i]);
    streams_[0]->wait(*forks_[i]);
  }
  isCapturing_ = false;
  CUgraph graph = nullptr;
  check(driver().cuStreamEndCapture(streams_[0]->handle(), &graph),
        "to capture a step on ", name());
  return std::make_unique<CudaGraph>(streams_, graph);
}

//===----------------------------------------------------------------------===//
// Memory, streams and kernels
//===----------------------------------------------------------------------===//

std::string CudaDevice::name() const {
  return text("device ", place_.number, " (GPU ", gpu_.ordinal, ", ", gpu_.name,
              ')');
}

DevicePointer CudaDevice::allocate(uint64_t bytes) {
  gpu_.use();
  CUdeviceptr block = 0;
  CUresult result = driver().cuMemAlloc(&block, bytes);
  if (result == CUDA_SUCCESS)
    return DevicePointer(static_cast<uintptr_t>(block));
  size_t free = 0, total = 0;
  driver().cuMemGetInfo(&free, &total);
  invalid("expected ", bytes, " bytes of memory of ", name(),
          ", got: ", errorText(result), ", ", free, " of ", total,
          " bytes are free; use more devices or a smaller batch");
}

void CudaDevice::free(DevicePointer block, uint64_t) {
  if (driver().cuCtxSetCurrent(gpu_.context) == CUDA_SUCCESS)
    driver().cuMemFree(block.value());
}

void CudaDevice::pin(char *host, uint64_t bytes) {
  gpu_.use();
  // Copies are right without it, but slower.
  if (driver().cuMemHostRegister(host, bytes, CU_MEMHOSTREGISTER_PORTABLE) ==
      CUDA_SUCCESS)
    pinned_[host] = bytes;
}

void CudaDevice::unpin(char *host) {
  if (pinned_.erase(host) &&
      driver().cuCtxSetCurrent(gpu_.context) == CUDA_SUCCESS)
    (void)driver().cuMemHostUnregister(host);
}

bool CudaDevice::isPinned(const char *host) const {
  auto after = pinned_.upper_bound(host);
  if (after == pinned_.begin())
    return false;
  auto block = std::prev(after);
  return static_cast<uint64_t>(host - block->first) < block->second;
}

std::unique_ptr<Stream> CudaDevice::makeStream(Patience, bool hasPriority) {
  return std::make_unique<CudaStream>(*this, hasPriority);
}

std::unique_ptr<Event> CudaDevice::makeEvent() {
  return std::make_unique<CudaEvent>(gpu_, /*isTimed=*/false);
}

const Module &CudaDevice::module(const fb::DeviceCode &code) {
  std::unique_ptr<Module> &own = modules_[&code];
  if (own)
    return *own;
  auto capability = static_cast<uint32_t>(10 * gpu_.major + gpu_.minor);
  if (capability < code.architecture())
    invalid("expected a GPU of compute capability ", code.architecture() / 10,
            '.', code.architecture() % 10,
            " or newer for this model, got: ", gpu_.major, '.', gpu_.minor,
            " of ", name(), "; compile it with --gpu-arch=sm_", capability);
  own = std::make_unique<Module>(gpu_, code.text()->c_str(),
                                 "the kernels of the model");
  return *own;
}

std::unique_ptr<Kernel>
CudaDevice::makeKernel(const fb::Kernel &kernel,
                       const std::vector<bool> &constant,
                       const NativeCode &native) {
  return makeCudaKernel(*this, kernel, constant, native);
}
