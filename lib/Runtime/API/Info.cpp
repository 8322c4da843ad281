//===- Info.cpp - What a model is, as JSON --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "API/Info.h"
#include "CPU/Backend.h"
#include <nlohmann/json.hpp>

using namespace soap;
using namespace soap::runtime;
using Json = nlohmann::ordered_json;

/// The kernel library, or why there is none.
static std::string libraryVersion() {
  try {
    return libraryBackend().version();
  } catch (const Error &error) {
    return error.what();
  }
}

static Json
describePorts(const flatbuffers::Vector<flatbuffers::Offset<fb::Port>> *ports) {
  Json result = Json::array();
  for (const fb::Port *port : items(ports)) {
    Json entry = {{"name", port->name()->str()},
                  {"element", elementName(port->element())},
                  {"shape", toVector(port->shape())}};
    if (port->index_bound() > 0)
      entry["index_bound"] = port->index_bound();
    result.push_back(std::move(entry));
  }
  return result;
}

/// One entry per kernel and implementation (devices may get different ones).
static Json describeKernels(const Engine &engine) {
  Json result = Json::array();
  const fb::Model &table = engine.model().table();
  for (uint32_t k = 0; k != items(table.kernels()).size(); ++k) {
    std::map<std::string, std::vector<uint32_t>> users;
    for (const auto &device : engine.devices())
      if (!device->implementations()[k].empty())
        users[device->implementations()[k]].push_back(device->id());
    const fb::Kernel *kernel = table.kernels()->Get(k);
    for (const auto &[implementation, devices] : users)
      result.push_back({{"key", kernel->key()->str()},
                        {"op", fb::EnumNameKernelOp(kernel->op_type())},
                        {"implementation", implementation},
                        {"flops", kernel->flops()},
                        {"devices", devices}});
  }
  return result;
}

std::string runtime::describeModel(const Engine &engine) {
  const fb::Model &table = engine.model().table();
  Json strategy = Json::parse(toString(table.strategy()), nullptr,
                              /*allow_exceptions=*/false);
  if (strategy.is_discarded())
    strategy = toString(table.strategy()).empty()
                   ? Json(nullptr)
                   : Json(toString(table.strategy()));
  Json devices = Json::array();
  for (const auto &device : engine.devices())
    devices.push_back(
        {{"id", device->id()},
         {"kind", toString(table.target())},
         {"name", cpuName()},
         {"cores", engine.cores().compute[device->id()]},
         {"activation_bytes", device->table().activation_bytes()},
         {"parameter_bytes", device->table().parameter_bytes()},
         {"scratch_bytes", device->table().scratch_bytes()},
         {"scratchpad_bytes", device->memory().scratchpad},
         {"reordered_parameter_bytes", device->memory().reordered},
         {"released_parameter_bytes", device->memory().released},
         {"peak_bytes", device->memory().peak},
         {"planned",
          {{"scratchpad_bytes", device->table().scratchpad_bytes()},
           {"reordered_parameter_bytes", device->table().reordered_bytes()},
           {"peak_bytes", device->table().peak_bytes()}}},
         {"rows", items(device->table().main()).size()}});
  Json result = {{"name", toString(table.name())},
                 {"fingerprint", toString(table.fingerprint())},
                 {"compiler", toString(table.compiler())},
                 {"runtime", soap_version()},
                 {"abi", table.abi()},
                 {"target", toString(table.target())},
                 {"libraries", {libraryVersion()}},
                 {"transport", "local"},
                 {"inputs", describePorts(table.inputs())},
                 {"outputs", describePorts(table.outputs())},
                 {"reference", engine.model().hasReference()},
                 {"simulated_ns", table.simulated_ns()},
                 {"devices", std::move(devices)},
                 {"kernels", describeKernels(engine)},
                 {"strategy", std::move(strategy)}};
  // Names come from the model: bytes that are no UTF-8 are replaced.
  return result.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string runtime::describeMachine() {
  std::vector<int> cores = allowedCores();
  Json device = {{"kind", "cpu"},
                 {"name", cpuName()},
                 {"cores", cores},
                 {"memory_bytes", availableMemory()},
                 {"library", libraryVersion()}};
  Json result = {{"devices", Json::array({device})},
                 {"transports", {"local"}},
                 {"runtime", soap_version()}};
  return result.dump(2);
}
