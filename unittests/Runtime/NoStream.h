//===- NoStream.h - Kernels without a device --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_RUNTIME_NOSTREAM_H
#define SOAP_UNITTESTS_RUNTIME_NOSTREAM_H

#include "Backend/Backend.h"

namespace soap::test {

/// A kernel of the CPU runs where it is enqueued.
struct NoStream final : runtime::Stream {
  void copy(const runtime::StridedCopy &, runtime::DevicePointer,
            runtime::DevicePointer) override {}
  void copyFromHost(const runtime::StridedCopy &, const char *,
                    runtime::DevicePointer) override {}
  void copyToHost(const runtime::StridedCopy &, runtime::DevicePointer,
                  char *) override {}
  void fill(runtime::DevicePointer, uint64_t,
            const std::vector<uint8_t> &) override {}
  void call(runtime::HostCall &) override {}
  void stamp(int64_t &) override {}
  void record(runtime::Event &) override {}
  void wait(runtime::Event &) override {}
  void synchronize() override {}
};

} // namespace soap::test

#endif // SOAP_UNITTESTS_RUNTIME_NOSTREAM_H
