//===- DriverStandIn.cpp - libcuda without a GPU --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library of the name of NVIDIA's driver, for tests: memory of GPUs that the
// host cannot touch, streams that run as late as they may, captures, and
// kernels whose PTX an interpreter runs. It checks what the driver would, and
// writes what is called to the file that SOAP_CUDA_LOG names, and PTX to the
// folder SOAP_CUDA_PTX. The environment says what it stands for: SOAP_CUDA_GPUS
// (2), SOAP_CUDA_DRIVER (13000), SOAP_CUDA_ARCH (90); with SOAP_CUDA_IDLE
// nothing is computed or copied.
//
//===----------------------------------------------------------------------===//

#include "Emulated/Memory.h"
#include "Error.h"
#include "LockedMemory.h"
#include "Ptx.h"
#include "Queue.h"
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>

using namespace soap;
using namespace soap::standin;
using runtime::DevicePointer;
using runtime::text;

//===----------------------------------------------------------------------===//
// What handles point to
//===----------------------------------------------------------------------===//

struct CUctx_st {
  int gpu;
};
struct CUstream_st {
  CUstream_st(int gpu, uint32_t number) : queue(gpu, number) {}
  Queue queue;
};
struct CUevent_st {
  Event event;
  bool isTimed;
};
struct CUfunc_st {
  ptx::Function function;
};
struct CUmod_st {
  std::map<std::string, CUfunc_st> functions;
};
struct CUgraph_st {
  std::unique_ptr<Capture> capture;
  int gpu;
};
struct CUgraphExec_st {
  CUgraphExec_st(const CUgraph_st &graph)
      : executable(*graph.capture, graph.gpu) {}
  Executable executable;
};

static int setting(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

static int gpuCount() { return setting("SOAP_CUDA_GPUS", 2); }

static thread_local CUcontext currentContext = nullptr;

/// What every call begins with: a context, and no failure of its GPU.
static CUresult begin() {
  return currentContext ? failureOf(currentContext->gpu).load()
                        : CUDA_ERROR_INVALID_CONTEXT;
}

#define SOAP_BEGIN                                                             \
  if (CUresult result = begin())                                               \
    return result;

/// Fails the GPU of a command for good, as a wrong access does.
static void failGpu(int gpu, const std::string &reason) {
  std::fprintf(stderr, "GPU %d: %s\n", gpu, reason.c_str());
  failureOf(gpu) = CUDA_ERROR_ILLEGAL_ADDRESS;
}

/// Runs a command unless its GPU has failed, and fails it if that throws.
static Command guardedCommand(int gpu, Command body) {
  return [gpu, body = std::move(body)] {
    if (failureOf(gpu) != CUDA_SUCCESS || isIdle())
      return;
    try {
      body();
    } catch (const std::exception &error) {
      failGpu(gpu, error.what());
    }
  };
}

/// Of calls that enqueue. One that copies from or to memory of the host which
/// is not locked holds it until it is done, as the driver seems to.
static std::mutex &enqueuing() {
  static auto *mutex = new std::mutex;
  return *mutex;
}

static CUresult enqueue(CUstream stream, const std::string &what,
                        Command command, const void *host = nullptr) {
  SOAP_BEGIN
  std::lock_guard<std::mutex> lock(enqueuing());
  if (stream->queue.gpu() != currentContext->gpu)
    return CUDA_ERROR_INVALID_HANDLE;
  log(text("stream ", stream->queue.number(), ": ", what));
  stream->queue.push(guardedCommand(stream->queue.gpu(), std::move(command)));
  if (host && !stream->queue.isCaptured() && !emulated::isLocked(host))
    return stream->queue.synchronize();
  return CUDA_SUCCESS;
}

/// What a pointer to the memory of any GPU means: GPUs see each other's.
static char *at(CUdeviceptr pointer) {
  return emulated::privateAddress(DevicePointer(uintptr_t{pointer}), nullptr);
}

/// The same of so many bytes, which must lie in one block.
static char *range(CUdeviceptr pointer, uint64_t bytes) {
  char *first = at(pointer);
  if (bytes && at(pointer + bytes - 1) != first + (bytes - 1))
    throw std::runtime_error("an access beyond a block of memory");
  return first;
}

//===----------------------------------------------------------------------===//
// The driver and its GPUs
//===----------------------------------------------------------------------===//

CUresult cuInit(unsigned) {
  return gpuCount() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuDriverGetVersion(int *version) {
  *version = setting("SOAP_CUDA_DRIVER", 13000);
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **name) {
  static const std::map<int, const char *> names = {
      {CUDA_SUCCESS, "CUDA_SUCCESS"},
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
      {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
      {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
      {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
      {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
      {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
  auto it = names.find(error);
  *name = it == names.end() ? "CUDA_ERROR_OF_ANOTHER_KIND" : it->second;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char **description) {
  *description = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory"
                                                   : "said by the stand-in";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *count) {
  *count = gpuCount();
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::snprintf(name, static_cast<size_t>(length), "stand-in for a GPU");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice) {
  int arch = setting("SOAP_CUDA_ARCH", 90);
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? arch / 10
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? arch % 10
                                                                   : 1;
  return CUDA_SUCCESS;
}
static constexpr size_t kMemory = size_t{8} << 30;
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  *bytes = kMemory;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  static auto *contexts = new std::map<int, CUctx_st>;
  *context = &contexts->emplace(device, CUctx_st{device}).first->second;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char *name, int length, CUdevice device) {
  std::snprintf(name, static_cast<size_t>(length), "0000:%02x:00.0",
                device + 1);
  return CUDA_SUCCESS;
}
/// GPUs reach each other in pairs, 0 and 1, 2 and 3.
CUresult cuDeviceCanAccessPeer(int *can, CUdevice from, CUdevice to) {
  if (from == to)
    return CUDA_ERROR_INVALID_DEVICE;
  *can = from / 2 == to / 2;
  return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  SOAP_BEGIN
  static auto *enabled = new std::set<std::pair<int, int>>;
  static std::mutex mutex;
  int can = 0;
  if (flags != 0 || cuDeviceCanAccessPeer(&can, currentContext->gpu,
                                          peer->gpu) != CUDA_SUCCESS)
    return CUDA_ERROR_INVALID_VALUE;
  if (!can)
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  std::lock_guard<std::mutex> lock(mutex);
  return enabled->insert({currentContext->gpu, peer->gpu}).second
             ? CUDA_SUCCESS
             : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
CUresult cuCtxGetDevice(CUdevice *device) {
  if (!currentContext)
    return CUDA_ERROR_INVALID_CONTEXT;
  *device = currentContext->gpu;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  currentContext = context;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  SOAP_BEGIN
  *free = *total = kMemory;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes) {
  SOAP_BEGIN
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > kMemory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  try {
    *pointer = emulated::allocateBlock(
                   static_cast<uint32_t>(currentContext->gpu), bytes)
                   .value();
  } catch (const std::exception &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr pointer) {
  SOAP_BEGIN
  emulated::freeBlock(DevicePointer(uintptr_t{pointer}));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **host, size_t bytes, unsigned) {
  SOAP_BEGIN
  *host = std::calloc(bytes, 1);
  emulated::setLocked(*host, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *host) {
  SOAP_BEGIN
  emulated::setLocked(host, 0);
  std::free(host);
  return CUDA_SUCCESS;
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr *pointer, void *host, unsigned) {
  SOAP_BEGIN
  *pointer = reinterpret_cast<uintptr_t>(host);
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void *host, size_t bytes, unsigned) {
  SOAP_BEGIN
  emulated::setLocked(host, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void *host) {
  SOAP_BEGIN
  emulated::setLocked(host, 0);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                           CUstream stream) {
  return enqueue(
      stream, text("copy from the host, ", bytes, " bytes"),
      [=] { std::memcpy(range(to, bytes), from, bytes); }, from);
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  return enqueue(
      stream, text("copy to the host, ", bytes, " bytes"),
      [=] { std::memcpy(to, range(from, bytes), bytes); }, to);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  return enqueue(stream, text("copy, ", bytes, " bytes"), [=] {
    std::memcpy(range(to, bytes), range(from, bytes), bytes);
  });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext target, CUdeviceptr from,
                           CUcontext source, size_t bytes, CUstream stream) {
  return enqueue(stream,
                 text("copy from GPU ", source->gpu, " to GPU ", target->gpu,
                      ", ", bytes, " bytes"),
                 [=] {
                   auto place = [&](CUdeviceptr pointer, CUcontext context) {
                     uint32_t owner = 0;
                     (void)emulated::privateAddress(
                         DevicePointer(uintptr_t{pointer}), &owner);
                     if (owner != static_cast<uint32_t>(context->gpu))
                       throw std::runtime_error("memory of another GPU");
                     return range(pointer, bytes);
                   };
                   std::memcpy(place(to, target), place(from, source), bytes);
                 });
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream) {
  if (copy->srcPitch < copy->WidthInBytes ||
      copy->dstPitch < copy->WidthInBytes || copy->srcPitch > INT32_MAX ||
      copy->dstPitch > INT32_MAX)
    return CUDA_ERROR_INVALID_VALUE;
  return enqueue(
      stream,
      text("copy of ", copy->Height, " rows of ", copy->WidthInBytes, " bytes"),
      [c = *copy] {
        for (size_t row = 0; row != c.Height; ++row) {
          size_t source = row * c.srcPitch, target = row * c.dstPitch;
          const char *from = c.srcMemoryType == CU_MEMORYTYPE_HOST
                                 ? static_cast<const char *>(c.srcHost) + source
                                 : range(c.srcDevice + source, c.WidthInBytes);
          char *to = c.dstMemoryType == CU_MEMORYTYPE_HOST
                         ? static_cast<char *>(c.dstHost) + target
                         : range(c.dstDevice + target, c.WidthInBytes);
          std::memcpy(to, from, c.WidthInBytes);
        }
      },
      copy->srcMemoryType == CU_MEMORYTYPE_HOST   ? copy->srcHost
      : copy->dstMemoryType == CU_MEMORYTYPE_HOST ? copy->dstHost
                                                  : nullptr);
}

/// Sets `height` rows of `width` elements, at a distance of `pitch` bytes.
template <typename T>
static CUresult set(CUdeviceptr to, size_t pitch, T value, size_t width,
                    size_t height, CUstream stream) {
  if (to % sizeof(T) || pitch % sizeof(T))
    return CUDA_ERROR_INVALID_VALUE;
  return enqueue(
      stream, text("fill of ", width * height * sizeof(T), " bytes"), [=] {
        for (size_t row = 0; row != height; ++row)
          for (size_t i = 0; i != width; ++i)
            std::memcpy(range(to + row * pitch + i * sizeof(T), sizeof(T)),
                        &value, sizeof(T));
      });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream stream) {
  return set(to, count, value, count, 1, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream stream) {
  return set(to, 4 * count, value, count, 1, stream);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
                           size_t width, size_t height, CUstream stream) {
  return set(to, pitch, value, width, height, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value,
                            size_t width, size_t height, CUstream stream) {
  return set(to, pitch, value, width, height, stream);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  SOAP_BEGIN
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned, int priority) {
  SOAP_BEGIN
  log(text("stream with priority ", priority));
  static std::atomic<uint32_t> count{0};
  *stream = new CUstream_st(currentContext->gpu, count++);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) { return stream->queue.query(); }
CUresult cuStreamSynchronize(CUstream stream) {
  SOAP_BEGIN
  log(text("synchronize stream ", stream->queue.number()));
  return stream->queue.synchronize();
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  SOAP_BEGIN
  // It runs even if the GPU has failed, so that nobody waits for ever.
  log(text("stream ", stream->queue.number(), ": host function"));
  stream->queue.push([=] { function(data); });
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr word,
                             cuuint32_t value, unsigned) {
  SOAP_BEGIN
  log(text("stream ", stream->queue.number(), ": wait for a word"));
  stream->queue.push([=] {
    auto *place = reinterpret_cast<std::atomic<uint32_t> *>(word);
    Scheduler::get().outside([&] {
      while (place->load() != value)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    });
  });
  return CUDA_SUCCESS;
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr word,
                              cuuint32_t value, unsigned) {
  SOAP_BEGIN
  stream->queue.push(
      [=] { reinterpret_cast<std::atomic<uint32_t> *>(word)->store(value); });
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *event, unsigned flags) {
  SOAP_BEGIN
  *event = new CUevent_st{{}, flags != CU_EVENT_DISABLE_TIMING};
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent) {
  return CUDA_SUCCESS; // Kept: a stream may still record it.
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  SOAP_BEGIN
  log(text("stream ", stream->queue.number(), ": record"));
  return stream->queue.record(event->event);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  SOAP_BEGIN
  log(text("stream ", stream->queue.number(), ": wait"));
  return stream->queue.wait(event->event);
}
CUresult cuEventSynchronize(CUevent event) {
  SOAP_BEGIN
  return event->event.queue ? event->event.queue->synchronize() : CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  SOAP_BEGIN
  if (!from->isTimed || !to->isTimed)
    return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = static_cast<float>(to->event.time - from->event.time) * 1e-6F;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Keeps the text of a module in the folder that SOAP_CUDA_PTX names.
static void keep(const char *ptx) {
  static std::atomic<int> number{0};
  if (const char *folder = std::getenv("SOAP_CUDA_PTX"))
    std::ofstream(text(folder, '/', number++, ".ptx")) << ptx;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values) {
  SOAP_BEGIN
  keep(static_cast<const char *>(image));
  auto own = std::make_unique<CUmod_st>();
  try {
    for (auto &[name, function] : ptx::parse(static_cast<const char *>(image)))
      own->functions[name].function = std::move(function);
  } catch (const std::exception &error) {
    for (unsigned i = 0; i + 1 < count; ++i)
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        std::snprintf(static_cast<char *>(values[i]),
                      reinterpret_cast<size_t>(values[i + 1]), "%s",
                      error.what());
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = own.release();
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  SOAP_BEGIN
  auto it = module->functions.find(name);
  if (it == module->functions.end())
    return CUDA_ERROR_NOT_FOUND;
  *function = &it->second;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned y,
                        unsigned z, unsigned threads, unsigned threadsY,
                        unsigned threadsZ, unsigned shared, CUstream stream,
                        void **parameters, void **) {
  SOAP_BEGIN
  const ptx::Function &code = function->function;
  if (blocks == 0 || blocks > INT32_MAX || threads == 0 || threads > 1024 ||
      y != 1 || z != 1 || threadsY != 1 || threadsZ != 1 || shared != 0 ||
      (code.requiredThreads && code.requiredThreads != threads))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<char> values(code.parameterBytes);
  for (size_t i = 0; i != code.parameters.size(); ++i)
    std::memcpy(values.data() + code.parameters[i].first, parameters[i],
                code.parameters[i].second);
  return enqueue(stream,
                 text("kernel ", code.name, ", ", blocks, " x ", threads),
                 [&code, blocks, threads, values = std::move(values)] {
                   // Accesses mostly follow one another: the last page is
                   // remembered.
                   uint64_t page = UINT64_MAX;
                   char *view = nullptr;
                   auto find = [&](uint64_t address, uint64_t bytes) -> char * {
                     constexpr uint64_t size = 4096;
                     if (address / size == page)
                       return view + address % size;
                     char *place = range(address, bytes);
                     // Blocks begin at pages, and end there for the last access
                     // alone.
                     if (address % size + bytes <= size) {
                       page = address / size;
                       view = place - address % size;
                     }
                     return place;
                   };
                   ptx::run(code, blocks, threads, values, find);
                 });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  SOAP_BEGIN
  log(text("begin capture on stream ", stream->queue.number()));
  return stream->queue.beginCapture();
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  SOAP_BEGIN
  log(text("end capture on stream ", stream->queue.number()));
  auto own = std::make_unique<CUgraph_st>();
  own->gpu = stream->queue.gpu();
  CUresult result = stream->queue.endCapture(own->capture);
  *graph = result == CUDA_SUCCESS ? own.release() : nullptr;
  return result;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                     unsigned long long flags) {
  SOAP_BEGIN
  log(text("graph with flags ", flags));
  *exec = new CUgraphExec_st(*graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete exec;
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  SOAP_BEGIN
  log(text("stream ", stream->queue.number(), ": launch graph"));
  exec->executable.launch(stream->queue);
  return CUDA_SUCCESS;
}
