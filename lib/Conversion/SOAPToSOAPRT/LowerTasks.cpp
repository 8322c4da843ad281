//===- LowerTasks.cpp - Tasks, slices, assemblies -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Conversion/SOAPToSOAPRT/SOAPToSOAPRT.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/Views.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "convert-soap-to-soaprt"

using namespace mlir;
using namespace soap;

static SmallVector<int64_t> zeros(int64_t rank) {
  return SmallVector<int64_t>(rank, 0);
}

static ArrayRef<int64_t> dimsOf(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

static Type elementOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

/// True if a value of an init task (or a view of it) is a result of the task:
/// it then lives in the parameter arena.
static bool outlivesTask(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<soapir::ReturnOp>(user))
      return true;
    return nn::mayBeView(user) && outlivesTask(user->getResult(0));
  });
}

static Space spaceOf(Value value, bool init) {
  return init && outlivesTask(value) ? Space::Parameters : Space::Activations;
}

Value Lowering::createResult(Value result, const Place &place) {
  Location loc = result.getLoc();
  if (auto it = bucketPlaces_.find(result); it != bucketPlaces_.end())
    if (Value view =
            tryBucketView(place.device, it->second, result.getType(), loc))
      return view;
  return createBuffer(place.device, dimsOf(result), elementOf(result),
                      spaceOf(result, place.init), loc);
}

LogicalResult Lowering::lower(soapir::TaskOp task) {
  // The ends of the graph: their shards are fed and drained.
  if (task.getDevice() == kHostDevice)
    return success();
  Place place{task.getDevice(), task.getPhase() == Phase::Init, task.getNode(),
              static_cast<int64_t>(task.getTask())};
  IRMapping buffers;
  for (auto [argument, input] :
       llvm::zip_equal(task.getBlock().getArguments(), task.getInputs()))
    buffers.map(argument, shards_.lookup(input));
  placed_.clear();
  for (auto [output, value] : llvm::zip_equal(
           task.getOutputs(), task.getBlock().getTerminator()->getOperands()))
    if (Value parameter = madeInPlace_.lookup(output))
      placed_[value] = shards_.lookup(parameter);
  for (Operation &op : task.getBlock().without_terminator())
    if (failed(lowerOp(&op, place, buffers)))
      return failure();
  for (auto [output, value] : llvm::zip_equal(
           task.getOutputs(), task.getBlock().getTerminator()->getOperands()))
    shards_.map(output, buffers.lookup(value));
  return success();
}

LogicalResult Lowering::lowerOp(Operation *op, const Place &place,
                                IRMapping &buffers) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](nn::ParameterOp typed) {
        return lowerParameter(typed, place, buffers);
      })
      .Case([&](nn::ConstantOp typed) {
        lowerConstant(typed, place, buffers);
        return success();
      })
      .Case([&](nn::ReshapeOp typed) {
        buffers.map(typed.getResult(),
                    createView(place.device, buffers.lookup(typed.getX()), 0,
                               dimsOf(typed.getResult()), op->getLoc()));
        ++counts_.views;
        return success();
      })
      .Case([&](nn::SliceOp typed) {
        lowerSlice(typed, place, buffers);
        return success();
      })
      .Case([&](nn::ConcatOp typed) {
        lowerConcat(typed, place, buffers);
        return success();
      })
      .Case([&](nn::PadOp typed) {
        lowerPad(typed, place, buffers);
        return success();
      })
      .Case([&](nn::WriteOp typed) {
        lowerWrite(typed, place, buffers);
        return success();
      })
      .Case([&](nn::ScheduleOp typed) {
        return lowerSchedule(typed, place, buffers);
      })
      .Case<nn::InputOp, nn::OutputOp>([&](Operation *end) {
        return end->emitOpError("expected inputs and outputs on the host");
      })
      .Default([&](Operation *) { return lowerKernel(op, place, buffers); });
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// What only the init program reads dies there: it is no parameter.
static Space spaceOfLoad(Value value, bool init) {
  return init ? spaceOf(value, init) : Space::Parameters;
}

Value Lowering::findParameter(nn::ParameterOp op, int32_t device) const {
  auto known = parameters_.find(op.getTensorName());
  if (known == parameters_.end())
    return {};
  for (const LoadedParameter &other : known->second) {
    nn::ParameterOp same = other.op;
    if (other.program != program_ && other.device == device &&
        same.getSource() == op.getSource() &&
        same.getResult().getType() == op.getResult().getType() &&
        same.getOffsets() == op.getOffsets() &&
        same.getGlobalShape() == op.getGlobalShape())
      return other.buffer;
  }
  return {};
}

LogicalResult Lowering::lowerParameter(nn::ParameterOp op, const Place &place,
                                       IRMapping &buffers) {
  Value result = op.getResult();
  Space space = spaceOfLoad(result, place.init);
  bool isState = written_.contains(nn::getName(op));
  if (!SOAP_FAULT("state-copied")) {
    Value known =
        space == Space::Parameters ? findParameter(op, place.device) : Value();
    if (known) {
      buffers.map(result, known);
      return success();
    }
    if (isState && program_ != writer_)
      return op.emitOpError(
                 "expected the tiles in which the step keeps what it "
                 "writes, got: others; let the configuration of '")
             << nn::getName(op) << "' be that of the step";
  }
  Value buffer = createBuffer(place.device, dimsOf(result), elementOf(result),
                              space, op.getLoc());
  if (space == Space::Parameters)
    parameters_[op.getTensorName()].push_back(
        {program_, place.device, op, buffer});
  SmallVector<int64_t> lo = zeros(dimsOf(result).size());
  if (std::optional<ArrayRef<int64_t>> offsets = op.getOffsets())
    lo.assign(offsets->begin(), offsets->end());
  ArrayRef<int64_t> shape = op.getGlobalShape().value_or(dimsOf(result));
  bufferBuilder(place.device)
      .create<soaprt::LoadOp>(op.getLoc(), op.getTensorName(), op.getSource(),
                              RankedTensorType::get(shape, elementOf(result)),
                              lo, buffer);
  if (isState)
    writtenBuffers_.insert(buffer);
  buffers.map(result, buffer);
  return success();
}

void Lowering::lowerConstant(nn::ConstantOp op, const Place &place,
                             IRMapping &buffers) {
  Value result = op.getResult();
  // What tasks of one device only read is there once.
  bool shares = !place.init && isa<SplatElementsAttr>(op.getValue()) &&
                !outlivesTask(result);
  if (Value known =
          shares ? splats_.lookup({place.device, op.getValue()}) : Value())
    return buffers.map(result, known);
  Value buffer = createBuffer(place.device, dimsOf(result), elementOf(result),
                              spaceOfLoad(result, place.init), op.getLoc());
  if (shares)
    splats_[{place.device, op.getValue()}] = buffer;
  bufferBuilder(place.device)
      .create<soaprt::LoadOp>(op.getLoc(), nn::getName(op), op.getValue(),
                              cast<RankedTensorType>(result.getType()),
                              zeros(dimsOf(result).size()), buffer);
  buffers.map(result, buffer);
}

//===----------------------------------------------------------------------===//
// Copies inside of tasks
//===----------------------------------------------------------------------===//

void Lowering::lowerSlice(nn::SliceOp op, const Place &place,
                          IRMapping &buffers) {
  Value source = buffers.lookup(op.getX()), result = op.getResult();
  ArrayRef<int64_t> sizes = dimsOf(result);
  if (llvm::all_of(op.getSteps(), [](int64_t step) { return step == 1; }))
    if (Value view = tryView(place.device, source, op.getStarts(), sizes,
                             /*aligned=*/true, op.getLoc())) {
      buffers.map(result, view);
      return;
    }
  Value target = createResult(result, place);
  createCopy(place, source, target,
             soaprt::BoxCopyAttr::get(context_, op.getStarts(),
                                      zeros(sizes.size()), sizes,
                                      op.getSteps()),
             {}, op.getLoc());
  buffers.map(result, target);
}

void Lowering::lowerConcat(nn::ConcatOp op, const Place &place,
                           IRMapping &buffers) {
  Value result = op.getResult();
  int64_t axis = op.getAxis(), rank = dimsOf(result).size();
  Value target = createResult(result, place);
  SmallVector<Value> sources;
  SmallVector<soaprt::BoxCopyAttr> boxes;
  SmallVector<int64_t> to = zeros(rank);
  for (Value input : op.getInputs()) {
    sources.push_back(buffers.lookup(input));
    boxes.push_back(
        soaprt::BoxCopyAttr::get(context_, zeros(rank), to, dimsOf(input)));
    to[axis] += dimsOf(input)[axis];
  }
  createCopy(place, sources, SmallVector<Value>(sources.size(), target), boxes,
             {}, op.getLoc());
  buffers.map(result, target);
}

void Lowering::lowerPad(nn::PadOp op, const Place &place, IRMapping &buffers) {
  Value result = op.getResult();
  Value target = createResult(result, place);
  createCopy(place, buffers.lookup(op.getX()), target,
             soaprt::BoxCopyAttr::get(context_, zeros(dimsOf(result).size()),
                                      op.getPadsLo(), dimsOf(op.getX())),
             op.getValue(), op.getLoc());
  buffers.map(result, target);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

FailureOr<soaprt::KernelOp> Lowering::getKernel(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase("nn.name");
  if (Block *body = nn::getFusedBody(op)) {
    std::string parts;
    llvm::raw_string_ostream os(parts);
    nn::printParts(os, *body);
    attributes.set("parts", StringAttr::get(context_, os.str()));
  }
  auto type =
      FunctionType::get(context_, op->getOperandTypes(), op->getResultTypes());
  soaprt::KernelOp &kernel =
      kernels_[{op->getName().getAsOpaquePointer(),
                attributes.getDictionary(context_).getAsOpaquePointer(),
                type.getAsOpaquePointer()}];
  if (kernel)
    return kernel;

  OpBuilder builder(context_);
  builder.setInsertionPoint(devices_.front().op);
  auto partition = cast<nn::PartitionOpInterface>(op);
  SymbolRefAttr native;
  uint32_t index = 0;
  SmallVector<int64_t> sizes;
  if (!target_.isLibraryKernel(op)) {
    FailureOr<NativeKernelCall> call = natives_.getOrCreate(op);
    if (failed(call))
      return failure();
    native = SymbolRefAttr::get(
        context_, natives_.getModule().getSymName().value_or("kernels"),
        FlatSymbolRefAttr::get(context_, call->symbol));
    index = call->index;
    sizes.assign(call->sizes.begin(), call->sizes.end());
  }
  auto created = builder.create<soaprt::KernelOp>(
      op->getLoc(), ("k" + Twine(kernels_.size() - 1)).str(),
      nn::kernelKey(partition), native, index, sizes,
      APFloat(partition.getFlops(nn::makeWholeTile(partition))),
      DenseI64ArrayAttr(), IntegerAttr());
  Block &block = created.getBody().emplaceBlock();
  IRMapping mapping;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(block.addArgument(operand.getType(), op->getLoc()));
  builder.setInsertionPointToEnd(&block);
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  builder.create<soaprt::YieldOp>(op->getLoc(), clone->getResults());
  ++counts_.kernels;
  LLVM_DEBUG({
    llvm::dbgs() << "kernel @" << created.getSymName() << " of "
                 << nn::getName(op) << ": ";
    if (native) {
      llvm::dbgs() << "native, " << native << " at sizes [";
      llvm::interleaveComma(sizes, llvm::dbgs());
      llvm::dbgs() << "]\n";
    } else {
      llvm::dbgs() << "the library's " << op->getName() << "\n";
    }
  });
  return kernel = created;
}

LogicalResult Lowering::lowerKernel(Operation *op, const Place &place,
                                    IRMapping &buffers) {
  FailureOr<soaprt::KernelOp> kernel = getKernel(op);
  if (failed(kernel))
    return failure();
  SmallVector<Value> operands, results;
  SmallVector<int64_t> constants;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    operands.push_back(buffers.lookup(operand));
    auto type = cast<soaprt::BufferType>(operands.back().getType());
    if (!place.init && !kernel->getNative() &&
        type.getSpace() == Space::Parameters &&
        (SOAP_FAULT("written-constant") ||
         !writtenBuffers_.contains(soaprt::getStorage(operands.back()).buffer)))
      constants.push_back(index);
  }
  for (Value result : op->getResults()) {
    Value known = placed_.lookup(result);
    results.push_back(known ? known : createResult(result, place));
    buffers.map(result, results.back());
  }
  if (op->hasTrait<nn::OverwritesFirst>() && operands[0] != results[0]) {
    if (!SOAP_FAULT("overwritten-not-copied"))
      createWholeCopy(place, operands[0], results[0], op->getLoc());
    operands[0] = results[0];
  }
  OpBuilder builder = rowBuilder(place);
  builder.create<soaprt::LaunchOp>(
      op->getLoc(), soaprt::TokenType::get(context_),
      FlatSymbolRefAttr::get(kernel->getSymNameAttr()), operands, results,
      builder.getDenseI64ArrayAttr(constants), IntegerAttr(), ValueRange(),
      builder.getStringAttr(place.node), builder.getI64IntegerAttr(place.task),
      soaprt::StreamAttr());
  ++counts_.launches;
  return success();
}

//===----------------------------------------------------------------------===//
// soap.slice, soap.assemble
//===----------------------------------------------------------------------===//

static std::string rowName(soapir::BoxAttr box, StringRef suffix) {
  return (box.getValue().getValue() + "." + suffix).str();
}

FailureOr<Lowering::Place> Lowering::placeOfCopy(Operation *op, bool isInit,
                                                 StringRef node) {
  for (Value input : op->getOperands())
    if (isInit && writtenBuffers_.contains(
                      soaprt::getStorage(shards_.lookup(input)).buffer))
      return op->emitOpError("expected, with 'init', a parameter that no "
                             "program writes");
  int32_t device =
      cast<soapir::ShardType>(op->getResult(0).getType()).getDevice();
  return Place{device, isInit, node};
}

LogicalResult Lowering::lower(soapir::SliceOp op) {
  auto type = op.getOutput().getType();
  if (type.isOnHost())
    return success();
  int32_t device = type.getDevice();
  Value source = shards_.lookup(op.getInput());
  if (Value view = tryView(device, source, op.getOffsets(), type.getShape(),
                           /*aligned=*/true, op.getLoc())) {
    shards_.map(op.getOutput(), view);
    return success();
  }
  std::string name = rowName(cast<soapir::BoxAttr>(op.getBoxes()[0]), "slice");
  FailureOr<Place> place = placeOfCopy(op, op.getInit(), name);
  if (failed(place))
    return failure();
  auto box =
      soaprt::BoxCopyAttr::get(context_, op.getOffsets(),
                               zeros(type.getShape().size()), type.getShape());
  Value known = op.getInit() ? cutOnce_.lookup({source, box}) : Value();
  if (known) {
    shards_.map(op.getOutput(), known);
    return success();
  }
  Value target = createBuffer(
      device, type.getShape(), type.getElementType(),
      op.getInit() ? Space::Parameters : Space::Activations, op.getLoc());
  if (!op.getInit() || !SOAP_FAULT("init-copy-lost"))
    createCopy(*place, source, target, box, {}, op.getLoc());
  if (op.getInit())
    cutOnce_[{source, box}] = target;
  shards_.map(op.getOutput(), target);
  return success();
}

LogicalResult Lowering::lower(soapir::AssembleOp op) {
  auto type = op.getOutput().getType();
  if (type.isOnHost())
    return success();
  int32_t device = type.getDevice();
  if (op.getInputs().size() == 1)
    if (Value view = tryView(device, shards_.lookup(op.getInputs()[0]),
                             op.getSourceOffsets(0), type.getShape(),
                             /*aligned=*/true, op.getLoc())) {
      shards_.map(op.getOutput(), view);
      return success();
    }
  std::string name =
      rowName(cast<soapir::BoxAttr>(op.getBoxes()[0]), "assemble");
  FailureOr<Place> place = placeOfCopy(op, op.getInit(), name);
  if (failed(place))
    return failure();
  Value target = createBuffer(
      device, type.getShape(), type.getElementType(),
      op.getInit() ? Space::Parameters : Space::Activations, op.getLoc());
  SmallVector<Value> sources;
  SmallVector<soaprt::BoxCopyAttr> boxes;
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    Box piece = op.getPiece(index);
    if (isEmpty(piece))
      continue;
    sources.push_back(shards_.lookup(input));
    boxes.push_back(soaprt::BoxCopyAttr::get(
        context_, op.getSourceOffsets(index), op.getResultOffsets(index),
        soap::shapeOf(piece)));
  }
  if (!sources.empty())
    createCopy(*place, sources, SmallVector<Value>(sources.size(), target),
               boxes, {}, op.getLoc());
  shards_.map(op.getOutput(), target);
  return success();
}
