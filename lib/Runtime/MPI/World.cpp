//===- World.cpp - What a process has of MPI ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MPI/World.h"
#include "MPI/MpiGroup.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <utility>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::mpi;

namespace {
World *world = nullptr;     ///< Null until all have joined.
bool startedMpi = false;    ///< Whoever starts MPI ends it.
bool endsMpi = false;       ///< World::end() is called when the program exits.
bool allHaveFailed = false; ///< To join, as all ranks know.
} // namespace

void mpi::require(int code, const char *what) {
  if (code == MPI_SUCCESS)
    return;
  char message[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, message, &length);
  failed("expected ", what, " to work, got: ", message,
         "; see what mpirun says");
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

Context::Context(const World &world, uint32_t number)
    : FailureState(world.monitor, number), world(world) {
  require(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  require(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN),
          "MPI_Comm_set_errhandler");
}

void Context::wait(MPI_Request &request, const char *what) {
  using Clock = std::chrono::steady_clock;
  long nanoseconds = 10'000;
  bool leaves = false;
  Clock::time_point seen;
  for (unsigned look = 0;; ++look) {
    check();
    int done = 0;
    require(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
    if (done)
      return;
    if (look < spins)
      continue;
    timespec pause = {0, nanoseconds};
    (void)nanosleep(&pause, nullptr);
    nanoseconds = std::min(nanoseconds + nanoseconds / 2, 500'000L);
    std::string failure = world.monitor.failureOf(number);
    if (!failure.empty()) {
      breakBy(failure);
      continue;
    }
    if (world.monitor.leaver() < 0)
      continue;
    if (!leaves)
      seen = Clock::now();
    leaves = true;
    breakByLeaver(what, seen);
  }
}

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

World::World(const Launch &launch, Monitor &monitor) : monitor(monitor) {
  int started = 0, level = MPI_THREAD_SINGLE;
  require(MPI_Initialized(&started), "MPI_Initialized");
  if (started) {
    require(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    // Where ranks outnumber cores, Open MPI yields whenever it polls, which
    // takes a turn of all other processes. Our waits sleep instead.
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", /*overwrite=*/0);
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level),
            "MPI_Init_thread");
    startedMpi = true;
  }
  if (level < MPI_THREAD_MULTIPLE)
    invalid("expected an MPI with MPI_THREAD_MULTIPLE, got: level ", level,
            "; ask for it in MPI_Init_thread, or use an MPI that has it");
  contexts.push_back(std::make_unique<Context>(*this, 0));
  MPI_Comm_rank(contexts[0]->comm, &rank);
  MPI_Comm_size(contexts[0]->comm, &size);
  // The monitor has used what the launcher says, which MPI has to confirm.
  if (static_cast<uint32_t>(size) != launch.size ||
      static_cast<uint32_t>(rank) != launch.rank)
    invalid("expected a launcher that sets OMPI_COMM_WORLD_SIZE or PMI_SIZE, "
            "got: rank ",
            rank, " of ", size, " from MPI, ", launch.rank, " of ", launch.size,
            " from the environment; use mpirun");
  int *bound = nullptr, found = 0;
  require(MPI_Comm_get_attr(contexts[0]->comm, MPI_TAG_UB, &bound, &found),
          "MPI_Comm_get_attr");
  if (found)
    largestTag = static_cast<uint64_t>(*bound);
}

void World::end() {
  // The program may have ended its own MPI.
  int ended = 0;
  if (MPI_Finalized(&ended) != MPI_SUCCESS)
    return;
  if (!world) {
    // No rank is watched any more, and all ranks come here.
    if (allHaveFailed && startedMpi && !ended)
      MPI_Finalize();
    return;
  }
  if (getpid() != world->process)
    return;
  // MPI would wait for the lost one for ever. This may be the monitor's own
  // thread, if the program exits when it is told.
  Monitor &monitor = world->monitor;
  if (monitor.hasLost())
    return;
  bool broken = std::any_of(
      world->contexts.begin(), world->contexts.end(),
      [](const std::unique_ptr<Context> &c) { return c->isBroken(); });
  monitor.announceLeaving(broken);
  // MPI_Finalize does not return after a failure either, wherever that was:
  // messages are left that nobody receives, and the rank that failed does not
  // call it.
  std::optional<bool> together = monitor.leaveTogether();
  for (; !together; together = monitor.leaveTogether()) {
    // What was sent may still be on its way.
    int flag = 0;
    if (!ended)
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world->contexts[0]->comm, &flag,
                 MPI_STATUS_IGNORE);
    timespec pause = {0, 500'000};
    (void)nanosleep(&pause, nullptr);
  }
  if (startedMpi && !ended && *together)
    MPI_Finalize();
  monitor.leave(!*together);
}

static std::shared_ptr<Group> join(const Launch &launch, Monitor &monitor) {
  allHaveFailed = false;
  auto joined = std::make_unique<World>(launch, monitor);
  // Registered once, so that it runs after what MPI does at exit. The program
  // may have tried to join before, without success.
  if (!std::exchange(endsMpi, true))
    std::atexit(World::end);
  auto group = std::make_shared<MpiGroup>(*joined, *joined->contexts[0]);
  for (const std::string &line :
       group->allGather(hostName() + " " + std::to_string(getpid()))) {
    size_t space = line.rfind(' ');
    joined->processes.push_back(
        {line.substr(0, space), std::stoll(line.substr(space + 1))});
  }
  if (joined->size > 1) {
    try {
      connectMonitors(*group, monitor);
    } catch (const AgreedError &) {
      allHaveFailed = true;
      throw;
    }
  }
  world = joined.release();
  return group;
}

extern "C" JoinFunction soap_mpi_transport(const char *runtime) {
  return std::string(runtime) == SOAP_VERSION ? &join : nullptr;
}
