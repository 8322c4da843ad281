//===- LowerCommunication.cpp - Transfers, collectives, feeds, drains -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace soap;

static ir::ShardType shardType(Value value) {
  return cast<ir::ShardType>(value.getType());
}

/// The box of a shard: an attribute of the op that makes it.
static ir::BoxAttr boxOf(Value shard) {
  auto op = cast<ir::ShardOpInterface>(shard.getDefiningOp());
  return op.getBox(cast<OpResult>(shard).getResultNumber());
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

LogicalResult Lowering::lower(ir::TransferOp op) {
  if (op.getPhase() == ir::Phase::Feed)
    return lowerFeed(op);
  if (op.getPhase() == ir::Phase::Drain)
    return lowerDrain(op);

  struct Messages {
    SmallVector<Value> sends, receives;
    SmallVector<int32_t> destinations, origins;
  };
  std::map<int32_t, Messages> messages;
  for (auto [input, output] :
       llvm::zip_equal(op.getInputs(), op.getOutputs())) {
    int32_t from = shardType(input).getDevice();
    int32_t to = shardType(output).getDevice();
    Value buffer = createBuffer(shardType(output), op.getLoc());
    shards.map(output, buffer);
    messages[from].sends.push_back(shards.lookup(input));
    messages[from].destinations.push_back(to);
    messages[to].receives.push_back(buffer);
    messages[to].origins.push_back(from);
  }
  std::string name = (boxOf(op.getOutputs()[0]).getValue().getValue() +
                      (op.getHalo() ? ".halo" : ".transfer"))
                         .str();
  int32_t tag = tags++;
  for (auto &[device, message] : messages) {
    if (SOAP_FAULT("origins-swapped"))
      std::reverse(message.receives.begin(), message.receives.end());
    if (SOAP_FAULT("message-lost") && !message.receives.empty()) {
      message.receives.pop_back();
      message.origins.pop_back();
    }
    OpBuilder builder = rowBuilder({device, /*init=*/false, name});
    builder.create<soaprt::ExchangeOp>(
        op.getLoc(), soaprt::TokenType::get(context), message.sends,
        message.receives, builder.getDenseI32ArrayAttr(message.destinations),
        builder.getDenseI32ArrayAttr(message.origins),
        builder.getI32IntegerAttr(tag), ValueRange(),
        builder.getStringAttr(name), builder.getI64IntegerAttr(-1),
        soaprt::StreamAttr());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Feeds and drains
//===----------------------------------------------------------------------===//

/// Boxes of one input or output on one device.
namespace {
struct Boxes {
  SmallVector<Value> buffers;
  SmallVector<Attribute> copies;
};
} // namespace

LogicalResult Lowering::lowerFeed(Operation *op) {
  std::map<int32_t, Boxes> feeds;
  StringRef name = boxOf(op->getResult(0)).getValue();
  auto input = inputs.find(name);
  if (input == inputs.end())
    return op->emitOpError("expected a feed of an input of the model, got: '")
           << name << "'";
  for (Value output : op->getResults()) {
    Box box = boxOf(output).getBox();
    Value buffer = createBuffer(shardType(output), op->getLoc());
    shards.map(output, buffer);
    Boxes &feed = feeds[shardType(output).getDevice()];
    feed.buffers.push_back(buffer);
    feed.copies.push_back(soaprt::BoxCopyAttr::get(
        context,
        SOAP_FAULT("feed-origin") ? SmallVector<int64_t>(box.size(), 0)
                                  : lowerBounds(box),
        SmallVector<int64_t>(box.size(), 0), shapeOf(box)));
  }
  for (auto &[device, feed] : feeds) {
    OpBuilder builder = rowBuilder({device, /*init=*/false, name});
    builder.create<soaprt::FeedOp>(
        op->getLoc(), soaprt::TokenType::get(context),
        FlatSymbolRefAttr::get(input->second.getSymNameAttr()), feed.buffers,
        builder.getArrayAttr(feed.copies), ValueRange(),
        builder.getStringAttr(name), builder.getI64IntegerAttr(-1),
        soaprt::StreamAttr());
  }
  return success();
}

void Lowering::findOutputs(Value hostShard,
                           SmallVectorImpl<soaprt::OutputOp> &found) {
  for (OpOperand &use : hostShard.getUses()) {
    Operation *user = use.getOwner();
    if (auto task = dyn_cast<ir::TaskOp>(user)) {
      for (auto output : task.getBlock().getOps<nn::OutputOp>())
        if (output.getX() ==
            task.getBlock().getArgument(use.getOperandNumber()))
          found.push_back(outputs.lookup(nn::getName(output)));
    } else if (isa<ir::SliceOp, ir::AssembleOp>(user)) {
      findOutputs(user->getResult(0), found);
    }
  }
}

LogicalResult Lowering::lowerDrain(ir::TransferOp op) {
  /// By device and port.
  llvm::MapVector<std::pair<int32_t, Operation *>, Boxes> drains;
  for (auto [input, output] :
       llvm::zip_equal(op.getInputs(), op.getOutputs())) {
    SmallVector<soaprt::OutputOp> ports;
    findOutputs(output, ports);
    Box box = boxOf(output).getBox();
    for (soaprt::OutputOp port : ports) {
      Boxes &drain = drains[{shardType(input).getDevice(), port}];
      drain.buffers.push_back(shards.lookup(input));
      drain.copies.push_back(
          soaprt::BoxCopyAttr::get(context, SmallVector<int64_t>(box.size(), 0),
                                   lowerBounds(box), shapeOf(box)));
    }
  }
  for (auto &[key, drain] : drains) {
    auto port = cast<soaprt::OutputOp>(key.second);
    OpBuilder builder =
        rowBuilder({key.first, /*init=*/false, port.getPortName()});
    builder.create<soaprt::DrainOp>(
        op.getLoc(), soaprt::TokenType::get(context),
        FlatSymbolRefAttr::get(port.getSymNameAttr()), drain.buffers,
        builder.getArrayAttr(drain.copies), ValueRange(),
        port.getPortNameAttr(), builder.getI64IntegerAttr(-1),
        soaprt::StreamAttr());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void Lowering::lowerCollective(Operation *op, soaprt::CollectiveKind kind,
                               ArrayRef<int32_t> group, StringAttr algorithm,
                               ArrayAttr boxes) {
  using Kind = soaprt::CollectiveKind;
  Location loc = op->getLoc();
  std::string name = (cast<ir::BoxAttr>(boxes[0]).getValue().getValue() + "." +
                      soaprt::stringifyCollectiveKind(kind))
                         .str();
  std::string combine;
  if (kind == Kind::AllReduce || kind == Kind::ReduceScatter)
    combine = SOAP_FAULT("combiner-wrong")
                  ? "max"
                  : stringify(shardType(op->getOperand(0)).getPartial()).str();
  int32_t tag = tags++, members = group.size();

  for (int32_t member = 0; member < members; ++member) {
    Place place{group[member], /*init=*/false, name};
    SmallVector<Value> sends, receives;
    // Pieces of a buffer that are not contiguous are packed into, or unpacked
    // from, dense ones.
    SmallVector<Value> packFrom, packTo, unpackFrom, unpackTo;
    SmallVector<soaprt::BoxCopyAttr> packs, unpacks;
    auto piece = [&](Value buffer, const Box &whole, const Box &part,
                     bool send) {
      SmallVector<int64_t> lo = difference(part, whole);
      SmallVector<int64_t, 5> sizes = shapeOf(part);
      if (isEmpty(part))
        lo.assign(lo.size(), 0);
      if (Value view = tryView(place.device, buffer, lo, sizes,
                               /*aligned=*/false, loc))
        return view;
      auto type = cast<soaprt::BufferType>(buffer.getType());
      Value dense = createBuffer(place.device, sizes, type.getElementType(),
                                 soaprt::Space::Activations, loc);
      SmallVector<int64_t> zero(sizes.size(), 0);
      if (isEmpty(part))
        return dense;
      if (send) {
        packFrom.push_back(buffer);
        packTo.push_back(dense);
        packs.push_back(soaprt::BoxCopyAttr::get(context, lo, zero, sizes));
      } else {
        unpackFrom.push_back(dense);
        unpackTo.push_back(buffer);
        unpacks.push_back(soaprt::BoxCopyAttr::get(context, zero, lo, sizes));
      }
      return dense;
    };
    auto operandBox = [&](int32_t m) {
      return boxOf(op->getOperand(m)).getBox();
    };
    auto resultBox = [&](int32_t m) {
      return boxOf(op->getResult(m)).getBox();
    };
    auto output = [&](int32_t index) {
      Value result = op->getResult(index);
      Value buffer = createBuffer(shardType(result), loc);
      shards.map(result, buffer);
      return buffer;
    };

    switch (kind) {
    case Kind::Broadcast:
      if (member == 0)
        sends.push_back(shards.lookup(op->getOperand(0)));
      else
        receives.push_back(output(member - 1));
      break;
    case Kind::AllGather: {
      sends.push_back(shards.lookup(op->getOperand(member)));
      Value buffer = output(member);
      for (int32_t m = 0; m < members; ++m) {
        int32_t from = SOAP_FAULT("offset-wrong") ? members - 1 - m : m;
        receives.push_back(
            piece(buffer, resultBox(member), operandBox(from), false));
      }
      break;
    }
    case Kind::AllToAll: {
      Value input = shards.lookup(op->getOperand(member));
      Value buffer = output(member);
      for (int32_t m = 0; m < members; ++m) {
        sends.push_back(piece(input, operandBox(member),
                              intersect(operandBox(member), resultBox(m)),
                              true));
        receives.push_back(piece(buffer, resultBox(member),
                                 intersect(operandBox(m), resultBox(member)),
                                 false));
      }
      break;
    }
    case Kind::AllReduce:
      sends.push_back(shards.lookup(op->getOperand(member)));
      receives.push_back(output(member));
      break;
    case Kind::ReduceScatter: {
      Value input = shards.lookup(op->getOperand(member));
      for (int32_t m = 0; m < members; ++m)
        sends.push_back(piece(input, operandBox(member), resultBox(m), true));
      receives.push_back(output(member));
      break;
    }
    }

    if (!packs.empty())
      createCopy(place, packFrom, packTo, packs, {}, loc);
    OpBuilder builder = rowBuilder(place);
    if (SOAP_FAULT("order-differs") && member % 2)
      for (auto other :
           devices[place.device].main->getOps<soaprt::CollectiveOp>()) {
        builder.setInsertionPoint(other);
        break;
      }
    builder.create<soaprt::CollectiveOp>(
        loc, soaprt::TokenType::get(context),
        soaprt::CollectiveKindAttr::get(context, kind),
        builder.getDenseI32ArrayAttr(group), builder.getI32IntegerAttr(member),
        sends, receives,
        combine.empty() ? StringAttr() : builder.getStringAttr(combine),
        algorithm, builder.getI32IntegerAttr(tag), ValueRange(),
        builder.getStringAttr(name), builder.getI64IntegerAttr(-1),
        soaprt::StreamAttr());
    if (!unpacks.empty())
      createCopy(place, unpackFrom, unpackTo, unpacks, {}, loc);
  }
}
