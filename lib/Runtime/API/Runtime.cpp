//===- Runtime.cpp - The C interface: models and runs ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "API/Info.h"
#include "API/Model.h"
#include <cstring>

using namespace soap;
using namespace soap::runtime;

std::string &runtime::lastError() {
  static thread_local std::string message;
  return message;
}

const char *soap_last_error(void) { return lastError().c_str(); }

const char *soap_version(void) { return SOAP_VERSION; }

size_t soap_element_size(soap_element element) {
  return elementSize(static_cast<fb::ElementType>(element));
}

const char *soap_element_name(soap_element element) {
  return elementName(static_cast<fb::ElementType>(element));
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

//===----------------------------------------------------------------------===//
// What a model is
//===----------------------------------------------------------------------===//

static const fb::Model &tableOf(const soap_model *model) {
  return model->engine->model().table();
}

size_t soap_model_program_count(const soap_model *model) {
  return model->shapes.size();
}

const char *soap_model_program_name(const soap_model *model, size_t program) {
  if (program >= model->shapes.size())
    return nullptr;
  return tableOf(model)
      .programs()
      ->Get(static_cast<uint32_t>(program))
      ->name()
      ->c_str();
}

size_t soap_program_input_count(const soap_model *model, size_t program) {
  return program < model->shapes.size() ? model->shapes[program].inputs.size()
                                        : 0;
}

size_t soap_program_output_count(const soap_model *model, size_t program) {
  return program < model->shapes.size() ? model->shapes[program].outputs.size()
                                        : 0;
}

size_t soap_model_input_count(const soap_model *model) {
  return soap_program_input_count(model, 0);
}

size_t soap_model_output_count(const soap_model *model) {
  return soap_program_output_count(model, 0);
}

size_t soap_model_device_count(const soap_model *model) {
  return tableOf(model).devices()->size();
}

uint32_t soap_model_rank(const soap_model *model) {
  return model->engine->placement().rank;
}

uint32_t soap_launch_rank(void) { return currentLaunch().rank; }

soap_status soap_model_agree(soap_model *model, soap_status mine) {
  return guarded([&] {
    model->engine->rest();
    agree(model->engine->group(), [&] {
      if (mine != SOAP_OK)
        throw Error(mine, lastError());
    });
  });
}

soap_status soap_model_gather(soap_model *model, const void *mine, size_t size,
                              const void *const **all, const size_t **sizes,
                              size_t *count) {
  return guarded([&] {
    model->engine->rest();
    std::string own(static_cast<const char *>(mine), size);
    Group *group = model->engine->group();
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
    Group *group = model->engine->group();
    if (!group)
      return;
    bool gives = group->rank() == 0;
    std::string own(static_cast<const char *>(data), gives ? size : 0);
    std::string given = group->allGather(own)[0];
    agree(group, [&] {
      if (given.size() != size)
        invalid("expected the same size on all ranks, got: ", size,
                " bytes, and ", given.size(), " on rank 0");
    });
    std::memcpy(data, given.data(), size);
  });
}

size_t soap_model_state_count(const soap_model *model) {
  return model->state.size();
}

static const StateTensor &stateAt(const soap_model *model, size_t index) {
  if (index >= model->state.size())
    invalid("expected an index below ", model->state.size(), ", got: ", index);
  return model->state[index];
}

soap_status soap_model_state(const soap_model *model, size_t index,
                             soap_port *port) {
  return guarded([&] {
    const StateTensor &tensor = stateAt(model, index);
    if (!port)
      invalid("expected a description to fill in, got: NULL");
    port->name = tensor.name.c_str();
    port->element = static_cast<soap_element>(tensor.element);
    port->rank = tensor.shape.size();
    port->shape = tensor.shape.data();
    port->bytes = static_cast<size_t>(byteCount(tensor.element, tensor.shape));
    port->index_bound = 0;
  });
}

soap_status soap_model_read_state(soap_model *model, size_t index, void *data) {
  return guarded([&] {
    const StateTensor &tensor = stateAt(model, index);
    if (!data && soap_model_rank(model) == 0)
      invalid("expected memory for '", tensor.name, "', got: NULL");
    model->engine->readState(tensor, data);
  });
}

soap_status soap_model_write_state(soap_model *model, size_t index,
                                   const void *data) {
  return guarded([&] {
    const StateTensor &tensor = stateAt(model, index);
    if (!data && soap_model_rank(model) == 0)
      invalid("expected the elements of '", tensor.name, "', got: NULL");
    model->engine->writeState(tensor, data);
  });
}

template <typename Ports>
static void describePort(const Ports *ports,
                         const std::vector<std::vector<int64_t>> &shapes,
                         size_t index, soap_port *result) {
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
}

/// The table of a program. Throws SOAP_INVALID if there is none.
static const fb::Program &programOf(const soap_model *model, size_t program) {
  if (program >= model->shapes.size())
    invalid("expected a program below ", model->shapes.size(),
            ", got: ", program);
  return *tableOf(model).programs()->Get(static_cast<uint32_t>(program));
}

soap_status soap_program_input(const soap_model *model, size_t program,
                               size_t index, soap_port *port) {
  return guarded([&] {
    describePort(programOf(model, program).inputs(),
                 model->shapes[program].inputs, index, port);
  });
}

soap_status soap_program_output(const soap_model *model, size_t program,
                                size_t index, soap_port *port) {
  return guarded([&] {
    describePort(programOf(model, program).outputs(),
                 model->shapes[program].outputs, index, port);
  });
}

soap_status soap_model_input(const soap_model *model, size_t index,
                             soap_port *port) {
  return soap_program_input(model, 0, index, port);
}

soap_status soap_model_output(const soap_model *model, size_t index,
                              soap_port *port) {
  return soap_program_output(model, 0, index, port);
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

soap_status soap_program_run_async(soap_model *model, size_t program,
                                   const void *const *inputs,
                                   void *const *outputs) {
  return guarded([&] {
    (void)programOf(model, program);
    model->engine->start(static_cast<uint32_t>(program), inputs, outputs);
  });
}

soap_status soap_program_run(soap_model *model, size_t program,
                             const void *const *inputs, void *const *outputs) {
  return guarded([&] {
    (void)programOf(model, program);
    model->engine->start(static_cast<uint32_t>(program), inputs, outputs);
    model->engine->wait();
  });
}

soap_status soap_model_run_async(soap_model *model, const void *const *inputs,
                                 void *const *outputs) {
  return soap_program_run_async(model, 0, inputs, outputs);
}

soap_status soap_model_wait(soap_model *model) {
  return guarded([&] { model->engine->wait(); });
}

int soap_model_is_done(const soap_model *model) {
  return model->engine->isDone();
}

soap_status soap_model_run(soap_model *model, const void *const *inputs,
                           void *const *outputs) {
  return soap_program_run(model, 0, inputs, outputs);
}

uint64_t soap_model_step_ns(const soap_model *model) {
  return static_cast<uint64_t>(model->engine->stepEnd() -
                               model->engine->stepStart());
}
