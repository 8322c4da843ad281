//===- Dataset.cpp - Samples in files -------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/Dataset.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace soap;
using namespace soap::training;

static std::string quoted(const std::string &name) { return "'" + name + "'"; }

void Dataset::checkShape(const soap_port &port, const Column &column,
                         const std::string &option) const {
  const MappedArray &array = column.array;
  std::vector<int64_t> wanted(port.shape, port.shape + port.rank);
  if (wanted.empty())
    throw UsageError("expected " + option +
                     " for inputs that take a batch, "
                     "got: " +
                     quoted(port.name) + ", a scalar; give it by --input");
  bool fits =
      array.shape().size() == wanted.size() &&
      std::equal(wanted.begin() + 1, wanted.end(), array.shape().begin() + 1);
  bool known = array.element() == port.element ||
               isWidening(array.element(), port.element);
  if (!fits || !known) {
    std::string each = typeOf(port.element, {wanted.begin() + 1, wanted.end()});
    throw UsageError("expected samples of " + each + " for input " +
                     quoted(port.name) + " along dimension 0 of " +
                     array.place() +
                     ", got: " + typeOf(array.element(), array.shape()) +
                     "; convert the file");
  }
}

Dataset::Dataset(const std::vector<soap_port> &ports,
                 const std::map<std::string, std::string> &sources,
                 const std::string &option, const Note &note) {
  std::string names;
  for (const soap_port &port : ports)
    names += (names.empty() ? "" : ", ") + quoted(port.name);
  const Column *first = nullptr;
  for (const auto &[name, source] : sources) {
    const std::string &wanted = name;
    auto port =
        std::find_if(ports.begin(), ports.end(), [&](const soap_port &port) {
          return wanted == port.name;
        });
    if (port == ports.end())
      throw UsageError("expected " + option + " for an input of the model (" +
                       names + "), got: " + quoted(name));
    Column column{MappedArray(source, name, port->element), name, port->element,
                  port->index_bound};
    checkShape(*port, column, option);
    for (size_t dim = 1; dim != port->rank; ++dim)
      column.elements *= static_cast<size_t>(port->shape[dim]);
    auto samples = static_cast<uint64_t>(column.array.shape()[0]);
    auto batch = static_cast<uint64_t>(port->shape[0]);
    if (samples == 0)
      throw UsageError("expected samples in " + column.array.place() +
                       ", got: none");
    if (first && samples != samples_)
      throw UsageError("expected as many samples for each input, got: " +
                       std::to_string(samples_) + " in " +
                       first->array.place() + " and " +
                       std::to_string(samples) + " in " + column.array.place() +
                       "; leave some out");
    if (first && batch != batch_)
      throw UsageError(
          "expected " + option +
          " for inputs of one batch, got: " + std::to_string(batch_) + " of " +
          quoted(first->input) + " and " + std::to_string(batch) + " of " +
          quoted(name) + "; samples lie along dimension 0 of an input");
    samples_ = samples;
    batch_ = batch;
    if (note && column.array.element() != port->element)
      note("input " + quoted(name) + " is widened from " +
           soap_element_name(column.array.element()) + " to " +
           soap_element_name(port->element));
    first = &columns_.emplace(name, std::move(column)).first->second;
  }
}

bool Dataset::has(const std::string &input) const {
  return columns_.count(input) != 0;
}

const Dataset::Column &Dataset::column(const std::string &input) const {
  return columns_.at(input);
}

void Dataset::setClasses(const std::string &input, int64_t classes,
                         std::optional<int64_t> ignored) {
  Column &column = columns_.at(input);
  column.indexBound = classes;
  column.ignored = ignored;
}

const std::string &Dataset::placeOf(const std::string &input) const {
  return column(input).array.place();
}

void Dataset::checkIndices(const Column &column,
                           const std::vector<uint64_t> &samples,
                           const Tensor &tensor) const {
  auto bound = static_cast<double>(column.indexBound);
  for (size_t i = 0; i != tensor.count(); ++i)
    if (double index = tensor.at(i);
        !(index >= 0 && index < bound) &&
        !(column.ignored && index == static_cast<double>(*column.ignored)))
      throw UsageError("expected indices from 0 to " +
                       std::to_string(column.indexBound - 1) + " for input " +
                       quoted(column.input) + ", got: " +
                       std::to_string(std::llround(index)) + " in sample " +
                       std::to_string(samples[i / column.elements]) + " of " +
                       column.array.place());
}

void Dataset::read(const std::string &input,
                   const std::vector<uint64_t> &samples, Tensor &to) const {
  const Column &from = column(input);
  size_t size = from.elements * soap_element_size(from.array.element());
  if (from.array.element() == from.element) {
    unsigned char *place = to.bytes.data();
    for (uint64_t sample : samples) {
      std::memcpy(place, from.array.data() + sample * size, size);
      place += size;
    }
  } else {
    size_t place = 0;
    for (uint64_t sample : samples)
      for (size_t i = 0; i != from.elements; ++i)
        to.set(place++, elementAt(from.array.element(),
                                  from.array.data() + sample * size, i));
  }
  if (from.indexBound > 0)
    checkIndices(from, samples, to);
}
