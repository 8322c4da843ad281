//===- MovingRows.h - Rows that others take part in -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_MOVINGROWS_H
#define SOAP_LIB_RUNTIME_ENGINE_MOVINGROWS_H

#include "Backend/HostMemory.h"
#include "Engine/Copies.h"
#include "Engine/HostRows.h"
#include "Model/Meetings.h"

namespace soap::runtime {

/// True for exchanges, collectives, feeds and drains.
bool movesData(const fb::Row &row);

/// What connects the devices of a model, and their host.
struct Links {
  const Meetings &meetings;
  Transport &transport;
  Channels &channels;
  const HostLinks &host;
};

/// Makes the rows of a device that move data.
struct MovingRows {
  uint32_t number;
  BackendDevice &device;
  const Links &links;
  const BufferAddress &address;

  /// Row `index` of a program.
  std::unique_ptr<RowAction> make(const fb::Row &row, uint32_t program,
                                  uint32_t index) const;
};

/// Where the memory lies that rows which move data need beside buffers. Feeds,
/// drains and rows of the communication stream run one after the other and
/// share it; so do those of the priority stream, which run beside them.
class MovingMemory {
public:
  void add(fb::Stream stream, uint64_t bytes) {
    uint64_t &most = stream == fb::Stream::Priority ? priority_ : shared_;
    most = std::max(most, bytes);
  }
  /// @{ When all rows have been added: all of it, and where the part of a
  /// stream begins, on a cache line of its own.
  uint64_t bytes() const {
    return priority_ ? begin(fb::Stream::Priority) + priority_ : shared_;
  }
  uint64_t begin(fb::Stream stream) const {
    return stream == fb::Stream::Priority ? wholeLines(shared_) : 0;
  }
  /// @}

private:
  uint64_t shared_ = 0, priority_ = 0;
};

/// The most memory that the rows of a device need beside its buffers, whatever
/// processes the devices are in: as if each, and the host, had one for itself.
uint64_t mostCommunicationBytes(const fb::Model &model,
                                const Meetings &meetings,
                                const BackendTraits &traits, uint32_t device);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_MOVINGROWS_H
