//===- Collectives.cpp - Times of collectives -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plays every algorithm message by message, as lib/Runtime/Transport runs it.
//
//===----------------------------------------------------------------------===//

#include "CollectivePlay.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <cassert>

using namespace soap;
using llvm::ArrayRef;
using llvm::SmallVector;
using soap::detail::Play;

ArrayRef<CollectiveAlgorithm> soap::algorithmsOf(ActionKind kind) {
  std::optional<CollectiveKind> collective = collectiveOf(kind);
  return collective ? algorithmsOf(*collective)
                    : ArrayRef<CollectiveAlgorithm>();
}

namespace {
using Messages = SmallVector<Play::Message, 16>;

/// Groups whose rounds are played one by one, and in which all members may send
/// to all others at once.
constexpr int64_t smallGroup = 32;

class Collectives {
public:
  Collectives(ActionKind kind, ArrayRef<int32_t> group, ArrayRef<int64_t> bytes,
              const Topology &topology)
      : kind_(kind), group_(group), topology_(topology),
        n_(static_cast<int64_t>(group.size())),
        pieces_(bytes.begin(), bytes.end()) {
    for (double piece : pieces_) {
      largest_ = std::max(largest_, piece);
      total_ += piece;
    }
    even_ = llvm::all_equal(pieces_);
  }

  CollectiveCost play(CollectiveAlgorithm algorithm) {
    Play play(group_, topology_);
    switch (algorithm) {
    case CollectiveAlgorithm::Direct:
      direct(play);
      break;
    case CollectiveAlgorithm::Ring:
      ring(play);
      break;
    case CollectiveAlgorithm::Tree:
      tree(play);
      break;
    }
    return play.finish(algorithm);
  }

private:
  /// A round in which every member sends `bytes(m)` to every other, starting
  /// with its successor.
  template <typename Fn>
  void toAll(Play &play, Fn bytes) {
    Messages messages;
    for (int64_t distance = 1; distance < n_; ++distance)
      for (int64_t to = 0; to < n_; ++to) {
        int64_t from = (to + distance) % n_;
        messages.push_back({from, to, bytes(from)});
      }
    play.round(messages);
  }

  void direct(Play &play) {
    double share = largest_ / n_;
    switch (kind_) {
    case ActionKind::Broadcast: {
      Messages messages;
      for (int64_t to = 1; to < n_; ++to)
        messages.push_back({0, to, largest_});
      return play.round(messages);
    }
    case ActionKind::AllGather: {
      auto piece = [&](int64_t from) { return pieces_[from]; };
      play.keepOwn(piece);
      return toAll(play, piece);
    }
    case ActionKind::AllToAll: {
      auto piece = [&](int64_t from) { return pieces_[from] / n_; };
      play.keepOwn(piece);
      return toAll(play, piece);
    }
    case ActionKind::AllReduce:
    case ActionKind::ReduceScatter:
      toAll(play, [&](int64_t) { return share; });
      if (kind_ == ActionKind::AllReduce && play.shareMemory()) {
        // A member that joins its slice reads each message where it lies and
        // writes the result back there: what is played above. Its own slice it
        // reads and writes, too.
        for (int64_t m = 0; m < n_; ++m)
          play.touch(m, 2 * share);
        return play.meet();
      }
      for (int64_t m = 0; m < n_; ++m)
        play.join(m, n_ - 1, share);
      if (kind_ == ActionKind::AllReduce)
        toAll(play, [&](int64_t) { return share; });
      return;
    case ActionKind::Transfer:
    case ActionKind::HaloExchange:
      return;
    }
  }

  void ring(Play &play) {
    enum class Rounds { Alike, Different };
    enum class Receipt { Kept, Joined };
    // One message per member and round; member m passes on what came before.
    auto playRounds = [&](Rounds rounds, Receipt receipt, auto bytes) {
      play.repeat(n_ - 1, rounds == Rounds::Alike, [&](int64_t step) {
        Messages messages;
        for (int64_t m = 0; m < n_; ++m)
          messages.push_back({m, (m + 1) % n_, bytes((m + n_ - step) % n_)});
        play.round(messages);
        for (const Play::Message &message : messages)
          if (receipt == Receipt::Joined)
            play.join(message.to, 1, message.bytes);
      });
    };
    auto share = [&](int64_t) { return largest_ / n_; };
    switch (kind_) {
    case ActionKind::Broadcast:
      return chain(play);
    case ActionKind::AllGather:
      play.keepOwn([&](int64_t m) { return pieces_[m]; });
      if (even_ || n_ > smallGroup)
        return playRounds(Rounds::Alike, Receipt::Kept,
                          [&](int64_t) { return total_ / n_; });
      return playRounds(Rounds::Different, Receipt::Kept,
                        [&](int64_t m) { return pieces_[m]; });
    case ActionKind::AllReduce:
      playRounds(Rounds::Alike, Receipt::Joined, share);
      return playRounds(Rounds::Alike, Receipt::Kept, share);
    case ActionKind::ReduceScatter:
      return playRounds(Rounds::Alike, Receipt::Joined, share);
    case ActionKind::AllToAll:
    case ActionKind::Transfer:
    case ActionKind::HaloExchange:
      return;
    }
  }

  /// Segments go down the chain; a member receives one while it sends the one
  /// before.
  void chain(Play &play) {
    auto segments = static_cast<int64_t>(
        collectives::broadcastSegments(static_cast<uint64_t>(largest_)));
    SmallVector<int64_t, 16> arrival(n_, 0);
    for (int64_t segment = 0; segment < segments; ++segment)
      for (int64_t m = 1; m < n_; ++m) {
        int64_t start = std::max(m == 1 ? 0 : arrival[m - 1], arrival[m]);
        arrival[m] = play.send(m - 1, m, largest_ / segments, start);
        play.delay(m, arrival[m]);
        play.delay(m - 1, arrival[m]);
      }
  }

  void tree(Play &play) {
    auto childrenOf = [&](int64_t member) {
      SmallVector<int64_t, 2> children;
      for (int64_t child : {2 * member + 1, 2 * member + 2})
        if (child < n_)
          children.push_back(child);
      return children;
    };
    if (kind_ == ActionKind::AllReduce)
      for (int64_t m = n_ - 1; m >= 0; --m) {
        SmallVector<int64_t, 2> children = childrenOf(m);
        // Links serve messages in the order in which they come.
        if (children.size() == 2 &&
            play.clock(children[1]) < play.clock(children[0]))
          std::swap(children[0], children[1]);
        for (int64_t child : children) {
          int64_t end = play.send(child, m, largest_, play.clock(child));
          play.delay(child, end);
          play.delay(m, end);
        }
        if (!children.empty())
          play.join(m, static_cast<int64_t>(children.size()), largest_);
      }
    for (int64_t m = 0; m < n_; ++m) {
      int64_t start = play.clock(m);
      for (int64_t child : childrenOf(m)) {
        int64_t end =
            play.send(m, child, largest_, std::max(start, play.clock(child)));
        play.delay(child, end);
        play.delay(m, end);
      }
    }
  }

  ActionKind kind_;
  ArrayRef<int32_t> group_;
  const Topology &topology_;
  int64_t n_;
  SmallVector<double, 16> pieces_;
  double largest_ = 0, total_ = 0;
  bool even_ = true;
};
} // namespace

CollectiveCost CostModel::collective(ActionKind kind, ArrayRef<int32_t> group,
                                     ArrayRef<int64_t> bytes,
                                     const Topology &topology) {
  assert(bytes.size() == group.size() && "bytes of every member");
  if (group.size() < 2)
    return {};
  Collectives collectives(kind, group, bytes, topology);
  std::optional<CollectiveCost> best;
  for (CollectiveAlgorithm algorithm : algorithmsOf(kind)) {
    if (algorithm == CollectiveAlgorithm::Direct &&
        static_cast<int64_t>(group.size()) > smallGroup &&
        algorithmsOf(kind).size() > 1)
      continue;
    CollectiveCost cost = collectives.play(algorithm);
    if (!best || cost.ns < best->ns)
      best = std::move(cost);
  }
  return best ? std::move(*best) : CollectiveCost();
}

CollectiveCost CostModel::collective(ActionKind kind, ArrayRef<int32_t> group,
                                     ArrayRef<int64_t> bytes,
                                     CollectiveAlgorithm algorithm,
                                     const Topology &topology) {
  assert(bytes.size() == group.size() && "bytes of every member");
  assert(llvm::is_contained(algorithmsOf(kind), algorithm) &&
         "an algorithm of the kind");
  if (group.size() < 2)
    return {};
  return Collectives(kind, group, bytes, topology).play(algorithm);
}
