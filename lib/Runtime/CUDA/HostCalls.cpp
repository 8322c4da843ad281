//===- HostCalls.cpp - Calls of the host in a stream ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/HostCalls.h"
#include <utility>

using namespace soap::runtime;
using namespace soap::runtime::cuda;

HostCalls::~HostCalls() {
  if (!thread_.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    isStopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

HostCalls::Entry &HostCalls::entryOf(HostCall &call) {
  std::unique_ptr<Entry> &entry = entries_[&call];
  if (!entry)
    entry = std::make_unique<Entry>(Entry{this, &call});
  return *entry;
}

void HostCalls::enqueue(CUstream stream, HostCall &call) {
  const Driver &d = driver();
  auto enqueued = [&](CUresult result) {
    check(result, "to enqueue a call of the host on ", device_.name());
  };
  Entry &entry = entryOf(call);
  if (device_.isCapturing()) {
    enqueued(d.cuLaunchHostFunc(stream, runHere, &entry));
    return;
  }
  if (call.waitsForOthers() && device_.place().devicesPerGpu > 1) {
    enqueued(d.cuStreamSynchronize(stream));
    runInTurn(call);
    return;
  }
  if (!thread_.joinable()) {
    done_ = std::make_unique<PinnedWord>(device_.gpu());
    thread_ = std::thread([this] { work(); });
  }
  enqueued(d.cuLaunchHostFunc(stream, wake, &entry));
  enqueued(d.cuStreamWaitValue32(stream, done_->onDevice(), 1,
                                 CU_STREAM_WAIT_VALUE_EQ));
  enqueued(d.cuStreamWriteValue32(stream, done_->onDevice(), 0, 0));
}

void CUDA_CB HostCalls::wake(void *data) {
  auto *entry = static_cast<Entry *>(data);
  std::lock_guard<std::mutex> lock(entry->owner->mutex_);
  entry->owner->next_ = entry->call;
  entry->owner->changed_.notify_all();
}

void CUDA_CB HostCalls::runHere(void *data) {
  auto *entry = static_cast<Entry *>(data);
  entry->owner->runInTurn(*entry->call);
}

void HostCalls::runInTurn(HostCall &call) noexcept {
  bool before = std::exchange(runsCommands(), true);
  run(call);
  runsCommands() = before;
}

void HostCalls::run(HostCall &call) noexcept {
  try {
    call.run();
  } catch (...) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_)
      failure_ = std::current_exception();
  }
}

void HostCalls::work() {
  runsCommands() = true;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return isStopping_ || next_; });
    if (!next_)
      return;
    HostCall *call = std::exchange(next_, nullptr);
    lock.unlock();
    run(*call);
    // What the call has written comes before the word that says so.
    __atomic_store_n(&done_->value(), 1U, __ATOMIC_RELEASE);
    lock.lock();
  }
}

bool HostCalls::hasFailed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return failure_ != nullptr;
}

void HostCalls::rethrow() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (std::exception_ptr failure = std::exchange(failure_, nullptr)) {
    lock.unlock();
    std::rethrow_exception(failure);
  }
}
