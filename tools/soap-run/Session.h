//===- Session.h - A loaded model with its tensors --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_SESSION_H
#define SOAP_TOOLS_SOAPRUN_SESSION_H

#include "soap/Links/LinkSpeed.h"
#include "soap/Tensors/Tensor.h"
#include <functional>
#include <map>
#include <memory>

namespace soap::run {
using namespace tensors;

/// Throws what soap_last_error() says if `status` is a failure.
void require(soap_status status);

/// What std::bad_alloc means to users, as the runtime says it.
inline constexpr const char *tooLittleMemory =
    "expected enough memory, got: an allocation that failed; compile with a "
    "smaller --batch, or free memory";

/// How a model is loaded.
struct Loading {
  /// True in the process that has inputs and outputs and prints.
  bool isRoot() const {
    return transport == SOAP_TRANSPORT_LOCAL || soap_launch_rank() == 0;
  }

  soap_transport transport = SOAP_TRANSPORT_AUTO;
  uint32_t coresPerDevice = 0; ///< 0: as compiled.
  uint32_t devicesPerGpu = 0;  ///< 0: 1.
  soap_gpu_transport gpuTransport = SOAP_GPU_TRANSPORT_AUTO;
  std::vector<uint32_t> map; ///< Rank of each device; empty: even.
  double timeoutSeconds = 0; ///< 0: the default.
  soap_build build = SOAP_BUILD_MODEL;
  std::string program;             ///< Which one to run; empty: the first.
  bool takesOnly = false;          ///< A model of one program runs that one.
  soap_observer observe = nullptr; ///< Shown all tiles, with `user`.
  void *user = nullptr;
  LinkSpeed link{};           ///< Bandwidth 0: links are not throttled.
  bool checkWeights = false;  ///< Hash all of the weights file.
  bool keepDenormals = false; ///< Compute with them on CPUs.
};

/// Meets the other processes of this run before any session does.
void join(const Loading &options);

/// With several processes, all of them make a session and the same calls of
/// those marked collective.
class Session {
public:
  /// Collective.
  Session(const std::string &path, const Loading &options);
  /// Another program of a loaded model. Throws UsageError if there is none.
  Session(const Session &model, const std::string &program);
  /// soap_model_info(). Throws RunError if another process has left.
  /// Collective.
  std::string info();
  /// Runs `body`, on rank 0 alone, and throws on all ranks if it does.
  /// Collective.
  void onRoot(const std::function<void()> &body);
  /// Returns on all ranks what `choose` returns on rank 0, and throws on all if
  /// it throws. Collective.
  uint64_t decide(const std::function<uint64_t()> &choose);
  /// True in the process that has inputs and outputs and prints.
  bool isRoot() const { return soap_model_rank(model_.get()) == 0; }

  /// Makes all inputs; those without a source get random:0. `sources`: per
  /// input name where its values come from.
  void setInputs(const std::map<std::string, std::string> &sources);
  /// Takes the inputs of another model. Throws UsageError if they differ.
  void setInputs(const Session &other);

  /// One step of the program; its time in ns. Collective.
  uint64_t step();
  /// Starts a step on these values of all inputs, which stay valid and as they
  /// are until wait(). Only rank 0 needs values. Collective.
  void start(const std::vector<Tensor> &inputs);
  /// Waits for it; its time in ns. Collective.
  uint64_t wait();

  /// What lasts from step to step; on other ranks than 0, empty. Collective.
  std::map<std::string, Tensor> readState();
  /// Gives all of it other values, by name. `state` is that of rank 0. Throws
  /// UsageError if it is not the model's. Collective.
  void writeState(const std::map<std::string, Tensor> &state,
                  const std::string &path);

  soap_model *get() const { return model_.get(); }
  /// The index of the program among the model's.
  size_t program() const { return program_; }
  const std::vector<soap_port> &inputs() const { return inputs_; }
  const std::vector<soap_port> &outputs() const { return outputs_; }
  /// Throws UsageError, with the names there are.
  size_t findOutput(const std::string &name) const;
  const Tensor &input(size_t index) const { return inputTensors_[index]; }
  const Tensor &output(size_t index) const { return outputTensors_[index]; }
  const Tensor &output(const std::string &name) const {
    return output(findOutput(name));
  }
  /// Throws UsageError unless the model is trained.
  void needState(const std::string &option) const;
  /// Samples per step: the first dim of the first input that has one.
  int64_t batch() const;

private:
  void findProgram(const Loading &options);
  void findPorts();

  std::shared_ptr<soap_model> model_;
  size_t program_ = 0;
  std::vector<soap_port> inputs_, outputs_;
  std::vector<Tensor> inputTensors_, outputTensors_;
};

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_SESSION_H
