//===- Runtime.cpp - The C interface --------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "API/Info.h"
#include "API/Reports.h"
#include "Engine/Engine.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

/// A model as the C interface hands it out, with what its queries keep alive.
struct soap_model {
  std::unique_ptr<Engine> engine;
  std::vector<std::vector<int64_t>> inputShapes, outputShapes;
  std::string info;
  std::vector<MovedRow> moved;
  std::vector<soap_movement> movements;
  std::vector<ProcessReport> reports;
  std::vector<soap_process> processes;
  std::vector<soap_event> events;
  std::vector<std::string> gathered;
  std::vector<const void *> gatheredData;
  std::vector<size_t> gatheredSizes;
};

static thread_local std::string lastError;

/// Runs `body`; turns what it throws into a status.
template <typename Fn>
static soap_status guarded(Fn body) {
  try {
    body();
    return SOAP_OK;
  } catch (const Error &error) {
    lastError = error.what();
    return error.status;
  } catch (const std::bad_alloc &) {
    lastError = "expected enough memory, got: an allocation that failed; "
                "compile with a smaller --batch, or free memory";
    return SOAP_INVALID;
  } catch (const std::exception &error) {
    lastError = error.what();
    return SOAP_FAILED;
  }
}

const char *soap_last_error(void) { return lastError.c_str(); }

const char *soap_version(void) { return SOAP_VERSION; }

size_t soap_element_size(soap_element element) {
  return elementSize(static_cast<fb::ElementType>(element));
}

const char *soap_element_name(soap_element element) {
  return elementName(static_cast<fb::ElementType>(element));
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static void warnOnStderr(const std::string &line) {
  std::fprintf(stderr, "warning: %s\n", line.c_str());
}

/// Another process is lost: nobody can go on, and MPI might wait for ever, so
/// this one ends.
static void printLost(const std::string &line) {
  std::string message = "error: " + line + "\n";
  (void)!write(STDERR_FILENO, message.data(), message.size());
  // What has been printed, unless a thread is just printing.
  if (ftrylockfile(stdout) == 0)
    (void)std::fflush(stdout);
}

/// @{ The range of timeouts, in seconds.
static constexpr double leastTimeout = 0.1, largestTimeout = 1e6;
/// @}

/// How to join the processes that were started with this one; nothing if it is
/// to run models alone.
static std::optional<GroupOptions> joiningOf(const soap_load_options &options) {
  // Also where nobody is to be joined: a mistake is one everywhere.
  if (options.timeout_seconds != 0 &&
      !(options.timeout_seconds >= leastTimeout &&
        options.timeout_seconds <= largestTimeout))
    invalid("expected a timeout of ", leastTimeout, " to ",
            static_cast<int>(largestTimeout),
            " s, got: ", options.timeout_seconds, "; 10 s is the default");
  switch (options.transport) {
  case SOAP_TRANSPORT_LOCAL:
    return std::nullopt;
  case SOAP_TRANSPORT_AUTO:
    if (currentLaunch().size == 1)
      return std::nullopt;
    break;
  case SOAP_TRANSPORT_MPI:
    break;
  default:
    invalid("expected transport auto, local or mpi, got: ",
            static_cast<int>(options.transport), "; use auto");
  }
  GroupOptions group;
  if (options.timeout_seconds > 0)
    group.timeoutSeconds = options.timeout_seconds;
  group.lost = printLost;
  group.exitsWhenLost = !options.lost;
  if (options.lost)
    group.lost = [options](const std::string &line) {
      options.lost(line.c_str(), options.user);
    };
  return group;
}

/// What the caller gave, and defaults for what its version does not know.
static soap_load_options completed(const soap_load_options *given) {
  soap_load_options options = {};
  if (given)
    std::memcpy(&options, given, std::min(given->size, sizeof(options)));
  return options;
}

static std::function<void(const std::string &)>
warningOf(const soap_load_options &options) {
  if (!options.warning)
    return warnOnStderr;
  return [options](const std::string &line) {
    options.warning(line.c_str(), options.user);
  };
}

/// Runs `join`; rank 0 would not hear of its failure.
template <typename Fn>
static void joining(const soap_load_options &options, Fn join) {
  try {
    join();
  } catch (const Error &error) {
    if (currentLaunch().rank != 0)
      warningOf(options)(text("rank ", currentLaunch().rank, " (host ",
                              hostName(), "): ", error.what()));
    throw;
  }
}

soap_status soap_join(const soap_load_options *given) {
  return guarded([&] {
    soap_load_options options = completed(given);
    if (std::optional<GroupOptions> group = joiningOf(options))
      joining(options, [&] { joinGroup(*group); });
  });
}

template <typename Open>
static soap_status load(const soap_load_options *given, soap_model **model,
                        Open open) {
  return guarded([&] {
    if (!model)
      invalid("expected a place for the model, got: null");
    *model = nullptr;
    soap_load_options options = completed(given);
    if (options.build != SOAP_BUILD_MODEL &&
        options.build != SOAP_BUILD_REFERENCE)
      invalid("expected the model or its reference as the build, got: ",
              static_cast<int>(options.build));
    EngineOptions engineOptions;
    engineOptions.coresPerDevice = options.cores_per_device;
    if ((options.link_bandwidth != 0 && !(options.link_bandwidth >= 1)) ||
        options.link_latency_ns > INT64_MAX / 2)
      invalid("expected a link bandwidth of 0 (no throttled links) or of 1 "
              "byte/s or more, and a latency below 2^62 ns, got: ",
              options.link_bandwidth, " and ", options.link_latency_ns);
    if (options.link_bandwidth > 0)
      engineOptions.link =
          LinkSpeed{options.link_bandwidth,
                    static_cast<int64_t>(options.link_latency_ns)};
    engineOptions.warning = warningOf(options);
    engineOptions.observer = {options.observe, options.user};
    if (std::optional<GroupOptions> group = joiningOf(options))
      joining(options, [&] { engineOptions.group = makeGroup(*group); });
    if (options.map)
      engineOptions.map.assign(options.map, options.map + options.map_count);
    std::shared_ptr<const CompiledModel> compiled;
    agree(engineOptions.group.get(), [&] { compiled = open(options.build); });
    auto result = std::make_unique<soap_model>();
    result->engine =
        std::make_unique<Engine>(std::move(compiled), engineOptions);
    const fb::Model &table = result->engine->model().table();
    for (const fb::Port *port : items(table.inputs()))
      result->inputShapes.push_back(toVector(port->shape()));
    for (const fb::Port *port : items(table.outputs()))
      result->outputShapes.push_back(toVector(port->shape()));
    *model = result.release();
  });
}

soap_status soap_model_load(const char *path, const soap_load_options *options,
                            soap_model **model) {
  return load(options, model, [&](soap_build build) {
    if (!path)
      invalid("expected the path of a model, got: null");
    return CompiledModel::open(path, build);
  });
}

soap_status soap_model_load_from_memory(const void *data, size_t size,
                                        const soap_native_kernel *natives,
                                        size_t native_count,
                                        const char *directory,
                                        const soap_load_options *options,
                                        soap_model **model) {
  return load(options, model, [&](soap_build build) {
    if (!data)
      invalid("expected the table of a model, got: null");
    if (build == SOAP_BUILD_REFERENCE)
      invalid("expected a shared library to load a reference from, got: one "
              "table; pass the reference's table");
    return CompiledModel::fromMemory(data, size, natives, native_count,
                                     directory ? directory : ".");
  });
}

soap_status soap_plan_memory(const void *data, size_t size,
                             uint32_t cores_per_device, soap_memory *devices,
                             size_t count) {
  return guarded([&] {
    if (!data || (!devices && count))
      invalid("expected the table of a model and room for results, got: null");
    std::vector<MemoryNeeds> all = planMemory(data, size, cores_per_device);
    if (all.size() != count)
      invalid("expected room for ", all.size(), " devices, got: ", count);
    for (const MemoryNeeds &needs : all)
      *devices++ = {needs.activations, needs.parameters,   needs.scratch,
                    needs.scratchpad,  needs.reordered,    needs.released,
                    needs.peak,        needs.communication};
  });
}

const char *soap_origin_name(soap_origin origin) {
  switch (origin) {
  case SOAP_LOADED:
    return "loaded";
  case SOAP_COMPUTED:
    return "computed";
  case SOAP_RECEIVED:
    return "received";
  case SOAP_ASSEMBLED:
    return "assembled";
  }
  return "unknown";
}

void soap_model_release(soap_model *model) { delete model; }

//===----------------------------------------------------------------------===//
// What a model is
//===----------------------------------------------------------------------===//

static const fb::Model &tableOf(const soap_model *model) {
  return model->engine->model().table();
}

size_t soap_model_input_count(const soap_model *model) {
  return model->inputShapes.size();
}

size_t soap_model_output_count(const soap_model *model) {
  return model->outputShapes.size();
}

size_t soap_model_device_count(const soap_model *model) {
  return tableOf(model).devices()->size();
}

uint32_t soap_model_rank(const soap_model *model) {
  return model->engine->placed().rank;
}

uint32_t soap_launch_rank(void) { return currentLaunch().rank; }

soap_status soap_model_agree(soap_model *model, soap_status mine) {
  return guarded([&] {
    model->engine->rest();
    agree(model->engine->processes(), [&] {
      if (mine != SOAP_OK)
        throw Error(mine, lastError);
    });
  });
}

soap_status soap_model_gather(soap_model *model, const void *mine, size_t size,
                              const void *const **all, const size_t **sizes,
                              size_t *count) {
  return guarded([&] {
    model->engine->rest();
    std::string own(static_cast<const char *>(mine), size);
    Group *group = model->engine->processes();
    model->gathered = group ? group->gather(own) : std::vector{own};
    model->gatheredData.clear();
    model->gatheredSizes.clear();
    for (const std::string &bytes : model->gathered) {
      model->gatheredData.push_back(bytes.data());
      model->gatheredSizes.push_back(bytes.size());
    }
    *all = model->gatheredData.data();
    *sizes = model->gatheredSizes.data();
    *count = model->gathered.size();
  });
}

soap_status soap_model_broadcast(soap_model *model, void *data, size_t size) {
  return guarded([&] {
    model->engine->rest();
    Group *group = model->engine->processes();
    if (!group)
      return;
    bool gives = group->rank() == 0;
    std::string own(static_cast<const char *>(data), gives ? size : 0);
    std::string given = group->allGather(own)[0];
    if (given.size() != size)
      invalid("expected the same size on all ranks, got: ", size,
              " bytes, and ", given.size(), " on rank 0");
    std::memcpy(data, given.data(), size);
  });
}

template <typename Ports>
static soap_status describePort(const Ports *ports,
                                const std::vector<std::vector<int64_t>> &shapes,
                                size_t index, soap_port *result) {
  return guarded([&] {
    if (index >= shapes.size() || !result)
      invalid("expected an index below ", shapes.size(), ", got: ", index);
    const fb::Port *port = ports->Get(static_cast<uint32_t>(index));
    const std::vector<int64_t> &shape = shapes[index];
    result->name = port->name()->c_str();
    result->element = static_cast<soap_element>(port->element());
    result->rank = shape.size();
    result->shape = shape.data();
    result->bytes = static_cast<size_t>(byteCount(port->element(), shape));
    result->index_bound = port->index_bound();
  });
}

soap_status soap_model_input(const soap_model *model, size_t index,
                             soap_port *port) {
  return describePort(tableOf(model).inputs(), model->inputShapes, index, port);
}

soap_status soap_model_output(const soap_model *model, size_t index,
                              soap_port *port) {
  return describePort(tableOf(model).outputs(), model->outputShapes, index,
                      port);
}

const char *soap_model_info(soap_model *model) {
  soap_status status = guarded([&] {
    model->engine->rest();
    if (model->info.empty())
      model->info = describeModel(*model->engine);
  });
  return status == SOAP_OK ? model->info.c_str() : nullptr;
}

const char *soap_list_devices(void) {
  static thread_local std::string result;
  result = describeMachine();
  return result.c_str();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

soap_status soap_model_run_async(soap_model *model, const void *const *inputs,
                                 void *const *outputs) {
  return guarded([&] { model->engine->start(inputs, outputs); });
}

soap_status soap_model_wait(soap_model *model) {
  return guarded([&] { model->engine->wait(); });
}

int soap_model_is_done(const soap_model *model) {
  return model->engine->isDone();
}

soap_status soap_model_run(soap_model *model, const void *const *inputs,
                           void *const *outputs) {
  return guarded([&] {
    model->engine->start(inputs, outputs);
    model->engine->wait();
  });
}

uint64_t soap_model_step_ns(const soap_model *model) {
  return static_cast<uint64_t>(model->engine->stepEnd() -
                               model->engine->stepStart());
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

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
