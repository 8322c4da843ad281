//===- HostCopy.cpp - Copies of host memory that is not locked ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/HostCopy.h"

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

/// The two halves of a copy by way of memory where its bytes are dense.
static std::pair<StridedCopy, StridedCopy> halves(const StridedCopy &box) {
  StridedCopy first = box, second = box;
  first.toOffset = second.fromOffset = 0;
  auto stride = static_cast<int64_t>(box.run);
  for (size_t d = box.extents.size(); d-- > 0;) {
    first.toStrides[d] = second.fromStrides[d] = stride;
    stride *= box.extents[d];
  }
  return {first, second};
}

HostCopy::~HostCopy() {
  if (driver().cuCtxSetCurrent(gpu_.context) != CUDA_SUCCESS)
    return;
  for (char *block : blocks_)
    driver().cuMemFreeHost(block);
}

void HostCopy::need(uint64_t bytes) {
  if (bytes <= bytes_)
    return;
  // A smaller block stays until the end: freeing it would wait for all that
  // other devices have enqueued.
  gpu_.use();
  void *block = nullptr;
  check(driver().cuMemHostAlloc(&block, bytes, CU_MEMHOSTALLOC_PORTABLE),
        "to lock ", bytes, " bytes of memory of the host");
  data_ = static_cast<char *>(block);
  blocks_.push_back(data_);
  bytes_ = bytes;
}

StridedCopy HostCopy::prepareToHost(const StridedCopy &box, char *to) {
  need(box.bytes());
  from_ = data_;
  to_ = to;
  auto [first, second] = halves(box);
  box_ = second;
  return first;
}

StridedCopy HostCopy::prepareFromHost(const StridedCopy &box,
                                      const char *from) {
  need(box.bytes());
  from_ = from;
  to_ = data_;
  auto [first, second] = halves(box);
  box_ = first;
  return second;
}

void HostCopy::run() { box_.execute(from_, to_); }
