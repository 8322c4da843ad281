//===- DeviceKernels.h - Kernels of a device, and their memory --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which implementation a library chooses, and so how much memory it needs
// beside the planned arenas, is known once its kernels are described: a device
// does so to run, the compiler to plan. Both use this.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_DEVICEKERNELS_H
#define SOAP_LIB_RUNTIME_ENGINE_DEVICEKERNELS_H

#include "Backend/Backend.h"
#include <algorithm>
#include <functional>
#include <map>

namespace soap::runtime {

/// The memory of one device, in bytes.
struct MemoryNeeds {
  /// From the table.
  uint64_t activations = 0, parameters = 0;
  /// One scratchpad serves all launches, as they run one at a time.
  uint64_t scratchpad = 0;
  /// Copies of parameters in the library's layouts.
  uint64_t reordered = 0;
  /// Whole pages of parameters that are read from such copies only.
  uint64_t released = 0;
  /// What rows that move data need beside buffers.
  uint64_t communication = 0;
  /// The largest total() while a model loads.
  uint64_t peak = 0;

  MemoryNeeds() = default;
  /// What the table says; it plans the arenas.
  explicit MemoryNeeds(const fb::Device &device)
      : activations(device.activation_bytes()),
        parameters(device.parameter_bytes()) {}
  uint64_t total() const {
    return activations + parameters + scratchpad + reordered + communication -
           released;
  }
  void updatePeak() { peak = std::max(peak, total()); }
};

/// The kernels of a model for one number of threads of the host: that of the
/// thread that uses them.
class DeviceKernels {
public:
  using Natives = std::function<soap_native_kernel(uint32_t symbol)>;
  /// `device`, one of `backend`, and `model` outlive this; `natives` finds the
  /// functions of the model.
  DeviceKernels(const Backend &backend, BackendDevice &device,
                const fb::Model &model, Natives natives);

  const Backend &backend() const { return backend_; }

  /// The kernel of a launch, chosen at the first call. Throws SOAP_INVALID if
  /// nothing implements it.
  Kernel &get(const fb::Launch &launch);
  /// The largest scratchpad of all launches of a device.
  size_t scratchpadBytes(const fb::Device &device);
  /// The implementation that each kernel of the table got; "" if not launched.
  const std::vector<std::string> &implementations() const {
    return implementations_;
  }

private:
  const Backend &backend_;
  BackendDevice &device_;
  const fb::Model &model_;
  Natives natives_;
  std::map<std::pair<uint32_t, std::vector<bool>>, std::unique_ptr<Kernel>>
      kernels_;
  std::vector<std::string> implementations_;
};

/// Knows which parameters the programs reads from reordered copies only:
/// they need no memory of their own once the last launch that copies them is
/// bound.
class ParameterUses {
public:
  ParameterUses(DeviceKernels &kernels, const fb::Device &device);
  /// To be called for every launch of a program, after it is bound: the
  /// buffers that nothing reads any more.
  std::vector<const fb::Buffer *> release(const fb::Launch &launch);

private:
  DeviceKernels &kernels_;
  const fb::Device &device_;
  /// Launches' operands that copy a buffer.
  std::map<uint32_t, uint32_t> copied_;
};

/// The bytes of the arena of activations, from its start, that the rows of a
/// program use. The arena is as large as the most that one uses.
uint64_t activationBytes(const fb::Device &device, uint32_t program);

/// What a device will need, without loading anything: the order of steps is
/// that of Device::prepare(). `communication`: bytes for rows that move data.
MemoryNeeds planMemory(DeviceKernels &kernels, const fb::Device &device,
                       uint64_t communication);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_DEVICEKERNELS_H
