//===- OrderedTransport.h - A transport that the devices order ---*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_EMULATED_ORDEREDTRANSPORT_H
#define SOAP_TEST_LIB_RUNTIME_EMULATED_ORDEREDTRANSPORT_H

#include "Backend/Transport.h"

namespace soap::emulated {

/// A transport among the emulated devices of a process, from device memory to
/// device memory, whose actions meet in the streams without the host, as those
/// of NCCL do. Every collective joins members in their order, whatever its
/// algorithm.
std::unique_ptr<runtime::Transport> makeOrderedTransport();

} // namespace soap::emulated

#endif // SOAP_TEST_LIB_RUNTIME_EMULATED_ORDEREDTRANSPORT_H
