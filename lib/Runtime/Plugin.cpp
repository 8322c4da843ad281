//===- Plugin.cpp - Libraries that are loaded when needed -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plugin.h"
#include "Error.h"
#include <dlfcn.h>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

/// The folder of the runtime's own file.
static std::string runtimeFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&runtimeFolder), &info) ||
      !info.dli_fname)
    return ".";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

static std::string pathOf(const Plugin &plugin) {
  return runtimeFolder() + "/" + plugin.file;
}

bool runtime::hasPlugin(const Plugin &plugin) {
  return access(pathOf(plugin).c_str(), F_OK) == 0;
}

void *runtime::loadPlugin(const Plugin &plugin) {
  std::string path = pathOf(plugin);
  if (!hasPlugin(plugin))
    invalid("expected ", plugin.what, " '", path,
            "', got: no such file; install it beside libSOAPRuntime.so");
  // Kept until the process ends: threads of its libraries may outlive a model.
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    invalid("expected ", plugin.what, " '", path, "' to load, got: ", dlerror(),
            "; ", plugin.cure);
  void *entry = dlsym(handle, plugin.entry);
  if (!entry)
    invalid("expected ", plugin.what, " of SOAP ", soap_version(), " in '",
            path, "', got: a library without ", plugin.entry,
            "; install SOAP again");
  return entry;
}
