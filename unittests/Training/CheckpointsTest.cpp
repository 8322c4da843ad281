//===- CheckpointsTest.cpp - Training that can go on ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/Checkpoints.h"
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace soap::training;
namespace fs = std::filesystem;

namespace {
class CheckpointFolder : public testing::Test {
protected:
  void SetUp() override {
    const auto *test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/soap-checkpoints-" + test->name();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Checkpoint checkpointOf(uint64_t steps, size_t elements = 3) {
    Checkpoint result;
    result.info.fingerprint = "abc";
    result.info.steps = steps;
    result.info.position = {2, steps};
    result.info.samples = 1000;
    result.info.batch = 8;
    result.info.seed = 9;
    Tensor tensor;
    tensor.shape = {static_cast<int64_t>(elements)};
    tensor.bytes.resize(4 * elements);
    for (size_t i = 0; i != elements; ++i)
      tensor.set(i, static_cast<double>(steps + i));
    result.state["w"] = tensor;
    return result;
  }

  std::vector<uint64_t> steps(const Checkpoints &checkpoints) {
    std::vector<uint64_t> result;
    for (const auto &[step, file] : checkpoints.list())
      result.push_back(step);
    return result;
  }
  std::string folder_;
};
} // namespace

TEST_F(CheckpointFolder, WhatIsWrittenComesBackAndTheOldestGo) {
  Checkpoints checkpoints(folder_, 2);
  for (uint64_t step : {5, 70, 900})
    checkpoints.start(checkpointOf(step));
  checkpoints.finish();
  EXPECT_EQ(steps(checkpoints), (std::vector<uint64_t>{70, 900}));
  Checkpoint read = readCheckpoint(checkpoints.list().back().second);
  EXPECT_EQ(read.info.fingerprint, "abc");
  EXPECT_EQ(read.info.steps, 900u);
  EXPECT_EQ(read.info.position, (Position{2, 900}));
  EXPECT_EQ(read.info.samples, 1000u);
  EXPECT_EQ(read.info.batch, 8u);
  EXPECT_EQ(read.info.seed, 9u);
  EXPECT_FALSE(read.info.dropLast);
  EXPECT_EQ(read.state.at("w").bytes, checkpointOf(900).state["w"].bytes);
}

TEST_F(CheckpointFolder, OtherFilesStay) {
  Checkpoints checkpoints(folder_, 1);
  for (const char *name : {"notes.txt", "step-12.txt", "step-x.safetensors",
                           "step-000000000003.safetensors.tmp17", "mine.tmp3",
                           "step-3.safetensors.tmpx"})
    std::ofstream(folder_ + "/" + name) << "text";
  checkpoints.removeUnfinished();
  checkpoints.start(checkpointOf(1));
  checkpoints.start(checkpointOf(2));
  checkpoints.finish();
  EXPECT_EQ(steps(checkpoints), (std::vector<uint64_t>{2}));
  for (const char *name : {"notes.txt", "step-12.txt", "step-x.safetensors",
                           "mine.tmp3", "step-3.safetensors.tmpx"})
    EXPECT_TRUE(fs::exists(folder_ + "/" + name)) << name;
  EXPECT_FALSE(fs::exists(folder_ + "/step-000000000003.safetensors.tmp17"));
}

TEST_F(CheckpointFolder, AFullDiskLeavesTheLastGoodOne) {
  Checkpoints checkpoints(folder_, 1);
  checkpoints.start(checkpointOf(1));
  checkpoints.finish();
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  auto *handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit little = {100000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  checkpoints.start(checkpointOf(2, 1000000));
  try {
    checkpoints.finish();
    ADD_FAILURE() << "wrote more than the limit";
  } catch (const RunError &error) {
    EXPECT_NE(std::string(error.what()).find("step-000000000002"),
              std::string::npos)
        << error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(steps(checkpoints), (std::vector<uint64_t>{1}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_EQ(readCheckpoint(checkpoints.list()[0].second).info.steps, 1u);
}

TEST_F(CheckpointFolder, DamagedAndForeignFilesAreNamed) {
  Checkpoints checkpoints(folder_, 3);
  checkpoints.start(checkpointOf(4));
  checkpoints.finish();
  std::string file = checkpoints.list()[0].second;
  auto refuses = [&](const std::string &reason) {
    try {
      readCheckpoint(file);
      ADD_FAILURE() << "accepted: " << reason;
    } catch (const UsageError &error) {
      EXPECT_NE(std::string(error.what()).find(file), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos)
          << error.what();
    }
  };
  Checkpoint whole = readCheckpoint(file);
  auto size = fs::file_size(file);
  for (uintmax_t end : {uintmax_t{0}, uintmax_t{7}, uintmax_t{100}, size - 1}) {
    fs::resize_file(file, end);
    refuses("whole safetensors file");
  }
  writeSafetensors(file, whole.state);
  refuses("other tensors");
  writeSafetensors(file, whole.state, {{"format", "soap-checkpoint 2"}});
  refuses("'soap-checkpoint 2'");
  writeSafetensors(file, whole.state, {{"format", "soap-checkpoint 1"}});
  refuses("no 'steps'");
  writeSafetensors(file, whole.state,
                   {{"format", "soap-checkpoint 1"}, {"steps", "-3"}});
  refuses("'steps' of '-3'");
}

TEST_F(CheckpointFolder, AFolderThatCannotBeMade) {
  std::ofstream(folder_) << "a file";
  EXPECT_THROW(Checkpoints(folder_, 1), UsageError);
  EXPECT_THROW(Checkpoints(folder_ + "/inside", 1), UsageError);
}
