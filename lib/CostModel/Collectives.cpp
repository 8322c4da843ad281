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

#include "soap/Links/Collectives.h"
#include "soap/CostModel/CostModel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace soap;
using llvm::ArrayRef;
using llvm::SmallVector;

ArrayRef<CollectiveAlgorithm> soap::algorithmsOf(ActionKind kind) {
  std::optional<CollectiveKind> collective = collectiveOf(kind);
  return collective ? algorithmsOf(*collective)
                    : ArrayRef<CollectiveAlgorithm>();
}

namespace {
/// A collective under way: a clock per member, and when links are free.
class Play {
public:
  Play(ArrayRef<int32_t> group, const Topology &topology)
      : group_(group), topology_(topology),
        members_(static_cast<int64_t>(group.size())), clocks_(group.size(), 0),
        copyNs_(group.size(), 0) {}

  int64_t members() const { return members_; }
  int64_t clock(int64_t member) const { return clocks_[member]; }
  void delay(int64_t member, int64_t time) {
    clocks_[member] = std::max(clocks_[member], time);
  }

  /// Sends a message at `start`, when both ends are there; returns when it has
  /// come. Messages of no bytes are skipped.
  int64_t send(int64_t from, int64_t to, double bytes, int64_t start) {
    if (!(bytes > 0) || from == to)
      return start;
    const Route &route = topology_.route(group_[from], group_[to]);
    int64_t begin = start;
    for (int32_t id : route.links)
      begin = std::max(begin, linkOf(id).free);
    for (int32_t id : route.links) {
      const Link &link = topology_.links()[id];
      LinkState &state = linkOf(id);
      state.free = begin + link.ns(bytes);
      state.busy += bytes / link.bandwidth * 1e9;
    }
    if (group_[to] != topology_.host())
      copyNs_[to] += route.copyNs(bytes);
    occupies_ |= route.occupiesReceiver;
    return begin + route.latencyNs + route.ns(bytes);
  }

  struct Message {
    int64_t from, to;
    double bytes;
  };
  /// A round: every member posts all that it sends and receives, then waits.
  void round(ArrayRef<Message> messages) {
    SmallVector<int64_t, 16> start(clocks_);
    for (auto [from, to, bytes] : messages) {
      int64_t end = send(from, to, bytes, std::max(start[from], start[to]));
      delay(from, end);
      delay(to, end);
    }
  }

  /// A member joins `incoming` messages of `bytes` with its own data: reads
  /// them all and writes the result.
  void join(int64_t member, int64_t incoming, double bytes) {
    touch(member, static_cast<double>(incoming + 2) * bytes);
  }

  /// A member reads and writes its own memory.
  void touch(int64_t member, double bytes) {
    if (!(bytes > 0) || group_[member] == topology_.host())
      return;
    int64_t ns = roundNs(1e9 * CostModel::trafficSeconds(
                                   bytes, topology_.kindOf(group_[member])));
    clocks_[member] += ns;
    copyNs_[member] += ns;
  }

  /// True if every member reads and writes the memory of every other.
  bool shareMemory() const {
    for (int32_t from : group_)
      for (int32_t to : group_)
        if (from != to && !topology_.route(from, to).sharesMemory)
          return false;
    return true;
  }

  /// Every member waits until all are done and have said so.
  void meet() {
    SmallVector<int64_t, 16> ends(clocks_);
    for (int64_t to = 0; to != members_; ++to)
      for (int64_t from = 0; from != members_; ++from)
        if (from != to)
          delay(to, ends[from] +
                        topology_.route(group_[from], group_[to]).latencyNs);
  }

  /// Plays `rounds` rounds. Where all rounds are alike, the times of the later
  /// ones follow from the first.
  template <typename Fn>
  void repeat(int64_t rounds, bool alike, Fn playRound) {
    int64_t played = alike ? std::min<int64_t>(rounds, 4) : rounds;
    int64_t last = 0;
    SmallVector<double, 16> busy;
    SmallVector<int64_t, 16> copied(copyNs_);
    for (const LinkState &link : links_)
      busy.push_back(link.busy);
    for (int64_t round = 0; round < played; ++round) {
      int64_t before = latest();
      playRound(round);
      last = latest() - before;
    }
    int64_t rest = rounds - played;
    if (rest == 0)
      return;
    busy.resize(links_.size(), 0);
    for (int64_t &time : clocks_)
      time += last * rest;
    for (auto [link, old] : llvm::zip_equal(links_, busy)) {
      link.free += last * rest;
      link.busy += (link.busy - old) / played * rest;
    }
    for (auto [now, old] : llvm::zip_equal(copyNs_, copied))
      now += (now - old) * rest / played;
  }

  CollectiveCost finish(CollectiveAlgorithm algorithm) {
    CollectiveCost cost;
    cost.algorithm = algorithm;
    cost.ns = std::min(latest(), longestNs);
    if (occupies_)
      cost.occupiesNs = std::min(
          *std::max_element(copyNs_.begin(), copyNs_.end()), longestNs);
    llvm::sort(links_, [](const LinkState &a, const LinkState &b) {
      return a.resource < b.resource;
    });
    for (const LinkState &link : links_)
      cost.links.push_back({link.resource, roundNs(link.busy)});
    return cost;
  }

private:
  struct LinkState {
    int32_t resource;
    int64_t free = 0;
    double busy = 0;
  };
  LinkState &linkOf(int32_t id) {
    int32_t resource = topology_.links()[id].resource;
    auto [it, isNew] = indices_.try_emplace(resource, links_.size());
    if (isNew)
      links_.push_back({resource});
    return links_[it->second];
  }
  int64_t latest() const {
    return *std::max_element(clocks_.begin(), clocks_.end());
  }

  ArrayRef<int32_t> group_;
  const Topology &topology_;
  int64_t members_;
  SmallVector<int64_t, 16> clocks_;
  SmallVector<int64_t, 16> copyNs_; ///< Copying and joining, per member.
  SmallVector<LinkState, 16> links_;
  llvm::SmallDenseMap<int32_t, size_t, 32> indices_;
  bool occupies_ = false;
};

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
    case ActionKind::AllGather:
      return toAll(play, [&](int64_t from) { return pieces_[from]; });
    case ActionKind::AllToAll:
      return toAll(play, [&](int64_t from) { return pieces_[from] / n_; });
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
