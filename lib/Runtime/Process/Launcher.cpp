//===- Launcher.cpp - Who started this process ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/Launcher.h"
#include "Error.h"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace soap::runtime;

/// A number of the environment, or -1.
static long readVariable(const char *name) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return -1;
  char *end = nullptr;
  long value = std::strtol(text, &end, 10);
  return *end ? -1 : value;
}

Launch soap::runtime::currentLaunch() {
  struct Names {
    const char *rank, *size, *localSize;
    Launch::Means means = Launch::Means::Mpi;
  };
  // Open MPI; MPICH, Intel MPI and Slurm; torchrun and what sets the same;
  // Slurm without a library of MPI.
  static constexpr Names known[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
       "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
      {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", Launch::Means::Tcp},
      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE",
       Launch::Means::Tcp}};
  Launch launch;
  for (const Names &names : known) {
    long rank = readVariable(names.rank), size = readVariable(names.size);
    if (rank < 0 || size < 1 || rank >= size)
      continue;
    // A number of this name alone says nothing.
    if (names.means == Launch::Means::Tcp &&
        (!std::getenv("MASTER_ADDR") || !std::getenv("MASTER_PORT")))
      continue;
    launch.isTold = true;
    launch.means = names.means;
    launch.rank = static_cast<uint32_t>(rank);
    launch.size = static_cast<uint32_t>(size);
    launch.oneHost = readVariable(names.localSize) == size;
    // The launcher removes this folder when the job ends.
    const char *folder = std::getenv("PMIX_SERVER_TMPDIR");
    const char *job = std::getenv("PMIX_NAMESPACE");
    if (folder && job)
      launch.jobFolder = std::string(folder) + "/soap-" + job + "-";
    break;
  }
  return launch;
}

/// For messages.
static std::string valueOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text && *text ? "'" + std::string(text) + "'" : "none";
}

void soap::runtime::checkLaunch() {
  std::string rank = valueOf("RANK"), size = valueOf("WORLD_SIZE");
  bool isMeant = std::getenv("MASTER_ADDR") && std::getenv("MASTER_PORT") &&
                 (rank != "none" || size != "none");
  bool isAlone = rank == "none" && readVariable("WORLD_SIZE") == 1;
  if (isMeant && !isAlone && !currentLaunch().isTold)
    invalid("expected RANK from 0 on and below WORLD_SIZE, the number of "
            "processes, in the environment beside MASTER_ADDR and "
            "MASTER_PORT, got: ",
            rank, " and ", size,
            "; start the processes with torchrun, or set both");
}

std::string soap::runtime::hostName() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0)
    return "unknown";
  return name;
}

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

Registry::Registry(const Launch &launch) : folder_(launch.jobFolder) {
  if (folder_.empty())
    return;
  own_ = fileOf(launch.rank);
  // Written aside and renamed, so that nobody reads half a number.
  std::string draft = own_ + ".new";
  std::ofstream(draft) << getpid() << '\n';
  if (std::rename(draft.c_str(), own_.c_str()) != 0)
    own_.clear();
}

Registry::~Registry() {
  if (!own_.empty())
    (void)unlink(own_.c_str());
}

std::string Registry::fileOf(uint32_t rank) const {
  return folder_ + std::to_string(rank) + ".pid";
}

void Registry::publishVerdict(const std::string &verdict) const {
  if (own_.empty())
    return;
  // The file is complete before it gets its name, which only the first process
  // can give.
  std::string draft = own_ + ".verdict";
  std::ofstream(draft) << verdict << '\n';
  (void)link(draft.c_str(), (folder_ + "verdict").c_str());
  (void)unlink(draft.c_str());
}

std::string Registry::verdict() const {
  std::string line;
  if (!folder_.empty())
    std::getline(std::ifstream(folder_ + "verdict") >> std::ws, line);
  return line;
}

pid_t Registry::processOf(uint32_t rank) const {
  pid_t process = 0;
  if (!folder_.empty())
    std::ifstream(fileOf(rank)) >> process;
  return process;
}

Registry::State Registry::stateOf(uint32_t rank) const {
  pid_t process = processOf(rank);
  if (process <= 0)
    return State::Unknown;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text))
    return State::Ended;
  // The state follows the program's name, which may have any characters.
  size_t at = text.rfind(')');
  char state =
      at != std::string::npos && at + 2 < text.size() ? text[at + 2] : 'R';
  switch (state) {
  case 'T':
  case 't':
    return State::Stopped;
  case 'Z':
  case 'X':
    return State::Ended;
  default:
    return State::Running;
  }
}
