//===- Communicators.cpp - The communicators of a model -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Communicators.h"
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace soap::runtime;
using namespace soap::runtime::cuda;

//===----------------------------------------------------------------------===//
// What processes tell each other
//===----------------------------------------------------------------------===//

/// A name of this host as NCCL tells hosts apart: copies of one machine may
/// have one name, but each has been started by itself.
static std::string hostIdentity() {
  if (const char *given = std::getenv("NCCL_HOSTID"))
    return given;
  char name[256] = "";
  std::string identity =
      gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return identity + ' ' + boot;
}

static std::string toHex(const ncclUniqueId &id) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (char c : id.internal) {
    auto byte = static_cast<unsigned char>(c);
    text += digits[byte / 16];
    text += digits[byte % 16];
  }
  return text;
}

static ncclUniqueId fromHex(const std::string &text) {
  ncclUniqueId id = {};
  for (size_t i = 0; i != sizeof(id.internal) && 2 * i + 1 < text.size(); ++i)
    id.internal[i] =
        static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

Communicators::Communicators(CommunicatorPlan plan,
                             std::vector<DeviceGpu> devices, Peers *peers)
    : plan_(std::move(plan)), devices_(std::move(devices)), peers_(peers) {
  for (const CollectiveGroup &group : plan_.groups()) {
    std::string &id = ids_.emplace_back();
    for (const DeviceGpu &own : devices_)
      if (own.device == group.members[0]) {
        ncclUniqueId unique = {};
        checkNccl(nccl().ncclGetUniqueId(&unique),
                  "to make the name of a communicator");
        id = toHex(unique);
      }
  }
}

std::string Communicators::introduction() const {
  // "gpu DEVICE PLACE" and "id COMMUNICATOR HEX", a line each.
  std::string text;
  for (const DeviceGpu &own : devices_)
    text += runtime::text("gpu ", own.device, ' ', own.gpu->busId, " of host ",
                          hostIdentity(), '\n');
  for (size_t c = 0; c != ids_.size(); ++c)
    if (!ids_[c].empty())
      text += runtime::text("id ", c, ' ', ids_[c], '\n');
  return text;
}

void Communicators::connect(const std::vector<std::string> &introductions) {
  std::map<std::string, std::string> gpuOwners;
  std::vector<std::string> ids(plan_.groups().size());
  for (const std::string &introduction : introductions) {
    std::istringstream lines(introduction);
    for (std::string kind, number, rest;
         lines >> kind >> number && std::getline(lines >> std::ws, rest);) {
      if (kind == "id") {
        ids.at(std::stoul(number)) = rest;
        continue;
      }
      auto [owner, isNew] = gpuOwners.emplace(rest, number);
      if (!isNew)
        invalid("expected a GPU of its own for every device, as NCCL does, "
                "got: devices ",
                owner->second, " and ", number, " on GPU ", rest,
                "; use --gpu-transport=host, or --devices-per-gpu=K in one "
                "process");
    }
  }
  try {
    for (size_t c = 0; c != ids.size(); ++c)
      makeOne(c, ids[c]);
  } catch (const Error &error) {
    abandon(error.what());
    for (const DeviceGpu &own : devices_)
      abort(own.device);
    throw;
  }
}

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

void Communicators::makeOne(size_t communicator, const std::string &id) {
  const std::vector<uint32_t> &group = plan_.groups()[communicator].members;
  std::vector<std::pair<uint32_t, ncclComm_t>> made;
  checkNccl(nccl().ncclGroupStart(), "to begin a group");
  for (size_t rank = 0; rank != group.size(); ++rank)
    for (const DeviceGpu &own : devices_) {
      if (own.device != group[rank])
        continue;
      own.gpu->use();
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      ncclComm_t &handle = handles_[{communicator, own.device}];
      checkNccl(nccl().ncclCommInitRankConfig(
                    &handle, static_cast<int>(group.size()), fromHex(id),
                    static_cast<int>(rank), &config),
                "to connect device ", own.device);
    }
  checkNccl(nccl().ncclGroupEnd(), "to connect ", group.size(), " devices");
  for (const DeviceGpu &own : devices_) {
    auto it = handles_.find({communicator, own.device});
    if (it != handles_.end())
      settle(it->second, own.device);
  }
}

void Communicators::settle(ncclComm_t handle, uint32_t device) {
  struct Watch final : StreamWatch {
    Watch(Communicators &all, uint32_t device) : all(all), device(device) {}
    void check() override { all.check(device); }
    Communicators &all;
    uint32_t device;
  } watch(*this, device);
  ncclResult_t state = ncclInProgress;
  waitUntil(watch, [&] {
    checkNccl(nccl().ncclCommGetAsyncError(handle, &state),
              "to tell the state of device ", device);
    return state != ncclInProgress;
  });
  checkNccl(state, "to go on with device ", device);
}

void Communicators::check(uint32_t device) {
  try {
    abandonment_.check();
    if (peers_)
      peers_->check();
    for (auto &[key, handle] : handles_) {
      if (key.second != device || !handle)
        continue;
      ncclResult_t state = ncclSuccess;
      checkNccl(nccl().ncclCommGetAsyncError(handle, &state),
                "to tell the state of device ", device);
      checkNccl(state, "to go on with device ", device);
    }
  } catch (const Error &error) {
    std::string reason = error.what();
    if (!abandonment_.isSet())
      reason = reasonOf(reason);
    abandon(reason);
    abort(device);
    abandonment_.check();
  }
}

std::string Communicators::reasonOf(const std::string &seen) const {
  // NCCL may see a connection close before it is known which process has ended,
  // which says more.
  using namespace std::chrono;
  auto end = steady_clock::now() + seconds(1);
  try {
    for (; peers_ && steady_clock::now() < end;
         std::this_thread::sleep_for(milliseconds(1)))
      peers_->check();
  } catch (const Error &error) {
    return error.what();
  }
  return seen;
}

void Communicators::abort(uint32_t device) {
  for (auto &[key, handle] : handles_)
    if (key.second == device && handle)
      (void)nccl().ncclCommAbort(std::exchange(handle, nullptr));
}

void Communicators::finalize() {
  (void)nccl().ncclGroupStart();
  for (auto &[key, handle] : handles_)
    if (handle)
      (void)nccl().ncclCommFinalize(handle);
  (void)nccl().ncclGroupEnd();
}

Communicators::~Communicators() {
  if (!abandonment_.isSet())
    finalize();
  // Nobody waits for long for a process that keeps its model.
  using namespace std::chrono;
  auto end = steady_clock::now() + seconds(abandonment_.isSet() ? 0 : 2);
  for (auto &[key, handle] : handles_) {
    if (!handle)
      continue;
    ncclResult_t state = ncclInProgress;
    while (nccl().ncclCommGetAsyncError(handle, &state) == ncclSuccess &&
           state == ncclInProgress && steady_clock::now() < end)
      std::this_thread::sleep_for(microseconds(100));
    if (state == ncclSuccess)
      (void)nccl().ncclCommDestroy(handle);
    else
      (void)nccl().ncclCommAbort(handle);
  }
}
