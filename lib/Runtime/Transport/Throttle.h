//===- Throttle.h - Links that are slower than the transport ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_TRANSPORT_THROTTLE_H
#define SOAP_LIB_RUNTIME_TRANSPORT_THROTTLE_H

#include "Transport/Channel.h"
#include "soap/Links/LinkSpeed.h"

namespace soap::runtime {

/// Makes a link of `speed` of every directed pair of devices, over any
/// transport. A message enters its link when both ends have posted it and the
/// messages before it have left: it keeps the link for bytes / bandwidth, and
/// is there a latency later. Both ends wait until then. What the transport
/// itself takes is hidden as long as it is faster.
///
/// Senders tell when they have posted, by the monotonic clock: all processes
/// must run on one host. Channels of the inner transport have numbers up to
/// 2 * `channels`, where `channels` is more than any number that is asked for.
std::unique_ptr<Channels> makeThrottledChannels(std::unique_ptr<Channels> inner,
                                                const LinkSpeed &speed,
                                                uint32_t channels);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_TRANSPORT_THROTTLE_H
