//===- algorithms.cpp - Uses the installed search -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/SearchAlgorithm.h"
#include <cstdio>

int main() {
  for (const auto &name : soap::searchAlgorithmNames())
    std::printf("algorithm %s\n", std::string(name).c_str());
}
