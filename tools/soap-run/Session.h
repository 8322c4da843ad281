//===- Session.h - A loaded model with its tensors --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_SESSION_H
#define SOAP_TOOLS_SOAPRUN_SESSION_H

#include "Tensor.h"
#include <map>
#include <memory>

namespace soap::run {

/// Throws what soap_last_error() says if `status` is a failure.
void require(soap_status status);

/// How a model is loaded.
struct Loading {
  uint32_t coresPerDevice = 0; ///< 0: as compiled, else an even split.
  soap_build build = SOAP_BUILD_MODEL;
  soap_observer observe = nullptr; ///< Shown all tiles, with `user`.
  void *user = nullptr;
};

class Session {
public:
  Session(const std::string &path, const Loading &loading);
  /// Makes all inputs; `sources`: per input name where its values come from,
  /// those without a source get random:0.
  void setInputs(const std::map<std::string, std::string> &sources);
  /// Takes the inputs of another model. Throws UsageError if they differ.
  void setInputs(const Session &other);

  /// One step; its time in ns.
  uint64_t step();

  soap_model *get() const { return model.get(); }
  const std::vector<soap_port> &inputs() const { return inputPorts; }
  const std::vector<soap_port> &outputs() const { return outputPorts; }
  /// Throws UsageError, with the names there are.
  size_t findOutput(const std::string &name) const;
  const Tensor &input(size_t index) const { return inputTensors[index]; }
  const Tensor &output(size_t index) const { return outputTensors[index]; }
  const Tensor &output(const std::string &name) const {
    return output(findOutput(name));
  }
  /// Samples per step: the first dim of the first input that has one.
  int64_t batch() const;

private:
  struct Release {
    void operator()(soap_model *m) const { soap_model_release(m); }
  };
  std::unique_ptr<soap_model, Release> model;
  std::vector<soap_port> inputPorts, outputPorts;
  std::vector<Tensor> inputTensors, outputTensors;
};

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_SESSION_H
