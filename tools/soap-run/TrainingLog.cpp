//===- TrainingLog.cpp - What training tells while it runs ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingLog.h"
#include "Report.h"
#include "soap/Tensors/Files.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace soap;
using namespace soap::run;
using namespace soap::tensors;

/// The lines of a log up to a step.
static std::string keptLines(const std::string &path, uint64_t step) {
  std::string kept;
  std::ifstream file = openFile(path);
  for (std::string line; std::getline(file, line);) {
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("step") ||
        !json["step"].is_number_unsigned() ||
        json["step"].get<uint64_t>() > step)
      break;
    kept += line + "\n";
  }
  return kept;
}

JsonLines::JsonLines(std::string path, uint64_t kept) : path_(std::move(path)) {
  if (path_.empty())
    return;
  bool goesOn = kept != 0 && std::filesystem::is_regular_file(path_);
  if (goesOn) {
    std::string lines = keptLines(path_, kept);
    writeFile(path_, [&](std::ostream &out) { out << lines; });
  }
  errno = 0;
  file_.open(path_, goesOn ? std::ios::app : std::ios::trunc);
  check();
}

void JsonLines::check() {
  if (!file_)
    throw RunError("expected to write '" + path_ +
                   "', got: " + std::strerror(errno ? errno : EIO));
}

void JsonLines::write(const Json &line) {
  if (path_.empty())
    return;
  errno = 0;
  file_ << line.dump(-1, ' ', /*ensure_ascii=*/false,
                     Json::error_handler_t::replace)
        << std::endl;
  check();
}

void JsonLines::close() {
  if (path_.empty())
    return;
  errno = 0;
  file_.close();
  check();
}

Progress::Progress(uint64_t total, uint64_t done, uint64_t epochs)
    : total_(total), done_(done), epochs_(epochs),
      terminal_(isatty(STDERR_FILENO)), start_(Clock::now()),
      next_(start_ + std::chrono::seconds(terminal_ ? 1 : 5)) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

double Progress::rate() const {
  double time = seconds();
  return time > 0 ? static_cast<double>(samples_) / time : 0;
}

/// "45 s", "12 min", "3.5 h"
static std::string timeOf(double seconds) {
  char text[32];
  if (seconds < 100)
    std::snprintf(text, sizeof(text), "%.0f s", seconds);
  else if (seconds < 6000)
    std::snprintf(text, sizeof(text), "%.0f min", seconds / 60);
  else
    std::snprintf(text, sizeof(text), "%.1f h", seconds / 3600);
  return text;
}

void Progress::step(uint64_t number, uint64_t epoch, double loss,
                    uint64_t samples) {
  samples_ += samples;
  auto now = Clock::now();
  if (now < next_)
    return;
  next_ = now + (terminal_ ? std::chrono::milliseconds(200)
                           : std::chrono::milliseconds(10000));
  double left = seconds() / static_cast<double>(number - done_) *
                static_cast<double>(total_ - number);
  std::fprintf(stderr,
               "%sepoch %llu of %llu, step %llu of %llu, loss %.4g, %.1f "
               "samples/s, %s left%s",
               terminal_ ? "\r\033[K" : "",
               static_cast<unsigned long long>(epoch),
               static_cast<unsigned long long>(epochs_),
               static_cast<unsigned long long>(number),
               static_cast<unsigned long long>(total_), printable(loss), rate(),
               timeOf(left).c_str(), terminal_ ? "" : "\n");
  shown_ = terminal_;
}

void Progress::clear() {
  if (shown_)
    std::fputs("\r\033[K", stderr);
  shown_ = false;
}
