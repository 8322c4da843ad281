//===- Loads.cpp - Makes parameters and constants -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Loads.h"
#include "Engine/RandomFill.h"
#include "Model/Safetensors.h"
#include <cassert>
#include <cstring>

using namespace soap;
using namespace soap::runtime;

namespace {
/// A box of a row-major tensor as contiguous runs of elements.
class BoxRuns {
public:
  explicit BoxRuns(const fb::Load &load) {
    for (int64_t extent : items(load.shape()))
      shape_.push_back(extent);
    for (const fb::Range *range : items(load.box())) {
      lo_.push_back(range->lo());
      extents_.push_back(range->hi() - range->lo());
    }
    assert(shape_.size() == extents_.size() && "Checker has seen the box");
    // Trailing dims that are whole, and the one before them, make one run.
    for (dims_ = shape_.size(); dims_ > 0;) {
      --dims_;
      run_ *= extents_[dims_];
      if (extents_[dims_] != shape_[dims_])
        break;
    }
  }

  /// Calls fn(first element in the tensor, elements) for every run, in order.
  template <typename Fn>
  void forEach(Fn fn) const {
    for (int64_t extent : extents_)
      if (extent == 0)
        return;
    std::vector<int64_t> index(dims_, 0);
    while (true) {
      int64_t start = 0;
      for (size_t d = 0; d != shape_.size(); ++d)
        start = start * shape_[d] + lo_[d] + (d < dims_ ? index[d] : 0);
      fn(start, run_);
      size_t d = dims_;
      while (d > 0 && ++index[d - 1] == extents_[d - 1])
        index[--d] = 0;
      if (d == 0)
        return;
    }
  }

private:
  Shape shape_, lo_, extents_;
  size_t dims_ = 0; ///< Leading dims that are iterated.
  int64_t run_ = 1;
};
} // namespace

void runtime::executeLoad(const fb::Load &load, const Safetensors *weights,
                          char *target) {
  size_t size = elementSize(load.element());
  BoxRuns runs(load);
  const unsigned char *source = nullptr;
  if (const auto *stored = load.source_as_Stored())
    source = weights->find(stored->tensor()->str(), load.element(),
                           toVector(load.shape()));
  else if (const auto *bytes = load.source_as_Inline())
    source = bytes->bytes()->data();
  if (source) {
    runs.forEach([&](int64_t start, int64_t count) {
      std::memcpy(target, source + start * size, count * size);
      target += count * size;
    });
    return;
  }
  if (const auto *splat = load.source_as_Splat()) {
    runs.forEach([&](int64_t, int64_t count) {
      for (int64_t i = 0; i != count; ++i, target += size)
        std::memcpy(target, splat->value()->data(), size);
    });
    return;
  }
  const fb::Random &random = *load.source_as_Random();
  runs.forEach([&](int64_t start, int64_t count) {
    if (load.element() == fb::ElementType::F64)
      fillRandom(random, start, count, reinterpret_cast<double *>(target));
    else
      fillRandom(random, start, count, reinterpret_cast<float *>(target));
    target += count * size;
  });
}
