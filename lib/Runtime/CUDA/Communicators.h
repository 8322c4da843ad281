//===- Communicators.h - The communicators of a model -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_COMMUNICATORS_H
#define SOAP_LIB_RUNTIME_CUDA_COMMUNICATORS_H

#include "CUDA/CommunicatorPlan.h"
#include "CUDA/Nccl.h"
#include "CUDA/Transports.h"
#include "CUDA/Watch.h"
#include <map>

namespace soap::runtime::cuda {

/// The communicators of this process's devices, and what ends them. None of
/// NCCL's calls blocks: a thread that waits also looks at the other processes.
/// Those of a device are used, and aborted, by the thread that enqueues its
/// rows.
class Communicators {
public:
  Communicators(CommunicatorPlan plan, std::vector<DeviceGpu> devices,
                Peers *peers);
  ~Communicators();

  /// @{ As in Transport.
  std::string introduction() const;
  void connect(const std::vector<std::string> &introductions);
  /// @}

  const CommunicatorPlan &plan() const { return plan_; }
  size_t localDevices() const { return devices_.size(); }

  /// Runs calls of one communicator, as a group, and waits until they are
  /// enqueued. `body` takes the communicator.
  template <typename Body>
  void enqueue(size_t communicator, uint32_t device, Body body) {
    check(device);
    ncclComm_t handle = handles_.at({communicator, device});
    checkNccl(nccl().ncclGroupStart(), "to begin a group");
    try {
      body(handle);
    } catch (...) {
      (void)nccl().ncclGroupEnd();
      throw;
    }
    checkNccl(nccl().ncclGroupEnd(), "to enqueue the calls of device ", device);
    settle(handle, device);
  }

  /// Says that no step can go on, from any thread.
  void abandon(const std::string &reason) { abandonment_.set(reason); }
  /// On the thread of a device: throws why its communicators cannot go on, and
  /// has aborted them then, so that their kernels end.
  void check(uint32_t device);

private:
  using Handles = std::map<std::pair<size_t, uint32_t>, ncclComm_t>;
  void makeOne(size_t communicator, const std::string &id);
  void settle(ncclComm_t handle, uint32_t device);
  std::string reasonOf(const std::string &seen) const;
  void finalize();
  void abort(uint32_t device);

  CommunicatorPlan plan_;
  std::vector<DeviceGpu> devices_;
  Peers *peers_;
  std::vector<std::string> ids_; ///< Of groups whose first member is here.
  Handles handles_;              ///< By communicator and device; null: aborted.
  Abandonment abandonment_;
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_COMMUNICATORS_H
