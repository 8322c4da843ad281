//===- SOAPToSOAPRT.cpp - soap to soaprt ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Conversion/SOAPToSOAPRT/SOAPToSOAPRT.h"
#include "Lowering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Dialect/NN/IR/EmptyOutputs.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramProof.h"
#include "soap/Target/ChosenTarget.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Debug.h"

namespace soap {
#define GEN_PASS_DEF_CONVERTSOAPTOSOAPRTPASS
#include "soap/Conversion/SOAPToSOAPRT/Passes.h.inc"
} // namespace soap

#define DEBUG_TYPE "convert-soap-to-soaprt"

using namespace mlir;
using namespace soap;

SmallVector<int64_t> soap::lowerBounds(const Box &box) {
  return llvm::map_to_vector(box, [](Range range) { return range.lo; });
}

SmallVector<int64_t> soap::difference(const Box &box, const Box &origin) {
  SmallVector<int64_t> offsets;
  for (auto [a, b] : llvm::zip_equal(box, origin))
    offsets.push_back(a.lo - b.lo);
  return offsets;
}

//===----------------------------------------------------------------------===//
// Devices and ports
//===----------------------------------------------------------------------===//

Lowering::Lowering(ModuleOp module, const Target &target)
    : module_(module), target_(target), context_(module.getContext()),
      natives_(module) {}

void Lowering::createDevices(ArrayRef<Program> programs) {
  int32_t count = 1; // Without anything to compute, too.
  for (const Program &program : programs)
    program.main->walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (auto shard = dyn_cast<soapir::ShardType>(type);
            shard && !shard.isOnHost())
          count = std::max(count, shard.getDevice() + 1);
    });
  Location loc = module_.getLoc();
  // What soaprt-verify-memory compares with. The topology goes.
  llvm::ArrayRef<soap::Device> known;
  std::optional<Topology> topology;
  if (soapir::TopologyOp described = soapir::getTopology(module_)) {
    if (llvm::Expected<Topology> parsed = described.getTopology()) {
      topology = std::move(*parsed);
      known = topology->devices();
    } else {
      llvm::consumeError(parsed.takeError()); // Its verifier says why.
    }
  }
  OpBuilder builder(context_);
  builder.setInsertionPointToEnd(module_.getBody());
  IntegerAttr alignment;
  if (target_.getAlignment() != soaprt::minAlignment)
    alignment = builder.getI64IntegerAttr(target_.getAlignment());
  for (int32_t id = 0; id < count; ++id) {
    auto op = builder.create<soaprt::DeviceOp>(
        loc, ("d" + Twine(id)).str(), id, alignment, IntegerAttr(),
        IntegerAttr(), IntegerAttr(), IntegerAttr(), IntegerAttr());
    if (id < static_cast<int32_t>(known.size()) && known[id].memoryBytes)
      op->setAttr(soaprt::memoryBytesAttrName(),
                  builder.getI64IntegerAttr(known[id].memoryBytes));
    op.getBody().emplaceBlock();
    OpBuilder inner = OpBuilder::atBlockEnd(&op.getBlock());
    auto init = inner.create<soaprt::InitOp>(loc);
    devices_.push_back({op, &init.getBody().emplaceBlock()});
  }
}

LogicalResult Lowering::createPorts(func::FuncOp main) {
  OpBuilder builder(context_);
  builder.setInsertionPointToStart(module_.getBody());
  inputs_.clear();
  outputs_.clear();
  auto named = [](StringRef kind, int32_t &number) {
    return (kind + Twine(number++)).str();
  };
  WalkResult result = main.walk([&](Operation *op) {
    if (auto input = dyn_cast<nn::InputOp>(op)) {
      if (!inputs_.contains(nn::getName(op)))
        inputs_[nn::getName(op)] = builder.create<soaprt::InputOp>(
            op->getLoc(), named("in", numInputs_), nn::getName(op),
            input.getType(), input.getIndexBoundAttr(), program_);
      else
        return op->emitOpError("expected one task for an input; keep inputs "
                               "whole on the host"),
               WalkResult::interrupt();
    } else if (auto output = dyn_cast<nn::OutputOp>(op)) {
      if (!outputs_.contains(nn::getName(op)))
        outputs_[nn::getName(op)] = builder.create<soaprt::OutputOp>(
            op->getLoc(), named("out", numOutputs_), nn::getName(op),
            output.getX().getType(), program_);
      else
        return op->emitOpError("expected one task for an output; keep outputs "
                               "whole on the host"),
               WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  Operation *model = main->getParentOp();
  for (NamedAttribute output : nn::emptyOutputs(model)) {
    StringRef name = output.getName().getValue();
    outputs_[name] = builder.create<soaprt::OutputOp>(
        main.getLoc(), named("out", numOutputs_), name,
        cast<RankedTensorType>(cast<TypeAttr>(output.getValue()).getValue()),
        program_);
  }
  nn::removeEmptyOutputs(model);
  return failure(result.wasInterrupted());
}

OpBuilder Lowering::bufferBuilder(int32_t device) {
  return OpBuilder(devices_[device].op.getInit());
}

OpBuilder Lowering::rowBuilder(const Place &place) {
  return OpBuilder::atBlockEnd(place.init ? devices_[place.device].init
                                          : devices_[place.device].main);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value Lowering::createBuffer(int32_t device, ArrayRef<int64_t> shape,
                             Type element, Space space, Location loc) {
  auto type = soaprt::BufferType::get(context_, shape, element, space);
  return bufferBuilder(device).create<soaprt::BufferOp>(loc, type,
                                                        IntegerAttr());
}

Value Lowering::createBuffer(soapir::ShardType type, Location loc) {
  return createBuffer(type.getDevice(), type.getShape(), type.getElementType(),
                      Space::Activations, loc);
}

Value Lowering::createView(int32_t device, Value source, int64_t first,
                           ArrayRef<int64_t> shape, Location loc) {
  auto type = cast<soaprt::BufferType>(source.getType());
  if (first == 0 && type.getShape() == shape)
    return source;
  return bufferBuilder(device).create<soaprt::ViewOp>(
      loc,
      soaprt::BufferType::get(context_, shape, type.getElementType(),
                              type.getSpace()),
      source, first);
}

std::optional<int64_t> soap::firstOfRun(ArrayRef<int64_t> lo,
                                        ArrayRef<int64_t> sizes,
                                        ArrayRef<int64_t> shape) {
  // Contiguous: behind the first dim with more than one index, all dims are
  // whole.
  bool leading = true;
  int64_t first = 0;
  for (auto [offset, size, extent] : llvm::zip_equal(lo, sizes, shape)) {
    if (!leading && size != extent)
      return std::nullopt;
    leading &= size == 1;
    first = first * extent + offset;
  }
  return first;
}

Value Lowering::tryView(int32_t device, Value source, ArrayRef<int64_t> lo,
                        ArrayRef<int64_t> sizes, bool aligned, Location loc) {
  auto type = cast<soaprt::BufferType>(source.getType());
  std::optional<int64_t> run = firstOfRun(lo, sizes, type.getShape());
  if (!run) {
    LLVM_DEBUG({
      llvm::dbgs() << "copy at " << loc << ": of " << type << ", elements [";
      llvm::interleaveComma(llvm::zip_equal(lo, sizes), llvm::dbgs(),
                            [](auto pair) {
                              auto [from, count] = pair;
                              llvm::dbgs() << from << ":" << from + count;
                            });
      llvm::dbgs() << "] are not contiguous\n";
    });
    return {};
  }
  int64_t first = *run;
  if (aligned &&
      (soaprt::getStorage(source).byteOffset + first * type.getElementBytes()) %
              target_.getAlignment() !=
          0) {
    LLVM_DEBUG(llvm::dbgs() << "copy at " << loc << ": element " << first
                            << " of " << type << " is not where a kernel of "
                            << target_.getName() << " can start\n");
    return {};
  }
  ++counts_.views;
  return createView(device, source, first, sizes, loc);
}

void Lowering::createCopy(const Place &place, ValueRange sources,
                          ValueRange targets,
                          ArrayRef<soaprt::BoxCopyAttr> boxes, TypedAttr fill,
                          Location loc) {
  SmallVector<Attribute> attributes(boxes.begin(), boxes.end());
  OpBuilder builder = rowBuilder(place);
  builder.create<soaprt::CopyOp>(
      loc, soaprt::TokenType::get(context_), sources, targets,
      builder.getArrayAttr(attributes), fill, ValueRange(),
      builder.getStringAttr(place.node), builder.getI64IntegerAttr(place.task),
      soaprt::StreamAttr());
  ++counts_.copies;
}

void Lowering::createWholeCopy(const Place &place, Value source, Value target,
                               Location loc) {
  ArrayRef<int64_t> sizes =
      cast<soaprt::BufferType>(target.getType()).getShape();
  SmallVector<int64_t> zeros(sizes.size(), 0);
  createCopy(place, source, target,
             soaprt::BoxCopyAttr::get(context_, zeros, zeros, sizes), {}, loc);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult Lowering::run(ArrayRef<Program> programs) {
  createDevices(programs);
  for (const Program &program : programs)
    if (failed(lower(program)))
      return failure();
  return success();
}

LogicalResult Lowering::lower(const Program &program) {
  func::FuncOp main = program.main;
  program_ = program.name;
  for (Device &device : devices_) {
    OpBuilder builder = OpBuilder::atBlockEnd(&device.op.getBlock());
    auto rows = builder.create<soaprt::MainOp>(main.getLoc(), program_);
    device.main = &rows.getBody().emplaceBlock();
  }
  if (failed(createPorts(main)) || failed(findWrites(main)))
    return failure();
  findBuckets(main);
  if (failed(lowerOps(main)))
    return failure();
  createTiles(main);
  // Feeds first, drains last.
  for (Device &device : devices_) {
    SmallVector<Operation *> feeds, drains;
    for (Operation &row : *device.main) {
      if (isa<soaprt::FeedOp>(row))
        feeds.push_back(&row);
      else if (isa<soaprt::DrainOp>(row))
        drains.push_back(&row);
    }
    for (Operation *feed : llvm::reverse(feeds))
      feed->moveBefore(device.main, device.main->begin());
    for (Operation *drain : drains)
      drain->moveBefore(device.main, device.main->end());
  }
  return success();
}

LogicalResult Lowering::lowerOps(func::FuncOp main) {
  for (Operation &op : main.getBody().front()) {
    LogicalResult result =
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<soapir::TaskOp, soapir::TransferOp, soapir::SliceOp,
                  soapir::AssembleOp>([&](auto typed) { return lower(typed); })
            .Case<soapir::BroadcastOp, soapir::AllGatherOp, soapir::AllToAllOp,
                  soapir::AllReduceOp, soapir::ReduceScatterOp>(
                [&](auto typed) {
                  if (typed.getPhase() == Phase::Feed)
                    return lowerFeed(typed);
                  if (llvm::is_contained(typed.getOver(), kHostDevice))
                    return LogicalResult(typed.emitOpError(
                        "expected the host in feeds and drains only"));
                  // The first of a bucket lowers all.
                  auto reduction = dyn_cast<soapir::ReductionOpInterface>(
                      typed.getOperation());
                  if (reduction && reduction.joinsPrevious())
                    return success();
                  if (reduction && reduction.isJoinedBy(typed->getNextNode())) {
                    lowerBucket(reduction);
                    return success();
                  }
                  lowerCollective(typed, typed.getAlgorithm());
                  return success();
                })
            .Case<soapir::DiscardOp, func::ReturnOp>(
                [](auto) { return success(); })
            .Default([](Operation *other) {
              return other->emitOpError("expected soap ops only; run "
                                        "soap-partition first");
            });
    if (failed(result))
      return failure();
  }
  return success();
}

namespace {

bool writesParameters(func::FuncOp main) {
  return main->walk([](nn::WriteOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

struct ConvertSOAPToSOAPRTPass
    : soap::impl::ConvertSOAPToSOAPRTPassBase<ConvertSOAPToSOAPRTPass> {
  using ConvertSOAPToSOAPRTPassBase::ConvertSOAPToSOAPRTPassBase;
  explicit ConvertSOAPToSOAPRTPass(const Target &target) : chosen_(target) {}

  void getDependentDialects(DialectRegistry &registry) const override {
    ConvertSOAPToSOAPRTPassBase::getDependentDialects(registry);
    registerKernelDialects(registry);
  }

  LogicalResult initialize(MLIRContext *context) override {
    return chosen_.initialize(context, target);
  }

  static bool isProgram(func::FuncOp main) {
    return main && main.getBody().hasOneBlock() && !main.getNumArguments();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!isProgram(main)) {
      module.emitError("expected a function @main with soap ops, and without "
                       "arguments");
      return signalPassFailure();
    }
    // A step of training writes parameters; the model beside it reads them.
    bool trains = writesParameters(main);
    SmallVector<Lowering::Program> programs = {
        {trains ? "train" : "main", main}};
    ModuleOp evaluation = nn::findEvaluation(module);
    if (evaluation) {
      auto inner = evaluation.lookupSymbol<func::FuncOp>("main");
      if (!isProgram(inner)) {
        evaluation.emitError("expected a function @main with soap ops, and "
                             "without arguments");
        return signalPassFailure();
      }
      programs.push_back({nn::evaluationName, inner});
    }
    // Rows say what is applied behind what; groups were decided about.
    module.walk([](Operation *op) {
      op->removeAttr(soapir::SOAPDialect::getFollowsAttrName());
      op->removeAttr(soapir::SOAPDialect::getGroupAttrName());
    });
    Lowering lowering(module, *chosen_);
    if (failed(lowering.run(programs)))
      return signalPassFailure();
    if (evaluation)
      evaluation.erase();
    const LoweringCounts &counts = lowering.getCounts();
    numKernels = counts.kernels;
    numLaunches = counts.launches;
    numCopies = counts.copies;
    numViews = counts.views;
    numWrites = counts.writes;
    numWritesInPlace = counts.writesInPlace;
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<func::FuncOp, soapir::TopologyOp>(op))
        op.erase();
  }

private:
  ChosenTarget chosen_;
};

} // namespace

std::unique_ptr<Pass>
soap::createConvertSOAPToSOAPRTPass(const Target &target) {
  return std::make_unique<ConvertSOAPToSOAPRTPass>(target);
}
