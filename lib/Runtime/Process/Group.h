//===- Group.h - Processes that run a model together ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launcher starts several processes, ranks, of one program. All of them load
// the same model and make the same calls; each runs the devices that a map
// gives to it. What connects them is TCP, or comes from a plug-in that lies
// beside the runtime (libSOAPTransportMPI.so).
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PROCESS_GROUP_H
#define SOAP_LIB_RUNTIME_PROCESS_GROUP_H

#include "Backend/Transport.h"
#include "Error.h"
#include "Plugin.h"
#include "Process/Monitor.h"
#include "Transport/Channel.h"
#include "Types.h"
#include <memory>

namespace soap::runtime {

/// All processes of a run, as one of them sees them. Throws SOAP_FAILED if the
/// transport fails or another process has left the run.
class Group : public Peers {
public:
  virtual uint32_t rank() const = 0;
  uint32_t size() const { return static_cast<uint32_t>(names().size()); }
  virtual const std::vector<ProcessName> &names() const = 0;
  /// What connects them: "mpi" or "tcp".
  virtual const char *transport() const = 0;
  /// "Open MPI 4.1.4"
  virtual std::string library() const = 0;

  /// How often a wait polls before it sleeps.
  virtual void setSpins(unsigned spins) = 0;

  /// Collectives: every rank calls them in the same order, one at a time.
  virtual void barrier() = 0;
  /// What every rank gave, by rank.
  virtual std::vector<std::string> allGather(const std::string &mine) = 0;
  /// What every rank gave, on rank 0; elsewhere empty.
  virtual std::vector<std::string> gather(const std::string &mine) = 0;

  /// Says that this process cannot go on with the steps of this group, and why:
  /// whoever waits for it in the group, here or in other processes, throws this
  /// at once. The first reason counts.
  virtual void fail(const std::string &reason) = 0;
  /// True also when a process is lost.
  virtual bool hasFailed() const = 0;

  /// Another group of the same processes, whose messages do not mix with this
  /// one's. Collective.
  virtual std::shared_ptr<Group> duplicate() = 0;

  /// Throws SOAP_INVALID if there are not so many channels, from 0.
  virtual void needChannels(uint64_t count) const = 0;
  /// @{ The ends of a channel to or from another process.
  virtual std::unique_ptr<Sender> makeSender(uint64_t channel, uint32_t to) = 0;
  virtual std::unique_ptr<Receiver> makeReceiver(uint64_t channel,
                                                 uint32_t from) = 0;
  /// @}
};

/// The plug-in that joinGroup() loads.
extern const Plugin mpiPlugin;

struct GroupOptions {
  Launch::Means means = Launch::Means::Mpi;
  double timeoutSeconds = 10;
  Monitor::Lost lost;
  bool exitsWhenLost = true;
};

/// Connects the processes that were started with this one, until the process
/// ends; does nothing if they are. Throws SOAP_INVALID, with the cure,
/// if the plug-in or MPI are missing, and on all ranks if one cannot connect:
/// then all may try again. Collective.
void joinGroup(const GroupOptions &options);

/// These processes as a group of its own, for one model: others may run at the
/// same time. Collective.
std::shared_ptr<Group> makeGroup(const GroupOptions &options);

/// What the plug-in exports, by the name `soap_mpi_transport`: a function that
/// joins, if `runtime` is the version that the plug-in was built with, else
/// null.
using JoinFunction = std::shared_ptr<Group> (*)(const Launch &launch,
                                                Monitor &monitor);
using JoinEntry = JoinFunction (*)(const char *runtime);

/// What went wrong on some rank, and is thrown on all of them.
class AgreedError final : public Error {
public:
  using Error::Error;
};

/// Runs `body` on every rank of a group (null: just runs it). If it throws on
/// some rank, all throw an AgreedError of what the lowest such rank did.
void agree(Group *group, const std::function<void()> &body);

/// Connects the monitors of all ranks of a group. What fails on one of them is
/// thrown on all.
void connectMonitors(Group &group, Monitor &monitor);

/// Which rank runs which device.
struct Placement {
  std::vector<uint32_t> rankOf; ///< By device.
  uint32_t rank = 0;            ///< Of this process.

  bool isLocal(uint32_t device) const { return rankOf[device] == rank; }
  std::vector<uint32_t> localDevices() const;
};

/// Channels between devices, through memory where both are of this process.
std::unique_ptr<Channels> makeGroupChannels(std::unique_ptr<Channels> local,
                                            Group &group,
                                            const Placement &placement);

/// Devices as `map` says, or spread evenly, in order, if it is empty. Throws
/// SOAP_INVALID for more ranks than devices, and for a map that does not name a
/// rank for each device and every rank once at least.
Placement placeDevices(size_t devices, const std::vector<uint32_t> &map,
                       const Group *group);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PROCESS_GROUP_H
