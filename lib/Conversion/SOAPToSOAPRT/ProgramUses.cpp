//===- ProgramUses.cpp - Who touches the buffers of a program -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramUses.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace soap;
using soaprt::LaunchOp;
using soaprt::RowOpInterface;

ProgramUses::ProgramUses(soaprt::DeviceOp device) {
  auto collect = [&](Block &rows) {
    for (auto row : rows.getOps<RowOpInterface>()) {
      for (Value read : row.getReads())
        of(read).readers.push_back(row);
      for (Value write : row.getWrites())
        of(write).writers.push_back(row);
    }
  };
  for (Operation &op : device.getBlock()) {
    if (auto view = dyn_cast<soaprt::ViewOp>(op))
      of(view.getSource()).isViewed = true;
    else if (auto load = dyn_cast<soaprt::LoadOp>(op))
      of(load.getTarget()).isLoaded = true;
    else if (auto tile = dyn_cast<soaprt::TileOp>(op))
      of(tile.getBuffer()).tiles.push_back(tile);
    else if (isa<soaprt::InitOp, soaprt::MainOp>(op))
      collect(op.getRegion(0).front());
  }
}

void ProgramUses::replace(LaunchOp first, LaunchOp second, LaunchOp row) {
  auto isGone = [&](RowOpInterface other) {
    return other == first || other == second;
  };
  llvm::SmallSetVector<Value, 8> touched;
  for (LaunchOp launch : {first, second}) {
    touched.insert(launch.getInputs().begin(), launch.getInputs().end());
    touched.insert(launch.getOutputs().begin(), launch.getOutputs().end());
  }
  for (Value value : touched) {
    llvm::erase_if(of(value).readers, isGone);
    llvm::erase_if(of(value).writers, isGone);
  }
  for (Value input : row.getInputs())
    of(input).readers.push_back(row);
  for (Value output : row.getOutputs())
    of(output).writers.push_back(row);
}

void ProgramUses::erase(Value buffer) {
  BufferUses gone = std::move(of(buffer));
  assert(gone.readers.empty() && gone.writers.empty() && "somebody touches it");
  uses_.erase(buffer.getDefiningOp());
  for (soaprt::TileOp tile : gone.tiles)
    tile.erase();
  buffer.getDefiningOp()->erase();
}

bool soap::isWholeActivation(Value value) {
  return value.getDefiningOp<soaprt::BufferOp>() &&
         cast<soaprt::BufferType>(value.getType()).getSpace() ==
             Space::Activations;
}

bool soap::isKeptOrPart(soaprt::TileOp tile) {
  return tile.getInitial() || tile.getNumParts();
}

void soap::makeNameUnique(Operation *op) {
  auto isTaken = [&](StringRef name) {
    return llvm::any_of(*op->getBlock(), [&](Operation &other) {
      return &other != op && nn::getName(&other) == name;
    });
  };
  std::string name = nn::getName(op).str();
  for (unsigned count = 2; isTaken(name); ++count)
    name = (nn::getName(op) + "." + Twine(count)).str();
  op->setAttr("nn.name", StringAttr::get(op->getContext(), name));
}

void soap::eraseUnlaunched(ModuleOp module, SymbolTable &symbols) {
  llvm::DenseSet<StringAttr> launched;
  module.walk([&](LaunchOp launch) {
    launched.insert(launch.getKernelAttr().getAttr());
  });
  for (auto kernel :
       llvm::make_early_inc_range(module.getOps<soaprt::KernelOp>()))
    if (!launched.contains(kernel.getSymNameAttr()))
      symbols.erase(kernel);
}
