//===- Reports.cpp - What all processes have done -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "API/Reports.h"
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;
using SortedJson = nlohmann::json;

/// What the ranks say: all of it on rank 0, this rank's own elsewhere.
static std::vector<SortedJson> gather(Engine &engine, const SortedJson &mine) {
  Group *group = engine.group();
  std::vector<SortedJson> result;
  if (!group || group->rank() != 0)
    result.push_back(mine);
  if (!group)
    return result;
  std::vector<std::string> all = group->gather(mine.dump());
  if (group->rank() == 0)
    for (const std::string &text : all)
      result.push_back(SortedJson::parse(text));
  return result;
}

static const fb::Row *rowOf(const Engine &engine, uint32_t device,
                            uint32_t row) {
  return rowsOf(*engine.model().table().devices()->Get(device),
                engine.lastProgram())[row];
}

//===----------------------------------------------------------------------===//
// Movements
//===----------------------------------------------------------------------===//

/// Joins what the members of a collective report, in the place of member 0.
static void joinMeetings(std::vector<MovedRow> &rows) {
  std::map<int64_t, std::vector<int64_t>> sums;
  for (const MovedRow &row : rows)
    if (row.moved.meeting >= 0) {
      std::vector<int64_t> &sum = sums[row.moved.meeting];
      sum.resize(row.moved.bytes.size());
      for (size_t m = 0; m != sum.size(); ++m)
        sum[m] += row.moved.bytes[m];
    }
  std::vector<MovedRow> kept;
  for (MovedRow &row : rows) {
    if (row.moved.meeting >= 0) {
      if (row.row->body_as_Collective()->member() != 0)
        continue;
      row.moved.bytes = sums[row.moved.meeting];
    }
    kept.push_back(std::move(row));
  }
  rows = std::move(kept);
}

std::vector<MovedRow> runtime::collectMovements(Engine &engine) {
  SortedJson mine = SortedJson::array();
  for (const auto &device : engine.devices()) {
    const DeviceProgram &program = device->program(engine.lastProgram());
    uint32_t index = 0;
    for (const auto &[stream, position] : program.positions) {
      std::vector<Movement> moved;
      program.streams[stream].rows[position].action->movements(moved);
      for (const Movement &m : moved)
        mine.push_back({device->id(), index, static_cast<int>(m.kind),
                        m.devices, m.bytes, m.meeting});
      ++index;
    }
  }
  // By phase, device and row.
  std::map<std::tuple<fb::Phase, uint32_t, uint32_t>, std::vector<MovedRow>>
      sorted;
  for (const SortedJson &list : gather(engine, mine))
    for (const SortedJson &item : list) {
      MovedRow entry;
      entry.row = rowOf(engine, item[0], item[1]);
      entry.moved.kind = static_cast<soap_movement_kind>(item[2].get<int>());
      entry.moved.devices = item[3].get<std::vector<int32_t>>();
      entry.moved.bytes = item[4].get<std::vector<int64_t>>();
      entry.moved.meeting = item[5];
      sorted[{entry.row->phase(), item[0], item[1]}].push_back(
          std::move(entry));
    }
  std::vector<MovedRow> result;
  for (auto &[key, entries] : sorted)
    std::move(entries.begin(), entries.end(), std::back_inserter(result));
  joinMeetings(result);
  return result;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

std::vector<TimedRow> runtime::collectTimes(Engine &engine) {
  SortedJson mine = SortedJson::array();
  for (const auto &device : engine.devices()) {
    const DeviceProgram &program = device->program(engine.lastProgram());
    uint32_t index = 0;
    for (const auto &[stream, position] : program.positions) {
      const StreamProgram &rows = program.streams[stream];
      const RowTime &time = rows.times[position];
      mine.push_back({device->id(), index++, time.start - engine.stepStart(),
                      time.end - engine.stepStart(),
                      rows.rows[position].action->bytes()});
    }
  }
  std::map<std::tuple<uint32_t, fb::Stream, uint32_t>, TimedRow> sorted;
  for (const SortedJson &list : gather(engine, mine))
    for (const SortedJson &item : list) {
      const fb::Row *row = rowOf(engine, item[0], item[1]);
      sorted[{item[0], row->stream(), item[1]}] = {item[0], row, item[2],
                                                   item[3], item[4]};
    }
  std::vector<TimedRow> result;
  result.reserve(sorted.size());
  for (const auto &[key, timed] : sorted)
    result.push_back(timed);
  return result;
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

static uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<ProcessReport> runtime::collectProcesses(Engine &engine) {
  SortedJson mine = {hostName(),      getpid(), SortedJson::array(),  0,
                     residentBytes(), 0,        engine.stagingBytes()};
  uint64_t arenas = 0, rows = 0;
  for (const auto &device : engine.devices()) {
    mine[2].push_back(device->id());
    arenas += device->arenaBytes();
    rows += device->rowsRun();
  }
  mine[3] = arenas;
  mine[5] = rows;
  std::vector<ProcessReport> result;
  for (const SortedJson &item : gather(engine, mine))
    result.push_back({{item[0], item[1]},
                      item[2].get<std::vector<uint32_t>>(),
                      item[3],
                      item[4],
                      item[5],
                      item[6]});
  return result;
}
