//===- AssignLayouts.cpp - The order of elements of buffers ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoxViews.h"
#include "JoinedReshapes.h"
#include "MinimumCut.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Conversion/SOAPToSOAPRT/SOAPToSOAPRT.h"
#include "soap/Dialect/NN/IR/Images.h"
#include "soap/Dialect/SOAPRT/Transforms/Messages.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramProof.h"
#include "soap/Partition/ElementOrders.h"
#include "soap/Target/ChosenTarget.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

namespace soap {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "soap/Conversion/SOAPToSOAPRT/Passes.h.inc"
} // namespace soap

using namespace mlir;
using namespace soap;
using soaprt::BufferType;
using soaprt::ElementOrder;

static BufferType typeOf(Value buffer) {
  return cast<BufferType>(buffer.getType());
}

namespace {
/// The buffers of all devices that may have channels last, with what it costs:
/// the bytes that kernels and copies reorder in a step. A node of the cut is
/// true where channels are last.
class ProgramLayouts {
public:
  ProgramLayouts(ModuleOp module, SymbolTable &symbols, const Target &target)
      : symbols_(symbols), target_(target) {
    for (auto device : module.getOps<soaprt::DeviceOp>())
      add(device);
    for (const auto &[key, ends] : soaprt::collectMessages(module))
      for (size_t n = 0; n < std::max(ends.sends.size(), ends.receives.size());
           ++n)
        join(n < ends.sends.size() ? ends.sends[n].buffer : Value(),
             n < ends.receives.size() ? ends.receives[n].buffer : Value());
    for (const auto &members : soaprt::collectCollectives(module)) {
      bool isWhole = !llvm::is_contained(members, soaprt::CollectiveOp());
      for (const auto &piece : soaprt::piecesOf(members))
        for (const soaprt::CollectiveEnd &end : piece)
          if (!isWhole)
            keepRowMajor(end.buffer);
          else if (!SOAP_FAULT("piece-order"))
            joinOrders(piece.front().buffer, end.buffer);
    }
  }

  /// Gives buffers and views their order. Views that lie otherwise than their
  /// sources, or are not contiguous any more, become buffers. Returns how many
  /// have channels last.
  unsigned apply() {
    llvm::BitVector values = cut_.solve();
    auto isLast = [&](Value buffer) {
      auto node = nodeOf(buffer);
      return node && values[*node];
    };
    SmallVector<BoxView> copied;
    for (BoxView &box : boxes_) {
      bool source = isLast(box.view.getSource());
      if (source != isLast(box.view) || (source && !box.view.isOfSamples()))
        copied.push_back(box);
    }
    unsigned count = 0;
    for (auto [op, node] : nodes_) {
      if (!values[node])
        continue;
      Value buffer = op->getResult(0);
      buffer.setType(typeOf(buffer).withOrder(ElementOrder::ChannelsLast));
      ++count;
    }
    copyBoxes(copied);
    return count;
  }

private:
  /// Of tensors that the runtime knows with channels last.
  static constexpr size_t maxRank = 5;
  /// A copy that reorders moves single elements, the library's reorders blocks
  /// of them.
  static constexpr int64_t copyFactor = 4;

  void add(soaprt::DeviceOp device) {
    for (auto buffer : device.getBlock().getOps<soaprt::BufferOp>()) {
      ArrayRef<int64_t> shape = buffer.getType().getShape();
      if (buffer.getType().getSpace() == Space::Activations &&
          hasOrders(shape) && shape.size() <= maxRank)
        nodes_[buffer] = cut_.addNode();
    }
    ProgramUses uses(device);
    for (Operation &op : device.getBlock())
      TypeSwitch<Operation *>(&op)
          .Case([&](soaprt::ViewOp view) { visit(view, uses); })
          .Case([&](soaprt::LoadOp load) { keepRowMajor(load.getTarget()); })
          .Case([&](soaprt::InitOp init) {
            for (auto row : init.getBlock().getOps<soaprt::RowOpInterface>())
              keepAllRowMajor(row);
          })
          .Case([&](soaprt::MainOp main) {
            for (auto row : main.getBlock().getOps<soaprt::RowOpInterface>())
              visit(row);
          });
  }

  std::optional<unsigned> nodeOf(Value buffer) const {
    auto known = nodes_.find(buffer.getDefiningOp());
    return known == nodes_.end() ? std::nullopt
                                 : std::optional<unsigned>(known->second);
  }

  void keepRowMajor(Value buffer) {
    if (auto node = nodeOf(buffer))
      cut_.addCost(*node, /*value=*/true, MinimumCut::forbidden);
  }

  void keepAllRowMajor(soaprt::RowOpInterface row) {
    for (const auto &buffers : {row.getReads(), row.getWrites()})
      for (Value buffer : buffers)
        keepRowMajor(buffer);
  }

  void visit(soaprt::RowOpInterface row) {
    TypeSwitch<Operation *>(row)
        .Case([&](soaprt::LaunchOp launch) { visit(launch); })
        .Case([&](soaprt::CopyOp copy) { visit(copy); })
        // join() knows all ends.
        .Case<soaprt::ExchangeOp, soaprt::CollectiveOp>([](auto) {})
        .Default([&](Operation *) { keepAllRowMajor(row); });
  }

  /// A view has the order of its source, or is copied.
  void visit(soaprt::ViewOp view, ProgramUses &uses) {
    auto source = nodeOf(view.getSource());
    if (!source)
      return;
    std::optional<BoxView> box = findBoxView(view, uses);
    if (!box || (!box->place.row && !view.isOfSamples()))
      return keepRowMajor(view.getSource());
    boxes_.push_back(*box);
    int64_t both = box->costChannelsLast();
    if (!hasOrders(view.getType().getShape()))
      return cut_.addCost(*source, /*value=*/true, both);
    unsigned node = nodes_[view] = cut_.addNode();
    cut_.addCost(*source, /*value=*/true, both / 2);
    cut_.addCost(node, /*value=*/true, both / 2);
    cut_.addDifference(*source, node,
                       box->place.row
                           ? copyFactor * view.getType().getBytes() - both / 2
                           : MinimumCut::forbidden);
  }

  void visit(soaprt::CopyOp copy) {
    for (auto [box, from, to] :
         llvm::zip_first(copy.getCopies().getAsRange<soaprt::BoxCopyAttr>(),
                         copy.getSources(), copy.getTargets())) {
      if (!hasOrders(box.getSizes()))
        continue;
      int64_t cost = copyFactor * typeOf(from).getElementBytes() *
                     ShapedType::getNumElements(box.getSizes());
      auto fromNode = nodeOf(from), toNode = nodeOf(to);
      if (fromNode && toNode)
        cut_.addDifference(*fromNode, *toNode, cost);
      else if (fromNode || toNode)
        cut_.addCost(fromNode ? *fromNode : *toNode, /*value=*/true, cost);
    }
  }

  /// Both ends of a message have one order: its bytes are those of a whole
  /// buffer. Null: an end that is not there.
  void join(Value sent, Value received) {
    if (SOAP_FAULT("message-order") && received)
      return keepRowMajor(received);
    if (sent && received)
      return joinOrders(sent, received);
    keepRowMajor(sent ? sent : received);
  }

  void joinOrders(Value a, Value b) {
    auto one = nodeOf(a), other = nodeOf(b);
    if (one && other)
      return cut_.addDifference(*one, *other, MinimumCut::forbidden);
    keepRowMajor(a);
    keepRowMajor(b);
  }

  void visit(soaprt::LaunchOp launch) {
    auto kernel = symbols_.lookup<soaprt::KernelOp>(launch.getKernel());
    if (kernel.getNative())
      visitNative(launch, kernel);
    else
      visitLibrary(launch, kernel.getAnchor());
  }

  /// All values that the kernel has in one order have the same.
  void visitNative(soaprt::LaunchOp launch, soaprt::KernelOp kernel) {
    std::optional<llvm::SmallBitVector> alike =
        isChannelShuffle(kernel) ? llvm::SmallBitVector(2, true)
                                 : channelsLastValues(kernel.getAnchor());
    if (!alike)
      return keepAllRowMajor(launch);
    SmallVector<Value> values(launch.getInputs());
    llvm::append_range(values, launch.getOutputs());
    SmallVector<unsigned> nodes;
    bool isFixed = false;
    for (auto [number, value] : llvm::enumerate(values)) {
      if (!(*alike)[number])
        keepRowMajor(value);
      else if (auto node = nodeOf(value))
        nodes.push_back(*node);
      else
        isFixed |= hasOrders(typeOf(value).getShape());
    }
    if (isFixed)
      return keepAllRowMajor(launch);
    for (auto [one, other] : llvm::zip(nodes, llvm::drop_begin(nodes)))
      cut_.addDifference(one, other, MinimumCut::forbidden);
  }

  /// The first operand and the result, or the two operands of the gradient of
  /// weights, are reordered if they have another order than the kernel.
  void visitLibrary(soaprt::LaunchOp launch, Operation *op) {
    ChannelsLast use =
        nn::readsImages(op) ? target_.getChannelsLast(op) : ChannelsLast::Never;
    if (use == ChannelsLast::Never)
      return keepAllRowMajor(launch);
    SmallVector<Value> rest(launch.getInputs().drop_front());
    llvm::append_range(rest, launch.getOutputs());
    auto other = isa<nn::ConvBackwardFilterOp>(op)
                     ? rest.begin()
                     : rest.end() - launch.getOutputs().size();
    Value second = *other;
    rest.erase(other);
    for (Value value : rest)
      keepRowMajor(value);
    std::optional<unsigned> kernel;
    if (use != ChannelsLast::Always)
      kernel = cut_.addNode();
    for (Value value : {launch.getInputs().front(), second}) {
      auto node = nodeOf(value);
      int64_t bytes = typeOf(value).getBytes();
      // A row-major pool of 576x8x14 takes 267 in place of 37 us with AVX-512,
      // more than reordering both would; a larger cost is none of a cut.
      if (use == ChannelsLast::Faster)
        cut_.addCost(*kernel, /*value=*/false, bytes);
      if (node && kernel)
        cut_.addDifference(*kernel, *node, bytes);
      else if (node)
        cut_.addCost(*node, /*value=*/false, bytes);
      else if (kernel && hasOrders(typeOf(value).getShape()))
        cut_.addCost(*kernel, /*value=*/true, bytes);
    }
  }

  SymbolTable &symbols_;
  const Target &target_;
  llvm::MapVector<Operation *, unsigned> nodes_; ///< Of buffers and views.
  SmallVector<BoxView> boxes_;
  MinimumCut cut_;
};

struct AssignLayoutsPass
    : soap::impl::AssignLayoutsPassBase<AssignLayoutsPass> {
  using AssignLayoutsPassBase::AssignLayoutsPassBase;
  explicit AssignLayoutsPass(const Target &target) : chosen_(target) {}

  void getDependentDialects(DialectRegistry &registry) const override {
    AssignLayoutsPassBase::getDependentDialects(registry);
    registerKernelDialects(registry);
  }

  LogicalResult initialize(MLIRContext *context) override {
    return chosen_.initialize(context, target);
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    unsigned count = ProgramLayouts(getOperation(), symbols, *chosen_).apply();
    numChannelsLast += count;
    if (count != 0 && (failed(renewKernels(symbols)) ||
                       failed(soaprt::verifyMessages(getOperation()))))
      signalPassFailure();
  }

private:
  /// Launches of buffers with channels last get kernels that say so; kernels
  /// that nobody launches any more go.
  LogicalResult renewKernels(SymbolTable &symbols) {
    std::map<std::pair<Operation *, SmallVector<int64_t>>, StringAttr> renewed;
    llvm::DenseSet<StringAttr> launched;
    WalkResult walked = getOperation().walk([&](soaprt::LaunchOp launch) {
      SmallVector<int64_t> last;
      SmallVector<Value> values(launch.getInputs());
      values.append(launch.getOutputs().begin(), launch.getOutputs().end());
      for (auto [number, value] : llvm::enumerate(values))
        if (typeOf(value).isChannelsLast())
          last.push_back(number);
      if (!last.empty()) {
        auto kernel = symbols.lookup<soaprt::KernelOp>(launch.getKernel());
        StringAttr &name = renewed[{kernel, last}];
        if (!name && failed(renew(kernel, last, symbols, name)))
          return WalkResult::interrupt();
        launch.setKernelAttr(FlatSymbolRefAttr::get(name));
      }
      launched.insert(launch.getKernelAttr().getAttr());
      return WalkResult::advance();
    });
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<soaprt::KernelOp>()))
      if (!launched.contains(kernel.getSymNameAttr()))
        symbols.erase(kernel);
    return failure(walked.wasInterrupted());
  }

  LogicalResult renew(soaprt::KernelOp kernel, ArrayRef<int64_t> last,
                      SymbolTable &symbols, StringAttr &name) {
    auto clone = cast<soaprt::KernelOp>(kernel->clone());
    name = symbols.insert(clone, Block::iterator(kernel));
    clone.setChannelsLast(last);
    if (!kernel.getNative())
      return success();
    NativeKernels natives(getOperation());
    FailureOr<NativeKernelCall> call =
        isChannelShuffle(clone)
            ? getOrCreateChannelsLastShuffle(natives, clone)
            : natives.getOrCreate(clone.getAnchor(), /*channelsLast=*/true);
    if (failed(call))
      return failure();
    clone.setNativeAttr(SymbolRefAttr::get(
        &getContext(), natives.getModule().getSymName().value_or("kernels"),
        FlatSymbolRefAttr::get(&getContext(), call->symbol)));
    clone.setIndex(call->index);
    clone.setSizes(call->sizes);
    return success();
  }

  ChosenTarget chosen_;
};
} // namespace

std::unique_ptr<Pass> soap::createAssignLayoutsPass(const Target &target) {
  return std::make_unique<AssignLayoutsPass>(target);
}
