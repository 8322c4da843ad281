//===- MpiTest.cpp - Programs in several processes ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace {
class Mpi : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (std::system("command -v mpirun >/dev/null") != 0 || !SOAP_HAS_MPI)
      GTEST_SKIP() << "mpirun, or the MPI transport, is missing";
  }
};

std::string run(const std::string &command) {
  std::string text;
  FILE *pipe = popen((command + " 2>&1 </dev/null").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    text.append(buffer, n);
  pclose(pipe);
  return text;
}
} // namespace

// What each does, and what it looks at, stands in ProcessProgram.cpp. Codes are
// mpirun's: a rank may well end with another one.
TEST_P(Mpi, Program) {
  std::string text = run(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout "
      "120 mpirun -np 2 --oversubscribe --bind-to none " SOAP_PROCESS_PROGRAM
      " " +
      std::string(GetParam()));
  EXPECT_NE(text.find("fine\n"), std::string::npos) << text;
  for (const char *wrong : {"rank 0: ", "rank 1: "})
    EXPECT_EQ(text.find(wrong), std::string::npos) << text;
  // Nobody is lost, nor ended by the launcher while it ends.
  EXPECT_EQ(text.find("error: "), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Mpi, Mpi,
                         testing::Values("two", "skew", "kernel-throws",
                                         "kernel-exits", "leaves", "alone",
                                         "own-mpi", "no-connection",
                                         "no-socket", "in-vain", "exits",
                                         "sums"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });

//===----------------------------------------------------------------------===//
// Without MPI, and between GPUs
//===----------------------------------------------------------------------===//

/// Starts a program on two ranks as torchrun would: with variables.
static std::string runByVariables(const std::string &settings,
                                  const std::string &mode) {
  static int port = 20000 + getpid() % 20000;
  std::string start = "for r in 0 1; do env -u OMPI_COMM_WORLD_RANK RANK=$r "
                      "WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=localhost "
                      "MASTER_PORT=" +
                      std::to_string(++port) + ' ' + settings +
                      " timeout 120 " SOAP_PROCESS_PROGRAM " " + mode +
                      " & done; wait";
  return run('(' + start + ')');
}

static std::string runByMpi(const std::string &settings,
                            const std::string &mode) {
  return run(settings +
             " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
             "timeout 120 mpirun -np 2 --oversubscribe --bind-to "
             "none " SOAP_PROCESS_PROGRAM " " +
             mode);
}

static void expectFine(const std::string &text) {
  EXPECT_NE(text.find("fine\n"), std::string::npos) << text;
  for (const char *wrong : {"rank 0: ", "rank 1: ", "error: "})
    EXPECT_EQ(text.find(wrong), std::string::npos) << text;
}

namespace {
class Tcp : public testing::TestWithParam<const char *> {};
} // namespace

TEST_P(Tcp, Program) { expectFine(runByVariables("", GetParam())); }

static std::string nameOf(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  for (char &c : name)
    c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tcp, Tcp,
                         testing::Values("two", "skew", "kernel-throws",
                                         "kernel-exits", "leaves", "alone",
                                         "exits", "sums"),
                         nameOf);

/// Processes that exchange data between GPUs by NCCL, over stand-ins.
static const char *const gpus =
    "SOAP_TEST_TARGET=cuda LD_LIBRARY_PATH=" SOAP_STAND_INS;

TEST(Nccl, ProcessesOfMpi) {
  if (!SOAP_HAS_CUDA || !SOAP_HAS_MPI)
    GTEST_SKIP() << "the CUDA backend or the MPI transport is missing";
  expectFine(runByMpi(gpus, "sums"));
}

TEST(Nccl, ProcessesOfTcp) {
  if (!SOAP_HAS_CUDA)
    GTEST_SKIP() << "the CUDA backend is missing";
  expectFine(runByVariables(gpus, "sums"));
}

TEST(Nccl, AProcessThatLeavesIsNamed) {
  if (!SOAP_HAS_CUDA)
    GTEST_SKIP() << "the CUDA backend is missing";
  expectFine(runByVariables(gpus, "sums-leaves"));
}

TEST(Nccl, AProcessThatIsLostIsNamed) {
  if (!SOAP_HAS_CUDA)
    GTEST_SKIP() << "the CUDA backend is missing";
  std::string text = runByVariables(gpus, "sums-lost");
  EXPECT_NE(text.find("error: rank 1 (host "), std::string::npos) << text;
  EXPECT_EQ(text.find("fine\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("rank 0: "), std::string::npos) << text;
}

TEST(Nccl, TwoProcessesOnOneGpuAreRefused) {
  if (!SOAP_HAS_CUDA)
    GTEST_SKIP() << "the CUDA backend is missing";
  std::string text =
      runByVariables(std::string(gpus) + " SOAP_CUDA_GPUS=1", "sums");
  EXPECT_NE(text.find("expected a GPU of its own for every device"),
            std::string::npos)
      << text;
  // NCCL takes them for two hosts.
  expectFine(runByVariables(
      std::string(gpus) + " SOAP_CUDA_GPUS=1 NCCL_HOSTID=host$r", "sums"));
}
