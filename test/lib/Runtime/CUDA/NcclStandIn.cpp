//===- NcclStandIn.cpp - NCCL without a GPU -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library of the name of NCCL, for tests, among threads and processes of one
// host: ranks exchange files of a folder whose name is the communicator's. An
// operation runs in its stream and ends when the others have come, as NCCL's
// do: a sender waits until it is received. What NCCL requires is checked: a GPU
// per rank, the same collective on all ranks, sizes that agree. Calls are
// written to the file that SOAP_CUDA_LOG names; SOAP_NCCL_VERSION says which
// version it claims to be.
//
//===----------------------------------------------------------------------===//

#include "NcclStandIn.h"
#include "Emulated/Memory.h"
#include "Error.h"
#include "Queue.h"
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace soap;
using namespace soap::standin;
using runtime::DevicePointer;
using runtime::text;
namespace fs = std::filesystem;

static thread_local std::string lastError;

static ncclResult_t refuse(ncclResult_t code, const std::string &why) {
  lastError = why;
  return code;
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

namespace {
/// Thrown where an operation ends without a result.
struct Aborted {};
} // namespace

struct ncclComm {
  std::string folder, place; ///< Of this rank's GPU.
  int rank = 0, size = 0;
  std::atomic<ncclResult_t> state{ncclInProgress};
  std::string error; ///< Written before `state`.
  std::atomic<bool> isAborted{false};
  bool isFinalizing = false;
  std::thread connecting;
  /// Of the stream that runs the operations.
  uint64_t collectives = 0;
  std::map<int, uint64_t> sent, received;

  fs::path file(const std::string &name) const { return folder + '/' + name; }
  void write(const std::string &name, const std::string &contents) const {
    fs::path draft = file(name + text(".of-", rank));
    std::ofstream(draft, std::ios::binary) << contents;
    fs::rename(draft, file(name));
  }
  std::string read(const std::string &name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void fail(ncclResult_t code, const std::string &why) {
    error = why;
    state = code;
  }

  /// False if the process of a rank has ended.
  bool lives(int other) const {
    std::istringstream in(read(text("hello-", other)));
    pid_t process = 0;
    return !(in >> process) || kill(process, 0) == 0;
  }

  /// Waits until `done`; if a rank is lost, for the abort.
  template <typename Done>
  void wait(Done done) {
    for (unsigned look = 0; !done(); ++look) {
      if (isAborted)
        throw Aborted();
      if (look % 256 == 255 && state == ncclSuccess)
        for (int other = 0; other != size; ++other)
          if (!lives(other))
            fail(ncclRemoteError, "a remote process has ended");
      std::this_thread::sleep_for(
          std::chrono::microseconds(look < 64 ? 20 : 200));
    }
  }

  void connect();
  void leave();
};

void ncclComm::connect() {
  write(text("hello-", rank), text(getpid(), ' ', place));
  try {
    std::set<std::string> places;
    for (int other = 0; other != size; ++other) {
      wait([&] { return fs::exists(file(text("hello-", other))); });
      std::string hello = read(text("hello-", other));
      if (!places.insert(hello.substr(hello.find(' '))).second)
        return fail(ncclInvalidUsage, "Duplicate GPU detected");
    }
    state = ncclSuccess;
  } catch (const Aborted &) {
    fail(ncclInternalError, "aborted");
  }
}

void ncclComm::leave() {
  if (connecting.joinable())
    connecting.join();
  write(text("gone-", rank), "");
  bool last = true;
  for (int other = 0; other != size; ++other)
    last &= fs::exists(file(text("gone-", other))) || !lives(other);
  std::error_code ignored;
  if (last)
    fs::remove_all(folder, ignored);
}

static std::string gpuOfThread() {
  CUdevice device = 0;
  char bus[32] = "";
  if (cuCtxGetDevice(&device) != CUDA_SUCCESS ||
      cuDeviceGetPCIBusId(bus, sizeof(bus), device) != CUDA_SUCCESS)
    return "";
  const char *host = std::getenv("NCCL_HOSTID");
  return text(host ? host : "here", ' ', bus);
}

ncclResult_t ncclGetVersion(int *version) {
  const char *given = std::getenv("SOAP_NCCL_VERSION");
  *version = given ? std::atoi(given) : NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  case ncclInvalidUsage:
    return "invalid usage";
  case ncclInvalidArgument:
    return "invalid argument";
  default:
    return "an error of another kind";
  }
}

const char *ncclGetLastError(ncclComm_t) { return lastError.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  *id = {};
  std::string name = "/dev/shm/soap-nccl-XXXXXX";
  if (!mkdtemp(name.data()))
    return ncclSystemError;
  std::memcpy(id->internal, name.c_str(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size, ncclUniqueId id,
                                    int rank, ncclConfig_t *config) {
  std::string place = gpuOfThread();
  if (place.empty())
    return refuse(ncclInvalidUsage, "there is no current context");
  if (config->blocking != 0)
    return refuse(ncclInvalidUsage, "the stand-in never blocks");
  auto *own = new ncclComm;
  own->folder = id.internal;
  own->place = place;
  own->rank = rank;
  own->size = size;
  log(text("communicator of ", size, ": rank ", rank));
  own->connecting = std::thread([own] { own->connect(); });
  *comm = own;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
  *state = comm->state;
  if (*state != ncclSuccess && *state != ncclInProgress)
    lastError = comm->error;
  if (comm->isFinalizing && *state == ncclSuccess)
    for (int other = 0; other != comm->size; ++other)
      if (!fs::exists(comm->file(text("final-", other))) &&
          !fs::exists(comm->file(text("gone-", other))))
        *state = ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  comm->isFinalizing = true;
  comm->write(text("final-", comm->rank), "");
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  log(text("destroy rank ", comm->rank, " of ", comm->size));
  comm->leave();
  return ncclSuccess; // Kept: a stream may still have its operations.
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  log(text("abort rank ", comm->rank, " of ", comm->size));
  comm->isAborted = true;
  comm->leave();
  return ncclSuccess;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {
/// One call of a group.
struct Operation {
  enum Kind { Send, Receive, Broadcast, Gather, AllReduce, Reduce, Scatter };
  Kind kind;
  const void *from;
  void *to;
  size_t count; ///< As in the call.
  ncclDataType_t type;
  ncclRedOp_t op;
  int peer; ///< Or root.

  std::string describe() const {
    static const char *const names[] = {
        "send",       "receive", "broadcast",     "all-gather",
        "all-reduce", "reduce",  "reduce-scatter"};
    return text(names[kind], ' ', count, " of type ", type,
                kind >= AllReduce ? text(", op ", op) : "",
                kind <= Receive ? ", peer " : ", root ", peer);
  }
};

/// The operations of a group on one communicator and stream.
struct Group {
  ncclComm *comm;
  CUstream stream;
  std::vector<Operation> operations;
  void run() const;

private:
  void exchange() const;
  void meet(const Operation &operation) const;
  void finish(const Operation &operation,
              const std::vector<std::string> &parts) const;
};
} // namespace

static char *hostAddressOf(const void *pointer) {
  return emulated::privateAddress(DevicePointer(const_cast<void *>(pointer)),
                                  nullptr);
}

void Group::exchange() const {
  std::vector<std::string> sent;
  for (const Operation &own : operations)
    if (own.kind == Operation::Send) {
      sent.push_back(text("message-", comm->rank, '-', own.peer, '-',
                          comm->sent[own.peer]++));
      comm->write(sent.back(),
                  std::string(hostAddressOf(own.from),
                              own.count * sizeOfNcclType(own.type)));
    }
  for (const Operation &own : operations)
    if (own.kind == Operation::Receive) {
      std::string name = text("message-", own.peer, '-', comm->rank, '-',
                              comm->received[own.peer]++);
      comm->wait([&] { return fs::exists(comm->file(name)); });
      std::string data = comm->read(name);
      if (data.size() != own.count * sizeOfNcclType(own.type))
        return comm->fail(ncclInvalidUsage, "a message of another size");
      std::memcpy(hostAddressOf(own.to), data.data(), data.size());
      fs::remove(comm->file(name));
    }
  for (const std::string &name : sent)
    comm->wait([&] { return !fs::exists(comm->file(name)); });
}

void Group::finish(const Operation &own,
                   const std::vector<std::string> &parts) const {
  size_t bytes = own.count * sizeOfNcclType(own.type);
  auto put = [&](const std::string &data, size_t at) {
    if (!data.empty())
      std::memcpy(hostAddressOf(own.to) + at, data.data(), data.size());
  };
  switch (own.kind) {
  case Operation::Broadcast:
    return put(parts[own.peer], 0);
  case Operation::Gather:
    for (size_t m = 0; m != parts.size(); ++m)
      put(parts[m], m * bytes);
    return;
  default: {
    if (own.kind == Operation::Reduce && own.peer != comm->rank)
      return;
    std::string sum = parts[0];
    for (size_t m = 1; m != parts.size(); ++m)
      joinNccl(own.type, own.op, sum, parts[m]);
    bool scatters = own.kind == Operation::Scatter;
    put(scatters ? sum.substr(static_cast<size_t>(comm->rank) * bytes, bytes)
                 : sum,
        0);
  }
  }
}

void Group::meet(const Operation &own) const {
  uint64_t number = comm->collectives++;
  auto name = [&](uint64_t n, int rank) { return text("part-", n, '-', rank); };
  size_t bytes = own.count * sizeOfNcclType(own.type);
  if (own.kind == Operation::Scatter)
    bytes *= static_cast<size_t>(comm->size);
  bool gives = own.kind != Operation::Broadcast || own.peer == comm->rank;
  std::string mine = own.describe() + '\n';
  if (gives && bytes)
    mine.append(hostAddressOf(own.from), bytes);
  comm->write(name(number, comm->rank), mine);
  std::vector<std::string> parts;
  for (int other = 0; other != comm->size; ++other) {
    fs::path file = comm->file(name(number, other));
    comm->wait([&] { return fs::exists(file); });
    std::string part = comm->read(name(number, other));
    size_t line = part.find('\n');
    if (part.substr(0, line) != own.describe()) {
      std::fprintf(stderr, "NCCL: '%s' meets '%s'\n", own.describe().c_str(),
                   part.substr(0, line).c_str());
      return comm->fail(ncclInvalidUsage, "collectives that do not match");
    }
    parts.push_back(part.substr(line + 1));
  }
  // All have come here, so all have read what was before.
  if (number != 0)
    fs::remove(comm->file(name(number - 1, comm->rank)));
  finish(own, parts);
}

void Group::run() const {
  Scheduler::get().outside([&] {
    try {
      if (comm->isAborted)
        return;
      exchange();
      for (const Operation &own : operations)
        if (own.kind > Operation::Receive)
          meet(own);
    } catch (const Aborted &) {
    } catch (const std::exception &error) {
      comm->fail(ncclInternalError, error.what());
    }
  });
}

static thread_local int depth = 0;
static thread_local std::vector<Group> open;

static ncclResult_t flush() {
  ncclResult_t result = ncclSuccess;
  for (Group &group : open) {
    for (const Operation &own : group.operations)
      log(text("rank ", group.comm->rank, " of ", group.comm->size, ": ",
               own.describe()));
    // Never deleted: a graph may run it again.
    auto *own = new Group(std::move(group));
    auto run = [](void *data) { static_cast<const Group *>(data)->run(); };
    if (cuLaunchHostFunc(own->stream, run, own) != CUDA_SUCCESS)
      result = refuse(ncclUnhandledCudaError, "the stream took no command");
  }
  open.clear();
  return result;
}

static ncclResult_t add(ncclComm_t comm, cudaStream_t stream,
                        const Operation &operation) {
  if (comm->state != ncclSuccess || comm->isFinalizing || comm->isAborted)
    return refuse(ncclInvalidUsage, "the communicator is not ready");
  if (operation.peer < 0 || operation.peer >= comm->size ||
      (operation.kind <= Operation::Receive && operation.peer == comm->rank))
    return refuse(ncclInvalidArgument, "there is no such rank");
  if (depth == 0)
    return refuse(ncclInvalidUsage, "the stand-in wants groups");
  auto it = std::find_if(open.begin(), open.end(), [&](const Group &group) {
    return group.comm == comm && group.stream == stream;
  });
  if (it == open.end())
    it = open.insert(open.end(), Group{comm, stream, {}});
  it->operations.push_back(operation);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() { return --depth == 0 ? flush() : ncclSuccess; }

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream,
             {Operation::Send, from, nullptr, count, type, ncclSum, peer});
}
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream,
             {Operation::Receive, nullptr, to, count, type, ncclSum, peer});
}
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count,
                           ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return add(comm, stream,
             {Operation::Broadcast, from, to, count, type, ncclSum, root});
}
ncclResult_t ncclAllGather(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return add(comm, stream,
             {Operation::Gather, from, to, count, type, ncclSum, 0});
}
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return add(comm, stream,
             {Operation::AllReduce, from, to, count, type, op, 0});
}
ncclResult_t ncclReduce(const void *from, void *to, size_t count,
                        ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  if (root == comm->rank && !to)
    return refuse(ncclInvalidArgument, "the root has no place for the result");
  return add(comm, stream,
             {Operation::Reduce, from, to, count, type, op, root});
}
ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream, {Operation::Scatter, from, to, count, type, op, 0});
}
