//===- Threads.cpp - The threads of a device of the CPU -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Threads.h"
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

using namespace soap;

namespace {
/// Functions of OpenMP runtimes. GOMP_parallel is what GCC's compiled code
/// calls; LLVM's runtime has it as well.
struct OpenMP {
  void (*setThreads)(int) = nullptr;
  int (*maxThreads)() = nullptr;
  int (*teamSize)() = nullptr;
  int (*threadNumber)() = nullptr;
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned) = nullptr;

  OpenMP() {
    void *library = oneDNN();
    find(library, "omp_set_num_threads", setThreads);
    find(library, "omp_get_max_threads", maxThreads);
    find(library, "omp_get_num_threads", teamSize);
    find(library, "omp_get_thread_num", threadNumber);
    find(library, "GOMP_parallel", parallel);
  }
  bool canRun() const {
    return maxThreads && teamSize && threadNumber && parallel;
  }

private:
  /// A handle to oneDNN, in which its dependencies are found too.
  static void *oneDNN() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(&dnnl_version), &info))
      return RTLD_DEFAULT;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return handle ? handle : RTLD_DEFAULT;
  }
  template <typename Function>
  static void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  }
};

struct Parts {
  size_t count;
  void (*body)(void *, size_t);
  void *data;
};
} // namespace

static const OpenMP &openMP() {
  static const OpenMP functions;
  return functions;
}

void runtime::useThreads(size_t count) {
  if (openMP().setThreads)
    openMP().setThreads(static_cast<int>(count));
}

size_t runtime::threadCount() {
  return openMP().canRun() ? static_cast<size_t>(openMP().maxThreads()) : 1;
}

size_t runtime::threadsForBytes(uint64_t bytes) {
  constexpr uint64_t leastBytes = uint64_t{64} << 10;
  return static_cast<size_t>(
      std::clamp<uint64_t>(bytes / leastBytes, 1, threadCount()));
}

void runtime::runParallel(size_t parts, void (*body)(void *data, size_t part),
                          void *data) {
  if (parts <= 1 || !openMP().canRun()) {
    for (size_t part = 0; part != parts; ++part)
      body(data, part);
    return;
  }
  Parts all = {parts, body, data};
  openMP().parallel(
      [](void *argument) {
        const auto &[count, function, context] =
            *static_cast<const Parts *>(argument);
        // There may be fewer threads than were asked for.
        auto team = static_cast<size_t>(openMP().teamSize());
        auto part = static_cast<size_t>(openMP().threadNumber());
        for (; part < count; part += team)
          function(context, part);
      },
      &all, static_cast<unsigned>(parts), /*flags=*/0);
}
