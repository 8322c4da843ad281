//===- HeldChannels.h - Channels whose messages come late --------*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_EMULATED_HELDCHANNELS_H
#define SOAP_TEST_LIB_RUNTIME_EMULATED_HELDCHANNELS_H

#include "Transport/Channel.h"

namespace soap::emulated {

/// Channels between the host memories of emulated devices. Where all devices
/// are in this process (`isLocal`) and no link is throttled, the scheduler sees
/// every wait, and a receiver mostly takes a message when nobody else can go
/// on: a sender that does not wait for this has then gone as far as it can.
/// Else waits are outside of the scheduler. `inner` outlives the channels.
std::unique_ptr<runtime::Channels> makeHeldChannels(runtime::Channels &inner,
                                                    bool isSeen);

} // namespace soap::emulated

#endif // SOAP_TEST_LIB_RUNTIME_EMULATED_HELDCHANNELS_H
