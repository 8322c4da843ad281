//===- Fastest.cpp - Implementations chosen by measurement ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Fastest.h"
#include "CUDA/Stream.h"
#include <algorithm>
#include <mutex>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

static size_t measure(CudaDevice &device, size_t count, uint64_t resultBytes,
                      const EnqueueProposal &enqueue) {
  DeviceBlock result;
  try {
    result = DeviceBlock(device, resultBytes);
  } catch (const Error &) {
    return 0; // There is no memory to measure in.
  }
  CudaStream stream(device, /*hasPriority=*/false);
  std::vector<int64_t> starts(count), ends(count);
  std::vector<size_t> taken;
  std::exception_ptr refusal;
  constexpr int warmups = 2, runs = 5;
  for (size_t i = 0; i != count; ++i) {
    auto run = [&](int times) {
      for (int r = 0; r != times; ++r)
        enqueue(stream, i, result.data());
    };
    // A library may propose what it then refuses, of these buffers.
    try {
      run(warmups);
      stream.stamp(starts[i]);
      run(runs);
      stream.stamp(ends[i]);
      taken.push_back(i);
    } catch (const Error &) {
      refusal = refusal ? refusal : std::current_exception();
    }
  }
  stream.synchronize();
  if (taken.empty())
    std::rethrow_exception(refusal);
  return *std::min_element(taken.begin(), taken.end(), [&](size_t a, size_t b) {
    return ends[a] - starts[a] < ends[b] - starts[b];
  });
}

size_t cuda::fastestProposal(CudaDevice &device, const std::string &name,
                             uint64_t resultBytes, size_t count,
                             const EnqueueProposal &enqueue) {
  if (count <= 1)
    return 0;
  // Never destroyed: threads of devices may outlive other statics.
  static auto *chosen = new std::map<std::string, size_t>;
  static auto *mutex = new std::mutex;
  std::string key = text(device.gpu().ordinal, ' ', name);
  std::lock_guard<std::mutex> lock(*mutex);
  auto it = chosen->find(key);
  if (it == chosen->end())
    it = chosen->emplace(key, measure(device, count, resultBytes, enqueue))
             .first;
  return it->second < count ? it->second : 0;
}

size_t cuda::fastestProposal(CudaDevice &device, const fb::Kernel &kernel,
                             size_t count, const EnqueueProposal &enqueue) {
  const fb::TensorType *result = kernel.results()->Get(0);
  auto bytes = static_cast<uint64_t>(
      byteCount(result->element(), toVector(result->shape())));
  return fastestProposal(
      device, text(kernel.key()->str(), ' ', kernel.workspace_bytes()), bytes,
      count, enqueue);
}
