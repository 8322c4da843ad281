//===- OperatorGraphExtraction.cpp - From IR to the operator graph --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Transforms/OperatorGraphExtraction.h"
#include "soap/Dialect/NN/IR/EmptyOutputs.h"
#include "soap/Dialect/NN/IR/Images.h"
#include "soap/Dialect/NN/IR/LaunchedLate.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/NN/IR/Views.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace soap {
namespace {

NodeRole roleOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, NodeRole>(op)
      .Case<nn::InputOp>([](auto) { return NodeRole::Input; })
      .Case<nn::OutputOp>([](auto) { return NodeRole::Output; })
      .Case<nn::ParameterOp>([](auto) { return NodeRole::Parameter; })
      .Case<nn::ConstantOp, nn::ScheduleOp>(
          [](auto) { return NodeRole::Constant; })
      .Default([](auto) { return NodeRole::Compute; });
}

int32_t elementBytes(Type type) {
  return static_cast<int32_t>(
      nn::elementBytes(cast<RankedTensorType>(type).getElementType()));
}

uint32_t sampleDimBits(nn::InputOp input) {
  uint32_t bits = 0;
  for (int64_t dim : input.getSampleDims())
    bits |= 1u << dim;
  return bits;
}

} // namespace

FailureOr<func::FuncOp> getMainFunction(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return emitError(module.getLoc(),
                     "expected a function @main with the model, got "
                     "none; import a model with soap-translate");
  if (!main.getBody().hasOneBlock())
    return emitError(main.getLoc(), "expected @main to have one block");
  return main;
}

namespace {
/// The groups of a function, by the names of their leaders.
class Groups {
public:
  explicit Groups(func::FuncOp main) {
    main.walk([&](nn::PartitionOpInterface op) {
      if (StringRef leader = nn::getGroupLeader(op); !leader.empty())
        groups_.try_emplace(leader,
                            Group{static_cast<int32_t>(groups_.size())});
    });
    main.walk([&](nn::PartitionOpInterface op) {
      auto it = groups_.find(nn::getName(op));
      if (it != groups_.end())
        it->second.leader = op;
    });
  }

  /// Puts a node, that of `op`, into its group.
  LogicalResult join(Operation *op, GraphNode &node) const {
    StringRef name = nn::getGroupLeader(op);
    node.leads = name.empty();
    auto it = groups_.find(name.empty() ? StringRef(node.name) : name);
    if (it == groups_.end())
      return success();
    const Group &group = it->second;
    if (!group.leader)
      return op->emitOpError()
             << "expected a leader of the group, got none called '" << name
             << "'";
    node.group = group.number;
    if (node.leads)
      return success();
    PartitionSpec leader =
        cast<nn::PartitionOpInterface>(group.leader).getPartitionSpec();
    auto loops = nn::getLeaderLoops(op, node.spec, leader);
    if (failed(loops))
      return failure();
    node.leaderLoops = std::move(*loops);
    return success();
  }

private:
  struct Group {
    int32_t number;
    Operation *leader = nullptr;
  };
  llvm::StringMap<Group> groups_;
};
} // namespace

namespace {
/// The updates of a function, by the names of their leaders.
class Updates {
public:
  explicit Updates(func::FuncOp main) {
    main.walk([&](nn::PartitionOpInterface op) {
      if (StringRef leader = nn::getUpdateLeader(op); !leader.empty())
        numbers_.try_emplace(leader, static_cast<int32_t>(numbers_.size()));
    });
  }

  /// Makes a node, that of `op`, part of its update.
  void join(Operation *op, GraphNode &node) const {
    StringRef leader = nn::getUpdateLeader(op);
    auto it = numbers_.find(leader.empty() ? StringRef(node.name) : leader);
    if (it == numbers_.end())
      return;
    node.update = it->second;
    node.leadsUpdate = leader.empty();
  }

private:
  llvm::StringMap<int32_t> numbers_;
};
} // namespace

FailureOr<ExtractedGraph> extractOperatorGraph(func::FuncOp main) {
  ExtractedGraph result;
  llvm::DenseMap<Value, int32_t> values;
  llvm::StringMap<int32_t> computed; ///< Nodes that compute, by name.
  Groups groups(main);
  Updates updates(main);
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto partitionable = dyn_cast<nn::PartitionOpInterface>(&op);
    if (!partitionable)
      return emitError(op.getLoc(),
                       "expected operations of the nn dialect in @main, "
                       "got: ")
             << op.getName();
    GraphNode node;
    node.name = nn::getName(&op).str();
    node.op = op.getName().getStringRef().str();
    node.role = roleOf(&op);
    node.spec = partitionable.getPartitionSpec();
    if (auto write = dyn_cast<nn::WriteOp>(&op))
      node.writtenOperand =
          static_cast<int32_t>(write.getParameterMutable().getOperandNumber());
    if (op.hasTrait<nn::PerElement>())
      node.overwrites = Overwrites::PerElement;
    else if (op.hasTrait<nn::OverwritesFirst>())
      node.overwrites = Overwrites::First;
    node.makesViews = nn::mayBeView(&op);
    node.isFixed = nn::isFixed(&op);
    result.graph.hasImages |= nn::readsImages(&op);
    if (auto followed = op.getAttrOfType<IntegerAttr>(
            soapir::SOAPDialect::getFollowsAttrName()))
      node.followedOperand = static_cast<int32_t>(followed.getInt());
    if (auto input = dyn_cast<nn::InputOp>(&op))
      node.sampleDims = sampleDimBits(input);
    for (Value operand : op.getOperands()) {
      auto it = values.find(operand);
      if (it == values.end())
        return emitError(op.getLoc(), "expected operands that @main computes");
      node.operands.push_back(it->second);
    }
    if (failed(groups.join(&op, node)))
      return failure();
    updates.join(&op, node);
    if (StringRef after = nn::getAfter(&op); !after.empty()) {
      auto it = computed.find(after);
      if (it == computed.end())
        return op.emitOpError("expected 'nn.after' to name an operation before "
                              "it that computes, got: '")
               << after << "'";
      node.after = it->second;
    }
    SmallVector<int32_t> bytes;
    for (Type type : op.getResultTypes())
      bytes.push_back(elementBytes(type));
    auto shapes = nn::resultShapes(&op);
    int32_t id = result.graph.addNode(std::move(node), shapes, bytes);
    for (auto [index, value] : llvm::enumerate(op.getResults()))
      values[value] = result.graph.valueOf(id, static_cast<int32_t>(index));
    if (result.graph.node(id).role == NodeRole::Compute)
      computed[nn::getName(&op)] = id;
    result.ops.push_back(&op);
  }
  // A model whose outputs have no elements computes nothing.
  if (result.ops.empty() && nn::emptyOutputs(main->getParentOp()).empty())
    return emitError(main.getLoc(), "expected operations of the nn dialect in "
                                    "@main, got: none; import a model with "
                                    "soap-translate");
  result.graph.setTaskWork(
      [ops = result.ops](int32_t node, const Degrees &degrees, int64_t task) {
        auto op = cast<nn::PartitionOpInterface>(ops[node]);
        nn::LocalTile tile = nn::makeLocalTile(op, degrees, task);
        return TaskWork{"", op.getFlops(tile), op.getBytes(tile),
                        nn::precisionOf(op).value_or(Precision::F32)};
      },
      [ops = result.ops](int32_t node, const Degrees &degrees, int64_t task) {
        auto op = cast<nn::PartitionOpInterface>(ops[node]);
        return nn::kernelKey(op, nn::makeLocalTile(op, degrees, task));
      });
  if (auto module = main->getParentOfType<ModuleOp>())
    result.graph.name = module.getName().value_or("").str();
  result.graph.fingerprint = fingerprint(main);
  if (auto bytes = main->getAttrOfType<IntegerAttr>(
          soapir::SOAPDialect::getBucketBytesAttrName()))
    result.graph.bucketBytes = bytes.getInt();
  if (auto bytes = main->getAttrOfType<IntegerAttr>(
          soapir::SOAPDialect::getPrefetchBytesAttrName()))
    result.graph.prefetchBytes = bytes.getInt();
  if (llvm::Error error = result.graph.finish())
    return emitError(main.getLoc(), "the operator graph is not valid: ")
           << toString(std::move(error));
  return result;
}

std::string fingerprint(func::FuncOp main) {
  // Order matters only through operands: every operation adds a hash of its
  // own, the sum of which does not depend on the launch order.
  uint64_t sum = 0;
  std::string text;
  main.walk([&](Operation *op) {
    if (!isa<nn::PartitionOpInterface>(op))
      return;
    text.clear();
    llvm::raw_string_ostream os(text);
    os << op->getName();
    for (NamedAttribute attribute : op->getAttrs()) {
      StringRef name = attribute.getName();
      bool isWeight = isa<nn::ParameterOp>(op) && name == "source";
      // Which tensor a parameter is a view of changes nothing that is computed,
      // nor does what a strategy may decide about apart from a group.
      if (!isWeight && name != nn::viewAttrName && name != nn::updateAttrName &&
          !name.starts_with("soap."))
        os << ';' << name << '=' << attribute.getValue();
    }
    for (Value operand : op->getOperands()) {
      os << ';';
      if (auto argument = dyn_cast<BlockArgument>(operand))
        os << '?' << argument.getArgNumber();
      else
        os << nn::getName(operand.getDefiningOp());
    }
    for (Type type : op->getResultTypes())
      os << ';' << type;
    sum += llvm::xxh3_64bits(os.str());
  });
  return llvm::utohexstr(sum, /*LowerCase=*/true, /*Width=*/16);
}

} // namespace soap
