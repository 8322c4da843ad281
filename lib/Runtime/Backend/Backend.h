//===- Backend.h - What a kind of device can do -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine runs a model on the devices of one target by this interface, and
// knows no target. A backend comes in a plug-in, so the runtime starts where
// its libraries are missing, and says so. docs/Runtime.md says how to add one.
//
// A stream runs its commands one after the other. What a command refers to (its
// addresses, and everything that is passed by reference) must stay until the
// stream has been synchronized, or until the graph that has captured it is
// destroyed. A command that fails does not stop those behind it, as other
// devices may wait for them; where the streams run in place, enqueuing it
// throws, else synchronize() does.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_BACKEND_BACKEND_H
#define SOAP_LIB_RUNTIME_BACKEND_BACKEND_H

#include "Backend/DeviceMemory.h"
#include "Backend/DeviceReport.h"
#include "Backend/Kernel.h"
#include "Backend/StridedCopy.h"
#include "Backend/Transport.h"
#include "Patience.h"

namespace soap::runtime {

/// A place in a stream that another stream waits for. One stream records an
/// event and one waits for it, as often as it is recorded and in the same
/// order: wait number n ends when record number n has run. Unless streams run
/// in place, a record is enqueued before its wait.
class Event {
public:
  virtual ~Event() = default;
};

/// Work of the host in a stream.
class HostCall {
public:
  virtual ~HostCall() = default;
  /// Runs when the commands before it have ended, on any thread; may block.
  /// What it throws fails the command.
  virtual void run() = 0;
  /// Whether it ends only when streams of other devices have come to a call of
  /// theirs.
  virtual bool waitsForOthers() const { return false; }
};

/// A queue of commands. One thread enqueues at a time.
class Stream {
public:
  virtual ~Stream() = default;
  /// @{ Copies a box within the device, from host memory and to host memory.
  virtual void copy(const StridedCopy &box, DevicePointer from,
                    DevicePointer to) = 0;
  virtual void copyFromHost(const StridedCopy &box, const char *from,
                            DevicePointer to) = 0;
  virtual void copyToHost(const StridedCopy &box, DevicePointer from,
                          char *to) = 0;
  /// @}
  /// Sets bytes to a repeated pattern, the size of which divides `bytes`
  /// (empty: zero bytes). The pattern has to live until this has run.
  virtual void fill(DevicePointer to, uint64_t bytes,
                    const std::vector<uint8_t> &pattern) = 0;
  virtual void call(HostCall &call) = 0;
  /// Writes the time at which the stream comes here: ns of the steady clock.
  virtual void stamp(int64_t &time) = 0;
  virtual void record(Event &event) = 0;
  virtual void wait(Event &event) = 0;

  /// True if a command has failed since the last synchronize(): for the host
  /// calls of the stream itself.
  virtual bool hasFailed() const { return false; }
  /// Blocks until all commands have ended. Throws the first failure since the
  /// last call.
  virtual void synchronize() = 0;
};

/// The commands of a device's streams, captured.
class Graph {
public:
  virtual ~Graph() = default;
  /// Enqueues them again, on all streams, behind what is there.
  virtual void launch() = 0;
};

/// One device for one model. All functions of a device and of its streams may
/// be called at the same time as those of other devices.
class BackendDevice {
public:
  virtual ~BackendDevice() = default;

  /// Returns a block of memory, the contents of which are undefined, at a
  /// multiple of 64. Throws SOAP_INVALID if there is not enough.
  virtual DevicePointer allocate(uint64_t bytes) = 0;
  /// Frees a block that no command uses any more.
  virtual void free(DevicePointer block, uint64_t bytes) = 0;
  /// Gives back Backend::discardableBytes() of a range of a block, the contents
  /// of which nobody needs any more.
  virtual void discard(DevicePointer block, uint64_t offset, uint64_t bytes) {}
  /// @{ Says that streams of this device will often copy from and to a range
  /// of host memory: it may be locked in physical memory.
  virtual void pin(char *host, uint64_t bytes) {}
  virtual void unpin(char *host) {}
  /// @}

  /// `patience` of waits of the stream, where the host does the waiting. The
  /// commands of a stream with priority go before those of others, where the
  /// device can do that.
  virtual std::unique_ptr<Stream> makeStream(Patience patience,
                                             bool hasPriority) = 0;
  virtual std::unique_ptr<Event> makeEvent() = 0;

  /// Chooses a kernel for the calling thread's number of threads. `constant[i]`
  /// says that operand i never changes; `native` is the code of a Native
  /// kernel; what it points to outlives the kernel. Code is generated at the
  /// first bind(): until then a kernel is cheap. Throws SOAP_INVALID with the
  /// kernel's key if nothing implements it.
  virtual std::unique_ptr<Kernel> makeKernel(const fb::Kernel &kernel,
                                             const std::vector<bool> &constant,
                                             const NativeCode &native) = 0;

  /// @{ From beginCapture() to endCapture(), what is enqueued on the streams of
  /// the device is captured and does not run. Before, all streams have been
  /// synchronized. All events that are waited for are recorded within. Only for
  /// backends with BackendTraits::captures.
  virtual void beginCapture() {}
  virtual std::unique_ptr<Graph> endCapture() { return nullptr; }
  /// @}
};

/// What the engine has to know of a backend.
struct BackendTraits {
  /// A device pointer is the address of the same bytes in this process.
  bool memoryIsHost = false;
  /// A stream runs each command on the thread that enqueues it, before the call
  /// returns: the engine gives a thread to every stream, and waits for events
  /// block that thread. Else commands run by themselves, and one thread per
  /// device enqueues them.
  bool runsInPlace = false;
  /// Devices can capture and replay.
  bool captures = false;
  /// What is captured may have host calls that wait for those of others.
  bool capturedCallsWait = true;
};

/// A kind of device. Its functions may be called by any thread.
class Backend {
public:
  virtual ~Backend() = default;
  virtual BackendTraits traits() const = 0;
  /// Name and version of the kernel library: "oneDNN 2.6.3".
  virtual std::string library() const = 0;
  /// The model name of this machine's devices.
  virtual std::string deviceName() const = 0;
  /// Bytes that this process can still allocate on its devices.
  virtual uint64_t availableMemory() const = 0;
  /// The devices one by one, where they are not shares of the host.
  virtual DeviceReports reportDevices() const { return {}; }

  /// Lets kernels that the calling thread makes and enqueues use so many
  /// threads of the host, if they use any.
  virtual void useThreads(size_t count) const {}
  /// What BackendDevice::discard() gives back of a range of a block.
  virtual uint64_t discardableBytes(uint64_t offset, uint64_t bytes) const {
    return 0;
  }
  virtual std::unique_ptr<BackendDevice>
  makeDevice(const DevicePlace &place) const = 0;
  /// Makes a transport of the device's own library; null if it has none for
  /// these devices: then data are staged through host memory.
  virtual std::unique_ptr<Transport>
  makeTransport(const TransportOptions &options) const {
    return nullptr;
  }
};

/// The backend of a target, loaded on the first call. Throws SOAP_INVALID, with
/// what is missing and how to install it.
const Backend &findBackend(const std::string &target);
/// True if the file of the target's backend is there.
bool hasBackend(const std::string &target);
/// The targets that SOAP installs a backend for.
const std::vector<std::string> &installedTargets();

/// True on threads that run commands: a kernel or host call that ends the
/// program there must not wait for the step that it belongs to. The engine sets
/// it on its threads, a backend on those that it starts.
bool &runsCommands();

/// What a plug-in exports, by the name `soap_backend`: the backend, if
/// `runtime` is the version that the plug-in was built with, else null.
using BackendEntry = const Backend *(*)(const char *runtime);

//===----------------------------------------------------------------------===//
// Ownership
//===----------------------------------------------------------------------===//

/// A block of a device's memory, freed with this.
class DeviceBlock {
public:
  DeviceBlock() = default;
  /// Allocates unless `bytes` is 0. The device outlives the block.
  DeviceBlock(BackendDevice &device, uint64_t bytes);
  ~DeviceBlock();
  DeviceBlock(DeviceBlock &&other) noexcept;
  DeviceBlock &operator=(DeviceBlock &&other) noexcept;

  DevicePointer data() const { return data_; }
  uint64_t size() const { return size_; }
  void discard(uint64_t offset, uint64_t bytes) {
    device_->discard(data_, offset, bytes);
  }

private:
  BackendDevice *device_ = nullptr;
  DevicePointer data_;
  uint64_t size_ = 0;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_BACKEND_H
