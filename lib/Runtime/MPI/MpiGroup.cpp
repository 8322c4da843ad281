//===- MpiGroup.cpp - Processes connected by MPI --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MPI/MpiGroup.h"
#include <algorithm>
#include <climits>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::mpi;

namespace {
/// The most bytes of one MPI message, whose count is an int.
constexpr uint64_t largestPiece = uint64_t(1) << 30;

/// The requests that an end of a channel has open.
class Requests {
public:
  explicit Requests(Context &context) : context_(context) {}

  /// Calls start(offset, count, request) for every piece of a message.
  template <typename Fn>
  void add(uint64_t bytes, const char *what, Fn start) {
    for (uint64_t at = 0; at != bytes;) {
      uint64_t piece = std::min(bytes - at, largestPiece);
      open_.push_back(MPI_REQUEST_NULL);
      require(start(at, static_cast<int>(piece), &open_.back()), what);
      at += piece;
    }
  }
  void finish(const char *what) {
    for (MPI_Request &request : open_)
      context_.wait(request, what);
    open_.clear();
  }

private:
  Context &context_;
  std::vector<MPI_Request> open_;
};

class MpiSender final : public Sender {
public:
  MpiSender(Context &context, int tag, int target)
      : context_(context), tag_(tag), target_(target), requests_(context) {}

  void post(const char *data, uint64_t bytes) override {
    context_.check();
    requests_.add(bytes, "MPI_Isend",
                  [&](uint64_t at, int count, MPI_Request *request) {
                    return MPI_Isend(data + at, count, MPI_BYTE, target_, tag_,
                                     context_.comm, request);
                  });
  }

private:
  void awaitReceiver() override { requests_.finish("a send"); }

  Context &context_;
  int tag_, target_;
  Requests requests_;
};

class MpiReceiver final : public Receiver {
public:
  MpiReceiver(Context &context, int tag, int source)
      : context_(context), tag_(tag), source_(source), requests_(context) {}

  void post(char *buffer, uint64_t bytes) override {
    context_.check();
    requests_.add(bytes, "MPI_Irecv",
                  [&](uint64_t at, int count, MPI_Request *request) {
                    return MPI_Irecv(buffer + at, count, MPI_BYTE, source_,
                                     tag_, context_.comm, request);
                  });
  }
  void finish() override { requests_.finish("a receive"); }

private:
  Context &context_;
  int tag_, source_;
  Requests requests_;
};

/// What MPI reads and writes while texts are gathered.
struct Gathering {
  std::string mine, all;
  int length = 0; ///< Of `mine`; -1 says that it does not fit an int.
  std::vector<int> lengths, offsets;
};
} // namespace

std::string MpiGroup::library() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  // "Open MPI v4.1.4, package: ..."
  std::string name = text;
  return name.substr(0, name.find_first_of(",\n"));
}

std::unique_ptr<Sender> MpiGroup::makeSender(uint64_t channel, uint32_t to) {
  return std::make_unique<MpiSender>(context_, static_cast<int>(channel),
                                     static_cast<int>(to));
}
std::unique_ptr<Receiver> MpiGroup::makeReceiver(uint64_t channel,
                                                 uint32_t from) {
  return std::make_unique<MpiReceiver>(context_, static_cast<int>(channel),
                                       static_cast<int>(from));
}

std::vector<std::string> MpiGroup::gatherOn(const std::string &mine,
                                            Receivers receivers) {
  bool everywhere = receivers == Receivers::All;
  auto owner = std::make_unique<Gathering>();
  Gathering &g = *owner;
  g.mine = mine;
  g.length = mine.size() > INT_MAX ? -1 : static_cast<int>(mine.size());
  g.lengths.resize(static_cast<size_t>(world_.size));
  auto exchange = [&](const char *what, auto start) {
    try {
      collective([&] {
        MPI_Request request = MPI_REQUEST_NULL;
        require(start(&request), what);
        context_.wait(request, what);
      });
    } catch (...) {
      (void)owner.release(); // MPI may still write to it.
      throw;
    }
  };
  exchange("an exchange of lengths", [&](MPI_Request *request) {
    return MPI_Iallgather(&g.length, 1, MPI_INT, g.lengths.data(), 1, MPI_INT,
                          context_.comm, request);
  });
  int64_t total = 0;
  for (int bytes : g.lengths) {
    g.offsets.push_back(static_cast<int>(total));
    total += bytes;
    // On all ranks alike, so that nobody waits for the others.
    if (bytes < 0 || total > INT_MAX)
      failed("expected less than 2 GiB of text of all ranks, got: more");
  }
  std::vector<std::string> result(g.lengths.size());
  if (total == 0)
    return result;
  g.all.resize(static_cast<size_t>(total));
  exchange("an exchange of text", [&](MPI_Request *request) {
    return everywhere
               ? MPI_Iallgatherv(g.mine.data(), g.length, MPI_CHAR,
                                 g.all.data(), g.lengths.data(),
                                 g.offsets.data(), MPI_CHAR, context_.comm,
                                 request)
               : MPI_Igatherv(g.mine.data(), g.length, MPI_CHAR, g.all.data(),
                              g.lengths.data(), g.offsets.data(), MPI_CHAR, 0,
                              context_.comm, request);
  });
  if (everywhere || world_.rank == 0)
    for (size_t i = 0; i != result.size(); ++i)
      result[i] = g.all.substr(static_cast<size_t>(g.offsets[i]),
                               static_cast<size_t>(g.lengths[i]));
  return result;
}

std::shared_ptr<Group> MpiGroup::duplicate() {
  // Which ones are free depends on when each rank has released its models.
  std::string mine;
  for (const auto &other : world_.contexts)
    mine += other->isUsed || other->isBroken() ? '1' : '0';
  std::vector<std::string> all = allGather(mine);
  for (size_t i = 0; i != mine.size(); ++i)
    if (std::all_of(all.begin(), all.end(),
                    [&](const std::string &used) { return used[i] == '0'; })) {
      world_.contexts[i]->isUsed = true;
      return std::make_shared<MpiGroup>(world_, *world_.contexts[i]);
    }
  world_.contexts.push_back(std::make_unique<Context>(
      world_, static_cast<uint32_t>(world_.contexts.size())));
  return std::make_shared<MpiGroup>(world_, *world_.contexts.back());
}
