//===- Session.cpp - A loaded model with its tensors ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include <cstdio>
#include <cstring>
#include <new>

using namespace soap;
using namespace soap::run;

void run::require(soap_status status) {
  if (status == SOAP_INVALID)
    throw UsageError(soap_last_error());
  if (status != SOAP_OK)
    throw RunError(soap_last_error());
}

static soap_load_options optionsOf(const Loading &given) {
  soap_load_options options = {};
  options.size = sizeof(options);
  options.transport = given.transport;
  options.cores_per_device = given.coresPerDevice;
  options.devices_per_gpu = given.devicesPerGpu;
  options.gpu_transport = given.gpuTransport;
  options.map = given.map.empty() ? nullptr : given.map.data();
  options.map_count = given.map.size();
  options.timeout_seconds = given.timeoutSeconds;
  options.link_bandwidth = given.link.bandwidth;
  options.link_latency_ns = static_cast<uint64_t>(given.link.latencyNs);
  options.build = given.build;
  options.check_weights = given.checkWeights;
  options.keep_denormals = given.keepDenormals;
  options.observe = given.observe;
  options.user = given.user;
  // Warnings are the same everywhere.
  if (!given.isRoot())
    options.warning = [](const char *line, void *) {
      if (std::strncmp(line, "rank ", 5) == 0)
        std::fprintf(stderr, "warning: %s\n", line);
    };
  return options;
}

void run::join(const Loading &given) {
  soap_load_options options = optionsOf(given);
  require(soap_join(&options));
}

Session::Session(const std::string &path, const Loading &given) {
  soap_load_options options = optionsOf(given);
  soap_model *loaded = nullptr;
  require(soap_model_load(path.c_str(), &options, &loaded));
  model_.reset(loaded, soap_model_release);
  findProgram(given);
  findPorts();
}

Session::Session(const Session &model, const std::string &program)
    : model_(model.model_) {
  Loading which;
  which.program = program;
  findProgram(which);
  findPorts();
}

void Session::findPorts() {
  soap_model *model = model_.get();
  for (size_t i = 0; i != soap_program_input_count(model, program_); ++i) {
    inputs_.emplace_back();
    require(soap_program_input(model, program_, i, &inputs_.back()));
  }
  for (size_t i = 0; i != soap_program_output_count(model, program_); ++i) {
    outputs_.emplace_back();
    require(soap_program_output(model, program_, i, &outputs_.back()));
    if (isRoot())
      outputTensors_.emplace_back(outputs_.back());
  }
}

void Session::findProgram(const Loading &given) {
  size_t count = soap_model_program_count(model_.get());
  if (given.program.empty() || (given.takesOnly && count == 1))
    return;
  std::string names;
  for (size_t i = 0; i != count; ++i) {
    std::string name = soap_model_program_name(model_.get(), i);
    if (name == given.program) {
      program_ = i;
      return;
    }
    names += (i ? ", '" : "'") + name + "'";
  }
  throw UsageError(
      "expected a program of the model (" + names + "), got: '" +
      given.program +
      (given.program == "eval" ? "'; soap-compile --train makes one" : "'"));
}

std::string Session::info() {
  const char *text = soap_model_info(model_.get());
  if (!text)
    throw RunError(soap_last_error());
  return text;
}

void Session::onRoot(const std::function<void()> &body) {
  soap_status status = SOAP_OK;
  std::string reason;
  try {
    if (isRoot())
      body();
  } catch (const UsageError &error) {
    status = SOAP_INVALID;
    reason = error.what();
  } catch (const std::bad_alloc &) {
    status = SOAP_INVALID;
    reason = tooLittleMemory;
  } catch (const std::exception &error) {
    status = SOAP_FAILED;
    reason = error.what();
  }
  soap_status all = soap_model_agree(model_.get(), status);
  if (all != SOAP_OK && status == SOAP_OK)
    reason = soap_last_error();
  if (all == SOAP_INVALID)
    throw UsageError(reason);
  if (all != SOAP_OK)
    throw RunError(reason);
}

uint64_t Session::decide(const std::function<uint64_t()> &choose) {
  struct {
    uint64_t failed = 0, value = 0;
  } choice;
  std::exception_ptr failure;
  if (isRoot())
    try {
      choice.value = choose();
    } catch (...) {
      failure = std::current_exception();
      choice.failed = 1;
    }
  require(soap_model_broadcast(model_.get(), &choice, sizeof(choice)));
  if (choice.failed)
    onRoot([&] { std::rethrow_exception(failure); });
  return choice.value;
}

static std::string namesOf(const std::vector<soap_port> &ports) {
  std::string names;
  for (const soap_port &port : ports)
    names += (names.empty() ? "'" : ", '") + std::string(port.name) + "'";
  return names.empty() ? "none" : names;
}

void Session::setInputs(const std::map<std::string, std::string> &sources) {
  for (const auto &[name, source] : sources) {
    bool known = false;
    for (const soap_port &port : inputs_)
      known |= name == port.name;
    if (!known)
      throw UsageError("expected an input of the model (" + namesOf(inputs_) +
                       "), got: '" + name + "'");
  }
  auto note = [](const std::string &line) {
    std::fprintf(stderr, "note: %s\n", line.c_str());
  };
  for (const soap_port &port : inputs_) {
    auto source = sources.find(port.name);
    inputTensors_.push_back(makeInput(
        port, source == sources.end() ? "random:0" : source->second, note));
  }
}

void Session::setInputs(const Session &other) {
  for (const soap_port &port : inputs_) {
    const Tensor *found = nullptr;
    for (size_t i = 0; i != other.inputs_.size(); ++i)
      if (std::strcmp(port.name, other.inputs_[i].name) == 0)
        found = &other.inputTensors_[i];
    if (!found || typeOf(*found) != typeOf(port))
      throw UsageError(
          "expected models with the same inputs, got: " + typeOf(port) + " '" +
          port.name + "' and " + (found ? typeOf(*found) : "none") +
          "; compile both from one model" +
          (found && found->element == port.element ? " with one --batch" : ""));
    inputTensors_.push_back(*found);
  }
}

uint64_t Session::step() {
  start(inputTensors_);
  return wait();
}

void Session::start(const std::vector<Tensor> &inputs) {
  std::vector<const void *> in;
  std::vector<void *> out;
  in.reserve(inputs_.size());
  out.reserve(outputs_.size());
  for (const Tensor &tensor : inputs)
    in.push_back(tensor.bytes.data());
  for (Tensor &tensor : outputTensors_)
    out.push_back(tensor.bytes.data());
  // Only rank 0 has tensors.
  in.resize(inputs_.size());
  out.resize(outputs_.size());
  require(
      soap_program_run_async(model_.get(), program_, in.data(), out.data()));
}

uint64_t Session::wait() {
  require(soap_model_wait(model_.get()));
  return soap_model_step_ns(model_.get());
}

void Session::needState(const std::string &option) const {
  if (soap_model_state_count(model_.get()) == 0)
    throw UsageError("expected a training step with " + option +
                     ", got: a model that has no state; compile it with "
                     "soap-compile --train");
}

std::map<std::string, Tensor> Session::readState() {
  std::map<std::string, Tensor> state;
  for (size_t i = 0; i != soap_model_state_count(model_.get()); ++i) {
    soap_port port;
    require(soap_model_state(model_.get(), i, &port));
    Tensor tensor;
    if (isRoot())
      tensor = Tensor(port);
    require(soap_model_read_state(model_.get(), i, tensor.bytes.data()));
    if (isRoot())
      state.emplace(port.name, std::move(tensor));
  }
  return state;
}

void Session::writeState(const std::map<std::string, Tensor> &state,
                         const std::string &path) {
  std::vector<const Tensor *> found(soap_model_state_count(model_.get()));
  onRoot([&] {
    for (size_t i = 0; i != found.size(); ++i) {
      soap_port port;
      require(soap_model_state(model_.get(), i, &port));
      auto entry = state.find(port.name);
      if (entry == state.end() || typeOf(entry->second) != typeOf(port))
        throw UsageError(
            "expected " + typeOf(port) + " '" + port.name + "' in '" + path +
            "', got: " +
            (entry == state.end() ? "none" : typeOf(entry->second)) +
            "; load what a step of the same model and optimizer has saved");
      found[i] = &entry->second;
    }
    if (size_t more = state.size() - found.size())
      std::fprintf(stderr, "note: %zu tensors of '%s' are not the model's\n",
                   more, path.c_str());
  });
  for (size_t i = 0; i != found.size(); ++i)
    require(soap_model_write_state(
        model_.get(), i, found[i] ? found[i]->bytes.data() : nullptr));
}

size_t Session::findOutput(const std::string &name) const {
  for (size_t i = 0; i != outputs_.size(); ++i)
    if (name == outputs_[i].name)
      return i;
  throw UsageError("expected an output of the model (" + namesOf(outputs_) +
                   "), got: '" + name + "'");
}

int64_t Session::batch() const {
  for (const soap_port &port : inputs_)
    if (port.rank)
      return port.shape[0];
  return 1;
}
