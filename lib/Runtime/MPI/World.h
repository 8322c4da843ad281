//===- World.h - What a process has of MPI ----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MPI is called by several threads at once (MPI_THREAD_MULTIPLE), and never
// waits by itself: ranks may outnumber cores, and a process that waits for one
// that is lost has to be able to end.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MPI_WORLD_H
#define SOAP_LIB_RUNTIME_MPI_WORLD_H

#include "Process/FailureState.h"
#include "Process/Group.h"
#include <atomic>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

namespace soap::runtime::mpi {

/// Throws Error, unless `code` is MPI_SUCCESS: `what` was expected to work.
void require(int code, const char *what);

class Context;

/// What the process has of MPI, for as long as it runs.
class World {
public:
  World(const Launch &launch, Monitor &monitor);

  /// Ends MPI when the program exits.
  static void end();

  Monitor &monitor;
  int rank = 0, size = 1;
  uint64_t largestTag = 32767;
  std::vector<ProcessName> processes;
  pid_t process = getpid(); ///< Not one that it forks.
  /// By number, the same on all ranks. The first is for what concerns no model.
  std::vector<std::unique_ptr<Context>> contexts;
};

/// A communicator, with what became of it: one for each model that is loaded at
/// the same time. Used again after the model, if all ranks can.
class Context : public FailureState {
public:
  /// Collective; no other thread does the same.
  Context(const World &world, uint32_t number);

  /// Waits for a request: polls it, and sleeps longer and longer in between.
  void wait(MPI_Request &request, const char *what);

  const World &world;
  MPI_Comm comm = MPI_COMM_NULL;
  std::atomic<unsigned> spins{0};
  std::atomic<bool> isUsed{true};
};

} // namespace soap::runtime::mpi

#endif // SOAP_LIB_RUNTIME_MPI_WORLD_H
