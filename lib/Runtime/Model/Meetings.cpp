//===- Meetings.cpp - Which rows of which devices meet --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/Meetings.h"
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <tuple>

using namespace soap;
using namespace soap::runtime;

template <typename... Ts>
[[noreturn]] static void inconsistent(const Ts &...parts) {
  invalid("expected programs that meet, got: ", parts...,
          "; compile the model again");
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Calls visit(device, row, exchange) for all exchanges.
template <typename Visit>
static void forEachExchange(const fb::Model &model, uint32_t program,
                            Visit visit) {
  auto devices = items(model.devices());
  for (uint32_t d = 0; d != devices.size(); ++d) {
    auto rows = rowsOf(*devices[d], program);
    for (uint32_t r = 0; r != rows.size(); ++r)
      if (const auto *exchange = rows[r]->body_as_Exchange())
        visit(d, r, *exchange);
  }
}

static void matchMessages(const fb::Model &model, uint32_t program,
                          Meetings &result) {
  auto &links = result.rows[program];
  // The n-th send from s to d with a tag meets the n-th such receive.
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
  std::map<Key, std::deque<uint32_t>> open;
  forEachExchange(
      model, program, [&](uint32_t d, uint32_t r, const auto &exchange) {
        for (const fb::Message *send : items(exchange.sends())) {
          auto id = static_cast<uint32_t>(result.channels.size());
          result.channels.push_back({d, send->peer(), send->data().bytes()});
          open[{d, send->peer(), send->tag()}].push_back(id);
          links[d][r].sends.push_back(id);
        }
      });
  // By sender and receiver: the last channel of the rows before, and of this.
  std::map<std::pair<uint32_t, uint32_t>, std::array<int64_t, 3>> received;
  forEachExchange(
      model, program, [&](uint32_t d, uint32_t r, const auto &exchange) {
        for (const fb::Message *receive : items(exchange.receives())) {
          auto &queue = open[{receive->peer(), d, receive->tag()}];
          if (queue.empty())
            inconsistent("device ", d, " receives from device ",
                         receive->peer(), " what it does not send (tag ",
                         receive->tag(), ")");
          uint32_t id = queue.front();
          queue.pop_front();
          if (result.channels[id].bytes != receive->data().bytes())
            inconsistent("device ", d, " receives ", receive->data().bytes(),
                         " bytes from device ", receive->peer(),
                         ", which sends ", result.channels[id].bytes);
          links[d][r].receives.push_back(id);
          auto it = received.try_emplace({receive->peer(), d},
                                         std::array<int64_t, 3>{-1, -1, -1});
          auto &[row, before, last] = it.first->second;
          if (row != r) {
            before = last;
            row = r;
          }
          result.messagesAreOrdered &= id > before;
          last = std::max<int64_t>(last, id);
        }
      });
  for (const auto &[key, queue] : open)
    if (!queue.empty())
      inconsistent("device ", std::get<0>(key), " sends to device ",
                   std::get<1>(key), " what it does not receive (tag ",
                   std::get<2>(key), ")");
}

/// Checks that the extents of all members of a meeting agree.
static void checkExtents(const std::vector<const fb::Collective *> &members) {
  auto bytes = [](const flatbuffers::Vector<const fb::Extent *> *list,
                  size_t i) { return list->Get(i)->bytes(); };
  size_t n = members.size();
  auto require = [](bool condition) {
    if (!condition)
      inconsistent("a collective whose members disagree on bytes");
  };
  switch (members[0]->kind()) {
  case fb::CollectiveKind::Broadcast:
    for (size_t m = 1; m != n; ++m)
      require(bytes(members[m]->receive(), 0) == bytes(members[0]->send(), 0));
    break;
  case fb::CollectiveKind::AllGather:
    for (size_t m = 0; m != n; ++m)
      for (size_t k = 0; k != n; ++k)
        require(bytes(members[m]->receive(), k) ==
                bytes(members[k]->send(), 0));
    break;
  case fb::CollectiveKind::AllToAll:
    for (size_t m = 0; m != n; ++m)
      for (size_t k = 0; k != n; ++k)
        require(bytes(members[m]->receive(), k) ==
                bytes(members[k]->send(), m));
    break;
  case fb::CollectiveKind::AllReduce:
    for (size_t m = 0; m != n; ++m)
      require(bytes(members[m]->send(), 0) == bytes(members[0]->send(), 0) &&
              bytes(members[m]->receive(), 0) == bytes(members[0]->send(), 0));
    break;
  case fb::CollectiveKind::ReduceScatter:
    for (size_t m = 0; m != n; ++m)
      for (size_t k = 0; k != n; ++k)
        require(bytes(members[m]->receive(), 0) ==
                bytes(members[k]->send(), m));
    break;
  }
}

static void matchCollectives(const fb::Model &model, uint32_t program,
                             Meetings &result) {
  // The n-th collective of a member over (group, tag) meets the n-th of others
  // on the same stream.
  using Key = std::tuple<std::vector<uint32_t>, uint32_t, fb::Stream>;
  std::map<Key, std::vector<uint32_t>> known; // Key -> meetings in order.
  std::vector<std::vector<const fb::Collective *>> members;
  // Meetings of earlier programs have the numbers below.
  size_t first = result.meetings.size();
  auto devices = items(model.devices());
  for (uint32_t d = 0; d != devices.size(); ++d) {
    std::map<Key, uint32_t> visits;
    auto rows = rowsOf(*devices[d], program);
    for (uint32_t r = 0; r != rows.size(); ++r) {
      const auto *collective = rows[r]->body_as_Collective();
      if (!collective)
        continue;
      Key key{toVector(collective->group()), collective->tag(),
              rows[r]->stream()};
      uint32_t visit = visits[key]++;
      std::vector<uint32_t> &list = known[key];
      if (visit == list.size()) {
        list.push_back(static_cast<uint32_t>(result.meetings.size()));
        const std::vector<uint32_t> &group = std::get<0>(key);
        result.meetings.push_back(
            {group, rows[r]->stream() == fb::Stream::Priority});
        members.emplace_back(group.size(), nullptr);
      }
      uint32_t id = list[visit];
      members[id - first][collective->member()] = collective;
      result.rows[program][d][r].meeting = id;
    }
  }
  for (size_t id = 0; id != members.size(); ++id) {
    const fb::Collective *known = nullptr;
    for (size_t m = 0; m != members[id].size(); ++m) {
      const fb::Collective *member = members[id][m];
      if (!member)
        inconsistent("a collective without its member on device ",
                     result.meetings[first + id].group[m]);
      known = known ? known : member;
      if (member->kind() != known->kind() ||
          member->algorithm() != known->algorithm() ||
          member->combine() != known->combine() ||
          member->element() != known->element())
        inconsistent("a collective whose members disagree on its kind");
    }
    checkExtents(members[id]);
  }
}

/// Numbers the channels of meetings, behind those of messages.
static void numberChannels(Meetings &result) {
  uint64_t channels = result.channels.size();
  for (Meetings::Meeting &meeting : result.meetings) {
    meeting.firstChannel = static_cast<uint32_t>(channels);
    channels += meeting.group.size() * meeting.group.size();
  }
  if (channels > INT32_MAX)
    inconsistent(channels, " channels");
  result.channelCount = static_cast<uint32_t>(channels);
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

namespace {
/// Runs all streams of all devices without doing anything, to see that they
/// come to their ends.
class Rehearsal {
public:
  Rehearsal(const fb::Model &model, uint32_t program, const Meetings &meetings)
      : model_(model), program_(program), meetings_(meetings),
        sent_(meetings.channels.size()), received_(meetings.channels.size()),
        arrived_(meetings.meetings.size()) {}

  void run() {
    auto devices = items(model_.devices());
    for (uint32_t d = 0; d != devices.size(); ++d) {
      auto rows = rowsOf(*devices[d], program_);
      ended_.emplace_back(rows.size(), false);
      for (fb::Stream stream : fb::EnumValuesStream())
        cursors_.push_back({d, stream});
    }
    for (bool progress = true; progress;) {
      progress = false;
      for (Cursor &cursor : cursors_)
        progress |= advance(cursor);
    }
    for (const Cursor &cursor : cursors_) {
      auto rows = rowsOf(*devices[cursor.device], program_);
      if (cursor.row < rows.size())
        inconsistent("programs that wait for each other, device ",
                     cursor.device, " at row ", cursor.row, " ('",
                     toString(rows[cursor.row]->name()), "')");
    }
  }

private:
  struct Cursor {
    uint32_t device;
    fb::Stream stream;
    uint32_t row = 0;
    bool posted = false;
  };

  bool advance(Cursor &cursor) {
    auto rows = rowsOf(*model_.devices()->Get(cursor.device), program_);
    bool progress = false;
    for (; cursor.row < rows.size(); ++cursor.row, cursor.posted = false) {
      const fb::Row *row = rows[cursor.row];
      if (row->stream() != cursor.stream)
        continue;
      const Meetings::RowLinks &links =
          meetings_.rows[program_][cursor.device][cursor.row];
      const auto *collective = row->body_as_Collective();
      if (!cursor.posted) {
        for (uint32_t wait : items(row->waits()))
          if (!ended_[cursor.device][wait])
            return progress;
        for (uint32_t channel : links.sends)
          sent_[channel] = true;
        for (uint32_t channel : links.receives)
          received_[channel] = true;
        if (collective)
          ++arrived_[links.meeting];
        cursor.posted = progress = true;
      }
      for (uint32_t channel : links.sends)
        if (!received_[channel])
          return progress;
      for (uint32_t channel : links.receives)
        if (!sent_[channel])
          return progress;
      if (collective && arrived_[links.meeting] !=
                            meetings_.meetings[links.meeting].group.size())
        return progress;
      ended_[cursor.device][cursor.row] = true;
      progress = true;
    }
    return progress;
  }

  const fb::Model &model_;
  uint32_t program_;
  const Meetings &meetings_;
  std::vector<bool> sent_, received_;
  std::vector<size_t> arrived_;
  std::vector<std::vector<bool>> ended_;
  std::vector<Cursor> cursors_;
};
} // namespace

Meetings runtime::matchRows(const fb::Model &model) {
  Meetings result;
  uint32_t programs = items(model.programs()).size();
  for (uint32_t p = 0; p != programs; ++p) {
    auto &rows = result.rows.emplace_back();
    for (const fb::Device *device : items(model.devices()))
      rows.emplace_back(rowsOf(*device, p).size());
    matchMessages(model, p, result);
  }
  for (uint32_t p = 0; p != programs; ++p)
    matchCollectives(model, p, result);
  numberChannels(result);
  for (uint32_t p = 0; p != programs; ++p)
    Rehearsal(model, p, result).run();
  return result;
}
