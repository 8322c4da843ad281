//===- Batches.cpp - Inputs of steps, read ahead --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Batches.h"
#include <cstdio>

using namespace soap;
using namespace soap::run;
using namespace soap::training;

static void note(const std::string &line) {
  std::fprintf(stderr, "note: %s\n", line.c_str());
}

static std::vector<soap_port> withLabel(std::vector<soap_port> ports,
                                        const soap_port *label) {
  if (label)
    ports.push_back(*label);
  return ports;
}

Batches::Batches(const Session &session,
                 const std::map<std::string, std::string> &files,
                 const std::map<std::string, std::string> &constants,
                 const std::string &option, const soap_port *label)
    : session_(session),
      data_(withLabel(session.inputs(), label), files, option, note) {
  if (label) {
    label_ = label->name;
    if (!data_.has(label_))
      throw UsageError("expected " + option + "=" + label_ +
                       "=FILE with labels, got: none");
    current_.label = ahead_.label = Tensor(*label);
  }
  for (const soap_port &port : session.inputs()) {
    auto constant = constants.find(port.name);
    bool isConstant = constant != constants.end();
    if (!data_.has(port.name) && !isConstant)
      throw UsageError("expected " + option + "=" + port.name +
                       "=FILE, or --input for what is the same in every step, "
                       "got: neither");
    current_.inputs.push_back(data_.has(port.name)
                                  ? Tensor(port)
                                  : makeInput(port, constant->second, note));
  }
  ahead_.inputs = current_.inputs;
}

void Batches::begin(const SampleOrder &order, Position position) {
  order_ = order;
  position_ = position;
}

void Batches::readAhead() {
  Batch batch = order_->next(position_);
  ahead_.behind = position_;
  ahead_.fresh = batch.fresh;
  // Behind the last batch of an epoch, the next one begins.
  ahead_.epoch = position_.offset == 0 ? position_.epoch : position_.epoch + 1;
  for (size_t i = 0; i != ahead_.inputs.size(); ++i)
    if (const char *name = session_.inputs()[i].name; data_.has(name))
      data_.read(name, batch.samples, ahead_.inputs[i]);
  if (!label_.empty())
    data_.read(label_, batch.samples, ahead_.label);
}
