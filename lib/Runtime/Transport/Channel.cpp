//===- Channel.cpp - Directed pipes between devices -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/Channel.h"
#include "soap/Testing/PlantedFault.h"
#include <cassert>

using namespace soap::runtime;

void Sender::lend(const char *, char *, uint64_t) {
  assert(false && "only channels whose receivers say lendsRoom()");
}

void Sender::finish() {
  if (!SOAP_FAULT("sender-leaves"))
    awaitReceiver();
}
