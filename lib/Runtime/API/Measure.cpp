//===- Measure.cpp - The C interface: what steps did ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "API/Model.h"
#include <algorithm>
#include <tuple>

using namespace soap;
using namespace soap::runtime;

const char *soap_movement_kind_name(soap_movement_kind kind) {
  switch (kind) {
  case SOAP_TRANSFER:
    return "transfer";
  case SOAP_BROADCAST:
    return "broadcast";
  case SOAP_ALL_GATHER:
    return "all_gather";
  case SOAP_ALL_TO_ALL:
    return "all_to_all";
  case SOAP_ALL_REDUCE:
    return "all_reduce";
  case SOAP_REDUCE_SCATTER:
    return "reduce_scatter";
  }
  return "unknown";
}

static const char *rowName(const fb::Row *row) {
  return row->name() ? row->name()->c_str() : "";
}

static const char *kindOf(const fb::Row *row) {
  switch (row->body_type()) {
  case fb::RowBody::Launch:
    return "launch";
  case fb::RowBody::Copy:
    return "copy";
  case fb::RowBody::Exchange:
    return "exchange";
  case fb::RowBody::Feed:
    return "feed";
  case fb::RowBody::Drain:
    return "drain";
  case fb::RowBody::Collective:
    switch (row->body_as_Collective()->kind()) {
    case fb::CollectiveKind::Broadcast:
      return "broadcast";
    case fb::CollectiveKind::AllGather:
      return "all_gather";
    case fb::CollectiveKind::AllToAll:
      return "all_to_all";
    case fb::CollectiveKind::AllReduce:
      return "all_reduce";
    case fb::CollectiveKind::ReduceScatter:
      return "reduce_scatter";
    }
    break;
  case fb::RowBody::NONE:
    break;
  }
  return "unknown";
}

soap_status soap_model_movements(soap_model *model,
                                 const soap_movement **movements,
                                 size_t *count) {
  return guarded([&] {
    model->engine->wait();
    model->moved = collectMovements(*model->engine);
    model->movements.clear();
    for (const MovedRow &row : model->moved)
      model->movements.push_back(
          {row.moved.kind, static_cast<soap_phase>(row.row->phase()),
           rowName(row.row), row.moved.devices.size(), row.moved.bytes.size(),
           row.moved.devices.data(), row.moved.bytes.data()});
    *movements = model->movements.data();
    *count = model->movements.size();
  });
}

soap_status soap_model_set_tracing(soap_model *model, int enabled) {
  return guarded([&] {
    model->engine->wait();
    model->engine->setTracing(enabled != 0);
  });
}

soap_status soap_model_events(soap_model *model, const soap_event **events,
                              size_t *count) {
  return guarded([&] {
    Engine &engine = *model->engine;
    engine.wait();
    model->events.clear();
    if (!engine.wasTraced())
      invalid("expected a traced step, got: none; call "
              "soap_model_set_tracing before the step");
    const fb::Model &table = engine.model().table();
    for (const TimedRow &timed : collectTimes(engine)) {
      const fb::Row *row = timed.row;
      const auto *launch = row->body_as_Launch();
      model->events.push_back(
          {rowName(row),
           launch ? table.kernels()->Get(launch->kernel())->key()->c_str()
                  : nullptr,
           kindOf(row), timed.device, static_cast<uint32_t>(row->stream()),
           row->node(), row->task(), static_cast<soap_phase>(row->phase()),
           timed.start, timed.end, timed.bytes});
    }
    *events = model->events.data();
    *count = model->events.size();
  });
}

static const char *nameOf(fb::SimulatedKind kind) {
  switch (kind) {
  case fb::SimulatedKind::Launch:
    return "launch";
  case fb::SimulatedKind::Copy:
    return "copy";
  case fb::SimulatedKind::Move:
    return "move";
  }
  return "unknown";
}

soap_status soap_program_simulation(soap_model *model, size_t program,
                                    const soap_event **events, size_t *count) {
  return guarded([&] {
    const fb::Model &table = model->engine->model().table();
    if (program >= table.programs()->size())
      invalid("expected a program below ", table.programs()->size(),
              ", got: ", program);
    model->simulation.clear();
    if (const auto *tasks = table.programs()->Get(program)->simulated())
      for (const fb::SimulatedTask *task : *tasks) {
        const auto *devices = task->devices();
        const auto *start = task->start_ns(), *end = task->end_ns();
        if (!devices || !start || !end || start->size() != devices->size() ||
            end->size() != devices->size())
          invalid("expected simulated times of every device for '",
                  task->name()->c_str(), "', got: others");
        auto stream = static_cast<uint32_t>(task->stream());
        for (uint32_t i = 0; i != devices->size(); ++i)
          model->simulation.push_back({task->name()->c_str(), nullptr,
                                       nameOf(task->kind()), devices->Get(i),
                                       stream, 0, -1, SOAP_STEP, start->Get(i),
                                       end->Get(i), 0});
      }
    std::stable_sort(model->simulation.begin(), model->simulation.end(),
                     [](const soap_event &a, const soap_event &b) {
                       return std::tie(a.device, a.stream, a.start_ns) <
                              std::tie(b.device, b.stream, b.start_ns);
                     });
    *events = model->simulation.data();
    *count = model->simulation.size();
  });
}

soap_status soap_model_processes(soap_model *model,
                                 const soap_process **processes,
                                 size_t *count) {
  return guarded([&] {
    model->engine->wait();
    model->reports = collectProcesses(*model->engine);
    model->processes.clear();
    for (const ProcessReport &report : model->reports)
      model->processes.push_back({report.name.host.c_str(), report.name.pid,
                                  report.devices.size(), report.devices.data(),
                                  report.arenaBytes, report.residentBytes,
                                  report.rowsRun, report.stagingBytes});
    *processes = model->processes.data();
    *count = model->processes.size();
  });
}
