//===- PlantedFault.h - Faults that tests switch on -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Do the checks catch the bugs that they are there for? Where such a bug would
// live, `SOAP_FAULT("name")` plants it. Only programs that are built for these
// tests (SOAP_PLANTED_FAULTS, test/faults) know faults, and only those listed
// in the environment variable SOAP_FAULT are on. Elsewhere the macro is
// `false`: no code is left.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TESTING_PLANTEDFAULT_H
#define SOAP_TESTING_PLANTEDFAULT_H

#ifdef SOAP_PLANTED_FAULTS

#include <cstdlib>
#include <cstring>

namespace soap {

/// True if SOAP_FAULT, names separated by commas, lists `name`.
inline bool isFaultPlanted(const char *name) {
  const char *list = std::getenv("SOAP_FAULT");
  size_t length = std::strlen(name);
  while (list && *list) {
    const char *end = std::strchr(list, ',');
    size_t size = end ? static_cast<size_t>(end - list) : std::strlen(list);
    if (size == length && std::strncmp(list, name, size) == 0)
      return true;
    list = end ? end + 1 : nullptr;
  }
  return false;
}

} // namespace soap

#define SOAP_FAULT(name) (::soap::isFaultPlanted(name))

#else

#define SOAP_FAULT(name) false

#endif // SOAP_PLANTED_FAULTS

#endif // SOAP_TESTING_PLANTEDFAULT_H
