//===- MpiGroup.cpp - Processes connected by MPI --------------------------===//
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

#include "Process/Group.h"
#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <mpi.h>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

namespace {
/// The most bytes of one MPI message, whose count is an int.
constexpr uint64_t largestPiece = uint64_t(1) << 30;

/// How long a wait goes on after another process said that it leaves: what it
/// sent before may still be on its way.
constexpr int64_t graceAfterLeaving = 3;

void require(int code, const char *what) {
  if (code == MPI_SUCCESS)
    return;
  char message[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, message, &length);
  failed("expected ", what, " to work, got: ", message,
         "; see what mpirun says");
}

/// What the process has of MPI, for as long as it runs.
class World {
public:
  World(const Launch &launch, Monitor &monitor);

  /// Ends MPI when the program exits.
  static void end();

  /// Waits for a request: looks, then sleeps for longer and longer.
  void wait(MPI_Request &request, const char *what) const;

  Monitor &monitor;
  MPI_Comm control = MPI_COMM_NULL, data = MPI_COMM_NULL;
  int rank = 0, size = 1;
  uint64_t largestTag = 32767;
  uint64_t nextTag = 0;
  std::atomic<unsigned> spins{0};
  bool ours = false; ///< Who starts MPI ends it.
};

World *world = nullptr;

/// The requests that an end of a channel has open.
class Requests {
public:
  explicit Requests(const World &world) : world(world) {}

  /// Calls start(offset, count, request) for every piece of a message.
  template <typename Fn>
  void add(uint64_t bytes, const char *what, Fn start) {
    for (uint64_t at = 0; at != bytes;) {
      uint64_t piece = std::min(bytes - at, largestPiece);
      open.push_back(MPI_REQUEST_NULL);
      require(start(at, static_cast<int>(piece), &open.back()), what);
      at += piece;
    }
  }
  void finish(const char *what) {
    for (MPI_Request &request : open)
      world.wait(request, what);
    open.clear();
  }

private:
  const World &world;
  std::vector<MPI_Request> open;
};

class MpiSender final : public Sender {
public:
  MpiSender(const World &world, int tag, int target)
      : comm(world.data), tag(tag), target(target), requests(world) {}

  void post(const char *data, uint64_t bytes) override {
    requests.add(bytes, "MPI_Isend",
                 [&](uint64_t at, int count, MPI_Request *request) {
                   return MPI_Isend(data + at, count, MPI_BYTE, target, tag,
                                    comm, request);
                 });
  }
  void finish() override { requests.finish("a send"); }

private:
  MPI_Comm comm;
  int tag, target;
  Requests requests;
};

class MpiReceiver final : public Receiver {
public:
  MpiReceiver(const World &world, int tag, int source)
      : comm(world.data), tag(tag), source(source), requests(world) {}

  void post(char *buffer, uint64_t bytes) override {
    requests.add(bytes, "MPI_Irecv",
                 [&](uint64_t at, int count, MPI_Request *request) {
                   return MPI_Irecv(buffer + at, count, MPI_BYTE, source, tag,
                                    comm, request);
                 });
  }
  void finish() override { requests.finish("a receive"); }

private:
  MPI_Comm comm;
  int tag, source;
  Requests requests;
};

class MpiGroup final : public Group {
public:
  MpiGroup(World &world) : world(world) {
    for (const std::string &line :
         allGather(hostName() + " " + std::to_string(getpid()))) {
      size_t space = line.rfind(' ');
      processes.push_back(
          {line.substr(0, space), std::stoll(line.substr(space + 1))});
    }
  }

  uint32_t rank() const override { return static_cast<uint32_t>(world.rank); }
  const std::vector<ProcessName> &names() const override { return processes; }

  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    // "Open MPI v4.1.4, package: ..."
    std::string name = text;
    return name.substr(0, name.find_first_of(",\n"));
  }

  void setSpins(unsigned spins) override { world.spins = spins; }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    require(MPI_Ibarrier(world.control, &request), "MPI_Ibarrier");
    world.wait(request, "a barrier");
  }

  std::vector<std::string> allGather(const std::string &mine) override {
    return gatherOn(mine, /*everywhere=*/true);
  }
  std::vector<std::string> gather(const std::string &mine) override {
    return gatherOn(mine, /*everywhere=*/false);
  }

  uint64_t reserveChannels(uint64_t count) override {
    if (count > world.largestTag)
      invalid("expected at most ", world.largestTag,
              " messages between processes in a step, got: ", count,
              "; compile with another strategy");
    // Messages of models that loaded before are complete.
    if (count > world.largestTag - world.nextTag)
      world.nextTag = 0;
    uint64_t first = world.nextTag;
    world.nextTag += count;
    return first;
  }

  std::unique_ptr<Sender> makeSender(uint64_t channel, uint32_t to) override {
    return std::make_unique<MpiSender>(world, static_cast<int>(channel),
                                       static_cast<int>(to));
  }
  std::unique_ptr<Receiver> makeReceiver(uint64_t channel,
                                         uint32_t from) override {
    return std::make_unique<MpiReceiver>(world, static_cast<int>(channel),
                                         static_cast<int>(from));
  }

private:
  std::vector<std::string> gatherOn(const std::string &mine, bool everywhere) {
    // The lengths on all ranks; -1 says that one does not fit an int.
    int length = mine.size() > INT_MAX ? -1 : static_cast<int>(mine.size());
    std::vector<int> lengths(static_cast<size_t>(world.size));
    MPI_Request request = MPI_REQUEST_NULL;
    require(MPI_Iallgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT,
                           world.control, &request),
            "MPI_Iallgather");
    world.wait(request, "an exchange of lengths");
    std::vector<int> offsets;
    int64_t total = 0;
    for (int bytes : lengths) {
      offsets.push_back(static_cast<int>(total));
      total += bytes;
      // On all ranks alike, so that nobody waits for the others.
      if (bytes < 0 || total > INT_MAX)
        failed("expected less than 2 GiB of text of all ranks, got: more");
    }
    std::vector<std::string> result(lengths.size());
    if (total == 0)
      return result;
    std::string all(static_cast<size_t>(total), '\0');
    require(everywhere
                ? MPI_Iallgatherv(mine.data(), length, MPI_CHAR, all.data(),
                                  lengths.data(), offsets.data(), MPI_CHAR,
                                  world.control, &request)
                : MPI_Igatherv(mine.data(), length, MPI_CHAR, all.data(),
                               lengths.data(), offsets.data(), MPI_CHAR, 0,
                               world.control, &request),
            "MPI_Igatherv");
    world.wait(request, "an exchange of text");
    if (everywhere || world.rank == 0)
      for (size_t i = 0; i != result.size(); ++i)
        result[i] = all.substr(static_cast<size_t>(offsets[i]),
                               static_cast<size_t>(lengths[i]));
    return result;
  }

  World &world;
  std::vector<ProcessName> processes;
};
} // namespace

World::World(const Launch &launch, Monitor &monitor) : monitor(monitor) {
  int started = 0, level = MPI_THREAD_SINGLE;
  require(MPI_Initialized(&started), "MPI_Initialized");
  if (started) {
    require(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    // Where ranks outnumber cores, Open MPI yields in every look, which takes a
    // turn of all other processes; a wait sleeps instead.
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", /*overwrite=*/0);
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level),
            "MPI_Init_thread");
    ours = true;
  }
  if (level < MPI_THREAD_MULTIPLE)
    invalid("expected an MPI with MPI_THREAD_MULTIPLE, got: level ", level,
            "; ask for it in MPI_Init_thread, or use an MPI that has it");
  require(MPI_Comm_dup(MPI_COMM_WORLD, &control), "MPI_Comm_dup");
  require(MPI_Comm_dup(MPI_COMM_WORLD, &data), "MPI_Comm_dup");
  for (MPI_Comm comm : {control, data})
    require(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN),
            "MPI_Comm_set_errhandler");
  MPI_Comm_rank(control, &rank);
  MPI_Comm_size(control, &size);
  // The monitor went by what the launcher says.
  if (static_cast<uint32_t>(size) != launch.size ||
      static_cast<uint32_t>(rank) != launch.rank)
    invalid("expected a launcher that sets OMPI_COMM_WORLD_SIZE or PMI_SIZE, "
            "got: rank ",
            rank, " of ", size, " from MPI, ", launch.rank, " of ", launch.size,
            " from the environment; use mpirun");
  int *bound = nullptr, found = 0;
  require(MPI_Comm_get_attr(data, MPI_TAG_UB, &bound, &found),
          "MPI_Comm_get_attr");
  if (found)
    largestTag = static_cast<uint64_t>(*bound);
}

void World::wait(MPI_Request &request, const char *what) const {
  long nanoseconds = 10'000;
  int64_t leaverSeen = 0;
  for (unsigned look = 0;; ++look) {
    int done = 0;
    require(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
    if (done)
      return;
    if (look < spins)
      continue;
    timespec pause = {0, nanoseconds};
    (void)nanosleep(&pause, nullptr);
    nanoseconds = std::min(nanoseconds + nanoseconds / 2, 500'000L);
    int64_t leaver = monitor.leaver();
    if (leaver < 0)
      continue;
    auto second = static_cast<int64_t>(time(nullptr));
    leaverSeen = leaverSeen ? leaverSeen : second;
    if (second - leaverSeen > graceAfterLeaving)
      failed("expected rank ", leaver, " to take part in ", what,
             ", got: its end; make the same calls on all ranks");
  }
}

void World::end() {
  int ended = 0;
  if (!world || MPI_Finalized(&ended) != MPI_SUCCESS || ended)
    return;
  // MPI would wait for the lost one for ever. This may be the monitor's own
  // thread, if the program exits when it is told.
  if (world->monitor.hasLost())
    return;
  world->monitor.announceLeaving();
  if (world->ours)
    MPI_Finalize();
  world->monitor.leave();
}

static std::shared_ptr<Group> join(const Launch &launch, Monitor &monitor) {
  world = new World(launch, monitor);
  auto group = std::make_shared<MpiGroup>(*world);
  if (world->size > 1) {
    std::string invitation = world->rank == 0 ? monitor.invite() : "";
    invitation = group->allGather(invitation)[0];
    if (world->rank != 0)
      monitor.join(invitation);
    monitor.introduce(group->names());
    group->barrier();
  }
  std::atexit(World::end);
  return group;
}

extern "C" JoinFunction soap_mpi_transport(const char *runtime) {
  return std::string(runtime) == SOAP_VERSION ? &join : nullptr;
}
