//===- EngineSetup.cpp - The devices of a model, on this machine ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/HostMemory.h"
#include "Engine/Engine.h"
#include "Model/Check.h"
#include "Transport/Staged.h"
#include "Transport/Throttle.h"
#include <algorithm>
#include <cstring>

using namespace soap;
using namespace soap::runtime;

/// Cores per device as a model says; 0: an even share of those of `devices`, of
/// which the model may use but some.
static size_t coresPerDevice(const fb::Model &table, size_t devices,
                             size_t allowed) {
  size_t used = table.devices()->size(), all = table.machine_devices();
  if (table.cores_per_device() != 0 || all <= used)
    return table.cores_per_device();
  return std::max<size_t>(1, allowed * used / (devices * all));
}

/// Gives this process's devices their share of its host.
void Engine::place(const EngineOptions &options) {
  const fb::Model &table = model_->table();
  size_t perDevice = options.coresPerDevice ? options.coresPerDevice
                                            : table.cores_per_device();
  std::string same = text(toString(table.fingerprint()), ' ',
                          std::hash<std::string>()(toString(table.strategy())),
                          ' ', perDevice);
  if (options.link)
    same += text(' ', options.link->bandwidth, ' ', options.link->latencyNs);
  for (const fb::Device *device : items(table.devices()))
    for (const fb::DeviceProgram *program : items(device->programs()))
      same += ' ' + std::to_string(items(program->rows()).size());
  for (uint32_t rank : placement_.rankOf)
    same += ' ' + std::to_string(rank);
  std::vector<int> allowed = allowedCores();
  hostShare_ =
      shareHost(group_.get(), placement_, allowed, neededMemory(), same);
  const HostShare &share = hostShare_;
  agree(group_.get(), [&] {
    uint64_t available = backend_->availableMemory();
    if (share.neededBytes > available)
      invalid("expected ", share.neededBytes >> 20,
              " MiB of free memory, got: ", available >> 20,
              " MiB; compile with a smaller --batch, or free memory");
    split_ = splitCores(
        share.devices,
        perDevice ? perDevice
                  : coresPerDevice(table, share.devices, allowed.size()),
        allowed);
  });
  if (!split_.warning.empty() && options.warning)
    options.warning(split_.warning);
  size_t count = placement_.localDevices().size();
  for (auto *cores : {&split_.compute, &split_.communication})
    *cores = std::vector<std::vector<int>>(
        cores->begin() + static_cast<std::ptrdiff_t>(share.firstDevice),
        cores->begin() +
            static_cast<std::ptrdiff_t>(share.firstDevice + count));
}

/// The largest parameter that a library kernel may want in another layout:
/// while a model loads, one of them exists twice.
static uint64_t largestConstantOperand(const fb::Device &device) {
  uint64_t bytes = 0;
  forEachRow(device, [&](const fb::Row *row) {
    if (const auto *launch = row->body_as_Launch())
      for (uint32_t operand : items(launch->constant_operands()))
        bytes = std::max(
            bytes,
            device.buffers()->Get(launch->operands()->Get(operand))->bytes());
  });
  return bytes;
}

uint64_t Engine::neededMemory() const {
  uint64_t needed = 0;
  auto add = [&](uint64_t bytes) {
    if (__builtin_add_overflow(needed, bytes, &needed))
      needed = UINT64_MAX;
  };
  for (uint32_t number : placement_.localDevices()) {
    const fb::Device *device = model_->table().devices()->Get(number);
    if (device->peak_bytes()) {
      add(device->peak_bytes());
      continue;
    }
    add(device->activation_bytes());
    add(device->parameter_bytes());
    add(largestConstantOperand(*device));
  }
  return needed;
}

std::vector<DevicePlace> Engine::places() const {
  std::vector<DevicePlace> result;
  std::vector<uint32_t> local = placement_.localDevices();
  DevicePlace place;
  place.onHost = hostShare_.firstOnHost;
  place.processDevices = static_cast<uint32_t>(local.size());
  place.hostDevices = hostShare_.onHost;
  place.devicesPerGpu = devicesPerGpu_;
  for (uint32_t number : local) {
    place.number = number;
    result.push_back(place);
    ++place.inProcess;
    ++place.onHost;
  }
  return result;
}

std::unique_ptr<Transport> Engine::makeTransport(const Meetings &meetings,
                                                 bool isThrottled) const {
  std::vector<CollectiveGroup> groups;
  for (const Meetings::Meeting &meeting : meetings.meetings)
    groups.push_back({meeting.group, meeting.hasPriority});
  auto devices = static_cast<uint32_t>(placement_.rankOf.size());
  std::unique_ptr<Transport> own = backend_->makeTransport(
      {*channels_, isThrottled, deviceTransport_, group_.get(), devices,
       places(), groups, meetings.messagesAreOrdered});
  if (!own && (deviceTransport_ == DeviceTransport::Peer ||
               deviceTransport_ == DeviceTransport::Nccl))
    invalid("expected a model for GPUs with --gpu-transport=peer or nccl, got: "
            "one for target '",
            toString(model_->table().target()), "'; leave the option out");
  return own ? std::move(own)
             : makeStagedTransport(*channels_, backend_->traits());
}

/// Collective.
void Engine::connectTransport() {
  std::string mine = transport_->name() + '\n' + transport_->introduction();
  std::vector<std::string> all{mine};
  if (group_)
    all = group_->allGather(mine);
  agree(group_.get(), [&] {
    for (std::string &text : all) {
      size_t line = text.find('\n');
      if (text.compare(0, line, transport_->name()) != 0)
        invalid("expected all processes to move data between devices alike, "
                "got: by ",
                transport_->name(), " and by ", text.substr(0, line),
                "; set --gpu-transport");
      text.erase(0, line + 1);
    }
    try {
      transport_->connect(all);
    } catch (...) {
      transport_->abandon(messageOf(std::current_exception()));
      throw;
    }
  });
}

void Engine::makeDevices(const std::optional<LinkSpeed> &link) {
  Meetings meetings = matchRows(model_->table());
  channels_ = makeLocalChannels(split_.transport);
  HostLinks host;
  if (group_) {
    host.number(model_->table());
    host.group = group_.get();
    // Polling MPI takes about ten times as long as polling memory.
    group_->setSpins(split_.transport.spins / 10);
    // A throttled link takes a channel back, too.
    host.firstChannel = uint64_t{meetings.channelCount} * (link ? 2 : 1);
    group_->needChannels(host.firstChannel + host.count);
    channels_ = makeGroupChannels(std::move(channels_), *group_, placement_);
  }
  if (link)
    channels_ = makeThrottledChannels(std::move(channels_), *link,
                                      meetings.channelCount);
  transport_ = makeTransport(meetings, link.has_value());
  Links links{meetings, *transport_, *channels_, host};
  for (const DevicePlace &place : places())
    devices_.push_back(
        std::make_unique<Device>(place, model_, *backend_, links, split_));
  remoteEnds_.resize(items(model_->table().programs()).size());
  if (group_ && placement_.rank == 0)
    makeHostSides(host);
}

void Engine::makeHostSides(const HostLinks &links) {
  auto makeSides = [&](uint32_t program, uint32_t device) {
    RemoteEnds &ends = remoteEnds_[program];
    uint32_t rank = placement_.rankOf[device], index = 0;
    for (const fb::Row *row :
         rowsOf(*model_->table().devices()->Get(device), program)) {
      uint64_t channel = links.channelOf(program, device, index++);
      if (const auto *feed = row->body_as_Feed())
        ends.feedSources.push_back(
            makeFeedSource(*feed, group_->makeSender(channel, rank)));
      else if (const auto *drain = row->body_as_Drain())
        ends.drainTargets.push_back(
            makeDrainTarget(*drain, group_->makeReceiver(channel, rank)));
    }
  };
  for (uint32_t program = 0; program != remoteEnds_.size(); ++program)
    for (uint32_t d = 0; d != placement_.rankOf.size(); ++d)
      if (!placement_.isLocal(d))
        makeSides(program, d);
  // All feeds of a step are on their way at once, then all drains.
  auto bytesOf = [](const std::unique_ptr<HostSide> &side) {
    return wholeLines(side->ownBytes());
  };
  std::vector<HostSides *> together;
  for (RemoteEnds &ends : remoteEnds_)
    together.insert(together.end(), {&ends.feedSources, &ends.drainTargets});
  uint64_t most = 0;
  for (const HostSides *sides : together) {
    uint64_t bytes = 0;
    for (const auto &side : *sides)
      bytes += bytesOf(side);
    most = std::max(most, bytes);
  }
  staging_ = Arena(most);
  for (const HostSides *sides : together) {
    char *memory = staging_.data();
    for (const auto &side : *sides) {
      side->setOwnMemory(memory);
      memory += bytesOf(side);
    }
  }
}

std::vector<MemoryNeeds> runtime::planMemory(const void *data, size_t size,
                                             size_t given) {
  std::vector<uint64_t> storage(size / sizeof(uint64_t) + 1);
  std::memcpy(storage.data(), data, size);
  const fb::Model &table = *checkedModel(storage.data(), size);
  checkTable(table);
  Meetings meetings = matchRows(table);
  const Backend &backend = findBackend(toString(table.target()));
  std::vector<int> allowed = allowedCores();
  size_t devices = table.devices()->size();
  CoreSplit split = splitCores(
      devices, given ? given : coresPerDevice(table, devices, allowed.size()),
      allowed);
  std::vector<MemoryNeeds> all;
  std::exception_ptr failure;
  // The library sees the cores of the thread that calls it. All devices have
  // equally many.
  std::thread([&] {
    try {
      backend.useThreads(split.compute[0].size());
      std::unique_ptr<BackendDevice> device = backend.makeDevice({});
      DeviceKernels kernels(backend, *device, table,
                            [](uint32_t) { return nullptr; });
      uint32_t number = 0;
      for (const fb::Device *device : items(table.devices())) {
        all.push_back(planMemory(
            kernels, *device,
            mostCommunicationBytes(table, meetings, backend.traits(), number)));
        ++number;
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure)
    std::rethrow_exception(failure);
  return all;
}
