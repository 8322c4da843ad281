//===- JoinKernels.cpp - Native kernels of several operations -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramUses.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Conversion/SOAPToSOAPRT/SOAPToSOAPRT.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramOrder.h"
#include "soap/Target/ChosenTarget.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Debug.h"
#include <map>
#include <tuple>

#define DEBUG_TYPE "soaprt-join-kernels"

namespace soap {
#define GEN_PASS_DEF_JOINKERNELSPASS
#include "soap/Conversion/SOAPToSOAPRT/Passes.h.inc"
} // namespace soap

using namespace mlir;
using namespace soap;
using soaprt::KernelOp;
using soaprt::LaunchOp;
using soaprt::RowOpInterface;

namespace {
/// Two launches that become one.
struct Join {
  LaunchOp first, second;
  llvm::SmallSetVector<Value, 8> inputs; ///< Of both, each once.
  SmallVector<Value> outputs; ///< Of the first what is kept, then the second's.
  SmallVector<Value> between; ///< What is no buffer any more.
  bool atFirst = false;       ///< Stands where the first one does.
};

/// The kernels of launches that become one.
class JoinedKernels {
public:
  /// Runs passes on a module in the one that the pass runs on.
  using Runner = function_ref<LogicalResult(OpPassManager &, ModuleOp)>;

  JoinedKernels(ModuleOp module, const Target &target, Runner run)
      : module_(module), target_(target), run_(run), symbols_(module),
        natives_(module) {}

  KernelOp lookup(LaunchOp launch) const {
    return symbols_.lookup<KernelOp>(launch.getKernel());
  }
  /// Null if one kernel does not pay.
  KernelOp findOrMake(const Join &join);
  /// Erases kernels that nobody launches any more, and makes the functions of
  /// those that were joined and are launched.
  void finish();
  int64_t numTried() const { return tried_.size(); }

private:
  KernelOp make(const Join &join);
  bool pays(KernelOp kernel);

  ModuleOp module_;
  const Target &target_;
  Runner run_;
  SymbolTable symbols_;
  NativeKernels natives_;
  llvm::DenseSet<Operation *> made_; ///< Some were erased.
  /// By both kernels and by what is whose operand and result.
  std::map<std::tuple<Operation *, Operation *, std::vector<int64_t>>, KernelOp>
      tried_;
};

/// The launches of one program of a device.
class ProgramJoins {
public:
  ProgramJoins(soaprt::DeviceOp device, soaprt::MainOp main,
               JoinedKernels &kernels);
  void run();
  int64_t numJoined = 0;

private:
  LaunchOp joinWithOneBefore(LaunchOp second);
  bool collectValues(Join &join);
  bool staysInTime(const Join &join);
  bool findPlace(Join &join);
  bool isTouchedBetween(Value value, const Join &join, bool alsoRead);
  int64_t bytesBehind(LaunchOp launch);
  LaunchOp apply(const Join &join, KernelOp kernel);

  soaprt::MainOp main_;
  JoinedKernels &kernels_;
  ProgramUses uses_;
  SmallVector<Operation *> held_; ///< Rows that wait for all before them.
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether the function of a native kernel is what its body says, of row-major
/// tensors.
static bool canBeJoined(KernelOp kernel) {
  return kernel.getNative() && !kernel.getChannelsLast() &&
         !kernel.getInPlace() &&
         kernel.getAnchor() == &kernel.getBlock().front();
}

static bool isPerElement(KernelOp kernel) {
  return llvm::all_of(
      kernel.getBlock().without_terminator(),
      [](Operation &op) { return op.hasTrait<nn::PerElement>(); });
}

static int64_t numberOf(ValueRange values, Value value) {
  return std::distance(values.begin(), llvm::find(values, value));
}

/// Appends the operations of a kernel to a block. `operands`: its arguments
/// there; returns its results.
static SmallVector<Value> appendBody(OpBuilder &builder, KernelOp kernel,
                                     ArrayRef<Value> operands) {
  IRMapping mapping;
  mapping.map(kernel.getBlock().getArguments(), operands);
  for (Operation &op : kernel.getBlock().without_terminator())
    makeNameUnique(builder.clone(op, mapping));
  return llvm::map_to_vector(
      kernel.getBlock().getTerminator()->getOperands(),
      [&](Value result) { return mapping.lookup(result); });
}

/// A kernel of both, with the function of the first one until finish().
KernelOp JoinedKernels::make(const Join &join) {
  KernelOp first = lookup(join.first), second = lookup(join.second);
  auto made = cast<KernelOp>(first->cloneWithoutRegions());
  Block &block = made.getBody().emplaceBlock();
  auto builder = OpBuilder::atBlockEnd(&block);
  for (Value input : join.inputs) {
    auto type = cast<soaprt::BufferType>(input.getType());
    block.addArgument(
        RankedTensorType::get(type.getShape(), type.getElementType()),
        made.getLoc());
  }
  // Tensors of the body, by buffer.
  llvm::SmallDenseMap<Value, Value> tensors;
  for (auto [input, argument] :
       llvm::zip_equal(join.inputs, block.getArguments()))
    tensors[input] = argument;
  for (LaunchOp launch : {join.first, join.second}) {
    auto operands = llvm::map_to_vector(
        launch.getInputs(), [&](Value input) { return tensors.lookup(input); });
    SmallVector<Value> results = appendBody(builder, lookup(launch), operands);
    for (auto [output, result] : llvm::zip_equal(launch.getOutputs(), results))
      tensors[output] = result;
  }
  auto results = llvm::map_to_vector(
      join.outputs, [&](Value output) { return tensors.lookup(output); });
  if (SOAP_FAULT("joined-results-swapped") && results.size() == 2 &&
      results[0].getType() == results[1].getType())
    std::swap(results[0], results[1]);
  builder.create<soaprt::YieldOp>(made.getLoc(), results);
  made.setKey((first.getKey() + " & " + second.getKey()).str());
  APFloat flops = first.getFlops();
  flops.add(second.getFlops(), APFloat::rmNearestTiesToEven);
  made.setFlops(flops);
  made.setSizes({});
  return made;
}

/// Asks the target about the function of a kernel, in a module of its own.
bool JoinedKernels::pays(KernelOp kernel) {
  auto trial = OpBuilder::atBlockEnd(module_.getBody())
                   .create<ModuleOp>(kernel.getLoc());
  NativeKernels alone(trial);
  // What the target cannot make is no error: all stays as it is.
  ScopedDiagnosticHandler quiet(module_.getContext(),
                                [](Diagnostic &) { return success(); });
  OpPassManager passes(ModuleOp::getOperationName());
  target_.buildJoinedPipeline(passes);
  bool does = succeeded(alone.getOrCreate(kernel.getBlock())) &&
              succeeded(run_(passes, alone.getModule())) &&
              target_.paysJoined(alone.getModule());
  trial.erase();
  return does;
}

KernelOp JoinedKernels::findOrMake(const Join &join) {
  LaunchOp first = join.first, second = join.second;
  KernelOp one = lookup(first), other = lookup(second);
  // Results of the first kernel that the second reads have negative numbers.
  std::vector<int64_t> numbers;
  ArrayRef<Value> inputs = join.inputs.getArrayRef();
  for (Value input : first.getInputs())
    numbers.push_back(numberOf(inputs, input));
  for (Value input : second.getInputs())
    numbers.push_back(join.inputs.contains(input)
                          ? numberOf(inputs, input)
                          : -1 - numberOf(first.getOutputs(), input));
  for (Value output : join.outputs)
    numbers.push_back(numberOf(first.getOutputs(), output));
  auto [known, isNew] =
      tried_.try_emplace({one, other, std::move(numbers)}, KernelOp());
  if (!isNew)
    return known->second;
  KernelOp made = make(join);
  bool does = pays(made);
  LLVM_DEBUG(llvm::dbgs() << "'" << made.getKey() << "' "
                          << (does ? "pays\n" : "does not pay\n"));
  if (!does) {
    made->erase();
    return {};
  }
  symbols_.insert(made, Block::iterator(one));
  made_.insert(made);
  return known->second = made;
}

void JoinedKernels::finish() {
  eraseUnlaunched(module_, symbols_);
  MLIRContext *context = module_.getContext();
  for (auto kernel : module_.getOps<KernelOp>()) {
    if (!made_.contains(kernel))
      continue;
    // It was made before, when the target was asked.
    NativeKernelCall call = *natives_.getOrCreate(kernel.getBlock());
    kernel.setNativeAttr(SymbolRefAttr::get(
        context, natives_.getModule().getSymName().value_or("kernels"),
        FlatSymbolRefAttr::get(context, call.symbol)));
    kernel.setIndex(call.index);
  }
}

//===----------------------------------------------------------------------===//
// Which launches
//===----------------------------------------------------------------------===//

ProgramJoins::ProgramJoins(soaprt::DeviceOp device, soaprt::MainOp main,
                           JoinedKernels &kernels)
    : main_(main), kernels_(kernels), uses_(device) {
  for (Operation &row : main.getBlock())
    if (row.hasAttr(soaprt::heldAttrName))
      held_.push_back(&row);
}

/// What the joined launch reads and writes. False if it cannot be one.
bool ProgramJoins::collectValues(Join &join) {
  LaunchOp first = join.first, second = join.second;
  ValueRange made = first.getOutputs();
  llvm::SmallDenseSet<Operation *> written;
  for (LaunchOp launch : {first, second})
    for (Value output : launch.getOutputs())
      // A buffer that two results share, or two rows write.
      if (uses_.of(output).writers.size() != 1 ||
          !written.insert(soaprt::getStorage(output).buffer).second)
        return false;
  auto addInput = [&](Value input) {
    join.inputs.insert(input);
    return !written.contains(soaprt::getStorage(input).buffer);
  };
  for (Value input : first.getInputs())
    if (!addInput(input))
      return false;
  for (Value input : second.getInputs())
    if (!llvm::is_contained(made, input) && !addInput(input))
      return false;
  for (Value output : made) {
    const BufferUses &uses = uses_.of(output);
    if (llvm::any_of(uses.tiles, isKeptOrPart))
      return false;
    // What nobody reads is handed on like what others read: a kernel has no
    // operation without a reader.
    bool isBetween = isWholeActivation(output) && !uses.isViewed &&
                     !uses.isLoaded && !uses.readers.empty() &&
                     llvm::all_of(uses.readers, [&](RowOpInterface row) {
                       return row == second;
                     });
    (isBetween ? join.between : join.outputs).push_back(output);
  }
  join.outputs.append(second.getOutputs().begin(), second.getOutputs().end());
  return true;
}

/// Whether nothing is sent later than it was, and the first launch has to wait
/// for nothing that is received for the second one.
bool ProgramJoins::staysInTime(const Join &join) {
  auto communicates = [](RowOpInterface row) { return row.communicates(); };
  LaunchOp first = join.first, second = join.second;
  for (Value output : first.getOutputs())
    if (llvm::any_of(uses_.of(output).readers, communicates))
      return false;
  return llvm::all_of(second.getInputs(), [&](Value input) {
    const BufferUses &uses = uses_.of(input);
    auto isFirst = [&](RowOpInterface row) { return row == first; };
    return llvm::none_of(uses.writers, communicates) ||
           llvm::any_of(uses.readers, isFirst);
  });
}

/// Whether a row between the two launches writes `value`, or reads it.
bool ProgramJoins::isTouchedBetween(Value value, const Join &join,
                                    bool alsoRead) {
  LaunchOp first = join.first, second = join.second;
  auto isBetween = [&](RowOpInterface row) {
    return row->getBlock() == first->getBlock() &&
           first->isBeforeInBlock(row) && row->isBeforeInBlock(second);
  };
  const BufferUses &uses = uses_.of(value);
  return llvm::any_of(uses.writers, isBetween) ||
         (alsoRead && llvm::any_of(uses.readers, isBetween));
}

/// How much more memory activations take behind a launch than in front of it:
/// its results, less those operands that nobody reads again.
int64_t ProgramJoins::bytesBehind(LaunchOp launch) {
  int64_t bytes = 0;
  auto bytesOf = [](Value value) -> int64_t {
    soaprt::BufferType type = soaprt::getStorage(value).buffer.getType();
    return type.getSpace() == Space::Activations ? type.getBytes() : 0;
  };
  llvm::SmallDenseSet<Operation *> seen;
  for (Value output : launch.getOutputs())
    bytes += bytesOf(output);
  for (Value input : launch.getInputs()) {
    auto isDone = [&](RowOpInterface row) {
      return row->getBlock() == launch->getBlock() &&
             (row == launch || row->isBeforeInBlock(launch));
    };
    if (seen.insert(soaprt::getStorage(input).buffer).second &&
        llvm::all_of(uses_.of(input).readers, isDone))
      bytes -= bytesOf(input);
  }
  return bytes;
}

/// Whether so many rows stand between two launches that memory counts: a result
/// of a forward pass may wait for the backward pass.
static bool areFarApart(LaunchOp first, LaunchOp second) {
  constexpr int mostRows = 16;
  Operation *row = first->getNextNode();
  for (int count = 0; row != second; row = row->getNextNode())
    if (++count > mostRows)
      return true;
  return false;
}

/// Where the joined launch may stand: a row between the two sees no difference,
/// and if there are many, what lives meanwhile takes no more memory.
bool ProgramJoins::findPlace(Join &join) {
  LaunchOp first = join.first, second = join.second;
  auto isHeldBetween = [&](Operation *row) {
    return first->isBeforeInBlock(row) && row->isBeforeInBlock(second);
  };
  if (llvm::any_of(held_, isHeldBetween))
    return false;
  auto isFree = [&](LaunchOp launch) {
    return llvm::none_of(launch.getOutputs(),
                         [&](Value output) {
                           return isTouchedBetween(
                               output, join,
                               /*alsoRead=*/!SOAP_FAULT("join-past-reader"));
                         }) &&
           llvm::none_of(launch.getInputs(), [&](Value input) {
             return isTouchedBetween(input, join, /*alsoRead=*/false);
           });
  };
  bool areFar = areFarApart(first, second);
  if (isFree(first) && (!areFar || bytesBehind(first) >= 0))
    return true;
  join.atFirst = isFree(second) && (!areFar || bytesBehind(second) <= 0);
  return join.atFirst;
}

/// Joins a launch with one whose results it reads, the last one with which it
/// pays. Null if there is none.
LaunchOp ProgramJoins::joinWithOneBefore(LaunchOp second) {
  KernelOp kernel = kernels_.lookup(second);
  if (!canBeJoined(kernel) || second->hasAttr(soaprt::heldAttrName))
    return {};
  SmallVector<LaunchOp> before;
  for (Value input : second.getInputs())
    for (RowOpInterface row : uses_.of(input).writers) {
      auto first = dyn_cast<LaunchOp>(row.getOperation());
      if (first && first->getBlock() == second->getBlock() &&
          first->isBeforeInBlock(second) &&
          llvm::is_contained(first.getOutputs(), input) &&
          !llvm::is_contained(before, first))
        before.push_back(first);
    }
  llvm::sort(before,
             [](LaunchOp a, LaunchOp b) { return b->isBeforeInBlock(a); });
  for (LaunchOp first : before) {
    KernelOp other = kernels_.lookup(first);
    if (!canBeJoined(other) || first->hasAttr(soaprt::heldAttrName) ||
        !(isPerElement(kernel) || isPerElement(other)))
      continue;
    Join join{first, second, {}, {}, {}};
    if (!collectValues(join) || !staysInTime(join) || !findPlace(join))
      continue;
    if (KernelOp joined = kernels_.findOrMake(join))
      return apply(join, joined);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LaunchOp ProgramJoins::apply(const Join &join, KernelOp kernel) {
  LaunchOp first = join.first, second = join.second;
  LLVM_DEBUG(llvm::dbgs() << "'" << first.getNode() << "' and '"
                          << second.getNode() << "' are one launch, "
                          << (join.atFirst ? "the first\n" : "the second\n"));
  LaunchOp named = isPerElement(kernels_.lookup(first)) ? second : first;
  OpBuilder builder(join.atFirst ? first : second);
  auto row = builder.create<LaunchOp>(
      named.getLoc(), named.getDone().getType(),
      FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
      join.inputs.getArrayRef(), join.outputs, builder.getDenseI64ArrayAttr({}),
      IntegerAttr(), ValueRange(), named.getNodeAttr(),
      builder.getI64IntegerAttr(named.getTask()), soaprt::StreamAttr());
  uses_.replace(first, second, row);
  first.erase();
  second.erase();
  for (Value buffer : join.between)
    uses_.erase(buffer);
  ++numJoined;
  return row;
}

void ProgramJoins::run() {
  for (auto launch :
       llvm::make_early_inc_range(main_.getBlock().getOps<LaunchOp>()))
    while (launch)
      launch = joinWithOneBefore(launch);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct JoinKernelsPass : soap::impl::JoinKernelsPassBase<JoinKernelsPass> {
  using JoinKernelsPassBase::JoinKernelsPassBase;
  explicit JoinKernelsPass(const Target &target) : chosen_(target) {}

  /// What the passes of the target need.
  void getDependentDialects(DialectRegistry &registry) const override {
    JoinKernelsPassBase::getDependentDialects(registry);
    registerKernelDialects(registry);
    ChosenTarget chosen = chosen_;
    if (llvm::Error error = chosen.choose(target))
      llvm::consumeError(std::move(error)); // initialize() says so.
    else if ((*chosen).joinsKernels())
      (*chosen).registerDialects(registry);
  }

  LogicalResult initialize(MLIRContext *context) override {
    return chosen_.initialize(context, target);
  }

  void runOnOperation() override {
    if (!(*chosen_).joinsKernels())
      return;
    auto run = [&](OpPassManager &passes, ModuleOp kernels) {
      return runPipeline(passes, kernels);
    };
    JoinedKernels kernels(getOperation(), *chosen_, run);
    for (auto device : getOperation().getOps<soaprt::DeviceOp>())
      for (soaprt::MainOp main : device.getMains()) {
        ProgramJoins joins(device, main, kernels);
        joins.run();
        numJoined += joins.numJoined;
      }
    numTried += kernels.numTried();
    kernels.finish();
  }

private:
  ChosenTarget chosen_;
};
} // namespace

std::unique_ptr<Pass> soap::createJoinKernelsPass(const Target &target) {
  return std::make_unique<JoinKernelsPass>(target);
}
