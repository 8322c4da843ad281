//===- CudaTest.cpp - What the CUDA backend asks of the driver ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend/Backend.h"
#include "Error.h"
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

// These run over the stand-in for the driver (test/lib/Runtime/CUDA), which
// writes down what is called.

namespace {
/// The lines that the stand-in has written since the last call.
std::vector<std::string> callsSince(size_t &read) {
  std::ifstream file(std::getenv("SOAP_CUDA_LOG"));
  std::vector<std::string> lines;
  size_t number = 0;
  for (std::string line; std::getline(file, line); ++number)
    if (number >= read)
      lines.push_back(line);
  read = number;
  return lines;
}

class CudaTest : public testing::Test {
protected:
  void SetUp() override {
    backend_ = &findBackend("cuda");
    device_ = backend_->makeDevice({});
    compute_ = device_->makeStream({}, /*hasPriority=*/false);
    communication_ = device_->makeStream({}, /*hasPriority=*/false);
    (void)callsSince(read_);
  }
  /// What was called meanwhile, with streams by their order in the test.
  std::vector<std::string> calls() {
    std::vector<std::string> lines = callsSince(read_);
    for (std::string &line : lines) {
      size_t at = line.find("stream ");
      if (at == std::string::npos)
        continue;
      at += 7;
      size_t end = line.find_first_not_of("0123456789", at);
      std::string number = line.substr(at, end - at);
      auto [it, isNew] = names_.emplace(number, 'a' + names_.size());
      line.replace(at, number.size(), 1, it->second);
    }
    return lines;
  }

  using Lines = std::vector<std::string>;
  const Backend *backend_ = nullptr;
  std::unique_ptr<BackendDevice> device_;
  std::unique_ptr<Stream> compute_, communication_;
  size_t read_ = 0;
  std::map<std::string, char> names_;
};

class Nothing : public HostCall {
public:
  void run() override { ++count; }
  int count = 0;
};

class Meeting final : public Nothing {
public:
  bool waitsForOthers() const override { return true; }
};

/// A box of `rows` times `run` bytes.
StridedCopy rowsOf(int64_t rows, uint64_t run, int64_t from, int64_t to) {
  StridedCopy box;
  box.run = run;
  box.extents = {rows};
  box.fromStrides = {from};
  box.toStrides = {to};
  return box;
}
} // namespace

TEST_F(CudaTest, BoxesTakeTheWidestElementThatFits) {
  DeviceBlock from(*device_, 4096), to(*device_, 4096);
  struct Case {
    StridedCopy box;
    const char *call;
  };
  for (const Case &c :
       {Case{rowsOf(4, 64, 128, 64), "kernel soap_copy_16, 1 x 256"},
        Case{rowsOf(4, 24, 32, 24), "kernel soap_copy_8, 1 x 256"},
        Case{rowsOf(4, 12, 20, 12), "kernel soap_copy_4, 1 x 256"},
        Case{rowsOf(4, 6, 8, 8), "kernel soap_copy_2, 1 x 256"},
        Case{rowsOf(4, 6, 7, 6), "kernel soap_copy_1, 1 x 256"},
        Case{StridedCopy::dense(7), "copy, 7 bytes"}}) {
    compute_->copy(c.box, from.data(), to.data());
    compute_->synchronize();
    EXPECT_EQ(calls(), (Lines{std::string("stream a: ") + c.call,
                              "synchronize stream a"}));
  }
}

TEST_F(CudaTest, BoxesOfTheHostAreCopiedByRows) {
  DeviceBlock to(*device_, 4096);
  std::vector<char> host(4096);
  compute_->copyFromHost(rowsOf(4, 6, 8, 6), host.data(), to.data());
  // Rows that overlap are none that the driver copies at once.
  compute_->copyFromHost(rowsOf(2, 6, 3, 6), host.data(), to.data());
  compute_->synchronize();
  EXPECT_EQ(calls(), (Lines{"stream a: copy of 4 rows of 6 bytes",
                            "stream a: copy from the host, 6 bytes",
                            "stream a: copy from the host, 6 bytes",
                            "synchronize stream a"}));
}

TEST_F(CudaTest, AHostCallHoldsItsStreamOnly) {
  Nothing call;
  compute_->call(call);
  compute_->synchronize();
  EXPECT_EQ(call.count, 1);
  EXPECT_EQ(calls(),
            (Lines{"stream a: host function", "stream a: wait for a word",
                   "synchronize stream a"}));
}

TEST_F(CudaTest, ACallThatWaitsForDevicesOfItsGpuIsNotWaitedForInAStream) {
  Meeting call;
  compute_->call(call);
  compute_->synchronize();
  EXPECT_EQ(calls(),
            (Lines{"stream a: host function", "stream a: wait for a word",
                   "synchronize stream a"}));
  DevicePlace place;
  place.devicesPerGpu = 2;
  auto device = backend_->makeDevice(place);
  auto stream = device->makeStream({}, /*hasPriority=*/false);
  (void)calls();
  stream->call(call);
  EXPECT_EQ(call.count, 2);
  EXPECT_EQ(calls(), (Lines{"synchronize stream c"}));
}

TEST_F(CudaTest, ACaptureTakesAllStreamsAndJoinsThem) {
  DeviceBlock own(*device_, 64);
  std::vector<uint8_t> seven = {7};
  device_->beginCapture();
  communication_->fill(own.data(), 64, seven);
  auto graph = device_->endCapture();
  EXPECT_EQ(calls(), (Lines{"begin capture on stream a", "stream a: record",
                            "stream b: wait", "stream b: fill of 64 bytes",
                            "stream b: record", "stream a: wait",
                            "end capture on stream a",
                            // Each row keeps the priority of its stream.
                            "graph with flags 8"}));
  graph->launch();
  communication_->synchronize();
  EXPECT_EQ(calls(), (Lines{"stream b: record", "stream a: wait",
                            "stream a: launch graph", "stream a: record",
                            "stream b: wait", "synchronize stream b"}));
  std::vector<char> result(64);
  StridedCopy all = StridedCopy::dense(64);
  compute_->copyToHost(all, own.data(), result.data());
  compute_->synchronize();
  EXPECT_EQ(result, std::vector<char>(64, 7));
}

TEST_F(CudaTest, GpusAreSharedAsAsked) {
  auto gpu = [&](DevicePlace place) {
    try {
      DeviceBlock block(*backend_->makeDevice(place), uint64_t{1} << 60);
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  // Two devices of this process, and four of the host, on two GPUs.
  EXPECT_NE(gpu({3, 1, 3, 2, 4, 2}).find("device 3 (GPU 1"), std::string::npos);
  EXPECT_NE(gpu({1, 1, 1, 2, 2, 1}).find("device 1 (GPU 1"), std::string::npos);
  EXPECT_NE(gpu({1, 1, 1, 2, 2, 2}).find("device 1 (GPU 0"), std::string::npos);
  // The launcher shows this process GPUs of its own.
  EXPECT_NE(gpu({3, 1, 3, 2, 4, 1}).find("device 3 (GPU 1"), std::string::npos);
  EXPECT_EQ(gpu({2, 2, 2, 3, 3, 1}),
            "expected a GPU for each of 3 devices, got: 2 GPUs; run with "
            "--devices-per-gpu=2 to share them, or in more processes");
}

TEST_F(CudaTest, AFaultOfAKernelNamesTheDevice) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto fails = [&] {
    StridedCopy box = rowsOf(4, 4, 8, 4);
    DeviceBlock own(*device_, 64);
    try {
      compute_->copy(box, DevicePointer(uintptr_t{4096}), own.data());
      compute_->synchronize();
    } catch (const Error &error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(error.status);
    }
  };
  EXPECT_EXIT(fails(), testing::ExitedWithCode(SOAP_FAILED),
              "commands of device 0 .GPU 0, stand-in for a GPU. to end, got: "
              "CUDA_ERROR_ILLEGAL_ADDRESS");
}

int main(int argc, char **argv) {
  // One log per process: death tests start others.
  std::string log =
      testing::TempDir() + "soap-cuda-" + std::to_string(getpid()) + ".log";
  setenv("SOAP_CUDA_LOG", log.c_str(), 1);
  testing::InitGoogleTest(&argc, argv);
  int result = RUN_ALL_TESTS();
  (void)unlink(log.c_str());
  return result;
}
