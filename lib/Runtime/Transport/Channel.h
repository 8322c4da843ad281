//===- Channel.h - Directed pipes between devices ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Communication through host memory is made of channels: a channel carries
// messages from one device to another, in order, any number per step. Exchanges
// and collectives are written once over its two ends.
//
// Both ends know the bytes of every message: the programs of the devices agree
// on them before the first step. An end is used by one thread at a time and
// allocates nothing once it is made. Functions that wait throw Error if the
// other end can no longer be reached.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_TRANSPORT_CHANNEL_H
#define SOAP_LIB_RUNTIME_TRANSPORT_CHANNEL_H

#include "Patience.h"
#include <cstdint>
#include <memory>
#include <string>

namespace soap::runtime {

/// How many messages an end may have posted and not yet finished. Rows post
/// half as many, since a throttled link makes two of each.
constexpr unsigned maxPostedMessages = 4;

/// The end of a channel that sends.
class Sender {
public:
  virtual ~Sender() = default;
  /// Offers the next message, without waiting for anybody. `data` must not
  /// change until finish() has returned.
  virtual void post(const char *data, uint64_t bytes) = 0;
  /// The same, and lends the receiver as many bytes of `room`, which it may
  /// write until finish() has returned; `data` may be `room`. Only where the
  /// channel lends room.
  virtual void lend(const char *data, char *room, uint64_t bytes);
  /// Waits until the receiver has all messages posted so far.
  void finish();

private:
  virtual void awaitReceiver() = 0;
};

/// The end of a channel that receives: either by post() and finish(), or by
/// view() and release() where the channel shares memory.
class Receiver {
public:
  virtual ~Receiver() = default;
  /// Says where the next message shall lie, without waiting for anybody.
  /// `buffer` must not be touched until finish() has returned.
  virtual void post(char *buffer, uint64_t bytes) = 0;
  /// Waits until all messages posted so far lie in their buffers.
  virtual void finish() = 0;

  /// True if view() may be used.
  virtual bool sharesMemory() const { return false; }
  /// Waits for the next message, `bytes` long, and returns where it lies in the
  /// sender's memory. Nothing else may be posted at the same time.
  virtual const char *view(uint64_t bytes) { return nullptr; }
  /// Gives the memory of the last view() back to the sender.
  virtual void release() {}

  /// True if the sender may lend() with a message what the receiver writes into
  /// between view() and release(): room() of the message of the last view().
  virtual bool lendsRoom() const { return false; }
  virtual char *room() { return nullptr; }
};

/// Makes the ends of channels, before the first step. An end is made in the
/// process of its device, from one thread; `channel` is the same number at both
/// ends and used by no other channel.
class Channels {
public:
  virtual ~Channels() = default;
  virtual std::unique_ptr<Sender> makeSender(uint32_t channel, uint32_t from,
                                             uint32_t to) = 0;
  virtual std::unique_ptr<Receiver>
  makeReceiver(uint32_t channel, uint32_t from, uint32_t to) = 0;

  /// Says that a step cannot go on, from any thread: all waits of ends, now and
  /// later, throw SOAP_FAILED with the first reason.
  virtual void abandon(const std::string &reason) = 0;
};

/// Threads of one process: a receiver copies from the sender's memory.
/// `patience` of all waits.
std::unique_ptr<Channels> makeLocalChannels(Patience patience);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_TRANSPORT_CHANNEL_H
