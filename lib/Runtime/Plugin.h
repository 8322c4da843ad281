//===- Plugin.h - Libraries that are loaded when needed ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PLUGIN_H
#define SOAP_LIB_RUNTIME_PLUGIN_H

namespace soap::runtime {

/// A library beside the runtime's own file that links what a machine may lack.
struct Plugin {
  const char *file;  ///< "libSOAPBackendCPU.so"
  const char *what;  ///< "the CPU backend"
  const char *entry; ///< The symbol that it exports.
  const char *cure;  ///< If it does not load.
};

/// Loads a plug-in, until the process ends, and returns its entry. Throws
/// SOAP_INVALID, with the cure.
void *loadPlugin(const Plugin &plugin);
/// True if its file is there.
bool hasPlugin(const Plugin &plugin);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PLUGIN_H
