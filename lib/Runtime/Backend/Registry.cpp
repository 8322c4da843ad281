//===- Registry.cpp - Loads the backend of a target -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/Backend.h"
#include "Plugin.h"
#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

using namespace soap;
using namespace soap::runtime;

const std::vector<std::string> &runtime::installedTargets() {
  static const std::vector<std::string> targets = {
#define SOAP_BACKEND(target, cure) #target,
#include "Backend/Backends.def"
  };
  return targets;
}

namespace {
/// The plug-in of a target `x`, libSOAPBackendX.so.
struct BackendPlugin {
  explicit BackendPlugin(const std::string &target) {
    std::string name = target;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    file = "libSOAPBackend" + name + ".so";
    what = "the " + name + " backend";
    cure = "install the libraries that it needs";
#define SOAP_BACKEND(installed, itsCure)                                       \
  if (target == #installed)                                                    \
    cure = itsCure;
#include "Backend/Backends.def"
  }
  Plugin plugin() const {
    return {file.c_str(), what.c_str(), "soap_backend", cure.c_str()};
  }

  std::string file, what, cure;
};
} // namespace

bool &runtime::runsCommands() {
  static thread_local bool runs = false;
  return runs;
}

bool runtime::hasBackend(const std::string &target) {
  // A target comes from a model: it must not name a file elsewhere.
  return !target.empty() &&
         std::all_of(target.begin(), target.end(),
                     [](unsigned char c) { return std::isalnum(c); }) &&
         hasPlugin(BackendPlugin(target).plugin());
}

const Backend &runtime::findBackend(const std::string &target) {
  static std::mutex mutex;
  static std::map<std::string, const Backend *> loaded;
  std::lock_guard<std::mutex> lock(mutex);
  // If it cannot be loaded, the next call tries again.
  const Backend *&backend = loaded[target];
  if (!backend) {
    BackendPlugin description(target);
    auto entry =
        reinterpret_cast<BackendEntry>(loadPlugin(description.plugin()));
    backend = entry(soap_version());
    if (!backend)
      invalid("expected ", description.what, " of SOAP ", soap_version(),
              ", got: another version's; install SOAP again");
  }
  return *backend;
}
