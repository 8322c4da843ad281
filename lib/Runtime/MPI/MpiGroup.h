//===- MpiGroup.h - Processes connected by MPI ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_MPI_MPIGROUP_H
#define SOAP_LIB_RUNTIME_MPI_MPIGROUP_H

#include "MPI/World.h"

namespace soap::runtime::mpi {

/// The processes of a model, with a context of their own.
class MpiGroup final : public Group {
public:
  MpiGroup(World &world, Context &context) : world_(world), context_(context) {}
  ~MpiGroup() override { context_.isUsed = false; }

  uint32_t rank() const override { return static_cast<uint32_t>(world_.rank); }
  const std::vector<ProcessName> &names() const override {
    return world_.processes;
  }

  const char *transport() const override { return "mpi"; }
  std::string library() const override;
  void setSpins(unsigned spins) override { context_.spins = spins; }

  void barrier() override {
    collective([&] {
      MPI_Request request = MPI_REQUEST_NULL;
      require(MPI_Ibarrier(context_.comm, &request), "MPI_Ibarrier");
      context_.wait(request, "a barrier");
    });
  }

  std::vector<std::string> allGather(const std::string &mine) override {
    return gatherOn(mine, Receivers::All);
  }
  std::vector<std::string> gather(const std::string &mine) override {
    return gatherOn(mine, Receivers::First);
  }

  void fail(const std::string &reason) override {
    if (context_.breakBy(reason))
      world_.monitor.announceFailure(context_.number, reason);
  }
  void check() override { context_.checkOthers(); }
  bool hasFailed() const override {
    return context_.isBroken() || world_.monitor.hasLost();
  }

  std::shared_ptr<Group> duplicate() override;

  void needChannels(uint64_t count) const override {
    if (count > world_.largestTag)
      invalid("expected at most ", world_.largestTag,
              " messages between processes in a step, got: ", count,
              "; compile with another strategy");
  }

  std::unique_ptr<Sender> makeSender(uint64_t channel, uint32_t to) override;
  std::unique_ptr<Receiver> makeReceiver(uint64_t channel,
                                         uint32_t from) override;

private:
  /// Whoever cannot take part in a collective tells the others.
  template <typename Fn>
  void collective(Fn body) {
    try {
      context_.check();
      body();
    } catch (const Error &error) {
      fail(error.what());
      throw;
    }
  }

  enum class Receivers { All, First };
  std::vector<std::string> gatherOn(const std::string &mine,
                                    Receivers receivers);

  World &world_;
  Context &context_;
};

} // namespace soap::runtime::mpi

#endif // SOAP_LIB_RUNTIME_MPI_MPIGROUP_H
