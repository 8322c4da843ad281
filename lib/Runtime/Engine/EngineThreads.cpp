//===- EngineThreads.cpp - The threads that run steps ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Denormals.h"
#include "Engine/Engine.h"
#include <system_error>

using namespace soap;
using namespace soap::runtime;

void Engine::startThreads() {
  uint32_t count = 0;
  for (const auto &device : devices_)
    count += 1 + static_cast<uint32_t>(device->otherThreads().size());
  threadCount_ = count;
  barrier_ = std::make_unique<Barrier>(count);
  auto startThread = [&](auto body) {
    try {
      threads_.emplace_back(body);
    } catch (const std::system_error &error) {
      failed("expected to start ", count, " threads, got: ", threads_.size(),
             " (", error.code().message(),
             "); use more processes, or raise the limits of threads and memory "
             "(ulimit -u, ulimit -v)");
    }
  };
  for (size_t d = 0; d != devices_.size(); ++d) {
    Device &device = *devices_[d];
    startThread([this, &device, d] { computeLoop(device, split_.compute[d]); });
    for (fb::Stream stream : device.otherThreads())
      startThread([this, &device, stream, d] {
        communicationLoop(device, stream, split_.communication[d]);
      });
  }
  ready_.wait(count);
  if (error_) {
    stopThreads();
    std::rethrow_exception(error_);
  }
}

void Engine::stopThreads() {
  if (threads_.empty())
    return;
  // A step that runs ends first.
  rest();
  stopping_ = true;
  go_.set(step_.number + 1);
  for (std::thread &thread : threads_)
    thread.join();
  threads_.clear();
}

void Engine::fail(std::exception_ptr failure) {
  std::lock_guard<std::mutex> lock(errorMutex_);
  if (!error_)
    error_ = std::move(failure);
}

void Engine::runPhase(Device &device, fb::Stream stream, fb::Phase phase) {
  if (auto failure = device.run(stream, phase, step_, traceThisStep_))
    fail(std::move(failure));
}

/// All threads of this process come together, then all processes.
void Engine::meet(const Device &device, fb::Stream stream, uint32_t &visits) {
  Patience patience = stream == fb::Stream::Compute
                          ? split_.computeStream
                          : split_.communicationStream;
  barrier_->arrive(visits, patience);
  if (!group_)
    return;
  if (stream == fb::Stream::Compute && leads(device)) {
    try {
      group_->barrier();
    } catch (...) {
      fail(std::current_exception());
    }
  }
  barrier_->arrive(visits, patience);
}

void Engine::onHostSides(HostSides &sides,
                         void (HostSide::*what)(const Step &)) {
  try {
    for (const auto &side : sides)
      (side.get()->*what)(step_);
  } catch (...) {
    channels_->abandon(messageOf(std::current_exception()));
    fail(std::current_exception());
  }
}

template <typename Step>
void Engine::serve(Step step) {
  ready_.increment();
  uint32_t visits = 0;
  for (uint32_t next = 1;; ++next) {
    go_.wait(next);
    if (stopping_)
      return;
    step(visits);
    done_.increment();
  }
}

void Engine::prepareThread(const std::vector<int> &cores) const {
  runsCommands() = true;
  bindThread(cores);
  // Before the first kernel starts threads of its own.
  if (!keepDenormals_)
    flushDenormals();
}

void Engine::computeLoop(Device &device, const std::vector<int> &cores) {
  prepareThread(cores);
  backend_->useThreads(cores.size());
  try {
    device.prepare(weights_.get(), observer_);
  } catch (...) {
    fail(std::current_exception());
  }
  serve([&](uint32_t &visits) {
    // Rank 0 is the host of other ranks' devices, too.
    if (leads(device))
      onHostSides(feedSources(), &HostSide::start);
    runPhase(device, fb::Stream::Compute, fb::Phase::Feed);
    if (leads(device))
      onHostSides(feedSources(), &HostSide::finish);
    meet(device, fb::Stream::Compute, visits);
    if (leads(device))
      stepStart_ = barrier_->lastArrival();
    runPhase(device, fb::Stream::Compute, fb::Phase::Step);
    meet(device, fb::Stream::Compute, visits);
    if (leads(device)) {
      stepEnd_ = barrier_->lastArrival();
      onHostSides(drainTargets(), &HostSide::start);
    }
    runPhase(device, fb::Stream::Compute, fb::Phase::Drain);
    if (leads(device))
      onHostSides(drainTargets(), &HostSide::finish);
  });
}

void Engine::communicationLoop(Device &device, fb::Stream stream,
                               const std::vector<int> &cores) {
  prepareThread(cores);
  if (split_.areMates) {
    CoreMates::own() = &device.mates();
    CoreMates::ownNumber() = stream == fb::Stream::Priority;
  }
  serve([&](uint32_t &visits) {
    meet(device, stream, visits);
    runPhase(device, stream, fb::Phase::Step);
    meet(device, stream, visits);
  });
}
