//===- Launcher.h - Who started this process --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PROCESS_LAUNCHER_H
#define SOAP_LIB_RUNTIME_PROCESS_LAUNCHER_H

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace soap::runtime {

/// What a launcher such as mpirun tells its processes in their environment.
struct Launch {
  /// What connects processes: MPI, or TCP, for those that are told of an
  /// address (MASTER_ADDR) where rank 0 is met.
  enum class Means { Mpi, Tcp };
  Means means = Means::Mpi;
  uint32_t rank = 0, size = 1;
  bool oneHost = true;   ///< All ranks run on this host.
  std::string jobFolder; ///< Of this run on this host; "" if unknown.
  bool isTold = false;   ///< By a launcher.
};

/// Of this process. Without a launcher: rank 0 of 1.
Launch currentLaunch();

/// Throws where MASTER_ADDR, MASTER_PORT and RANK or WORLD_SIZE say that there
/// are others, and no launcher says which of them the process is.
void checkLaunch();

std::string hostName();

/// Tells the ranks of one host of each other's processes, from their first
/// moments, before any of them can communicate: a file per rank in the job's
/// folder holds its process id, and the kernel knows the rest.
class Registry {
public:
  enum class State { Unknown, Running, Stopped, Ended };

  explicit Registry(const Launch &launch);
  ~Registry();
  Registry(const Registry &) = delete;

  /// Of the process of a rank on this host; 0 if it has not come yet.
  pid_t processOf(uint32_t rank) const;
  State stateOf(uint32_t rank) const;

  /// What the first process of this host found out about a lost one, for those
  /// that see it end, and others with it. The first verdict counts.
  void publishVerdict(const std::string &verdict) const;
  /// "" if there is none.
  std::string verdict() const;

private:
  std::string fileOf(uint32_t rank) const;

  std::string folder_, own_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PROCESS_LAUNCHER_H
