//===- Load.cpp - The C interface: joining and loading --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "API/Model.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

static void warnOnStderr(const std::string &line) {
  std::fprintf(stderr, "warning: %s\n", line.c_str());
}

/// Prints which process is lost. This process ends afterwards, since nobody can
/// go on and MPI might wait for ever.
static void printLost(const std::string &line) {
  std::string message = "error: " + line + "\n";
  (void)!write(STDERR_FILENO, message.data(), message.size());
  // Flushes what has been printed, unless another thread is printing.
  if (ftrylockfile(stdout) == 0)
    (void)std::fflush(stdout);
}

/// @{ The range of timeouts, in seconds.
static constexpr double leastTimeout = 0.1, largestTimeout = 1e6;
/// @}

/// How to join the processes that were started with this one; nothing if it is
/// to run models alone.
static std::optional<GroupOptions> joiningOf(const soap_load_options &options) {
  // Options are checked even if no process is to be joined: a mistake is
  // reported alike for every transport.
  if (options.timeout_seconds != 0 &&
      !(options.timeout_seconds >= leastTimeout &&
        options.timeout_seconds <= largestTimeout))
    invalid("expected a timeout of ", leastTimeout, " to ",
            static_cast<int>(largestTimeout),
            " s, got: ", options.timeout_seconds, "; 10 s is the default");
  GroupOptions group;
  switch (options.transport) {
  case SOAP_TRANSPORT_LOCAL:
    return std::nullopt;
  case SOAP_TRANSPORT_AUTO:
    checkLaunch();
    if (currentLaunch().size == 1)
      return std::nullopt;
    group.means = currentLaunch().means;
    break;
  case SOAP_TRANSPORT_MPI:
    break;
  case SOAP_TRANSPORT_TCP:
    checkLaunch();
    group.means = Launch::Means::Tcp;
    break;
  default:
    invalid("expected transport auto, local, mpi or tcp, got: ",
            static_cast<int>(options.transport), "; use auto");
  }
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

/// Runs `join` so that a failure on one rank is known on all of them, rank 0
/// included.
template <typename Fn>
static void joining(const soap_load_options &options, Fn join) {
  try {
    join();
  } catch (const AgreedError &) {
    throw;
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

static DeviceTransport deviceTransportOf(soap_gpu_transport transport) {
  switch (transport) {
  case SOAP_GPU_TRANSPORT_AUTO:
    return DeviceTransport::Auto;
  case SOAP_GPU_TRANSPORT_HOST:
    return DeviceTransport::Host;
  case SOAP_GPU_TRANSPORT_PEER:
    return DeviceTransport::Peer;
  case SOAP_GPU_TRANSPORT_NCCL:
    return DeviceTransport::Nccl;
  }
  invalid("expected gpu_transport auto, host, peer or nccl, got: ",
          static_cast<int>(transport), "; use auto");
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
    engineOptions.devicesPerGpu = options.devices_per_gpu;
    engineOptions.deviceTransport = deviceTransportOf(options.gpu_transport);
    if ((options.link_bandwidth != 0 && !(options.link_bandwidth >= 1)) ||
        options.link_latency_ns > INT64_MAX / 2)
      invalid("expected a link bandwidth of 0 (no throttled links) or of 1 "
              "byte/s or more, and a latency below 2^62 ns, got: ",
              options.link_bandwidth, " and ", options.link_latency_ns);
    if (options.link_bandwidth > 0)
      engineOptions.link =
          LinkSpeed{options.link_bandwidth,
                    static_cast<int64_t>(options.link_latency_ns)};
    engineOptions.keepDenormals = options.keep_denormals != 0;
    engineOptions.warning = warningOf(options);
    engineOptions.observer = {options.observe, options.user};
    if (std::optional<GroupOptions> group = joiningOf(options))
      joining(options, [&] { engineOptions.group = makeGroup(*group); });
    if (options.map)
      engineOptions.map.assign(options.map, options.map + options.map_count);
    std::shared_ptr<const CompiledModel> compiled;
    agree(engineOptions.group.get(), [&] {
      compiled = open(options.build);
      compiled->checkWeights(options.check_weights != 0);
    });
    auto result = std::make_unique<soap_model>();
    result->engine =
        std::make_unique<Engine>(std::move(compiled), engineOptions);
    const fb::Model &table = result->engine->model().table();
    for (const fb::Program *program : items(table.programs())) {
      soap_model::Shapes &shapes = result->shapes.emplace_back();
      for (const fb::Port *port : items(program->inputs()))
        shapes.inputs.push_back(toVector(port->shape()));
      for (const fb::Port *port : items(program->outputs()))
        shapes.outputs.push_back(toVector(port->shape()));
    }
    result->state = findState(table);
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
      *devices++ = {needs.activations,  needs.parameters, needs.scratchpad,
                    needs.reordered,    needs.released,   needs.peak,
                    needs.communication};
  });
}

void soap_model_release(soap_model *model) { delete model; }
