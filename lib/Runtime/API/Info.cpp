//===- Info.cpp - What a model is, as JSON --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "API/Info.h"
#include "API/Reports.h"
#include "Backend/Backend.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace soap;
using namespace soap::runtime;
using Json = nlohmann::ordered_json;

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
/// What the programs of a model are, the first one that of `inputs`, `outputs`.
static Json describePrograms(const fb::Model &table) {
  Json result = Json::array();
  for (const fb::Program *program : items(table.programs()))
    result.push_back({{"name", program->name()->str()},
                      {"inputs", describePorts(program->inputs())},
                      {"outputs", describePorts(program->outputs())},
                      {"simulated_ns", program->simulated_ns()}});
  return result;
}

/// What a device has to do and to keep in each program.
static Json describePrograms(const fb::Model &table, const fb::Device &device) {
  Json result = Json::array();
  uint32_t number = 0;
  for (const fb::Program *program : items(table.programs())) {
    result.push_back({{"name", program->name()->str()},
                      {"activation_bytes", activationBytes(device, number)},
                      {"rows", rowsOf(device, number).size()}});
    ++number;
  }
  return result;
}

static Json describeKernels(const fb::Model &table, const Json &devices) {
  Json result = Json::array();
  for (uint32_t k = 0; k != items(table.kernels()).size(); ++k) {
    std::map<std::string, std::vector<uint32_t>> users;
    for (const Json &device : devices) {
      std::string implementation = device["implementations"][k];
      if (!implementation.empty())
        users[implementation].push_back(device["id"]);
    }
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

/// How many kernels that are products or convolutions multiply what. Native
/// ones multiply f32 as it is; what they are their keys say (KernelKey).
static Json describePrecisions(const fb::Model &table) {
  Json result = Json::object();
  if (!table.kernels())
    return result;
  for (const fb::Kernel *kernel : *table.kernels()) {
    std::string key = kernel->key()->str();
    std::string name = key.substr(0, key.find(' '));
    if ((name != "nn.conv" && name != "nn.conv_backward_data" &&
         name != "nn.conv_backward_filter" && name != "nn.matmul") ||
        !kernel->operands() || kernel->operands()->size() == 0)
      continue;
    bool tf32 = false;
    if (const fb::Conv *conv = kernel->op_as_Conv())
      tf32 = conv->tf32();
    else if (const fb::ConvBackward *back = kernel->op_as_ConvBackward())
      tf32 = back->tf32();
    else if (const fb::MatMul *product = kernel->op_as_MatMul())
      tf32 = product->tf32();
    const char *precision = "";
    switch (kernel->operands()->Get(0)->element()) {
    case fb::ElementType::F32:
      precision = tf32 ? "tf32" : "f32";
      break;
    case fb::ElementType::BF16:
      precision = "bf16";
      break;
    case fb::ElementType::F16:
      precision = "f16";
      break;
    case fb::ElementType::I8:
    case fb::ElementType::U8:
      precision = "i8";
      break;
    default:
      continue;
    }
    result[precision] = result.value(precision, 0) + 1;
  }
  return result;
}

/// The devices of all processes, by number; on other ranks than 0 its own.
static Json describeDevices(Engine &engine) {
  std::string target = toString(engine.model().table().target());
  Json mine = Json::array();
  size_t position = 0;
  for (const auto &device : engine.devices())
    mine.push_back(
        {{"id", device->id()},
         {"rank", engine.placement().rank},
         {"kind", target},
         {"name", engine.backend().deviceName()},
         {"cores", engine.coresOf(position++)},
         {"activation_bytes", device->table().activation_bytes()},
         {"parameter_bytes", device->table().parameter_bytes()},
         {"scratchpad_bytes", device->memory().scratchpad},
         {"reordered_parameter_bytes", device->memory().reordered},
         {"released_parameter_bytes", device->memory().released},
         {"communication_bytes", device->memory().communication},
         {"peak_bytes", device->memory().peak},
         {"planned",
          {{"scratchpad_bytes", device->table().scratchpad_bytes()},
           {"reordered_parameter_bytes", device->table().reordered_bytes()},
           {"communication_bytes", device->table().communication_bytes()},
           {"peak_bytes", device->table().peak_bytes()}}},
         {"rows", rowsOf(device->table(), 0).size()},
         {"programs",
          describePrograms(engine.model().table(), device->table())},
         {"implementations", device->implementations()}});
  Group *group = engine.group();
  if (!group)
    return mine;
  std::vector<std::string> all = group->gather(mine.dump());
  if (group->rank() != 0)
    return mine;
  Json result = Json::array();
  for (const std::string &text : all)
    for (Json &device : Json::parse(text))
      result.push_back(std::move(device));
  std::sort(result.begin(), result.end(), [](const Json &a, const Json &b) {
    return a["id"].get<uint32_t>() < b["id"].get<uint32_t>();
  });
  return result;
}

static Json describeProcesses(Engine &engine) {
  Json result = Json::array();
  uint32_t rank = 0;
  for (const ProcessReport &process : collectProcesses(engine))
    result.push_back({{"rank", rank++},
                      {"host", process.name.host},
                      {"pid", process.name.pid},
                      {"devices", process.devices},
                      {"arena_bytes", process.arenaBytes},
                      {"staging_bytes", process.stagingBytes},
                      {"resident_bytes", process.residentBytes}});
  return result;
}

std::string runtime::describeModel(Engine &engine) {
  const fb::Model &table = engine.model().table();
  Json strategy = Json::parse(toString(table.strategy()), nullptr,
                              /*allow_exceptions=*/false);
  if (strategy.is_discarded())
    strategy = toString(table.strategy()).empty()
                   ? Json(nullptr)
                   : Json(toString(table.strategy()));
  // Null in a model for inference, and in one whose step was made by passes.
  Json training = Json::parse(toString(table.training()), nullptr,
                              /*allow_exceptions=*/false);
  if (!training.is_object())
    training = nullptr;
  const fb::Program &first = *table.programs()->Get(0);
  Group *group = engine.group();
  Json libraries = {engine.backend().library()};
  if (group)
    libraries.push_back(group->library());
  Json devices = describeDevices(engine);
  Json kernels = describeKernels(table, devices);
  for (Json &device : devices)
    device.erase("implementations");
  Json result = {{"name", toString(table.name())},
                 {"fingerprint", toString(table.fingerprint())},
                 {"compiler", toString(table.compiler())},
                 {"runtime", soap_version()},
                 {"abi", table.abi()},
                 {"target", toString(table.target())},
                 {"libraries", std::move(libraries)},
                 {"transport", group ? group->transport() : "local"},
                 {"device_transport", engine.transport().name()},
                 {"inputs", describePorts(first.inputs())},
                 {"outputs", describePorts(first.outputs())},
                 {"programs", describePrograms(table)},
                 {"reference", engine.model().hasReference()},
                 {"simulated_ns", first.simulated_ns()},
                 {"training", std::move(training)},
                 {"products", describePrecisions(table)},
                 {"processes", describeProcesses(engine)},
                 {"devices", std::move(devices)},
                 {"kernels", std::move(kernels)},
                 {"strategy", std::move(strategy)}};
  // Names come from the model: bytes that are no UTF-8 are replaced.
  return result.dump(2, ' ', false, Json::error_handler_t::replace);
}

/// Adds the devices of a target one by one, and what is not known of them.
static void addReports(const Backend &backend, Json &target) {
  DeviceReports reports = backend.reportDevices();
  for (const DeviceReport &report : reports.devices) {
    Json links = Json::array();
    for (const DeviceLink &link : report.links)
      links.push_back({{"kind", link.kind},
                       {"to", link.to},
                       {"count", link.count},
                       {"version", link.version}});
    target["devices"].push_back({{"name", report.name},
                                 {"place", report.place},
                                 {"version", report.version},
                                 {"cores", report.cores},
                                 {"memory_bytes", report.memoryBytes},
                                 {"free_bytes", report.freeBytes},
                                 {"peers", report.peers},
                                 {"links", std::move(links)}});
  }
  if (!reports.driver.empty())
    target["driver"] = reports.driver;
  if (!reports.missing.empty())
    target["missing"] = reports.missing;
  for (const LibraryReport &library : reports.libraries) {
    const bool isThere = library.missing.empty();
    target["libraries"].push_back({{isThere ? "name" : "missing",
                                    isThere ? library.name : library.missing}});
  }
}

/// The devices of a target, or why there are none.
static Json describeTarget(const std::string &target) {
  Json device = {{"kind", target}};
  try {
    const Backend &backend = findBackend(target);
    device["name"] = backend.deviceName();
    device["cores"] = allowedCores();
    device["memory_bytes"] = backend.availableMemory();
    device["library"] = backend.library();
    addReports(backend, device);
  } catch (const Error &error) {
    device["library"] = error.what();
  }
  return device;
}

std::string runtime::describeMachine() {
  Json devices = Json::array();
  for (const std::string &target : installedTargets())
    devices.push_back(describeTarget(target));
  Json transports = {"local", "tcp"};
  if (hasPlugin(mpiPlugin))
    transports.push_back("mpi");
  Json result = {{"devices", std::move(devices)},
                 {"transports", transports},
                 {"runtime", soap_version()}};
  return result.dump(2);
}
