//===- HostMoves.h - Moving data between host memories -----------*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exchanges and collectives over channels, in host memory: that of devices
// whose memory is the host's, else staging memory. Moves are made before the
// first step; run() blocks the calling thread until this device's part is
// complete.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_TRANSPORT_HOSTMOVES_H
#define SOAP_LIB_RUNTIME_TRANSPORT_HOSTMOVES_H

#include "Backend/Transport.h"
#include "Transport/Channel.h"

namespace soap::runtime {

/// A range of host memory.
struct Span {
  char *data = nullptr;
  uint64_t bytes = 0;
};

/// One device's part of a communication.
class HostMove {
public:
  virtual ~HostMove() = default;
  /// Says where the data of all sends and receives lie, in the order of the
  /// part that it was made of. Before the first run().
  virtual void place(const std::vector<char *> &sends,
                     const std::vector<char *> &receives) = 0;
  virtual void run() = 0;
  /// @{ As in RowAction, of the last run.
  virtual uint64_t bytes() const = 0;
  virtual void movements(std::vector<Movement> &result) const = 0;
  virtual uint64_t ownBytes() const { return 0; }
  virtual void setOwnMemory(char *memory) {}
  /// @}
};

/// A group of transfers: posts all, then waits for all.
std::unique_ptr<HostMove> makeHostExchange(Channels &channels,
                                           const ExchangePart &part);
/// Throws as Transport::makeCollective().
std::unique_ptr<HostMove> makeHostCollective(Channels &channels,
                                             const CollectivePart &part);
/// Throws SOAP_INVALID if the collective joins what cannot be joined.
void checkReduction(const CollectiveShape &shape);

/// What a member of a collective reports if it has put in so many bytes.
Movement movementOf(const CollectiveShape &shape, int64_t put);

/// Joins `count` elements of all `sources`, in their order, into every one of
/// `targets`, which may be sources.
void reduceElements(fb::Combine combine, fb::ElementType element,
                    const std::vector<char *> &targets,
                    const std::vector<const char *> &sources, uint64_t count);
/// True if reduceElements knows this type.
bool canReduce(fb::Combine combine, fb::ElementType element);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_TRANSPORT_HOSTMOVES_H
