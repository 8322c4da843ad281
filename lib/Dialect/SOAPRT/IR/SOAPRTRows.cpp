//===- SOAPRTRows.cpp - Rows of programs ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace soap;
using namespace soap::soaprt;

static BufferType bufferType(Value value) {
  return cast<BufferType>(value.getType());
}

static LogicalResult verifyBox(Operation *op, Attribute copy,
                               ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (!cast<BoxCopyAttr>(copy).fits(from, to))
    return op->emitOpError("expected a box inside of the source [")
           << from << "] and the target [" << to << "], got: " << copy;
  return success();
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

SmallVector<Value> LaunchOp::getReads() { return getInputs(); }
SmallVector<Value> LaunchOp::getWrites() { return getOutputs(); }
bool LaunchOp::communicates() { return false; }

/// The output has a place of its own but for the input whose place it takes.
static LogicalResult verifyInPlace(LaunchOp launch) {
  std::optional<uint64_t> index = launch.getInPlace();
  if (!index)
    return success();
  if (*index >= launch.getInputs().size() || launch.getOutputs().size() != 1)
    return launch.emitOpError("expected in_place to be the index of an input, "
                              "of a launch with one output, got: ")
           << static_cast<int64_t>(*index);
  Value input = launch.getInputs()[*index], output = launch.getOutputs()[0];
  if (input.getType() != output.getType() || input == output ||
      !input.getDefiningOp<BufferOp>() || !output.getDefiningOp<BufferOp>())
    return launch.emitOpError("expected two whole buffers of one type where "
                              "the output takes the place of an input, got: ")
           << input.getType() << " and " << output.getType();
  for (auto [other, value] : llvm::enumerate(launch.getInputs())) {
    BufferOp buffer = getStorage(value).buffer;
    if (other != *index &&
        (buffer == input.getDefiningOp() || buffer == output.getDefiningOp()))
      return launch.emitOpError("expected input ")
             << other
             << " not to be in the buffer that the output overwrites; read it "
                "in another launch";
  }
  return success();
}

LogicalResult LaunchOp::verify() {
  for (int64_t index : getConstants()) {
    if (index < 0 || index >= static_cast<int64_t>(getInputs().size()))
      return emitOpError("expected constants to be indices of inputs (")
             << getInputs().size() << "), got: " << index;
    if (bufferType(getInputs()[index]).getSpace() != Space::Parameters)
      return emitOpError("expected constant input ")
             << index << " in the parameter arena, got: "
             << getInputs()[index].getType();
  }
  return verifyInPlace(*this);
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(
      (*this)->getParentOfType<DeviceOp>()->getParentOp(), getKernelAttr());
  if (!kernel)
    return emitOpError("expected a soaprt.kernel, got: ") << getKernelAttr();
  if (getInPlace() != kernel.getInPlace())
    return emitOpError("expected in_place as its kernel has it");
  if (kernel.getAnchor()->hasTrait<nn::OverwritesFirst>() &&
      getInputs().front() != getOutputs().front())
    return emitOpError("expected its first input as the output, over which the "
                       "kernel writes, got: ")
           << getInputs().front() << " and " << getOutputs().front();
  ArrayRef<int64_t> channelsLast =
      kernel.getChannelsLast().value_or(ArrayRef<int64_t>());
  int64_t number = 0;
  auto check = [&](ValueRange buffers, TypeRange tensors, StringRef what) {
    if (buffers.size() != tensors.size())
      return emitOpError("expected ")
             << tensors.size() << " " << what
             << " as its kernel, got: " << buffers.size();
    for (auto [buffer, tensor] : llvm::zip_equal(buffers, tensors)) {
      bool last = llvm::is_contained(channelsLast, number++);
      if (!bufferType(buffer).matches(tensor) ||
          bufferType(buffer).isChannelsLast() != last)
        return emitOpError("expected a buffer of ")
               << tensor << (last ? " with channels last" : "")
               << " as in its kernel, got: " << buffer.getType();
    }
    return InFlightDiagnostic();
  };
  if (failed(LogicalResult(check(
          getInputs(), kernel.getBlock().getArgumentTypes(), "inputs"))) ||
      failed(LogicalResult(
          check(getOutputs(), kernel.getResultTypes(), "outputs"))))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// CopyOp
//===----------------------------------------------------------------------===//

SmallVector<Value> CopyOp::getReads() { return getSources(); }
SmallVector<Value> CopyOp::getWrites() { return getTargets(); }
bool CopyOp::communicates() { return false; }

LogicalResult CopyOp::verify() {
  if (getSources().size() != getCopies().size() ||
      getTargets().size() < getCopies().size() ||
      (!getFill() && getTargets().size() != getCopies().size()))
    return emitOpError("expected one source and one target per box, got: ")
           << getSources().size() << " sources, " << getTargets().size()
           << " targets, " << getCopies().size() << " boxes";
  for (auto [index, copy] : llvm::enumerate(getCopies())) {
    BufferType from = bufferType(getSources()[index]);
    BufferType to = bufferType(getTargets()[index]);
    if (from.getElementType() != to.getElementType())
      return emitOpError("expected equal element types, got: ")
             << from << " and " << to;
    if (failed(verifyBox(*this, copy, from.getShape(), to.getShape())))
      return failure();
  }
  if (auto fill = dyn_cast_or_null<TypedAttr>(getFillAttr())) {
    for (Value target : getTargets())
      if (bufferType(target).getElementType() != fill.getType())
        return emitOpError(
                   "expected a fill of the targets' element type, got: ")
               << fill;
  } else if (getFillAttr()) {
    return emitOpError("expected a number to fill with, got: ")
           << getFillAttr();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ExchangeOp
//===----------------------------------------------------------------------===//

SmallVector<Value> ExchangeOp::getReads() { return getSends(); }
SmallVector<Value> ExchangeOp::getWrites() { return getReceives(); }
bool ExchangeOp::communicates() { return true; }

LogicalResult ExchangeOp::verify() {
  if (getSends().size() != getDestinations().size())
    return emitOpError("expected one destination per send (")
           << getSends().size() << "), got: " << getDestinations().size();
  if (getReceives().size() != getOrigins().size())
    return emitOpError("expected one origin per receive (")
           << getReceives().size() << "), got: " << getOrigins().size();
  int32_t self = (*this)->getParentOfType<DeviceOp>().getId();
  for (ArrayRef<int32_t> peers : {getDestinations(), getOrigins()})
    for (int32_t peer : peers) {
      if (peer == self)
        return emitOpError("expected other devices, got: ")
               << self << ", its own; copy instead";
      if (peer < 0)
        return emitOpError("expected devices of ids 0 or larger, got: ")
               << peer;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// CollectiveOp
//===----------------------------------------------------------------------===//

SmallVector<Value> CollectiveOp::getReads() { return getSends(); }
SmallVector<Value> CollectiveOp::getWrites() { return getReceives(); }
bool CollectiveOp::communicates() { return true; }

/// This device is the member that the row says, of a group without repetition.
static LogicalResult verifyGroup(CollectiveOp op) {
  int32_t self = op->getParentOfType<DeviceOp>().getId();
  ArrayRef<int32_t> group = op.getGroup();
  int64_t member = static_cast<int32_t>(op.getMember());
  if (member < 0 || member >= static_cast<int64_t>(group.size()) ||
      group[member] != self)
    return op.emitOpError("expected member ")
           << member << " of the group to be this device (" << self << ")";
  llvm::SmallSet<int32_t, 8> seen;
  for (int32_t device : group)
    if (device < 0 || !seen.insert(device).second)
      return op.emitOpError("expected different devices, of ids 0 or larger, "
                            "got: ")
             << device;
  return success();
}

/// The row has the buffers of its kind, all of one element type.
static LogicalResult verifyBuffers(CollectiveOp op) {
  size_t n = op.getGroup().size(), sends = 1, receives = 1;
  switch (op.getKind()) {
  case CollectiveKind::Broadcast:
    sends = op.getMember() == 0;
    receives = op.getMember() != 0;
    break;
  case CollectiveKind::AllGather:
    receives = n;
    break;
  case CollectiveKind::AllToAll:
    sends = receives = n;
    break;
  case CollectiveKind::AllReduce:
    break;
  case CollectiveKind::ReduceScatter:
    sends = n;
    break;
  }
  if (op.getSends().size() != sends || op.getReceives().size() != receives)
    return op.emitOpError("expected ")
           << sends << " sends and " << receives
           << " receives, got: " << op.getSends().size() << " and "
           << op.getReceives().size();
  Type element;
  for (ValueRange buffers : {op.getSends(), op.getReceives()})
    for (Value buffer : buffers) {
      BufferType type = bufferType(buffer);
      if (element && type.getElementType() != element)
        return op.emitOpError("expected buffers of ")
               << element << ", as the first, got: " << type;
      element = type.getElementType();
    }
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (failed(verifyGroup(*this)) || failed(verifyBuffers(*this)))
    return failure();
  bool reduces = getKind() == CollectiveKind::AllReduce ||
                 getKind() == CollectiveKind::ReduceScatter;
  if (reduces != getCombine().has_value())
    return emitOpError(reduces ? "expected `combine`, as parts are joined"
                               : "expected no `combine`, as no parts are "
                                 "joined");
  if (getCombine() == Combine::None || getCombine() == Combine::Same)
    return emitOpError("expected a combiner that joins parts, got: ")
           << stringify(*getCombine());
  ArrayRef<CollectiveAlgorithm> known = algorithmsOf(getKind());
  if (!llvm::is_contained(known, getAlgorithm())) {
    InFlightDiagnostic diagnostic = emitOpError("expected algorithm ");
    llvm::interleave(
        known, [&](CollectiveAlgorithm one) { diagnostic << stringify(one); },
        [&] { diagnostic << " or "; });
    return diagnostic << ", got: " << stringify(getAlgorithm());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// FeedOp, DrainOp
//===----------------------------------------------------------------------===//

SmallVector<Value> FeedOp::getReads() { return {}; }
SmallVector<Value> FeedOp::getWrites() { return getTargets(); }
bool FeedOp::communicates() { return false; }
SmallVector<Value> DrainOp::getReads() { return getSources(); }
SmallVector<Value> DrainOp::getWrites() { return {}; }
bool DrainOp::communicates() { return false; }

static LogicalResult verifyCount(Operation *op, size_t buffers, size_t boxes) {
  if (buffers != boxes)
    return op->emitOpError("expected one box per buffer (")
           << buffers << "), got: " << boxes;
  return success();
}

LogicalResult FeedOp::verify() {
  return verifyCount(*this, getTargets().size(), getCopies().size());
}
LogicalResult DrainOp::verify() {
  return verifyCount(*this, getSources().size(), getCopies().size());
}

/// A buffer that is fed from a port, or drained to it, has its elements.
static LogicalResult verifyElements(Operation *op, BufferType buffer,
                                    RankedTensorType port) {
  if (buffer.getElementType() != port.getElementType())
    return op->emitOpError("expected a buffer of ")
           << port.getElementType() << ", got: " << buffer;
  return success();
}

/// A port belongs to the program of the row that names it.
static LogicalResult verifyProgram(Operation *row, StringRef program) {
  auto main = dyn_cast<MainOp>(row->getParentOp());
  if (main && main.getProgram() != program)
    return row->emitOpError("expected an input or output of program '")
           << main.getProgram() << "', got: one of '" << program << "'";
  return success();
}

LogicalResult FeedOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto port = symbols.lookupNearestSymbolFrom<InputOp>(
      (*this)->getParentOfType<DeviceOp>()->getParentOp(), getInputAttr());
  if (!port)
    return emitOpError("expected a soaprt.input, got: ") << getInputAttr();
  if (failed(verifyProgram(*this, port.getProgram())))
    return failure();
  auto type = cast<RankedTensorType>(port.getType());
  for (auto [copy, target] : llvm::zip_equal(getCopies(), getTargets())) {
    BufferType buffer = bufferType(target);
    if (failed(verifyElements(*this, buffer, type)) ||
        failed(verifyBox(*this, copy, type.getShape(), buffer.getShape())))
      return failure();
  }
  return success();
}

LogicalResult DrainOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto port = symbols.lookupNearestSymbolFrom<OutputOp>(
      (*this)->getParentOfType<DeviceOp>()->getParentOp(), getOutputAttr());
  if (!port)
    return emitOpError("expected a soaprt.output, got: ") << getOutputAttr();
  if (failed(verifyProgram(*this, port.getProgram())))
    return failure();
  auto type = cast<RankedTensorType>(port.getType());
  for (auto [copy, source] : llvm::zip_equal(getCopies(), getSources())) {
    BufferType buffer = bufferType(source);
    if (failed(verifyElements(*this, buffer, type)) ||
        failed(verifyBox(*this, copy, buffer.getShape(), type.getShape())))
      return failure();
  }
  return success();
}
