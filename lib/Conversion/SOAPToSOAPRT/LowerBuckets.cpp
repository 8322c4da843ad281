//===- LowerBuckets.cpp - All-reduces that are one collective -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The members of a bucket stand side by side in one buffer per device, where
// the kernels that make them write them, and where those that read them find
// them. Between members there may be elements that belong to none: they are set
// to zero, since they are summed up with the others.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "soap/Partition/Buckets.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "convert-soap-to-soaprt"

using namespace mlir;
using namespace soap;

namespace {
/// The elements of a bucket's buffer, the same on every device.
struct BucketLayout {
  explicit BucketLayout(ArrayRef<soapir::AllReduceOp> ops) {
    for (soapir::AllReduceOp op : ops) {
      auto type = shardType(op->getOperand(0));
      int64_t elementBytes = nn::elementBytes(type.getElementType());
      int64_t first = static_cast<int64_t>(
                          llvm::alignTo(size * elementBytes, bucketAlignment)) /
                      elementBytes;
      if (first != size)
        gaps.push_back({size, first - size});
      begins.push_back(first);
      size = first + type.getSizeInBytes() / elementBytes;
    }
  }
  SmallVector<int64_t> begins;                   ///< Per member.
  SmallVector<std::pair<int64_t, int64_t>> gaps; ///< First element, how many.
  int64_t size = 0;
};
} // namespace

/// A view of a place that kernels can read and write, or null.
Value Lowering::tryBucketView(int32_t device, const BucketPlace &place,
                              Type type, Location loc) {
  ArrayRef<int64_t> shape = cast<ShapedType>(type).getShape();
  auto buffer = cast<soaprt::BufferType>(place.buffer.getType());
  if (place.first * buffer.getElementBytes() % target_.getAlignment() != 0)
    return {};
  ++counts_.views;
  return createView(device, place.buffer, place.first, shape, loc);
}

/// Finds the value of a task that `shard` is, through tasks that only reshape.
void Lowering::placeInBucket(Value shard, const BucketPlace &place) {
  while (auto task = shard.getDefiningOp<soapir::TaskOp>()) {
    if (task.getPhase() != Phase::Step)
      return;
    Value value = task.getBlock().getTerminator()->getOperand(
        cast<OpResult>(shard).getResultNumber());
    while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
      value = reshape.getX();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      shard = task.getInputs()[argument.getArgNumber()];
      continue;
    }
    bucketPlaces_.try_emplace(value, place);
    return;
  }
}

void Lowering::findBuckets(func::FuncOp main) {
  bucketBuffers_.clear();
  bucketPlaces_.clear();
  for (auto first : main.getBody().front().getOps<soapir::AllReduceOp>()) {
    auto before = dyn_cast_or_null<soapir::AllReduceOp>(first->getPrevNode());
    if ((before && before.isJoinedBy(first)) ||
        !first.isJoinedBy(first->getNextNode()))
      continue;
    SmallVector<soapir::AllReduceOp> ops = soapir::bucketFrom(first);
    BucketLayout layout(ops);
    auto &buffers = bucketBuffers_[first];
    for (auto [index, device] : llvm::enumerate(first.getOver())) {
      Type element = shardType(first->getOperand(0)).getElementType();
      buffers.push_back(createBuffer(device, layout.size, element,
                                     Space::Activations, first.getLoc()));
      for (auto [op, begin] : llvm::zip_equal(ops, layout.begins))
        placeInBucket(op->getOperand(index), {buffers.back(), begin});
    }
  }
}

/// One member's part of the collective that `first` stands for.
static void reduce(OpBuilder &builder, soapir::AllReduceOp first,
                   int32_t member, Value send, Value receive, int32_t tag) {
  MLIRContext *context = builder.getContext();
  std::string name = ("bucket" + Twine(*first.getBucket())).str();
  builder.create<soaprt::CollectiveOp>(
      first.getLoc(), soaprt::TokenType::get(context),
      soaprt::CollectiveKindAttr::get(context, CollectiveKind::AllReduce),
      builder.getDenseI32ArrayAttr(first.getOver()),
      builder.getI32IntegerAttr(member), ValueRange(send), ValueRange(receive),
      soaprt::CombineAttr::get(context,
                               shardType(first->getOperand(0)).getPartial()),
      soaprt::CollectiveAlgorithmAttr::get(context, first.getAlgorithm()),
      builder.getI32IntegerAttr(tag), ValueRange(), builder.getStringAttr(name),
      builder.getI64IntegerAttr(-1), soaprt::StreamAttr());
}

void Lowering::lowerBucketMember(ArrayRef<soapir::AllReduceOp> ops,
                                 int32_t member, int32_t tag) {
  soapir::AllReduceOp first = ops.front();
  Location loc = first.getLoc();
  BucketLayout layout(ops);
  int32_t device = first.getOver()[member];
  Value send = bucketBuffers_[first][member];
  auto type = cast<soaprt::BufferType>(send.getType());
  std::string name = ("bucket" + Twine(*first.getBucket())).str();
  Place place{device, /*init=*/false, name};

  SmallVector<Value> gaps;
  for (auto [begin, count] : layout.gaps)
    gaps.push_back(createView(device, send, begin, count, loc));
  if (!gaps.empty())
    createCopy(place, {}, gaps, {},
               OpBuilder(context_).getZeroAttr(type.getElementType()), loc);
  // What is not where it should be is copied there.
  SmallVector<Value> from, to;
  SmallVector<soaprt::BoxCopyAttr> boxes;
  auto copy = [&](Value source, Value target) {
    ArrayRef<int64_t> shape =
        cast<soaprt::BufferType>(source.getType()).getShape();
    SmallVector<int64_t> zero(shape.size(), 0);
    from.push_back(source);
    to.push_back(target);
    boxes.push_back(soaprt::BoxCopyAttr::get(context_, zero, zero, shape));
  };
  auto flush = [&] {
    if (!from.empty())
      createCopy(place, from, to, boxes, {}, loc);
    from.clear();
    to.clear();
    boxes.clear();
  };
  for (auto [op, begin] : llvm::zip_equal(ops, layout.begins)) {
    Value made = shards_.lookup(op->getOperand(member));
    soaprt::Storage storage = soaprt::getStorage(made);
    if (storage.buffer != soaprt::getStorage(send).buffer ||
        storage.byteOffset != begin * type.getElementBytes())
      copy(made, createView(device, send, begin,
                            shardType(op->getOperand(member)).getShape(), loc));
  }
  LLVM_DEBUG(llvm::dbgs() << name << " on device " << device << ": "
                          << ops.size() << " members, " << from.size()
                          << " copied, " << gaps.size() << " gaps\n");
  flush();

  Value receive = createBuffer(device, layout.size, type.getElementType(),
                               Space::Activations, loc);
  OpBuilder builder = rowBuilder(place);
  if (SOAP_FAULT("bucket-before-members"))
    builder.setInsertionPointToStart(devices_[device].main);
  reduce(builder, first, member, send, receive, tag);
  if (SOAP_FAULT("bucket-reduced-twice"))
    reduce(builder, first, member, receive, receive, tag + 1);
  for (auto [op, begin] : llvm::zip_equal(ops, layout.begins)) {
    Value result = op->getResult(member);
    int64_t at = SOAP_FAULT("bucket-place-wrong") ? 0 : begin;
    Value view = tryBucketView(device, {receive, at},
                               shardType(result).getTensor(), loc);
    if (!view) {
      view = createBuffer(shardType(result), loc);
      copy(
          createView(device, receive, begin, shardType(result).getShape(), loc),
          view);
    }
    shards_.map(result, view);
  }
  flush();
}

void Lowering::lowerBucket(ArrayRef<soapir::AllReduceOp> ops) {
  soapir::AllReduceOp first = ops.front();
  int32_t tag = tags_++;
  if (SOAP_FAULT("bucket-reduced-twice"))
    ++tags_;
  auto members = static_cast<int32_t>(first.getOver().size());
  for (int32_t member = 0; member < members; ++member)
    lowerBucketMember(ops, member, tag);
}
