//===- LoopKernels.cpp - Loops for what oneDNN lacks ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/Threads.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

using namespace soap;
using namespace soap::runtime;

namespace {
/// A launch of any function of its operands and results.
class BoundLoop final : public BoundKernel {
public:
  explicit BoundLoop(std::function<void()> body) : body_(std::move(body)) {}
  void enqueue(Stream &) override { body_(); }

private:
  std::function<void()> body_;
};

using LoopBody = std::function<void(const Binding &)>;

class LoopKernel final : public Kernel {
public:
  LoopKernel(std::string loopName, LoopBody body) : body_(std::move(body)) {
    implementation_ = "soap:" + std::move(loopName);
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<BoundLoop>(
        [body = body_, binding] { body(binding); });
  }

private:
  LoopBody body_;
};
} // namespace

static Shape shapeOf(const fb::TensorType *type) {
  return toVector(type->shape());
}

//===----------------------------------------------------------------------===//
// Softmax that oneDNN has no fast kernel for
//===----------------------------------------------------------------------===//

static void softmaxOf(const float *x, float *y, int64_t axis, int64_t inner,
                      bool log) {
  std::vector<float> max(x, x + inner), sum(inner);
  for (int64_t a = 1; a < axis; ++a)
    for (int64_t i = 0; i != inner; ++i)
      max[i] = std::max(max[i], x[a * inner + i]);
  for (int64_t a = 0; a != axis; ++a)
    for (int64_t i = 0; i != inner; ++i) {
      float shifted = x[a * inner + i] - max[i];
      float power = std::exp(shifted);
      sum[i] += power;
      y[a * inner + i] = log ? shifted : power;
    }
  for (int64_t i = 0; i != inner; ++i)
    sum[i] = log ? std::log(sum[i]) : 1.0f / sum[i];
  for (int64_t a = 0; a != axis; ++a)
    for (int64_t i = 0; i != inner; ++i) {
      float &value = y[a * inner + i];
      value = log ? value - sum[i] : value * sum[i];
    }
}

static std::unique_ptr<Kernel> makeSoftmax(const fb::Kernel &kernel,
                                           const fb::Softmax *op) {
  const auto *in = kernel.operands()->Get(0);
  Shape shape = shapeOf(in);
  if (in->element() != fb::ElementType::F32 || op->axis() < 0 ||
      op->axis() >= static_cast<int>(shape.size()) ||
      shapeOf(kernel.results()->Get(0)) != shape)
    return nullptr;
  auto at = shape.begin() + op->axis();
  int64_t outer = elementCount(Shape(shape.begin(), at)), axis = *at;
  int64_t inner = elementCount(Shape(at + 1, shape.end()));
  return std::make_unique<LoopKernel>("softmax", [=, log = op->log()](
                                                     const Binding &b) {
    const auto *x = reinterpret_cast<const float *>(hostAddress(b.operands[0]));
    auto *y = reinterpret_cast<float *>(hostAddress(b.results[0]));
    forEachOf(outer, std::min(outer, static_cast<int64_t>(threadCount())),
              [&](int64_t o) {
                int64_t begin = o * axis * inner;
                softmaxOf(x + begin, y + begin, axis, inner, log);
              });
  });
}

std::unique_ptr<Kernel> runtime::makeLoopKernel(const fb::Kernel &kernel) {
  if (elementCount(shapeOf(kernel.results()->Get(0))) == 0)
    return std::make_unique<LoopKernel>("empty", [](const Binding &) {});
  if (const auto *op = kernel.op_as_Softmax())
    return makeSoftmax(kernel, op);
  return nullptr;
}
