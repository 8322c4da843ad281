//===- Execution.cpp - Run a compiled table in this process ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include <algorithm>
#include <memory>

using namespace soap;
using namespace soap::property;

static llvm::Error runtimeError(const char *what) {
  return llvm::createStringError(llvm::Twine(what) + ": " + soap_last_error());
}

static const char *phaseName(soap_phase phase) {
  switch (phase) {
  case SOAP_FEED:
    return "feed";
  case SOAP_STEP:
    return "step";
  case SOAP_DRAIN:
    return "drain";
  }
  return "unknown";
}

static llvm::Expected<llvm::json::Array> movementsOf(soap_model *model) {
  const soap_movement *movements = nullptr;
  size_t count = 0;
  if (soap_model_movements(model, &movements, &count) != SOAP_OK)
    return runtimeError("movements");
  llvm::json::Array list;
  for (const soap_movement &moved : llvm::ArrayRef(movements, count))
    list.push_back(llvm::json::Object{
        {"phase", phaseName(moved.phase)},
        {"kind", soap_movement_kind_name(moved.kind)},
        {"devices",
         llvm::json::Array(llvm::ArrayRef(moved.devices, moved.device_count))},
        {"bytes",
         llvm::json::Array(llvm::ArrayRef(moved.bytes, moved.byte_count))}});
  return list;
}

/// Adds a tensor to what is known of a run.
static void addTensor(Executed &result, const std::string &name,
                      const soap_port &port, llvm::StringRef bytes) {
  result.names.push_back(name);
  result.shapes.push_back(
      llvm::json::Array(llvm::ArrayRef(port.shape, port.rank)));
  result.types.push_back(static_cast<int64_t>(port.element));
  result.outputs += bytes;
}

static llvm::Error addState(Executed &result, soap_model *model,
                            const std::string &when) {
  for (size_t i = 0; i < soap_model_state_count(model); ++i) {
    soap_port port;
    if (soap_model_state(model, i, &port) != SOAP_OK)
      return runtimeError("state");
    std::string bytes(port.bytes, '\xff');
    if (soap_model_read_state(model, i, bytes.data()) != SOAP_OK)
      return runtimeError("reading state");
    addTensor(result, when + " " + port.name, port, bytes);
  }
  return llvm::Error::success();
}

namespace {
/// The outputs of a model, and memory for them.
struct Outputs {
  std::vector<soap_port> ports;
  std::vector<std::string> buffers;
  std::vector<void *> pointers;

  llvm::Error create(soap_model *model, size_t program = 0) {
    for (size_t i = 0; i < soap_program_output_count(model, program); ++i) {
      if (soap_program_output(model, program, i, &ports.emplace_back()) !=
          SOAP_OK)
        return runtimeError("outputs");
      // NaNs, if nobody writes them.
      buffers.emplace_back(ports.back().bytes, '\xff');
    }
    for (std::string &buffer : buffers)
      pointers.push_back(buffer.data());
    return llvm::Error::success();
  }
  void addTo(Executed &result, const std::string &prefix = "") const {
    for (auto [port, buffer] : llvm::zip_equal(ports, buffers))
      addTensor(result, prefix + port.name, port, buffer);
  }
};
} // namespace

static llvm::Error train(Executed &result, soap_model *model,
                         const std::vector<const void *> &values,
                         Outputs &outputs, int64_t steps) {
  if (llvm::Error error = addState(result, model, "before"))
    return error;
  for (int64_t step = 0; step != steps; ++step) {
    if (soap_model_run(model, values.data(), outputs.pointers.data()) !=
        SOAP_OK)
      return runtimeError("running");
    outputs.addTo(result);
  }
  return addState(result, model, "after");
}

/// Runs the model with the parameters that training has left.
static llvm::Error evaluate(Executed &result, soap_model *model,
                            const llvm::StringMap<std::string> &inputs) {
  constexpr size_t program = 1;
  if (soap_model_program_count(model) <= program)
    return llvm::createStringError("expected a program for evaluation");
  std::vector<const void *> values;
  for (size_t i = 0; i < soap_program_input_count(model, program); ++i) {
    soap_port port;
    if (soap_program_input(model, program, i, &port) != SOAP_OK)
      return runtimeError("inputs of the evaluation");
    auto value = inputs.find(port.name);
    if (value == inputs.end() || value->second.size() != port.bytes)
      return llvm::createStringError("expected the evaluation to have inputs "
                                     "of the model, got: '" +
                                     std::string(port.name) + "'");
    values.push_back(value->second.data());
  }
  Outputs outputs;
  if (llvm::Error error = outputs.create(model, program))
    return error;
  if (soap_program_run(model, program, values.data(),
                       outputs.pointers.data()) != SOAP_OK)
    return runtimeError("evaluating");
  outputs.addTo(result, "eval ");
  return llvm::Error::success();
}

llvm::Expected<Executed> property::execute(
    const std::string &table, const std::vector<soap_native_kernel> &natives,
    const std::string &folder, const llvm::StringMap<std::string> &inputs,
    int64_t trainingSteps) {
  soap_load_options options = {};
  options.size = sizeof(options);
  options.transport = SOAP_TRANSPORT_LOCAL;
  options.cores_per_device = 1;
  // More devices than cores are what is wanted.
  options.warning = [](const char *, void *) {};
  soap_model *loaded = nullptr;
  if (soap_model_load_from_memory(table.data(), table.size(), natives.data(),
                                  natives.size(), folder.c_str(), &options,
                                  &loaded) != SOAP_OK)
    return runtimeError("loading");
  std::unique_ptr<soap_model, void (*)(soap_model *)> model(loaded,
                                                            soap_model_release);

  // Other inputs of the same values: the rows of each tensor, rotated.
  std::vector<std::string> others;
  std::vector<const void *> values, before;
  for (size_t i = 0; i < soap_model_input_count(loaded); ++i) {
    soap_port port;
    if (soap_model_input(loaded, i, &port) != SOAP_OK)
      return runtimeError("inputs");
    auto value = inputs.find(port.name);
    if (value == inputs.end() || value->second.size() != port.bytes)
      return llvm::createStringError(
          "expected " + std::to_string(port.bytes) + " bytes of input '" +
          port.name + "', got: " +
          (value == inputs.end() ? "none"
                                 : std::to_string(value->second.size())));
    values.push_back(value->second.data());
    size_t size = soap_element_size(port.element);
    std::string &other = others.emplace_back(value->second);
    std::rotate(other.begin(), other.begin() + (port.bytes / size / 2) * size,
                other.end());
  }
  for (const std::string &other : others)
    before.push_back(other.data());

  Executed result;
  Outputs outputs;
  if (llvm::Error error = outputs.create(loaded))
    return std::move(error);
  if (trainingSteps != 0) {
    if (llvm::Error error =
            train(result, loaded, values, outputs, trainingSteps))
      return std::move(error);
    if (llvm::Error error = evaluate(result, loaded, inputs))
      return std::move(error);
  } else {
    if (soap_model_run(loaded, before.data(), outputs.pointers.data()) !=
            SOAP_OK ||
        soap_model_run(loaded, values.data(), outputs.pointers.data()) !=
            SOAP_OK)
      return runtimeError("running");
    outputs.addTo(result);
  }
  auto movements = movementsOf(loaded);
  if (!movements)
    return movements.takeError();
  result.movements = std::move(*movements);
  return result;
}
