//===- ProcessProgram.cpp - What programs do in several processes ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Started on two ranks by mpirun, or with RANK and WORLD_SIZE in their
// environment, by MpiTest.cpp:
//
//   two            two models take steps at the same time, in two threads; then
//                  models are loaded and released many times
//   skew           rank 1 works before it loads anything, then rank 0 does
//   kernel-throws  a kernel on rank 1 fails in the third step
//   kernel-exits   a kernel on rank 1 ends its process in the third step
//   leaves         rank 1 ends between steps
//   alone          rank 1 waits for a call that rank 0 does not make
//   own-mpi        the program starts MPI and ends it; rank 0 goes on for a
//                  while
//   no-connection  rank 1 cannot connect to rank 0 at first; both join again
//   no-socket      rank 0 cannot listen at first; both join again
//   exits          both ranks exit while a step runs
//   in-vain        rank 1 cannot connect to rank 0; both go on without
//   sums           both add up what they have and send it to each other
//   sums-leaves    the same, and rank 1 ends between steps
//   sums-lost      the same, and rank 1 is killed in some step
//
// Rank 0 prints "fine", or what went wrong and ends with code 1.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#if SOAP_HAS_MPI
#include <mpi.h>
#endif

using namespace soap;
using namespace soap::test;

static constexpr int64_t elements = 1000;
static std::string mode;
static std::atomic<int> kernelRuns{0};

/// While true, the runtime gets no TCP connections: it finds these functions
/// before those of the C library. What MPI opens is not touched.
static std::atomic<bool> netIsDown{false};

static bool refuses(const void *caller) {
  Dl_info info;
  if (!netIsDown || !dladdr(caller, &info) ||
      !std::strstr(info.dli_fname, "libSOAPRuntime"))
    return false;
  errno = ENETUNREACH;
  return true;
}

extern "C" int connect(int socket, const sockaddr *address, socklen_t length) {
  if (refuses(__builtin_return_address(0)))
    return -1;
  return static_cast<int>(syscall(SYS_connect, socket, address, length));
}

extern "C" int listen(int socket, int backlog) noexcept {
  if (refuses(__builtin_return_address(0)))
    return -1;
  return static_cast<int>(syscall(SYS_listen, socket, backlog));
}

/// y = x + 1, on device 1.
static void addOne(void *const *buffers, const int64_t *) {
  if (++kernelRuns == 3 && mode == "kernel-throws")
    throw std::runtime_error("the kernel broke");
  if (kernelRuns == 3 && mode == "kernel-exits")
    std::exit(7);
  if (mode == "exits")
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto *x = static_cast<const float *>(buffers[0]);
  auto *y = static_cast<float *>(buffers[1]);
  for (int64_t i = 0; i != elements; ++i)
    y[i] = x[i] + 1;
}

/// Device 0 sends x to device 1 and gets y back, `rounds` times in a step.
static ModelBuilder roundTrips(int rounds) {
  ModelBuilder b(2);
  fb::KernelOpUnion native;
  native.Set(fb::NativeT());
  b.native({elements * 4, elements * 4});
  uint32_t kernel = b.kernel(std::move(native), {{elements}}, {{elements}});
  uint64_t bytes = elements * 4;
  uint32_t values[2], results[2];
  for (uint32_t d = 0; d != 2; ++d) {
    values[d] = b.buffer(d, bytes);
    results[d] = b.buffer(d, bytes);
  }
  b.feed(0, b.input("x", {elements}), values[0]);
  std::vector<uint32_t> last[2] = {{0}, {}};
  uint32_t tag = 0;
  auto move = [&](uint32_t from, uint32_t source, uint32_t target) {
    for (uint32_t d = 0; d != 2; ++d) {
      fb::ExchangeT exchange;
      if (d == from)
        exchange.sends.emplace_back(1 - d, tag, fb::Extent(source, 0, bytes));
      else
        exchange.receives.emplace_back(from, tag, fb::Extent(target, 0, bytes));
      last[d] = {b.row(d, std::move(exchange), fb::Stream::Communication,
                       fb::Phase::Step, last[d])};
    }
    ++tag;
  };
  for (int round = 0; round != rounds; ++round) {
    move(0, values[0], values[1]);
    fb::LaunchT launch;
    launch.kernel = kernel;
    launch.operands = {values[1]};
    launch.results = {results[1]};
    last[1] = {b.row(1, std::move(launch), fb::Stream::Compute, fb::Phase::Step,
                     last[1])};
    move(1, results[1], values[0]);
  }
  b.drain(0, b.output("y", {elements}), values[0]);
  return b;
}

/// In every round both devices add up their values and send them to each other;
/// at last device 0 has (x0 + x1) 2^(rounds - 1).
static ModelBuilder sums(int rounds) {
  ModelBuilder b(2);
  uint64_t bytes = elements * 4;
  uint32_t values[2], others[2], last[2];
  for (uint32_t d = 0; d != 2; ++d) {
    values[d] = b.buffer(d, bytes);
    others[d] = b.buffer(d, bytes);
    b.feed(d, b.input("x" + std::to_string(d), {elements}), values[d]);
    last[d] = 0;
  }
  auto add = [&](uint32_t d, auto body) {
    last[d] = b.row(d, std::move(body), fb::Stream::Communication,
                    fb::Phase::Step, {last[d]});
  };
  for (int round = 0; round != rounds; ++round)
    for (uint32_t d = 0; d != 2; ++d) {
      add(d, allReduce(2, d, values[d], bytes));
      fb::ExchangeT exchange;
      auto tag = static_cast<uint32_t>(round);
      exchange.sends.emplace_back(1 - d, tag, fb::Extent(values[d], 0, bytes));
      exchange.receives.emplace_back(1 - d, tag,
                                     fb::Extent(others[d], 0, bytes));
      add(d, std::move(exchange));
    }
  b.drain(0, b.output("y", {elements}), others[0]);
  return b;
}

[[noreturn]] static void wrong(const std::string &what) {
  std::printf("rank %u: %s\n", soap_launch_rank(), what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

static ModelPtr loadOrEnd(const ModelBuilder &builder) {
  ModelPtr model = builder.load(nullptr, {addOne});
  if (!model)
    wrong(soap_last_error());
  return model;
}

/// Takes steps; returns why one failed, or "".
static std::string run(soap_model *model, int rounds, int steps) {
  Floats x(elements), y(elements);
  const void *in = x.data();
  void *out = y.data();
  for (int step = 0; step != steps; ++step) {
    for (int64_t i = 0; i != elements; ++i)
      x[i] = static_cast<float>(step + i);
    if (soap_model_run(model, &in, &out) != SOAP_OK)
      return soap_last_error();
    for (int64_t i = 0; soap_model_rank(model) == 0 && i != elements; ++i)
      if (y[i] != static_cast<float>(step + i + rounds))
        wrong("expected " + std::to_string(step + i + rounds) +
              ", got: " + std::to_string(y[i]));
  }
  return "";
}

static void runTwo() {
  ModelBuilder few = roundTrips(2), many = roundTrips(5);
  ModelPtr one = loadOrEnd(few), two = loadOrEnd(many);
  // In another order on each rank, if all goes badly.
  std::string failures[2];
  std::thread other([&] { failures[1] = run(two.get(), 5, 100); });
  failures[0] = run(one.get(), 2, 200);
  other.join();
  for (const std::string &failure : failures)
    if (!failure.empty())
      wrong(failure);
  // What is wrong on one rank is so on all.
  char bytes[2] = {'a', 'b'};
  if (soap_model_broadcast(one.get(), bytes, 1 + soap_launch_rank()) !=
      SOAP_INVALID)
    wrong("expected one size for all ranks");
  // Ranks release models in another order than they have loaded them.
  for (int i = 0; i != 20; ++i) {
    ModelPtr three = loadOrEnd(few);
    if (soap_launch_rank() == 0)
      one = std::move(three);
    else
      std::swap(one, three);
    std::string failure = run(one.get(), 2, 2);
    if (!failure.empty())
      wrong(failure);
  }
}

/// A rank that is busy is alive, whatever the timeout.
static void runSkewed() {
  soap_load_options options = {};
  options.size = sizeof(options);
  options.timeout_seconds = 0.5;
  if (soap_join(&options) != SOAP_OK)
    wrong(soap_last_error());
  auto work = [] { std::this_thread::sleep_for(std::chrono::seconds(2)); };
  if (soap_launch_rank() == 1)
    work();
  ModelPtr model = loadOrEnd(roundTrips(1));
  std::string failure = run(model.get(), 1, 3);
  if (soap_launch_rank() == 0)
    work();
  failure += run(model.get(), 1, 3);
  if (!failure.empty())
    wrong(failure);
}

static void runAlone() {
  ModelPtr model = loadOrEnd(roundTrips(1));
  int value = 0;
  if (soap_launch_rank() == 1 &&
      soap_model_broadcast(model.get(), &value, sizeof(value)) != SOAP_FAILED)
    wrong("expected a failure");
}

/// Joining fails on both ranks, though only `rank` has no net.
static void runWithoutNet(uint32_t rank, const std::string &expected,
                          bool joinsAgain) {
  soap_load_options options = {};
  options.size = sizeof(options);
  options.timeout_seconds = 5;
  options.warning = [](const char *line, void *) { wrong(line); };
  netIsDown = soap_launch_rank() == rank;
  auto start = std::chrono::steady_clock::now();
  if (soap_join(&options) != SOAP_FAILED)
    wrong("expected a failure");
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::string failure = soap_last_error();
  if (failure.find(expected) == std::string::npos ||
      failure.find("Network is unreachable") == std::string::npos)
    wrong("expected the rank and its reason, got: " + failure);
  if (seconds.count() > options.timeout_seconds)
    wrong("it took " + std::to_string(seconds.count()) + " s");
  netIsDown = false;
  // Nobody watches, and misses a rank that does not answer.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (!joinsAgain)
    return;
  if (soap_join(&options) != SOAP_OK)
    wrong(soap_last_error());
  ModelPtr model = loadOrEnd(roundTrips(2));
  failure = run(model.get(), 2, 3);
  if (!failure.empty())
    wrong(failure);
}

static void runExiting() {
  // When all else has ended, so has the step.
  static Floats x(elements), y(elements);
  std::atexit([] {
    if (soap_launch_rank() == 0 && y[7] != 5)
      wrong("expected 5, got: " + std::to_string(y[7]));
  });
  const void *in = x.data();
  void *out = y.data();
  soap_model *model = loadOrEnd(roundTrips(5)).release();
  if (soap_model_run_async(model, &in, &out) != SOAP_OK)
    wrong(soap_last_error());
}

static void runOwnMpi() {
#if SOAP_HAS_MPI
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  {
    ModelPtr model = loadOrEnd(roundTrips(2));
    std::string failure = run(model.get(), 2, 3);
    if (!failure.empty())
      wrong(failure);
  }
  MPI_Finalize();
  if (soap_launch_rank() == 0)
    std::this_thread::sleep_for(std::chrono::seconds(1));
#endif
}

/// Rank 0 waits for rank 1, which is not there any more, or has failed. There
/// are many rows that could wait, and many steps.
static void runFailing(const std::string &expected) {
  ModelPtr model = loadOrEnd(roundTrips(50));
  auto start = std::chrono::steady_clock::now();
  if (mode == "leaves" && soap_launch_rank() == 1) {
    std::string failure = run(model.get(), 50, 3);
    if (!failure.empty())
      wrong(failure);
    std::exit(7);
  }
  std::string failure = run(model.get(), 50, 1000000);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  if (failure.find("rank 1 (host ") == std::string::npos ||
      failure.find(expected) == std::string::npos)
    wrong("expected the rank and its reason, got: " + failure);
  if (seconds.count() > 10)
    wrong("it took " + std::to_string(seconds.count()) + " s");
  // A model whose messages failed says so again, at once.
  if (mode == "leaves" && run(model.get(), 50, 1) != failure)
    wrong("expected the same failure again");
}

/// Takes steps of sums(3); returns why one failed, or "".
static std::string runSums(soap_model *model, int steps) {
  Floats x(elements), y(elements);
  const void *in[] = {x.data(), x.data()};
  void *out = y.data();
  for (int step = 0; step != steps; ++step) {
    std::fill(x.begin(), x.end(), static_cast<float>(step));
    if (soap_model_run(model, in, &out) != SOAP_OK)
      return soap_last_error();
    auto expected = static_cast<float>(8 * step);
    for (int64_t i = 0; soap_model_rank(model) == 0 && i != elements; ++i)
      if (y[i] != expected)
        wrong("expected " + std::to_string(expected) +
              ", got: " + std::to_string(y[i]));
  }
  return "";
}

static void runSums() {
  ModelPtr model = loadOrEnd(sums(3));
  bool leaves = mode == "sums-leaves" && soap_launch_rank() == 1;
  std::string failure = runSums(model.get(), 20);
  if (!failure.empty())
    wrong(failure);
  if (mode == "sums")
    return;
  if (leaves)
    std::exit(7);
  if (mode == "sums-lost" && soap_launch_rank() == 1)
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      (void)raise(SIGKILL);
    }).detach();
  failure = runSums(model.get(), 1000000);
  // Of a process that has left, its end is read; one that is lost may be missed
  // first by who sends to it.
  if (failure.find("rank 1 (host ") == std::string::npos ||
      failure.find(mode == "sums-lost" ? "got: its end"
                                       : "got: its end; make the same calls") ==
          std::string::npos)
    wrong("expected the rank and its reason, got: " + failure);
  // Of a lost process the runtime prints, and ends this one.
  if (mode == "sums-lost") {
    std::this_thread::sleep_for(std::chrono::seconds(30));
    wrong("expected to be ended, as rank 1 is lost");
  }
}

int main(int, char **argv) {
  mode = argv[1];
  if (mode == "two")
    runTwo();
  else if (mode == "skew")
    runSkewed();
  else if (mode == "alone")
    runAlone();
  else if (mode.rfind("sums", 0) == 0)
    runSums();
  else if (mode == "own-mpi")
    runOwnMpi();
  else if (mode == "exits")
    runExiting();
  else if (mode == "no-connection")
    runWithoutNet(1, "rank 1 (host ", true);
  else if (mode == "no-socket")
    runWithoutNet(0, "expected a TCP socket", true);
  else if (mode == "in-vain")
    runWithoutNet(1, "rank 1 (host ", false);
  else
    runFailing(mode == "kernel-throws" ? "the kernel broke"
                                       : "got: its end; make the same calls");
  if (soap_launch_rank() == 0)
    std::puts("fine");
  return 0;
}
