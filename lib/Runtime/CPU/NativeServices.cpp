//===- NativeServices.cpp - What the CPU backend does for kernels ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "CPU/CPUKernels.h"
#include "CPU/FewRows.h"
#include "CPU/Threads.h"
#include <algorithm>
#include <cassert>
#include <oneapi/dnnl/dnnl.h>
#include <vector>

using namespace soap;
using namespace soap::runtime;

static void multiplyAdd(int64_t rows, int64_t columns, int64_t sum,
                        const float *a, int64_t a_row, int64_t a_column,
                        const float *b, int64_t b_row, int64_t b_column,
                        float *c, int64_t c_row) {
  bool turnsA = a_column != 1, turnsB = b_column != 1;
  if (!turnsA && b_row == 1 &&
      multiplyFewRows(
          RowsProduct{rows, columns, sum, a, a_row, b, b_column, c, c_row}))
    return;
  dnnl_status_t status = dnnl_sgemm(
      turnsA ? 'T' : 'N', turnsB ? 'T' : 'N', rows, columns, sum, 1.0f, a,
      turnsA ? a_column : a_row, b, turnsB ? b_column : b_row, 1.0f, c, c_row);
  // A kernel cannot fail; oneDNN can, where it finds no memory.
  if (status != dnnl_success)
    soap_plain_product(rows, columns, sum, a, a_row, a_column, b, b_row,
                       b_column, c, c_row);
}

namespace {
/// What kernels of a thread have allocated: blocks are kept for the next run,
/// as malloc does not with large ones, whose pages then would have to be made
/// anew, which takes longer than many a kernel.
class KernelMemory {
public:
  void *allocate(size_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->size() >= bytes &&
          (best == free_.end() || it->size() < best->size()))
        best = it;
    // Small requests leave large blocks to others.
    if (best != free_.end() && best->size() > sparedBytes &&
        best->size() / 4 > bytes)
      best = free_.end();
    if (best == free_.end()) {
      // A larger block takes the place of one that was too small.
      auto largest = std::max_element(
          free_.begin(), free_.end(),
          [](const Arena &a, const Arena &b) { return a.size() < b.size(); });
      if (largest != free_.end() && largest->size() < bytes)
        free_.erase(largest);
      used_.emplace_back(std::max<size_t>(bytes, 1));
    } else {
      used_.push_back(std::move(*best));
      free_.erase(best);
    }
    return used_.back().data();
  }

  void release(void *block) {
    auto it =
        std::find_if(used_.rbegin(), used_.rend(),
                     [&](const Arena &arena) { return arena.data() == block; });
    assert(it != used_.rend() && "a block of this thread");
    free_.push_back(std::move(*it));
    used_.erase(std::next(it).base());
  }

private:
  static constexpr size_t sparedBytes = size_t{1} << 20;
  std::vector<Arena> used_, free_; ///< Few of them.
};
} // namespace

static thread_local KernelMemory kernelMemory;

/// A kernel cannot fail: without memory, the process ends and says why.
static void *allocate(uint64_t bytes) noexcept {
  return kernelMemory.allocate(bytes);
}

static void release(void *block) noexcept { kernelMemory.release(block); }

static void runBody(int64_t count, int64_t parts, soap_native_body body,
                    void *data) {
  parts = std::min({parts, count, static_cast<int64_t>(threadCount())});
  forEachRange(count, parts,
               [&](int64_t begin, int64_t end) { body(data, begin, end); });
}

const soap_native_services runtime::nativeServices = {multiplyAdd, allocate,
                                                      release, runBody};
