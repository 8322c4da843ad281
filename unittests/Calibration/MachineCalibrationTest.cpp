//===- MachineCalibrationTest.cpp -----------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Calibration/MachineCalibration.h"
#include "soap/Target/CPU/CPUTarget.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <fstream>

using namespace soap;

namespace {

/// A folder for calibrations of its own, removed at the end.
class MachineCalibrationTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("soap-cal", folder));
    setenv("SOAP_CALIBRATION_DIR", folder.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("SOAP_CALIBRATION_DIR");
    llvm::sys::fs::remove_directories(folder);
  }
  CPUTarget target{HostProcessor::host()};
  llvm::SmallString<128> folder;
};

TEST_F(MachineCalibrationTest, MeasuresOnceAndKeepsTheResult) {
  int runs = 0;
  llvm::Expected<std::string> path =
      ensureCalibration(target, 2, 1, [&] { ++runs; });
  ASSERT_TRUE(bool(path)) << llvm::toString(path.takeError());
  EXPECT_EQ(runs, 1);
  llvm::Expected<std::string> again =
      ensureCalibration(target, 2, 1, [&] { ++runs; });
  ASSERT_TRUE(bool(again));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(*path, *again);

  llvm::Expected<Calibration> calibration = Calibration::load(*path);
  ASSERT_TRUE(bool(calibration));
  // Nothing this slow or this fast exists.
  EXPECT_GT(calibration->kind.peakFlops, 1e8);
  EXPECT_LT(calibration->kind.peakFlops, 1e14);
  EXPECT_GT(calibration->kind.memoryBandwidth, 1e8);
  EXPECT_GT(calibration->copyBandwidth, 1e7);
  EXPECT_GE(calibration->copyLatencyNs, 0);

  llvm::Expected<Topology> topology =
      target.describeMachine({2, 1, *path, std::nullopt});
  ASSERT_TRUE(bool(topology)) << llvm::toString(topology.takeError());
  EXPECT_EQ(topology->numDevices(), 2);
  EXPECT_EQ(topology->kindOf(0).peakFlops, calibration->kind.peakFlops);
}

TEST_F(MachineCalibrationTest, MeasuresAgainWhatIsDamaged) {
  std::ofstream(calibrationPath(target, 1, 1)) << "{";
  int runs = 0;
  llvm::Expected<std::string> path =
      ensureCalibration(target, 1, 1, [&] { ++runs; });
  ASSERT_TRUE(bool(path)) << llvm::toString(path.takeError());
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(bool(Calibration::load(*path)));
}

} // namespace
