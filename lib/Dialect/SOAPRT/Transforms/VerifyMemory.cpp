//===- VerifyMemory.cpp - Planned devices fit into their memory -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/Transforms/Passes.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramProof.h"
#include "llvm/ADT/MapVector.h"

namespace soap::soaprt {
#define GEN_PASS_DEF_VERIFYMEMORYPASS
#include "soap/Dialect/SOAPRT/Transforms/Passes.h.inc"
} // namespace soap::soaprt

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

/// Per buffer who fills it first: a parameter's name, or a row's node.
static llvm::MapVector<Operation *, StringRef> fillers(DeviceOp device) {
  llvm::MapVector<Operation *, StringRef> names;
  for (auto load : device.getBlock().getOps<LoadOp>())
    names.insert({getStorage(load.getTarget()).buffer, load.getNode()});
  SmallVector<Block *> programs = {&device.getInit().getBlock()};
  for (MainOp main : device.getMains())
    programs.push_back(&main.getBlock());
  for (Block *program : programs)
    for (auto row : program->getOps<RowOpInterface>())
      for (Value value : row.getWrites())
        names.insert({getStorage(value).buffer, row.getNode()});
  return names;
}

int64_t soap::soaprt::memoryOf(DeviceOp device) {
  auto capacity = device->getAttrOfType<IntegerAttr>(memoryBytesAttrName());
  return capacity ? capacity.getInt() : 0;
}

int64_t soap::soaprt::plannedBytes(DeviceOp device) {
  return device.getPeakBytes().value_or(
      device.getActivationBytes().value_or(0) +
      device.getParameterBytes().value_or(0));
}

int64_t soap::soaprt::activationBytes(MainOp main) {
  int64_t end = 0;
  auto touch = [&](Value value) {
    BufferOp buffer = getStorage(value).buffer;
    if (buffer.getType().getSpace() == Space::Activations)
      end = std::max(end, static_cast<int64_t>(buffer.getOffset().value_or(0)) +
                              buffer.getType().getBytes());
  };
  for (auto row : main.getBlock().getOps<RowOpInterface>()) {
    llvm::for_each(row.getReads(), touch);
    llvm::for_each(row.getWrites(), touch);
  }
  return end;
}

std::string soap::soaprt::largestBuffers(DeviceOp device) {
  constexpr size_t mostBuffers = 5;
  SmallVector<std::tuple<int64_t, size_t, StringRef, bool>> largest;
  for (auto [op, name] : fillers(device)) {
    BufferType type = cast<BufferOp>(op).getType();
    largest.push_back({-type.getBytes(), largest.size(), name,
                       type.getSpace() == Space::Parameters});
  }
  llvm::sort(largest);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [bytes, index, name, isParameter] :
       ArrayRef(largest).take_front(std::min(largest.size(), mostBuffers)))
    os << "\n    " << -bytes << " bytes of '" << name << "' ("
       << (isParameter ? "parameter" : "activation") << ")";
  return text;
}

LogicalResult soap::soaprt::verifyCapacity(DeviceOp device) {
  int64_t capacity = memoryOf(device), need = plannedBytes(device);
  if (capacity == 0 || need <= capacity)
    return success();
  return emitError(device.getLoc())
         << "device " << device.getId() << ": expected at most " << capacity
         << " bytes of memory, got: a plan of " << need
         << "; use more devices, a smaller batch or another strategy"
         << largestBuffers(device);
}

namespace {
struct VerifyMemoryPass
    : soap::soaprt::impl::VerifyMemoryPassBase<VerifyMemoryPass> {
  using VerifyMemoryPassBase::VerifyMemoryPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool fits = true;
    for (auto device : getOperation().getOps<DeviceOp>())
      fits &= succeeded(verifyCapacity(device));
    if (!fits)
      signalPassFailure();
  }
};
} // namespace
