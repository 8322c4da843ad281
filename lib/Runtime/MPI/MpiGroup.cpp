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
#include <chrono>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <mpi.h>
#include <optional>
#include <unistd.h>
#include <utility>

using namespace soap;
using namespace soap::runtime;

namespace {
/// The most bytes of one MPI message, whose count is an int.
constexpr uint64_t largestPiece = uint64_t(1) << 30;

/// How long a wait goes on after another process said that it leaves: what it
/// sent before may still be on its way.
constexpr std::chrono::seconds graceAfterLeaving(3);

void require(int code, const char *what) {
  if (code == MPI_SUCCESS)
    return;
  char message[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, message, &length);
  failed("expected ", what, " to work, got: ", message,
         "; see what mpirun says");
}

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

World *world = nullptr;     ///< Null until all have joined.
bool startedMpi = false;    ///< Who starts MPI ends it.
bool endsMpi = false;       ///< World::end() is called when the program exits.
bool allHaveFailed = false; ///< To join, the last time, and all know.

/// A communicator, with what became of it: one for each model that is loaded at
/// the same time. Used again after the model, if all ranks can.
class Context {
public:
  /// Collective; no other thread does the same.
  Context(const World &world, uint32_t number);

  /// Waits for a request: looks, then sleeps for longer and longer.
  void wait(MPI_Request &request, const char *what);

  /// From now on all waits throw this; the first reason counts. False if there
  /// is one.
  bool breakBy(const std::string &why);
  bool isBroken() const { return broken; }
  /// Throws the reason if there is one.
  void check();

  const World &world;
  const uint32_t number;
  MPI_Comm comm = MPI_COMM_NULL;
  std::atomic<unsigned> spins{0};
  std::atomic<bool> isUsed{true};

private:
  std::atomic<bool> broken{false};
  std::mutex mutex;
  std::string reason;
};

/// The requests that an end of a channel has open.
class Requests {
public:
  explicit Requests(Context &context) : context(context) {}

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
      context.wait(request, what);
    open.clear();
  }

private:
  Context &context;
  std::vector<MPI_Request> open;
};

class MpiSender final : public Sender {
public:
  MpiSender(Context &context, int tag, int target)
      : context(context), tag(tag), target(target), requests(context) {}

  void post(const char *data, uint64_t bytes) override {
    context.check();
    requests.add(bytes, "MPI_Isend",
                 [&](uint64_t at, int count, MPI_Request *request) {
                   return MPI_Isend(data + at, count, MPI_BYTE, target, tag,
                                    context.comm, request);
                 });
  }

private:
  void awaitReceiver() override { requests.finish("a send"); }

  Context &context;
  int tag, target;
  Requests requests;
};

class MpiReceiver final : public Receiver {
public:
  MpiReceiver(Context &context, int tag, int source)
      : context(context), tag(tag), source(source), requests(context) {}

  void post(char *buffer, uint64_t bytes) override {
    context.check();
    requests.add(bytes, "MPI_Irecv",
                 [&](uint64_t at, int count, MPI_Request *request) {
                   return MPI_Irecv(buffer + at, count, MPI_BYTE, source, tag,
                                    context.comm, request);
                 });
  }
  void finish() override { requests.finish("a receive"); }

private:
  Context &context;
  int tag, source;
  Requests requests;
};

class MpiGroup final : public Group {
public:
  MpiGroup(World &world, Context &context) : world(world), context(context) {}
  ~MpiGroup() override { context.isUsed = false; }

  uint32_t rank() const override { return static_cast<uint32_t>(world.rank); }
  const std::vector<ProcessName> &names() const override {
    return world.processes;
  }

  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    // "Open MPI v4.1.4, package: ..."
    std::string name = text;
    return name.substr(0, name.find_first_of(",\n"));
  }

  void setSpins(unsigned spins) override { context.spins = spins; }

  void barrier() override {
    collective([&] {
      MPI_Request request = MPI_REQUEST_NULL;
      require(MPI_Ibarrier(context.comm, &request), "MPI_Ibarrier");
      context.wait(request, "a barrier");
    });
  }

  std::vector<std::string> allGather(const std::string &mine) override {
    return gatherOn(mine, /*everywhere=*/true);
  }
  std::vector<std::string> gather(const std::string &mine) override {
    return gatherOn(mine, /*everywhere=*/false);
  }

  void fail(const std::string &reason) override {
    if (context.breakBy(reason))
      world.monitor.announceFailure(context.number, reason);
  }
  bool hasFailed() const override {
    return context.isBroken() || world.monitor.hasLost();
  }

  std::shared_ptr<Group> duplicate() override;

  void needChannels(uint64_t count) const override {
    if (count > world.largestTag)
      invalid("expected at most ", world.largestTag,
              " messages between processes in a step, got: ", count,
              "; compile with another strategy");
  }

  std::unique_ptr<Sender> makeSender(uint64_t channel, uint32_t to) override {
    return std::make_unique<MpiSender>(context, static_cast<int>(channel),
                                       static_cast<int>(to));
  }
  std::unique_ptr<Receiver> makeReceiver(uint64_t channel,
                                         uint32_t from) override {
    return std::make_unique<MpiReceiver>(context, static_cast<int>(channel),
                                         static_cast<int>(from));
  }

private:
  /// Whoever cannot take part in a collective tells the others.
  template <typename Fn>
  void collective(Fn body) {
    try {
      context.check();
      body();
    } catch (const Error &error) {
      fail(error.what());
      throw;
    }
  }

  /// What MPI reads and writes while texts are gathered.
  struct Gathering {
    std::string mine, all;
    int length = 0; ///< Of `mine`; -1 says that it does not fit an int.
    std::vector<int> lengths, offsets;
  };

  std::vector<std::string> gatherOn(const std::string &mine, bool everywhere) {
    auto owner = std::make_unique<Gathering>();
    Gathering &g = *owner;
    g.mine = mine;
    g.length = mine.size() > INT_MAX ? -1 : static_cast<int>(mine.size());
    g.lengths.resize(static_cast<size_t>(world.size));
    auto exchange = [&](const char *what, auto start) {
      try {
        collective([&] {
          MPI_Request request = MPI_REQUEST_NULL;
          require(start(&request), what);
          context.wait(request, what);
        });
      } catch (...) {
        (void)owner.release(); // MPI may still write to it.
        throw;
      }
    };
    exchange("an exchange of lengths", [&](MPI_Request *request) {
      return MPI_Iallgather(&g.length, 1, MPI_INT, g.lengths.data(), 1, MPI_INT,
                            context.comm, request);
    });
    int64_t total = 0;
    for (int bytes : g.lengths) {
      g.offsets.push_back(static_cast<int>(total));
      total += bytes;
      // On all ranks alike, so that nobody waits for the others.
      if (bytes < 0 || total > INT_MAX)
        failed("expected less than 2 GiB of text of all ranks, got: more");
    }
    std::vector<std::string> result(g.lengths.size());
    if (total == 0)
      return result;
    g.all.resize(static_cast<size_t>(total));
    exchange("an exchange of text", [&](MPI_Request *request) {
      return everywhere
                 ? MPI_Iallgatherv(g.mine.data(), g.length, MPI_CHAR,
                                   g.all.data(), g.lengths.data(),
                                   g.offsets.data(), MPI_CHAR, context.comm,
                                   request)
                 : MPI_Igatherv(g.mine.data(), g.length, MPI_CHAR, g.all.data(),
                                g.lengths.data(), g.offsets.data(), MPI_CHAR, 0,
                                context.comm, request);
    });
    if (everywhere || world.rank == 0)
      for (size_t i = 0; i != result.size(); ++i)
        result[i] = g.all.substr(static_cast<size_t>(g.offsets[i]),
                                 static_cast<size_t>(g.lengths[i]));
    return result;
  }

  World &world;
  Context &context;
};
} // namespace

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

Context::Context(const World &world, uint32_t number)
    : world(world), number(number) {
  require(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  require(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN),
          "MPI_Comm_set_errhandler");
}

bool Context::breakBy(const std::string &why) {
  std::lock_guard<std::mutex> lock(mutex);
  if (broken)
    return false;
  reason = why;
  broken = true;
  return true;
}

void Context::check() {
  if (!broken)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  failed(reason);
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
    int64_t leaver = world.monitor.leaver();
    if (leaver < 0)
      continue;
    if (!leaves)
      seen = Clock::now();
    leaves = true;
    // All see that it leaves: nobody has to be told.
    if (Clock::now() - seen > graceAfterLeaving)
      breakBy(text("expected ",
                   world.monitor.describe(static_cast<uint32_t>(leaver)),
                   " to take part in ", what,
                   ", got: its end; make the same calls on all ranks"));
  }
}

std::shared_ptr<Group> MpiGroup::duplicate() {
  // Which ones are free depends on when each rank has released its models.
  std::string mine;
  for (const auto &other : world.contexts)
    mine += other->isUsed || other->isBroken() ? '1' : '0';
  std::vector<std::string> all = allGather(mine);
  for (size_t i = 0; i != mine.size(); ++i)
    if (std::all_of(all.begin(), all.end(),
                    [&](const std::string &used) { return used[i] == '0'; })) {
      world.contexts[i]->isUsed = true;
      return std::make_shared<MpiGroup>(world, *world.contexts[i]);
    }
  world.contexts.push_back(std::make_unique<Context>(
      world, static_cast<uint32_t>(world.contexts.size())));
  return std::make_shared<MpiGroup>(world, *world.contexts.back());
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
    // Where ranks outnumber cores, Open MPI yields in every look, which takes a
    // turn of all other processes; a wait sleeps instead.
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
  // The monitor went by what the launcher says.
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
    // Nobody is watched, and all come here.
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
  // Nor does MPI end after a failure, wherever it was: messages are left that
  // nobody takes, and who has failed does not come.
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

/// Connects the monitors of all ranks. What fails on one of them is thrown on
/// all.
static void connectMonitors(MpiGroup &group, Monitor &monitor) {
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

static std::shared_ptr<Group> join(const Launch &launch, Monitor &monitor) {
  allHaveFailed = false;
  auto joined = std::make_unique<World>(launch, monitor);
  // Once, after what MPI does at exit; the program may have joined in vain
  // before.
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
