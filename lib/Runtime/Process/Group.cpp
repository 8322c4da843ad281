//===- Group.cpp - Processes that run a model together --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/Group.h"
#include "Process/TcpGroup.h"
#include <algorithm>
#include <mutex>

using namespace soap;
using namespace soap::runtime;

const Plugin runtime::mpiPlugin = {
    "libSOAPTransportMPI.so", "the MPI transport", "soap_mpi_transport",
    "install Open MPI (packages libopenmpi3 and openmpi-bin on Debian), or use "
    "--transport=tcp or, in one process, --transport=local"};

static JoinFunction joinByMpi() {
  auto entry = reinterpret_cast<JoinEntry>(loadPlugin(mpiPlugin));
  JoinFunction join = entry(soap_version());
  if (!join)
    invalid("expected an MPI transport of SOAP ", soap_version(),
            ", got: another version's; install SOAP again");
  return join;
}

static std::shared_ptr<Group> connect(const GroupOptions &options) {
  Launch launch = currentLaunch();
  bool isTcp = options.means == Launch::Means::Tcp;
  if (isTcp && launch.means != Launch::Means::Tcp)
    invalid("expected RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the "
            "environment for transport tcp, got: not all of them; start the "
            "processes with torchrun, or set these");
  JoinFunction join = isTcp ? joinByTcp : joinByMpi();
  auto monitor = std::make_unique<Monitor>(launch, options.timeoutSeconds,
                                           options.lost, options.exitsWhenLost);
  try {
    std::shared_ptr<Group> group = join(launch, *monitor);
    // It exists until the process ends, since it watches the others while they
    // end.
    (void)monitor.release();
    return group;
  } catch (const AgreedError &) {
    monitor.release()->dissolve();
    throw;
  }
}

static std::mutex joining;

/// All processes; `joining` is locked.
static Group &everybody(const GroupOptions &options) {
  static std::shared_ptr<Group> group;
  if (!group)
    group = connect(options);
  return *group;
}

void runtime::joinGroup(const GroupOptions &options) {
  std::lock_guard<std::mutex> lock(joining);
  (void)everybody(options);
}

std::shared_ptr<Group> runtime::makeGroup(const GroupOptions &options) {
  std::lock_guard<std::mutex> lock(joining);
  return everybody(options).duplicate();
}

void runtime::agree(Group *group, const std::function<void()> &body) {
  if (!group)
    return body();
  std::string mine; // Status and text of a failure, or empty.
  try {
    body();
  } catch (const Error &error) {
    mine = text(static_cast<int>(error.status), error.what());
  } catch (const std::bad_alloc &) {
    mine = text(static_cast<int>(SOAP_INVALID),
                "expected enough memory, got: an allocation that failed; use "
                "more processes, or free memory");
  } catch (...) {
    mine = text(static_cast<int>(SOAP_FAILED),
                messageOf(std::current_exception()));
  }
  std::vector<std::string> all = group->allGather(mine);
  for (uint32_t rank = 0; rank != all.size(); ++rank) {
    if (all[rank].empty())
      continue;
    auto status = static_cast<soap_status>(all[rank][0] - '0');
    std::string what = all[rank].substr(1);
    if (rank != 0)
      what = text("rank ", rank, " (host ", group->names()[rank].host,
                  "): ", what);
    throw AgreedError(status, what);
  }
}

void runtime::connectMonitors(Group &group, Monitor &monitor) {
  std::string invitation;
  bool invites = group.rank() == 0;
  agree(&group, [&] {
    if (invites)
      invitation = monitor.invite();
  });
  invitation = group.allGather(invitation)[0];
  agree(&group, [&] {
    if (!invites)
      monitor.join(invitation);
  });
  agree(&group, [&] { monitor.introduce(group.names()); });
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

std::vector<uint32_t> Placement::localDevices() const {
  std::vector<uint32_t> result;
  for (uint32_t device = 0; device != rankOf.size(); ++device)
    if (isLocal(device))
      result.push_back(device);
  return result;
}

Placement runtime::placeDevices(size_t devices,
                                const std::vector<uint32_t> &map,
                                const Group *group) {
  Placement placement;
  uint32_t ranks = group ? group->size() : 1;
  placement.rank = group ? group->rank() : 0;
  if (ranks > devices)
    invalid("expected at most as many processes as the model has devices (",
            devices, "), got: ", ranks, "; use mpirun -np ", devices,
            ", or compile a strategy that uses ", ranks, " devices");
  if (map.empty()) {
    for (size_t device = 0; device != devices; ++device)
      placement.rankOf.push_back(
          static_cast<uint32_t>(device * ranks / devices));
    return placement;
  }
  if (map.size() != devices)
    invalid("expected the ranks of ", devices, " devices, got: ", map.size(),
            "; --map lists one rank per device");
  for (uint32_t rank : map)
    if (rank >= ranks)
      invalid("expected ranks below ", ranks, ", got: ", rank,
              "; --map lists ranks that mpirun starts");
  for (uint32_t rank = 0; rank != ranks; ++rank)
    if (std::find(map.begin(), map.end(), rank) == map.end())
      invalid("expected a device for every rank, got: none for rank ", rank,
              "; start fewer processes, or name the rank in --map");
  placement.rankOf = map;
  return placement;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

namespace {
class GroupChannels final : public Channels {
public:
  GroupChannels(std::unique_ptr<Channels> local, Group &group,
                const Placement &placement)
      : local_(std::move(local)), group_(group), placement_(placement) {}

  std::unique_ptr<Sender> makeSender(uint32_t channel, uint32_t from,
                                     uint32_t to) override {
    return placement_.isLocal(to)
               ? local_->makeSender(channel, from, to)
               : group_.makeSender(channel, placement_.rankOf[to]);
  }
  std::unique_ptr<Receiver> makeReceiver(uint32_t channel, uint32_t from,
                                         uint32_t to) override {
    return placement_.isLocal(from)
               ? local_->makeReceiver(channel, from, to)
               : group_.makeReceiver(channel, placement_.rankOf[from]);
  }

  void abandon(const std::string &reason) override {
    group_.fail(reason);
    local_->abandon(reason);
  }

private:
  std::unique_ptr<Channels> local_;
  Group &group_;
  const Placement &placement_;
};
} // namespace

std::unique_ptr<Channels>
runtime::makeGroupChannels(std::unique_ptr<Channels> local, Group &group,
                           const Placement &placement) {
  return std::make_unique<GroupChannels>(std::move(local), group, placement);
}
