//===- Stream.cpp - A stream of a GPU -------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Stream.h"
#include "CUDA/CopyKernel.h"
#include "Clock.h"
#include <algorithm>
#include <cstring>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

CudaStream::CudaStream(CudaDevice &device, bool hasPriority)
    : device_(device), calls_(device) {
  gpu().use();
  int least = 0, greatest = 0;
  check(driver().cuCtxGetStreamPriorityRange(&least, &greatest),
        "priorities of streams");
  check(driver().cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING,
                                            hasPriority ? greatest : least),
        "a stream");
  device.streams_.push_back(this);
}

CudaStream::~CudaStream() {
  auto &all = device_.streams_;
  all.erase(std::find(all.begin(), all.end(), this));
  if (driver().cuCtxSetCurrent(gpu().context) != CUDA_SUCCESS)
    return;
  driver().cuStreamSynchronize(stream_);
  driver().cuStreamDestroy(stream_);
}

void CudaStream::check(CUresult result, const char *what) const {
  cuda::check(result, "to enqueue ", what, " on ", device_.name());
}

void CudaStream::launch(CUfunction function, unsigned blocks, unsigned threads,
                        void **parameters) {
  gpu().use();
  check(driver().cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0,
                                stream_, parameters, nullptr),
        "a kernel");
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void CudaStream::copy(const StridedCopy &box, DevicePointer from,
                      DevicePointer to) {
  if (box.bytes() == 0)
    return;
  gpu().use();
  if (box.extents.empty()) {
    check(driver().cuMemcpyDtoDAsync(to.value() + box.toOffset,
                                     from.value() + box.fromOffset, box.run,
                                     stream_),
          "a copy");
    return;
  }
  CopyKernel::of(gpu()).launch(*this, box, from, to);
}

void CudaStream::copyFromPeer(const Gpu &other, DevicePointer from,
                              DevicePointer to, uint64_t bytes) {
  if (bytes == 0)
    return;
  gpu().use();
  check(
      &other == &gpu()
          ? driver().cuMemcpyDtoDAsync(to.value(), from.value(), bytes, stream_)
          : driver().cuMemcpyPeerAsync(to.value(), gpu().context, from.value(),
                                       other.context, bytes, stream_),
      "a copy from another GPU");
}

HostCopy *CudaStream::throughLockedMemory(const StridedCopy &box,
                                          const char *host) {
  // A device alone in its process waits for none whose thread would have to
  // enqueue something first.
  if (device_.place().processDevices < 2 || device_.isCapturing() ||
      box.bytes() == 0 || device_.isPinned(host))
    return nullptr;
  if (usedCopies_ == copies_.size())
    copies_.push_back(std::make_unique<HostCopy>(gpu()));
  return copies_[usedCopies_++].get();
}

void CudaStream::copyFromHost(const StridedCopy &box, const char *from,
                              DevicePointer to) {
  const StridedCopy *second = &box;
  StridedCopy dense;
  if (HostCopy *copy = throughLockedMemory(box, from)) {
    dense = copy->prepareFromHost(box, from);
    call(*copy);
    second = &dense;
    from = copy->data();
  }
  copyRows(*second, CU_MEMORYTYPE_HOST, reinterpret_cast<uintptr_t>(from),
           CU_MEMORYTYPE_DEVICE, to.value());
}

void CudaStream::copyToHost(const StridedCopy &box, DevicePointer from,
                            char *to) {
  HostCopy *copy = throughLockedMemory(box, to);
  const StridedCopy first = copy ? copy->prepareToHost(box, to) : box;
  copyRows(first, CU_MEMORYTYPE_DEVICE, from.value(), CU_MEMORYTYPE_HOST,
           reinterpret_cast<uintptr_t>(copy ? copy->data() : to));
  if (copy)
    call(*copy);
}

void CudaStream::copyRow(CUmemorytype fromType, uintptr_t from,
                         CUmemorytype toType, uintptr_t to, uint64_t bytes) {
  if (fromType == CU_MEMORYTYPE_HOST)
    check(driver().cuMemcpyHtoDAsync(to, reinterpret_cast<const void *>(from),
                                     bytes, stream_),
          "a copy from the host");
  else
    check(driver().cuMemcpyDtoHAsync(reinterpret_cast<void *>(to), from, bytes,
                                     stream_),
          "a copy to the host");
}

/// Calls fn(from offset, to offset) for every index of the first `dims` dims.
template <typename Fn>
static void forEachIndex(const StridedCopy &box, size_t dims, Fn fn) {
  std::vector<int64_t> index(dims, 0);
  auto from = static_cast<int64_t>(box.fromOffset);
  auto to = static_cast<int64_t>(box.toOffset);
  while (true) {
    fn(from, to);
    size_t d = dims;
    for (; d-- > 0;) {
      from += box.fromStrides[d];
      to += box.toStrides[d];
      if (++index[d] != box.extents[d])
        break;
      from -= box.extents[d] * box.fromStrides[d];
      to -= box.extents[d] * box.toStrides[d];
      index[d] = 0;
    }
    if (d == SIZE_MAX)
      return;
  }
}

void CudaStream::copyRows(const StridedCopy &box, CUmemorytype fromType,
                          uintptr_t from, CUmemorytype toType, uintptr_t to) {
  if (box.bytes() == 0)
    return;
  gpu().use();
  size_t rank = box.extents.size();
  // The driver copies rows at equal distances that do not overlap.
  constexpr int64_t mostPitch = INT32_MAX;
  auto fits = [&](int64_t pitch) {
    return pitch >= static_cast<int64_t>(box.run) && pitch <= mostPitch;
  };
  if (rank == 0 || !fits(box.fromStrides[rank - 1]) ||
      !fits(box.toStrides[rank - 1])) {
    forEachIndex(box, rank, [&](int64_t fromOffset, int64_t toOffset) {
      copyRow(fromType, from + static_cast<uintptr_t>(fromOffset), toType,
              to + static_cast<uintptr_t>(toOffset), box.run);
    });
    return;
  }
  CUDA_MEMCPY2D rows = {};
  rows.WidthInBytes = box.run;
  rows.Height = static_cast<size_t>(box.extents[rank - 1]);
  rows.srcPitch = static_cast<size_t>(box.fromStrides[rank - 1]);
  rows.dstPitch = static_cast<size_t>(box.toStrides[rank - 1]);
  rows.srcMemoryType = fromType;
  rows.dstMemoryType = toType;
  forEachIndex(box, rank - 1, [&](int64_t fromOffset, int64_t toOffset) {
    uintptr_t source = from + static_cast<uintptr_t>(fromOffset);
    uintptr_t target = to + static_cast<uintptr_t>(toOffset);
    if (fromType == CU_MEMORYTYPE_HOST) {
      rows.srcHost = reinterpret_cast<const void *>(source);
      rows.dstDevice = target;
    } else {
      rows.srcDevice = source;
      rows.dstHost = reinterpret_cast<void *>(target);
    }
    check(driver().cuMemcpy2DAsync(&rows, stream_), "a copy of rows");
  });
}

void CudaStream::fill(DevicePointer to, uint64_t bytes,
                      const std::vector<uint8_t> &pattern) {
  if (bytes == 0)
    return;
  gpu().use();
  const Driver &d = driver();
  CUdeviceptr at = to.value();
  std::vector<uint8_t> repeated =
      pattern.empty() ? std::vector<uint8_t>{0} : pattern;
  bool isOneByte = std::all_of(repeated.begin(), repeated.end(),
                               [&](uint8_t b) { return b == repeated[0]; });
  if (isOneByte) {
    check(d.cuMemsetD8Async(at, repeated[0], bytes, stream_), "a fill");
    return;
  }
  while (repeated.size() < 4 && bytes % (2 * repeated.size()) == 0)
    repeated.insert(repeated.end(), repeated.begin(), repeated.end());
  // A column of words, or of bytes, for every place in the pattern.
  size_t size = repeated.size(), word = size % 4 == 0 && at % 4 == 0 ? 4 : 1;
  for (size_t offset = 0; offset != size; offset += word) {
    uint32_t value = 0;
    std::memcpy(&value, &repeated[offset], word);
    CUdeviceptr column = at + offset;
    if (size == word)
      check(d.cuMemsetD32Async(column, value, bytes / word, stream_), "a fill");
    else if (word == 4)
      check(d.cuMemsetD2D32Async(column, size, value, 1, bytes / size, stream_),
            "a fill");
    else
      check(d.cuMemsetD2D8Async(column, size, repeated[offset], 1, bytes / size,
                                stream_),
            "a fill");
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void CudaStream::call(HostCall &call) {
  gpu().use();
  calls_.enqueue(stream_, call);
}

void CudaStream::stamp(int64_t &time) {
  gpu().use();
  if (timers_.size() == stamps_.size())
    timers_.push_back(std::make_unique<CudaEvent>(gpu(), /*isTimed=*/true));
  check(driver().cuEventRecord(timers_[stamps_.size()]->handle(), stream_),
        "a time stamp");
  stamps_.push_back(&time);
}

void CudaStream::record(Event &event) {
  gpu().use();
  check(
      driver().cuEventRecord(static_cast<CudaEvent &>(event).handle(), stream_),
      "an event");
}

void CudaStream::wait(Event &event) {
  gpu().use();
  check(driver().cuStreamWaitEvent(stream_,
                                   static_cast<CudaEvent &>(event).handle(), 0),
        "a wait");
}

void CudaStream::writeStamps() {
  // The GPU has a clock of its own: one more event links it to the host's.
  CudaEvent last(gpu(), /*isTimed=*/true);
  check(driver().cuEventRecord(last.handle(), stream_), "a time stamp");
  cuda::check(driver().cuEventSynchronize(last.handle()), "to wait for ",
              device_.name());
  int64_t hostTime = now();
  for (size_t i = 0; i != stamps_.size(); ++i) {
    float milliseconds = 0;
    cuda::check(driver().cuEventElapsedTime(&milliseconds, timers_[i]->handle(),
                                            last.handle()),
                "to read a clock of ", device_.name());
    *stamps_[i] = hostTime - static_cast<int64_t>(milliseconds * 1e6);
  }
  stamps_.clear();
}

CUresult CudaStream::awaitEnd() {
  StreamWatch *watch = device_.watch();
  if (!watch)
    return driver().cuStreamSynchronize(stream_);
  CUresult result = CUDA_ERROR_NOT_READY;
  try {
    waitUntil(*watch, [&] {
      result = driver().cuStreamQuery(stream_);
      return result != CUDA_ERROR_NOT_READY;
    });
  } catch (...) {
    // The commands end by themselves now, before their memory is freed.
    (void)driver().cuStreamSynchronize(stream_);
    stamps_.clear();
    throw;
  }
  return result;
}

void CudaStream::synchronize() {
  gpu().use();
  CUresult result = awaitEnd();
  usedCopies_ = 0;
  if (result != CUDA_SUCCESS)
    failed("expected the commands of ", device_.name(),
           " to end, got: ", errorText(result),
           "; nothing more runs on this GPU in this process; start again with "
           "CUDA_LAUNCH_BLOCKING=1 in the environment, and the first row that "
           "fails is named, or with compute-sanitizer");
  if (!stamps_.empty())
    writeStamps();
  calls_.rethrow();
}
