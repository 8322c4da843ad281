//===- Checkpoints.cpp - Training that can go on --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/Checkpoints.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

using namespace soap;
using namespace soap::training;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static constexpr const char *formatName = "soap-checkpoint 1";

static std::map<std::string, std::string> toMetadata(const CheckpointInfo &i) {
  std::map<std::string, std::string> text = {
      {"format", formatName},
      {"fingerprint", i.fingerprint},
      {"steps", std::to_string(i.steps)},
      {"epoch", std::to_string(i.position.epoch)},
      {"offset", std::to_string(i.position.offset)},
      {"samples", std::to_string(i.samples)},
      {"batch", std::to_string(i.batch)},
      {"drop_last", i.dropLast ? "1" : "0"}};
  if (i.seed)
    text["seed"] = std::to_string(*i.seed);
  return text;
}

static CheckpointInfo
fromMetadata(const std::string &path,
             const std::map<std::string, std::string> &text) {
  auto wrong = [&](const std::string &what) {
    throw UsageError("expected a checkpoint of soap-run in '" + path +
                     "', got: " + what +
                     "; --load-state takes weights without a place in data");
  };
  auto format = text.find("format");
  if (format == text.end() || format->second != formatName)
    wrong(format == text.end() ? "other tensors"
                               : "format '" + format->second + "'");
  auto number = [&](const char *key) {
    auto entry = text.find(key);
    uint64_t value = 0;
    if (entry == text.end())
      wrong(std::string("no '") + key + "'");
    const std::string &digits = entry->second;
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      wrong(std::string("'") + key + "' of '" + digits + "'");
    return value;
  };
  CheckpointInfo info;
  info.steps = number("steps");
  info.position = {number("epoch"), number("offset")};
  info.samples = number("samples");
  info.batch = number("batch");
  info.dropLast = number("drop_last") != 0;
  if (text.count("seed"))
    info.seed = number("seed");
  if (info.position.offset > info.samples)
    wrong("a place behind the data");
  if (auto fingerprint = text.find("fingerprint"); fingerprint != text.end())
    info.fingerprint = fingerprint->second;
  return info;
}

Checkpoint training::readCheckpoint(const std::string &path) {
  Checkpoint result;
  std::map<std::string, std::string> metadata;
  result.state = readSafetensors(path, &metadata);
  result.info = fromMetadata(path, metadata);
  return result;
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

static constexpr const char *prefix = "step-", *suffix = ".safetensors";

/// The step that a file's name says, or none.
static std::optional<uint64_t> stepOf(const std::string &name) {
  size_t begin = std::strlen(prefix), end = name.size() - std::strlen(suffix);
  if (name.size() <= begin + std::strlen(suffix) ||
      name.compare(0, begin, prefix) != 0 ||
      name.compare(end, std::string::npos, suffix) != 0)
    return std::nullopt;
  uint64_t step = 0;
  auto [stop, error] =
      std::from_chars(name.data() + begin, name.data() + end, step);
  if (error != std::errc() || stop != name.data() + end)
    return std::nullopt;
  return step;
}

Checkpoints::Checkpoints(std::string folder, uint64_t keep)
    : folder_(std::move(folder)), keep_(keep) {
  std::error_code error;
  fs::create_directories(folder_, error);
  std::string reason = error ? error.message() : "";
  if (!error && !fs::is_directory(folder_, error))
    reason = "no folder";
  else if (!error && access(folder_.c_str(), W_OK | X_OK) != 0)
    reason = std::strerror(errno);
  if (!reason.empty())
    throw UsageError("expected --checkpoint in a folder that can be written, "
                     "got: '" +
                     folder_ + "' (" + reason + "); choose another one");
  hold();
}

/// The lock goes with the process, however it ends. A file system that cannot
/// lock a folder (NFS) is none that a training should fail on.
void Checkpoints::hold() {
  held_ = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (held_ < 0 || flock(held_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;
  close(held_);
  throw UsageError("expected --checkpoint in a folder of its own, got: '" +
                   folder_ +
                   "', which another training writes to; wait until "
                   "it has ended, or choose another folder");
}

Checkpoints::~Checkpoints() {
  if (writer_.joinable())
    writer_.join();
  if (held_ >= 0)
    close(held_);
}

std::vector<std::pair<uint64_t, std::string>> Checkpoints::list() const {
  std::vector<std::pair<uint64_t, std::string>> result;
  std::error_code error;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder_, error))
    if (auto step = stepOf(entry.path().filename().string()))
      result.emplace_back(*step, entry.path().string());
  std::sort(result.begin(), result.end());
  return result;
}

void Checkpoints::removeUnfinished() const {
  std::error_code error;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder_, error)) {
    std::string name = entry.path().filename().string();
    size_t at = name.rfind(".tmp");
    if (at != std::string::npos && stepOf(name.substr(0, at)) &&
        name.find_first_not_of("0123456789", at + 4) == std::string::npos)
      fs::remove(entry.path(), error);
  }
}

void Checkpoints::write(const Checkpoint &checkpoint) const {
  char name[64];
  std::snprintf(name, sizeof(name), "%s%012llu%s", prefix,
                static_cast<unsigned long long>(checkpoint.info.steps), suffix);
  writeSafetensors((fs::path(folder_) / name).string(), checkpoint.state,
                   toMetadata(checkpoint.info), Durability::OnDisk);
  auto files = list();
  std::error_code error;
  for (size_t i = 0; i + keep_ < files.size(); ++i)
    fs::remove(files[i].second, error);
}

void Checkpoints::start(Checkpoint checkpoint) {
  finish();
  writer_ = std::thread([this, checkpoint = std::move(checkpoint)] {
    try {
      write(checkpoint);
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

void Checkpoints::finish() {
  if (writer_.joinable())
    writer_.join();
  if (failure_)
    std::rethrow_exception(std::exchange(failure_, nullptr));
}
