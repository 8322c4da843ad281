//===- ModelBuilder.h - Models by hand --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_RUNTIME_MODELBUILDER_H
#define SOAP_UNITTESTS_RUNTIME_MODELBUILDER_H

#include "soap/Links/LinkSpeed.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Runtime/Runtime.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace soap::test {

using Shape = std::vector<int64_t>;
using Floats = std::vector<float>;

int64_t count(const Shape &shape);
/// What device `member` of the first `members` does to add up a buffer's first
/// bytes over all of them, in place.
fb::CollectiveT allReduce(uint32_t members, uint32_t member, uint32_t buffer,
                          uint64_t bytes);
/// Seeded values in [lo, hi).
Floats randomFloats(int64_t count, uint32_t seed, float lo = -1, float hi = 1);

struct Release {
  void operator()(soap_model *model) const { soap_model_release(model); }
};
using ModelPtr = std::unique_ptr<soap_model, Release>;

/// Puts a model's table together.
class ModelBuilder {
public:
  explicit ModelBuilder(size_t devices = 1);

  fb::ModelT model;
  /// The program that ports, rows, values and tiles are added to.
  uint32_t program = 0;
  /// Adds a program, "main" being the first, and goes on with it.
  void addProgram(const std::string &name);

  /// A new buffer on a device.
  uint32_t buffer(uint32_t device, uint64_t bytes,
                  fb::Space space = fb::Space::Activations);
  uint32_t kernel(fb::KernelOpUnion op, const std::vector<Shape> &operands,
                  const std::vector<Shape> &results);
  /// The next native kernel touches `bytes[i]` bytes of buffer i, times
  /// sizes[k] for every bit k of `extents[i]`, and reads `sizeCount` sizes.
  /// Returns its symbol.
  uint32_t native(std::vector<uint64_t> bytes = {},
                  std::vector<uint64_t> extents = {}, uint32_t sizeCount = 0);
  uint32_t input(const std::string &name, const Shape &shape,
                 fb::ElementType element = fb::ElementType::F32);
  uint32_t output(const std::string &name, const Shape &shape,
                  fb::ElementType element = fb::ElementType::F32);

  /// Appends a row to a device's program and returns its index.
  template <typename Body>
  uint32_t
  row(uint32_t device, Body body, fb::Stream stream = fb::Stream::Compute,
      fb::Phase phase = fb::Phase::Step, std::vector<uint32_t> waits = {}) {
    auto result = std::make_unique<fb::RowT>();
    result->body.Set(std::move(body));
    result->stream = stream;
    result->phase = phase;
    result->waits = std::move(waits);
    auto &rows = model.devices[device]->programs[program]->rows;
    result->name = "row" + std::to_string(rows.size());
    rows.push_back(std::move(result));
    return static_cast<uint32_t>(rows.size() - 1);
  }
  /// Feeds a whole input into a buffer; drains a whole output.
  uint32_t feed(uint32_t device, uint32_t input, uint32_t buffer);
  uint32_t drain(uint32_t device, uint32_t output, uint32_t buffer);
  /// A load of a whole tensor of f32 from given bytes.
  void inlineLoad(uint32_t device, uint32_t buffer, const Shape &shape,
                  const Floats &values);

  uint32_t value(const std::string &name, const Shape &shape);
  /// Says that a whole buffer of f32 holds a box of a value after a row (-1:
  /// after init).
  fb::TileT &tile(uint32_t device, uint32_t value, uint32_t buffer,
                  std::vector<fb::Range> box, int32_t row);

  std::vector<uint8_t> finish() const;
  /// Loads; on failure returns null and sets `status`.
  ModelPtr load(soap_status *status = nullptr,
                const std::vector<soap_native_kernel> &natives = {},
                uint32_t coresPerDevice = 0, soap_observer observe = nullptr,
                void *user = nullptr, const LinkSpeed &link = {}) const;
};

std::unique_ptr<fb::BoxCopyT> denseCopy(uint32_t from, uint32_t to,
                                        uint64_t bytes, uint64_t fromOffset = 0,
                                        uint64_t toOffset = 0);

/// The name of a file that no other process has, in its folder: several run
/// these tests at a time.
std::string ownFile(const std::string &name);

} // namespace soap::test

#endif // SOAP_UNITTESTS_RUNTIME_MODELBUILDER_H
