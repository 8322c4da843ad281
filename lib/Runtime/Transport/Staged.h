//===- Staged.h - Communication through host memory --------------*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_TRANSPORT_STAGED_H
#define SOAP_LIB_RUNTIME_TRANSPORT_STAGED_H

#include "Backend/Backend.h"
#include "Transport/Channel.h"

namespace soap::runtime {

/// A transport whose actions copy to host memory what is sent, move it over
/// channels in a host call, and copy to the device what was received. Where the
/// devices' memory is the host's, nothing is copied.
std::unique_ptr<Transport> makeStagedTransport(Channels &channels,
                                               const BackendTraits &traits);

/// A host call that moves data: if it fails, others would wait for ever for the
/// rest of its messages, so it abandons the channels.
class MovingCall : public HostCall {
public:
  explicit MovingCall(Channels &channels) : channels_(channels) {}
  void run() final;
  bool waitsForOthers() const final { return true; }

protected:
  virtual void move() = 0;

private:
  Channels &channels_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_TRANSPORT_STAGED_H
