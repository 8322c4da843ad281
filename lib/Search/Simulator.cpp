//===- Simulator.cpp - How long a step takes ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/Simulator.h"
#include "SimulatorPass.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

namespace {
/// Appends the times of every node, in the order of TaskGraph::nodes().
struct RecordAll {
  SimulationResult &result;
  int32_t host;

  void busy(int32_t device, int64_t ns) {
    if (device != host)
      result.computeNs[device] += ns;
  }
  void communicates(int32_t device, int64_t ns) {
    if (device != host)
      result.communicationNs[device] += ns;
  }
  void use(int32_t, int64_t) {}
  void useRow(int32_t, const int64_t *, size_t) {}
  void compute(llvm::ArrayRef<int32_t> devices, const int64_t *start,
               llvm::ArrayRef<int64_t> ns) {
    copy(devices, start, ns);
  }
  void copy(llvm::ArrayRef<int32_t> devices, const int64_t *start,
            llvm::ArrayRef<int64_t> ns) {
    NodeTimes &times = result.times.emplace_back();
    for (size_t i = 0; i < devices.size(); ++i) {
      times.start.push_back(start[i]);
      times.end.push_back(start[i] + ns[i]);
      busy(devices[i], ns[i]);
    }
  }
  void collective(llvm::ArrayRef<int32_t> devices, int64_t start, int64_t end) {
    NodeTimes &times = result.times.emplace_back();
    times.start.assign(devices.size(), start);
    times.end.assign(devices.size(), end);
    for (int32_t device : devices)
      communicates(device, end - start);
  }
  void transfers(const ActionTasks &action, const int64_t *start,
                 const int64_t *end) {
    NodeTimes &times = result.times.emplace_back();
    size_t count = action.devices.size();
    times.start.assign(start, start + count);
    times.end.assign(end, end + count);
    // A device communicates while a transfer of its own is under way.
    std::vector<int64_t> moving(count);
    for (const TransferTask &transfer : action.transfers)
      for (int32_t member : {transfer.source, transfer.target})
        moving[member] += action.costs[transfer.cost];
    for (size_t i = 0; i < count; ++i)
      communicates(action.devices[i], std::min(moving[i], end[i] - start[i]));
  }
};
} // namespace

template <bool Recording>
int64_t FullSimulator::simulate(SimulationResult *result) {
  state_.reset(tasks_);
  if constexpr (Recording) {
    RecordAll record{*result, tasks_.topology().host()};
    Pass(tasks_, state_, record).run();
  } else {
    RecordNothing record;
    Pass(tasks_, state_, record).run();
  }
  return *std::max_element(state_.resources.begin(), state_.resources.end());
}

int64_t FullSimulator::stepNs() { return simulate<false>(nullptr); }

SimulationResult FullSimulator::run() {
  SimulationResult result;
  result.nodes = tasks_.nodes();
  result.times.reserve(result.nodes.size());
  result.computeNs.assign(tasks_.topology().numDevices(), 0);
  result.communicationNs.assign(tasks_.topology().numDevices(), 0);
  result.stepNs = simulate<true>(&result);
  return result;
}

double SimulationResult::idleShare() const {
  if (stepNs == 0 || computeNs.empty())
    return 0;
  double busy = 0;
  for (int64_t ns : computeNs)
    busy += static_cast<double>(ns);
  return 1 - busy / (static_cast<double>(stepNs) * computeNs.size());
}

int64_t SimulationResult::maxCommunicationNs() const {
  return communicationNs.empty() ? 0
                                 : *std::max_element(communicationNs.begin(),
                                                     communicationNs.end());
}
