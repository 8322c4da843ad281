//===- LowerCommunication.cpp - Transfers, collectives, feeds, drains -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramOrder.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "convert-soap-to-soaprt"

using namespace mlir;
using namespace soap;

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

/// What gathers a parameter again is not launched ahead of its place.
static void holdBack(Operation *row, Operation *op) {
  if (op->hasAttr(soapir::SOAPDialect::getBeforeAttrName()))
    row->setAttr(soaprt::heldAttrName, UnitAttr::get(row->getContext()));
}

LogicalResult Lowering::lower(soapir::TransferOp op) {
  if (op.getPhase() == Phase::Feed)
    return lowerFeed(op);
  if (op.getPhase() == Phase::Drain)
    return lowerDrain(op);

  struct Messages {
    SmallVector<Value> sends, receives;
    SmallVector<int32_t> destinations, origins;
  };
  std::map<int32_t, Messages> messages;
  for (auto [input, output] :
       llvm::zip_equal(op.getInputs(), op.getOutputs())) {
    int32_t from = soapir::getShardType(input).getDevice();
    int32_t to = soapir::getShardType(output).getDevice();
    Value buffer = createBuffer(soapir::getShardType(output), op.getLoc());
    shards_.map(output, buffer);
    messages[from].sends.push_back(shards_.lookup(input));
    messages[from].destinations.push_back(to);
    messages[to].receives.push_back(buffer);
    messages[to].origins.push_back(from);
  }
  std::string name = (soapir::getBox(op.getOutputs()[0]).getValue().getValue() +
                      (op.getHalo() ? ".halo" : ".transfer"))
                         .str();
  int32_t tag = tags_++;
  for (auto &[device, message] : messages) {
    if (SOAP_FAULT("origins-swapped"))
      std::reverse(message.receives.begin(), message.receives.end());
    if (SOAP_FAULT("message-lost") && !message.receives.empty()) {
      message.receives.pop_back();
      message.origins.pop_back();
    }
    OpBuilder builder = rowBuilder({device, /*init=*/false, name});
    auto row = builder.create<soaprt::ExchangeOp>(
        op.getLoc(), soaprt::TokenType::get(context_), message.sends,
        message.receives, builder.getDenseI32ArrayAttr(message.destinations),
        builder.getDenseI32ArrayAttr(message.origins),
        builder.getI32IntegerAttr(tag), ValueRange(),
        builder.getStringAttr(name), builder.getI64IntegerAttr(-1),
        soaprt::StreamAttr());
    holdBack(row, op);
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
  StringRef name = soapir::getBox(op->getResult(0)).getValue();
  auto input = inputs_.find(name);
  if (input == inputs_.end())
    return op->emitOpError("expected a feed of an input of the model, got: '")
           << name << "'";
  for (Value output : op->getResults()) {
    Box box = soapir::getBox(output).getBox();
    Value buffer = createBuffer(soapir::getShardType(output), op->getLoc());
    shards_.map(output, buffer);
    Boxes &feed = feeds[soapir::getShardType(output).getDevice()];
    feed.buffers.push_back(buffer);
    feed.copies.push_back(soaprt::BoxCopyAttr::get(
        context_,
        SOAP_FAULT("feed-origin") ? SmallVector<int64_t>(box.size(), 0)
                                  : lowerBounds(box),
        SmallVector<int64_t>(box.size(), 0), shapeOf(box)));
  }
  for (auto &[device, feed] : feeds) {
    OpBuilder builder = rowBuilder({device, /*init=*/false, name});
    builder.create<soaprt::FeedOp>(
        op->getLoc(), soaprt::TokenType::get(context_),
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
    if (auto task = dyn_cast<soapir::TaskOp>(user)) {
      for (auto output : task.getBlock().getOps<nn::OutputOp>())
        if (output.getX() ==
            task.getBlock().getArgument(use.getOperandNumber()))
          found.push_back(outputs_.lookup(nn::getName(output)));
    } else if (isa<soapir::SliceOp, soapir::AssembleOp>(user)) {
      findOutputs(user->getResult(0), found);
    }
  }
}

LogicalResult Lowering::lowerDrain(soapir::TransferOp op) {
  /// By device and port.
  llvm::MapVector<std::pair<int32_t, Operation *>, Boxes> drains;
  for (auto [input, output] :
       llvm::zip_equal(op.getInputs(), op.getOutputs())) {
    SmallVector<soaprt::OutputOp> ports;
    findOutputs(output, ports);
    Box box = soapir::getBox(output).getBox();
    for (soaprt::OutputOp port : ports) {
      Boxes &drain = drains[{soapir::getShardType(input).getDevice(), port}];
      drain.buffers.push_back(shards_.lookup(input));
      drain.copies.push_back(soaprt::BoxCopyAttr::get(
          context_, SmallVector<int64_t>(box.size(), 0), lowerBounds(box),
          shapeOf(box)));
    }
  }
  for (auto &[key, drain] : drains) {
    auto port = cast<soaprt::OutputOp>(key.second);
    OpBuilder builder =
        rowBuilder({key.first, /*init=*/false, port.getPortName()});
    builder.create<soaprt::DrainOp>(
        op.getLoc(), soaprt::TokenType::get(context_),
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

namespace {
/// A piece of a buffer that is not contiguous is copied between it and a dense
/// one.
struct PieceCopies {
  SmallVector<Value> from, to;
  SmallVector<soaprt::BoxCopyAttr> boxes;
};
} // namespace

/// One member's part of a collective.
struct Lowering::CollectiveMember {
  Lowering &lowering;
  soapir::CommunicationOpInterface op;
  Place place;
  int32_t member, members;
  SmallVector<Value> sends = {}, receives = {};
  PieceCopies packs = {}, unpacks = {};

  Box operandBox(int32_t m) {
    return soapir::getBox(op->getOperand(m)).getBox();
  }
  Box resultBox(int32_t m) { return soapir::getBox(op->getResult(m)).getBox(); }
  Value input(int32_t index) {
    return lowering.shards_.lookup(op->getOperand(index));
  }
  Value output(int32_t index) {
    Value result = op->getResult(index);
    Value buffer =
        lowering.createBuffer(soapir::getShardType(result), op->getLoc());
    lowering.shards_.map(result, buffer);
    return buffer;
  }

  /// The elements `part` of `buffer`, which holds `whole`: a view, or a dense
  /// buffer, as which they are on their way.
  Value piece(Value buffer, const Box &whole, const Box &part, bool isPacked) {
    Location loc = op->getLoc();
    SmallVector<int64_t> lo = difference(part, whole);
    SmallVector<int64_t, 5> sizes = shapeOf(part);
    if (isEmpty(part))
      lo.assign(lo.size(), 0);
    if (Value view = lowering.tryView(place.device, buffer, lo, sizes,
                                      /*aligned=*/false, loc))
      return view;
    auto type = cast<soaprt::BufferType>(buffer.getType());
    Value dense = lowering.createBuffer(
        place.device, sizes, type.getElementType(), Space::Activations, loc);
    if (isEmpty(part))
      return dense;
    SmallVector<int64_t> zero(sizes.size(), 0);
    PieceCopies &copies = isPacked ? packs : unpacks;
    copies.from.push_back(isPacked ? buffer : dense);
    copies.to.push_back(isPacked ? dense : buffer);
    copies.boxes.push_back(soaprt::BoxCopyAttr::get(
        lowering.context_, isPacked ? lo : zero, isPacked ? zero : lo, sizes));
    return dense;
  }
  void sendPiece(Value buffer, const Box &whole, const Box &part) {
    sends.push_back(piece(buffer, whole, part, /*isPacked=*/true));
  }
  void receivePiece(Value buffer, const Box &whole, const Box &part) {
    receives.push_back(piece(buffer, whole, part, /*isPacked=*/false));
  }

  /// Finds what is sent and received, in the order that Model.fbs gives.
  void fill(CollectiveKind kind) {
    switch (kind) {
    case CollectiveKind::Broadcast:
      if (member == 0)
        sends.push_back(input(0));
      else
        receives.push_back(output(member - 1));
      return;
    case CollectiveKind::AllGather: {
      sends.push_back(input(member));
      Value buffer = output(member);
      for (int32_t m = 0; m < members; ++m) {
        int32_t from = SOAP_FAULT("offset-wrong") ? members - 1 - m : m;
        receivePiece(buffer, resultBox(member), operandBox(from));
      }
      return;
    }
    case CollectiveKind::AllToAll: {
      Value from = input(member), to = output(member);
      Box read = operandBox(member), written = resultBox(member);
      for (int32_t m = 0; m < members; ++m) {
        sendPiece(from, read, intersect(read, resultBox(m)));
        receivePiece(to, written, intersect(operandBox(m), written));
      }
      return;
    }
    case CollectiveKind::AllReduce:
      sends.push_back(input(member));
      receives.push_back(output(member));
      return;
    case CollectiveKind::ReduceScatter: {
      Value buffer = input(member);
      for (int32_t m = 0; m < members; ++m)
        sendPiece(buffer, operandBox(member), resultBox(m));
      receives.push_back(output(member));
      return;
    }
    }
  }
};

void Lowering::lowerCollective(soapir::CommunicationOpInterface op,
                               CollectiveAlgorithm algorithm) {
  Location loc = op->getLoc();
  CollectiveKind kind = *collectiveOf(op.getActionKind());
  std::string name = (soapir::getBox(op->getResult(0)).getValue().getValue() +
                      "." + stringify(kind))
                         .str();
  soaprt::CombineAttr combine;
  if (kind == CollectiveKind::AllReduce ||
      kind == CollectiveKind::ReduceScatter)
    combine = soaprt::CombineAttr::get(
        context_, SOAP_FAULT("combiner-wrong")
                      ? Combine::Max
                      : soapir::getShardType(op->getOperand(0)).getPartial());
  SmallVector<int32_t> group = op.getGroup();
  int32_t tag = tags_++, members = group.size();
  bool reducesTwice =
      kind == CollectiveKind::AllReduce && SOAP_FAULT("reduced-twice");
  if (reducesTwice)
    ++tags_;
  LLVM_DEBUG({
    llvm::dbgs() << name << ", tag " << tag << ": " << stringify(algorithm)
                 << " over devices ";
    llvm::interleaveComma(group, llvm::dbgs());
    llvm::dbgs() << "\n";
  });

  for (int32_t index = 0; index < members; ++index) {
    CollectiveMember member{
        *this, op, {group[index], /*init=*/false, name}, index, members};
    member.fill(kind);
    if (SOAP_FAULT("regather-skipped") &&
        op->hasAttr(soapir::SOAPDialect::getBeforeAttrName()))
      continue;
    const Place &place = member.place;
    if (!member.packs.boxes.empty())
      createCopy(place, member.packs.from, member.packs.to, member.packs.boxes,
                 {}, loc);
    LLVM_DEBUG(llvm::dbgs() << "  device " << place.device << ": packs "
                            << member.packs.boxes.size() << " pieces, unpacks "
                            << member.unpacks.boxes.size() << "\n");
    OpBuilder builder = rowBuilder(place);
    if (SOAP_FAULT("order-differs") && index % 2)
      for (auto other :
           devices_[place.device].main->getOps<soaprt::CollectiveOp>()) {
        builder.setInsertionPoint(other);
        break;
      }
    auto create = [&](ValueRange sends, int32_t number) {
      auto row = builder.create<soaprt::CollectiveOp>(
          loc, soaprt::TokenType::get(context_),
          soaprt::CollectiveKindAttr::get(context_, kind),
          builder.getDenseI32ArrayAttr(group), builder.getI32IntegerAttr(index),
          sends, member.receives, combine,
          soaprt::CollectiveAlgorithmAttr::get(context_, algorithm),
          builder.getI32IntegerAttr(number), ValueRange(),
          builder.getStringAttr(name), builder.getI64IntegerAttr(-1),
          soaprt::StreamAttr());
      holdBack(row, op);
      if (op.getPriority())
        row->setAttr(soaprt::priorityAttrName, builder.getUnitAttr());
    };
    create(member.sends, tag);
    if (reducesTwice)
      create(member.receives, tag + 1);
    if (!member.unpacks.boxes.empty())
      createCopy(place, member.unpacks.from, member.unpacks.to,
                 member.unpacks.boxes, {}, loc);
  }
}
