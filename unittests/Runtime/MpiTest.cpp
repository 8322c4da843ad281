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
                                         "no-socket", "in-vain", "exits"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });
