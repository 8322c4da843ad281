//===- Collective.h - One member of a collective ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the algorithms share: the channels to other members, slices of a tensor,
// joining what comes in. An algorithm is a class per kind in Direct.cpp,
// Ring.cpp or Tree.cpp; docs/Runtime.md says what each sends when, and in which
// order it adds. Members skip messages of no bytes, on both ends.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_TRANSPORT_COLLECTIVE_H
#define SOAP_LIB_RUNTIME_TRANSPORT_COLLECTIVE_H

#include "Transport/HostMoves.h"

namespace soap::runtime {

/// One member's part of a collective, with places in host memory.
struct HostCollectivePart : CollectiveShape {
  std::vector<Span> send, receive;
};

/// One member's part of a collective by one algorithm.
class Collective : public HostMove {
public:
  Collective(Channels &channels, HostCollectivePart parts);

  void place(const std::vector<char *> &sends,
             const std::vector<char *> &receives) final;
  void run() final {
    put_ = 0;
    move();
    for (const Span &span : part_.send)
      put_ += static_cast<int64_t>(span.bytes);
  }
  uint64_t bytes() const final;
  void movements(std::vector<Movement> &result) const final;
  uint64_t ownBytes() const final { return reserved_; }
  void setOwnMemory(char *memory) final { own_ = memory; }

protected:
  /// Does this member's part.
  virtual void move() = 0;

  /// @{ Opens a channel; called while the action is made, once per member.
  void connectTo(uint32_t other);
  void connectFrom(uint32_t other);
  void connectAll();
  /// @}

  /// The member `steps` behind this one, in a ring.
  uint32_t before(uint32_t steps) const {
    return (member_ + members_ - steps % members_) % members_;
  }
  uint32_t after(uint32_t steps) const { return (member_ + steps) % members_; }

  /// @{ Posts to another member unless there are no bytes.
  void post(uint32_t target, const char *data, uint64_t bytes) {
    if (bytes)
      senders_[target]->post(data, bytes);
  }
  void expect(uint32_t source, char *buffer, uint64_t bytes) {
    if (bytes)
      receivers_[source]->post(buffer, bytes);
  }
  /// @}

  /// Slice i of `whole` bytes, cut between elements into one per member.
  Span slice(const Span &whole, uint32_t i) const;

  /// Elements in so many bytes.
  uint64_t count(uint64_t bytes) const { return bytes / elementBytes_; }

  /// Joins what the members of `order` hold, in this order, into `target` and
  /// into all room that was lent with the messages: this member's `mine` data,
  /// of the others the next message, `bytes` long each. `target` may be `mine`.
  void join(const std::vector<uint32_t> &order, const char *mine, char *target,
            uint64_t bytes);
  /// @{ Called while the action is made, after all channels are open. Reserves
  /// memory for messages of join(), one from each member of `sources` with
  /// which the channels share none; other memory, of which it returns the
  /// offset.
  void reserveIncoming(const std::vector<uint32_t> &sources, uint64_t bytes);
  uint64_t reserve(uint64_t bytes);
  /// @}
  char *ownMemory(uint64_t offset) const { return own_ + offset; }

  /// True if the channels share memory with all members that send to this
  /// one.
  bool sharesMemory() const;

  static void copy(const Span &from, const Span &to);

  HostCollectivePart part_;
  uint32_t members_, member_;
  std::vector<std::unique_ptr<Sender>> senders_; ///< By member; null if unused.
  std::vector<std::unique_ptr<Receiver>> receivers_;

private:
  Channels &channels_;
  uint64_t elementBytes_;
  int64_t put_ = 0; ///< Bytes that this member put in, in the last run.
  char *own_ = nullptr;
  uint64_t reserved_ = 0;
  uint64_t incoming_ = 0, incomingBytes_ = 0; ///< Where; bytes of one source.
  std::vector<const char *> addresses_;
  std::vector<char *> targets_;
};

/// @{ By algorithm; null for kinds of collectives that do not have it, which no
/// checked table asks for.
std::unique_ptr<HostMove> makeDirect(Channels &channels,
                                     HostCollectivePart part);
std::unique_ptr<HostMove> makeRing(Channels &channels, HostCollectivePart part);
std::unique_ptr<HostMove> makeTree(Channels &channels, HostCollectivePart part);
/// @}

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_TRANSPORT_COLLECTIVE_H
