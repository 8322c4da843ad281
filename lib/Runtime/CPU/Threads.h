//===- Threads.h - The threads of a device of the CPU -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN's own threads: a second pool would wait beside them for the same
// cores. Which OpenMP runtime oneDNN was built with, if any, is found at run
// time.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_THREADS_H
#define SOAP_LIB_RUNTIME_CPU_THREADS_H

#include <cstddef>
#include <cstdint>

namespace soap::runtime {

/// Sets how many threads oneDNN and runParallel() use for the calling thread.
void useThreads(size_t count);

/// How many that are; 1 if oneDNN has none.
size_t threadCount();

/// How many of them are worth waking up for what reads or writes so many bytes,
/// each for a few microseconds at least.
size_t threadsForBytes(uint64_t bytes);

/// Calls body(data, part) for all parts below `parts`, on as many threads if
/// there are, the calling one among them. Returns when all have returned, which
/// must not throw.
void runParallel(size_t parts, void (*body)(void *data, size_t part),
                 void *data);

/// Calls body(part) likewise.
template <typename Body>
void forEachPart(size_t parts, const Body &body) {
  runParallel(
      parts,
      [](void *data, size_t part) { (*static_cast<const Body *>(data))(part); },
      const_cast<Body *>(&body));
}

/// Calls body(begin, end) for `parts` ranges that have all numbers below
/// `count`.
template <typename Body>
void forEachRange(int64_t count, int64_t parts, const Body &body) {
  forEachPart(static_cast<size_t>(parts), [&](size_t part) {
    auto number = static_cast<int64_t>(part);
    body(count * number / parts, count * (number + 1) / parts);
  });
}

/// Calls body(i) for all i below `count`, which are dealt out to `parts` parts
/// of neighbours.
template <typename Body>
void forEachOf(int64_t count, int64_t parts, const Body &body) {
  forEachRange(count, parts, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i != end; ++i)
      body(i);
  });
}

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_THREADS_H
