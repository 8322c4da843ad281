//===- Needs.cpp - What a use of a value needs ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/Needs.h"

using namespace soap;

Need soap::needOf(const ValueUse &use, llvm::ArrayRef<int64_t> shape) {
  Need need;
  needOf(use, shape, need);
  return need;
}

void soap::needOf(const ValueUse &use, llvm::ArrayRef<int64_t> shape,
                  Need &need) {
  makeNeed(use.spec, use.operand, use.degrees, use.devices, shape,
           use.regather || use.isOutput, need);
}
