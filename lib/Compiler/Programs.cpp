//===- Programs.cpp - From planned programs to a library ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "Reference.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Target/Model/MemoryPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace soap;

llvm::Error Compilation::planMemory(bool &again) {
  {
    TimingScope scope = nest("library memory");
    if (llvm::Error error = planLibraryMemory(*module_, model_))
      warn(llvm::toString(std::move(error)) +
           "; going on without the memory of library kernels");
  }
  // A search counts values and copies. What the library needs beside them is
  // known only here.
  auto missing = missingMemory(*module_);
  if (!missing.empty() && unconfigured_ && searches_ < maxSearches) {
    const Topology &topology = simulated_->problem().topology;
    std::vector<int64_t> known = simulated_->tasks().peakMemory();
    for (auto [device, capacity, planned] : missing) {
      int64_t bytes = std::max(reserved_[device] + planned - capacity,
                               planned - known[static_cast<size_t>(device)]);
      reserved_[device] = bytes;
      // A search may only move the excess to another device. From the second
      // one on, all devices of the kind keep as much free.
      for (int32_t other = 0; searches_ > 1 && other != topology.numDevices();
           ++other)
        if (topology.device(other).kind == topology.device(device).kind)
          reserved_[other] = std::max(reserved_[other], bytes);
    }
    bool searches = strategyName() == "search";
    remark(Twine(searches ? "search" : "recompute") + ": device " +
           Twine(missing[0].device) + " needs " + Twine(missing[0].planned) +
           " bytes with those of the kernel library, and has " +
           Twine(missing[0].capacity) + "; " +
           (searches ? "searching" : "choosing") + " again, with " +
           Twine(reserved_[missing[0].device]) + " set aside");
    again = true;
    return llvm::Error::success();
  }
  // The numbers are exact for this strategy, so that it is bad input.
  if (llvm::Error error = checkDeviceMemory(*module_))
    return badInput(llvm::toString(std::move(error)));
  std::string description = describeMemory(*module_);
  if (options_.emit == Emit::SharedObject && !description.empty())
    remark(description);
  return llvm::Error::success();
}

/// The nodes of a simulated step, for the tables of a model.
static std::vector<fb::SimulatedTaskT>
tasksOf(const SimulatedProgram &program) {
  const SimulationResult &result = program.result();
  const OperatorGraph &graph = program.problem().extracted.graph;
  int32_t host = program.problem().topology.host();
  std::vector<fb::SimulatedTaskT> tasks;
  for (auto [node, times] : llvm::zip_equal(result.nodes, result.times)) {
    fb::SimulatedTaskT task;
    bool isLaunch = node.kind == TaskNode::Kind::Compute;
    bool isMove = node.kind == TaskNode::Kind::Move;
    task.kind = isLaunch ? fb::SimulatedKind::Launch
                : isMove ? fb::SimulatedKind::Move
                         : fb::SimulatedKind::Copy;
    task.stream = static_cast<fb::Stream>(node.stream);
    int32_t maker =
        node.value >= 0 ? graph.value(node.value).producer : node.node;
    task.name = graph.node(maker).name;
    if (isMove)
      task.name += "." + stringify(node.actionKind).str();
    for (auto [device, start, end] :
         llvm::zip_equal(node.devices, times.start, times.end)) {
      if (device < host && start < end) {
        task.devices.push_back(static_cast<uint32_t>(device));
        task.start_ns.push_back(start);
        task.end_ns.push_back(end);
      }
    }
    if (!task.devices.empty())
      tasks.push_back(std::move(task));
  }
  return tasks;
}

llvm::Error Compilation::emitSharedObject() {
  if (llvm::Error error = begin(Stage::Emit))
    return error;
  if (simulated_)
    model_.simulated = tasksOf(*simulated_);
  // A program of one device is its own reference.
  auto devices = module_->getOps<soaprt::DeviceOp>();
  ReferenceBuild reference;
  bool hasReference = false;
  if (normalized_ && !llvm::hasNItemsOrLess(devices, 1)) {
    TimingScope scope = nest("reference");
    reference.module = *normalized_;
    llvm::Error error = buildReference(reference, *module_, model_);
    hasReference = !error;
    if (error)
      warn("expected to build the model for one device too, got: " +
           llvm::toString(std::move(error)) +
           "; soap-run --verify will have nothing to compare with");
  }
  TimingScope scope = nest("emit");
  const ReferenceBuild *build = hasReference ? &reference : nullptr;
  if (!options_.output.empty())
    return emitted(emitModel(*module_, model_, options_.output, build),
                   Kind::Failed);
  FailureOr<ModelContents> contents =
      emitModelContents(*module_, model_, model_.name + ".so", build);
  if (failed(contents))
    return emitted(mlir::failure(), Kind::Failed);
  result_.model = std::move(*contents);
  return llvm::Error::success();
}

llvm::Error Compilation::emitPrograms() {
  if (options_.prove && failed(proof_.provePrograms(*module_)))
    return emitted(mlir::failure(), Kind::Failed);
  if (options_.emit == Emit::LLVM)
    return runPasses(
        [&](OpPassManager &passes) {
          target_.buildKernelPipeline(passes.nest<ModuleOp>());
        },
        "native kernels", Kind::Failed);
  if (options_.emit == Emit::SharedObject)
    return emitSharedObject();
  return llvm::Error::success();
}
