//===- Wait.cpp - Waiting between threads ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wait.h"

using namespace soap::runtime;

CoreMates *&CoreMates::own() {
  thread_local CoreMates *mates = nullptr;
  return mates;
}

unsigned &CoreMates::ownNumber() {
  thread_local unsigned number = 0;
  return number;
}
