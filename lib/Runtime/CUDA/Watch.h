//===- Watch.h - What a wait for a stream looks at --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_WATCH_H
#define SOAP_LIB_RUNTIME_CUDA_WATCH_H

#include "Error.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace soap::runtime::cuda {

/// Looked at while the host waits for commands that wait for other devices.
class StreamWatch {
public:
  virtual ~StreamWatch() = default;
  /// Throws SOAP_FAILED if the others will not come; then the commands end.
  virtual void check() = 0;
};

/// Calls `done` until it returns true, at first again and again, then after
/// pauses of up to 100 us; looks at `watch` in between.
template <typename Done>
void waitUntil(StreamWatch &watch, Done done) {
  using namespace std::chrono;
  constexpr int spins = 2000;
  auto pause = microseconds(5);
  for (int look = 0; !done(); ++look) {
    if (look < spins) {
      if (look % 256 == 255)
        watch.check();
      continue;
    }
    watch.check();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, microseconds(100));
  }
}

/// Why the devices of a process cannot go on; the first reason counts.
class Abandonment {
public:
  void set(const std::string &reason) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!isSet_)
      reason_ = reason;
    isSet_ = true;
  }
  bool isSet() const { return isSet_; }
  /// Throws SOAP_FAILED with the reason, if there is one.
  void check() const {
    if (!isSet_)
      return;
    std::lock_guard<std::mutex> lock(mutex_);
    failed(reason_);
  }

private:
  mutable std::mutex mutex_;
  std::string reason_;
  std::atomic<bool> isSet_{false};
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_WATCH_H
