//===- DeviceRows.h - Rows from device memory to device memory --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the transports of GPUs share: rows whose commands move data between the
// memories of devices, without staging. Exchanges are groups of messages, which
// each transport sends in its own way; collectives can be made of them.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_DEVICEROWS_H
#define SOAP_LIB_RUNTIME_CUDA_DEVICEROWS_H

#include "Backend/Transport.h"
#include "CUDA/Stream.h"
#include <functional>
#include <map>

namespace soap::runtime::cuda {

/// A group of messages of one device, ready to be enqueued: it has ended when
/// all of them have come and been taken.
class Messages {
public:
  virtual ~Messages() = default;
  virtual void enqueue(CudaStream &stream) = 0;
};
using MakeMessages =
    std::function<std::unique_ptr<Messages>(const ExchangePart &)>;

/// Device memory that the rows of one stream share, since one runs after the
/// other. Allocated at the first use, when all rows are made.
class DeviceScratch {
public:
  explicit DeviceScratch(CudaDevice &device) : device_(device) {}
  void need(uint64_t bytes) { bytes_ = std::max(bytes_, bytes); }
  DevicePointer data();

private:
  CudaDevice &device_;
  uint64_t bytes_ = 0;
  DeviceBlock block_;
};

/// Those of the communication streams and priority streams of all devices,
/// which belong to their rows.
class DeviceScratches {
public:
  std::shared_ptr<DeviceScratch> get(CudaDevice &device, bool hasPriority);

private:
  std::map<std::pair<CudaDevice *, bool>, std::weak_ptr<DeviceScratch>> known_;
};

/// A row between device memories. If enqueuing it fails, others would wait for
/// it for ever, so `abandon` is called with the reason.
class DeviceRow : public RowAction {
public:
  void enqueue(Stream &stream, const Step &) final;
  bool isCapturable() const final { return isCapturable_; }
  /// Says what to do if it fails, and whether graphs may have it.
  void prepare(std::function<void(const std::string &)> abandon,
               bool isCapturable) {
    abandon_ = std::move(abandon);
    isCapturable_ = isCapturable;
  }

protected:
  /// Enqueues the commands.
  virtual void run(CudaStream &stream) = 0;
  bool hasRun() const { return hasRun_; }

private:
  std::function<void(const std::string &)> abandon_;
  bool isCapturable_ = false, hasRun_ = false;
};

/// A row that is one group of messages.
std::unique_ptr<DeviceRow> makeDeviceExchange(const ExchangePart &part,
                                              const MakeMessages &make);

/// What a collective's member reports of its row.
class CollectiveRow : public DeviceRow {
public:
  explicit CollectiveRow(CollectivePart part) : part_(std::move(part)) {}
  uint64_t bytes() const override;
  void movements(std::vector<Movement> &result) const override;

protected:
  uint32_t members() const {
    return static_cast<uint32_t>(part_.shape.group.size());
  }
  CollectivePart part_;
};

/// A collective by the algorithm `direct` of docs/Runtime.md, made of messages.
/// Null if it joins what JoinKernel does not.
std::unique_ptr<DeviceRow>
makeDirectCollective(CudaDevice &device, const CollectivePart &part,
                     const MakeMessages &make,
                     std::shared_ptr<DeviceScratch> scratch);

/// Enqueues a copy within a device, unless both are the same.
void copySpan(CudaStream &stream, const DeviceSpan &from, const DeviceSpan &to);

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_DEVICEROWS_H
