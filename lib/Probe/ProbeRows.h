//===- ProbeRows.h - Rows of models made for measuring ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_PROBE_PROBEROWS_H
#define SOAP_LIB_PROBE_PROBEROWS_H

#include "soap/Probe/ProbeModel.h"
#include "soap/Runtime/Model.fbs.h"
#include <memory>
#include <vector>

namespace soap::detail {

/// So much memory is in no cache of a core when it is used again.
constexpr int64_t coldBytes = 24 << 20;

std::unique_ptr<fb::TensorTypeT> tensor(std::vector<int64_t> shape);
/// Adds a buffer of an arena and returns its index.
uint32_t addBuffer(fb::DeviceT &device, const ProbeTarget &target,
                   uint64_t bytes, fb::Space space = fb::Space::Activations);
/// Adds a row behind those that are there and returns its number.
uint32_t addRow(fb::DeviceT &device, fb::RowBodyUnion body, fb::Stream stream,
                fb::Phase phase = fb::Phase::Step,
                std::vector<uint32_t> waits = {});
fb::RowBodyUnion launch(std::vector<uint32_t> operands, uint32_t result,
                        std::vector<uint32_t> constants = {},
                        std::vector<int64_t> sizes = {});
/// All of a buffer.
std::unique_ptr<fb::BoxCopyT> wholeCopy(uint32_t from, uint32_t to,
                                        uint64_t bytes);

/// Bytes of the buffers that boxes are copied out of: every other run.
int64_t sourceBytes(const ProbeStep &step);
/// Copies of boxes, each of which a kernel made just before, to where nobody
/// has been for a while.
void addBoxes(fb::DeviceT &device, const ProbeTarget &target,
              const ProbeStep &step);
/// What a device works on by itself before a hand-over, some 0.2 ms as kernels
/// of networks do: long enough for the others to fall asleep.
constexpr int64_t aloneBytes = 4 << 20;
/// Kernels that each read what the device before has sent. One device after the
/// other works alone first.
void addHandOvers(fb::DeviceT &device, const ProbeTarget &target, uint32_t id,
                  const ProbeStep &step);
/// Of every hand-over, from the end of the kernels before it on the devices at
/// both ends to the start of the one behind it.
void addHandOverTimes(const std::vector<soap_event> &events,
                      std::vector<int64_t> &times);

} // namespace soap::detail

#endif // SOAP_LIB_PROBE_PROBEROWS_H
