//===- Cores.cpp - Devices as sets of cores -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Cores.h"
#include "Error.h"
#include <algorithm>
#include <fstream>
#include <pthread.h>
#include <sched.h>

using namespace soap::runtime;

std::vector<int> soap::runtime::allowedCores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int core = 0; core != CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set))
        cores.push_back(core);
  if (cores.empty())
    cores.push_back(0);
  return cores;
}

CoreSplit soap::runtime::splitCores(size_t devices, size_t perDevice,
                                    const std::vector<int> &allowed) {
  CoreSplit split;
  if (perDevice == 0)
    perDevice = std::max<size_t>(1, allowed.size() / devices);
  if (perDevice > allowed.size())
    invalid("expected at most ", allowed.size(),
            " cores per device, got: ", perDevice,
            "; lower --cores-per-device");
  size_t needed = devices * perDevice;
  for (size_t d = 0; d != devices; ++d) {
    std::vector<int> cores;
    for (size_t i = 0; i != perDevice; ++i)
      cores.push_back(allowed[(d * perDevice + i) % allowed.size()]);
    split.compute.push_back(std::move(cores));
  }
  std::vector<int> spare(allowed.begin() + std::min(needed, allowed.size()),
                         allowed.end());
  for (size_t d = 0; d != devices; ++d)
    split.communication.push_back(spare.empty() ? split.compute[d] : spare);
  // A look takes about 50 ns, one that yields about 0.9 us. Without a spare
  // core, the computation of a device loses the time of its communication
  // thread, which therefore yields only while the other one waits.
  constexpr unsigned yields = 5000;
  if (!spare.empty())
    split.transport = split.computeStream =
        split.communicationStream = {400, yields};
  else if (needed <= allowed.size()) {
    split.areMates = true;
    split.transport = {40, yields};
    split.computeStream = {0, yields};
  }
  if (needed > allowed.size())
    split.warning =
        text(devices, " devices of ", perDevice,
             perDevice == 1 ? " core" : " cores", " share ", allowed.size(),
             " cores: times are no measure of the strategy");
  return split;
}

void soap::runtime::bindThread(const std::vector<int> &cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores)
    CPU_SET(core, &set);
  // If the system refuses the binding, steps take longer, but results are the
  // same.
  (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}
