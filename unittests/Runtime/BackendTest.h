//===- BackendTest.h - What every backend promises ---------------*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The promises of Backend/Backend.h, tested on every backend that is there
// (Backend*Test.cpp). A new backend is done when these tests pass, and those of
// models on its target (SOAP_TEST_TARGET).
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_RUNTIME_BACKENDTEST_H
#define SOAP_UNITTESTS_RUNTIME_BACKENDTEST_H

#include "Backend/Backend.h"
#include "Error.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

namespace soap::test {

using namespace runtime;
using Bytes = std::vector<char>;

class BackendTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!hasBackend(GetParam()))
      GTEST_SKIP() << "the backend is not there";
    backend_ = &findBackend(GetParam());
    traits_ = backend_->traits();
    try {
      device_ = backend_->makeDevice({});
    } catch (const Error &error) {
      // The machine has no such device, which is a failure where a test asks
      // for it.
      const char *required = std::getenv("SOAP_TEST_REQUIRE");
      if (required && std::string(required) == GetParam())
        throw;
      GTEST_SKIP() << error.what();
    }
    stream_ = device_->makeStream({}, /*hasPriority=*/false);
  }

  /// Of device `number` of `count`; all are on one GPU unless
  /// SOAP_TEST_DEVICES_PER_GPU says otherwise.
  static DevicePlace placeOf(uint32_t number, uint32_t count) {
    const char *perGpu = std::getenv("SOAP_TEST_DEVICES_PER_GPU");
    return {number, number,
            number, count,
            count,  perGpu ? static_cast<uint32_t>(std::atoi(perGpu)) : count};
  }

  DeviceBlock block(const Bytes &contents) {
    DeviceBlock result(*device_, contents.size());
    upload(*stream_, contents, result.data());
    return result;
  }
  static void upload(Stream &stream, const Bytes &contents, DevicePointer to) {
    StridedCopy all = StridedCopy::dense(contents.size());
    stream.copyFromHost(all, contents.data(), to);
    stream.synchronize();
  }
  static Bytes download(Stream &stream, DevicePointer from, size_t bytes) {
    Bytes contents(bytes, '?');
    StridedCopy all = StridedCopy::dense(bytes);
    stream.copyToHost(all, from, contents.data());
    stream.synchronize();
    return contents;
  }

  const Backend *backend_ = nullptr;
  BackendTraits traits_;
  std::unique_ptr<BackendDevice> device_;
  std::unique_ptr<Stream> stream_;
};

inline Bytes randomBytes(size_t count, std::mt19937 &random) {
  Bytes bytes(count);
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  return bytes;
}

/// The tests of one file, on every backend that SOAP or its tests have.
#define SOAP_TEST_BACKENDS(suite)                                              \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Target, suite, testing::Values("cpu", "emulated", "cuda"),               \
      [](const auto &info) { return std::string(info.param); })

} // namespace soap::test

#endif // SOAP_UNITTESTS_RUNTIME_BACKENDTEST_H
