//===- Settings.h - How the emulated accelerator behaves ---------*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_EMULATED_SETTINGS_H
#define SOAP_TEST_LIB_RUNTIME_EMULATED_SETTINGS_H

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace soap::emulated {

/// From the environment, as only tests use this target.
struct Settings {
  uint64_t seed = 1;      ///< SOAP_EMULATED_SEED: of all delays.
  bool isOrdered = false; ///< SOAP_EMULATED_TRANSPORT=device, not host.

  static Settings fromEnvironment() {
    Settings settings;
    if (const char *seed = std::getenv("SOAP_EMULATED_SEED"))
      settings.seed = std::strtoull(seed, nullptr, 10);
    const char *transport = std::getenv("SOAP_EMULATED_TRANSPORT");
    settings.isOrdered = transport && std::strcmp(transport, "device") == 0;
    return settings;
  }
};

} // namespace soap::emulated

#endif // SOAP_TEST_LIB_RUNTIME_EMULATED_SETTINGS_H
