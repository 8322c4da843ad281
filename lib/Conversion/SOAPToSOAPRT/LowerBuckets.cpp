//===- LowerBuckets.cpp - Reductions that are one collective --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The members of a bucket of all-reduces stand side by side in one buffer per
// device, where the kernels that make them write them. Those of a bucket of
// reduce-scatters are copied, each share to the chunk of the device that gets
// it: a kernel writes one dense tensor, while the shares of a value lie one
// chunk apart. What a device gets stands side by side in one buffer again,
// where the kernels that read it find it.
//
// Between members there may be elements that belong to none: they are set to
// zero, since they are summed up with the others.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramOrder.h"
#include "soap/Partition/Buckets.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "convert-soap-to-soaprt"

using namespace mlir;
using namespace soap;

namespace {
/// The elements of a chunk of a bucket's buffer, the same on every device. A
/// bucket of all-reduces has one chunk.
struct BucketLayout {
  explicit BucketLayout(ArrayRef<soapir::ReductionOpInterface> ops) {
    soapir::ReductionOpInterface front = ops.front();
    int64_t elementBytes = nn::elementBytes(
        soapir::getShardType(front->getOperand(0)).getElementType());
    SmallVector<int64_t> bytes;
    auto extend = [&](int64_t end) {
      if (end != size)
        gaps.push_back({size, end - size});
      size = end;
    };
    for (soapir::ReductionOpInterface op : ops) {
      bytes.push_back(op.getChunkBytes());
      extend(static_cast<int64_t>(
                 llvm::alignTo(size * elementBytes, bucketAlignment)) /
             elementBytes);
      begins.push_back(size);
      size += bytes.back() / elementBytes;
    }
    extend(chunkOfBucket(front.getActionKind(), bytes) / elementBytes);
  }
  SmallVector<int64_t> begins;                   ///< Per member.
  SmallVector<std::pair<int64_t, int64_t>> gaps; ///< First element, how many.
  int64_t size = 0;
};
} // namespace

/// Copies of one row.
struct Lowering::BucketCopies {
  MLIRContext *context;
  SmallVector<Value> from = {}, to = {};
  SmallVector<soaprt::BoxCopyAttr> boxes = {};

  void add(Value source, ArrayRef<int64_t> sourceLo, Value target,
           ArrayRef<int64_t> targetLo, ArrayRef<int64_t> sizes) {
    from.push_back(source);
    to.push_back(target);
    boxes.push_back(
        soaprt::BoxCopyAttr::get(context, sourceLo, targetLo, sizes));
  }
  /// All of a buffer.
  void add(Value source, Value target) {
    ArrayRef<int64_t> shape =
        cast<soaprt::BufferType>(source.getType()).getShape();
    SmallVector<int64_t> zero(shape.size(), 0);
    add(source, zero, target, zero, shape);
  }
};

static std::string nameOf(soapir::ReductionOpInterface op) {
  return ("bucket" + Twine(*op.getBucket())).str();
}

void Lowering::createCopies(const Place &place, const BucketCopies &copies,
                            Location loc) {
  if (!copies.from.empty())
    createCopy(place, copies.from, copies.to, copies.boxes, {}, loc);
}

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
    soapir::ReductionOpInterface reduction = first;
    if (reduction.joinsPrevious() ||
        !reduction.isJoinedBy(first->getNextNode()))
      continue;
    SmallVector<soapir::ReductionOpInterface> ops =
        soapir::bucketFrom(reduction);
    BucketLayout layout(ops);
    auto &buffers = bucketBuffers_[first];
    for (auto [index, device] : llvm::enumerate(first.getOver())) {
      Type element =
          soapir::getShardType(first->getOperand(0)).getElementType();
      buffers.push_back(createBuffer(device, layout.size, element,
                                     Space::Activations, first.getLoc()));
      for (auto [op, begin] : llvm::zip_equal(ops, layout.begins))
        placeInBucket(op->getOperand(index), {buffers.back(), begin});
    }
  }
}

//===----------------------------------------------------------------------===//
// What a device puts in
//===----------------------------------------------------------------------===//

Value Lowering::gatherBucket(const Place &place, const Bucket &bucket,
                             int32_t member) {
  soapir::ReductionOpInterface first = bucket.ops.front();
  Location loc = first->getLoc();
  BucketLayout layout(bucket.ops);
  Value send = bucketBuffers_[first][member];
  auto type = cast<soaprt::BufferType>(send.getType());
  SmallVector<Value> gaps;
  for (auto [begin, count] : layout.gaps)
    gaps.push_back(createView(place.device, send, begin, count, loc));
  if (!gaps.empty())
    createCopy(place, {}, gaps, {},
               OpBuilder(context_).getZeroAttr(type.getElementType()), loc);
  // What is not where it should be is copied there.
  BucketCopies copies{context_};
  for (auto [op, begin] : llvm::zip_equal(bucket.ops, layout.begins)) {
    Value made = shards_.lookup(op->getOperand(member));
    soaprt::Storage storage = soaprt::getStorage(made);
    if (storage.buffer != soaprt::getStorage(send).buffer ||
        storage.byteOffset != begin * type.getElementBytes())
      copies.add(
          made,
          createView(place.device, send, begin,
                     soapir::getShardType(op->getOperand(member)).getShape(),
                     loc));
  }
  LLVM_DEBUG(llvm::dbgs() << place.node << " on device " << place.device << ": "
                          << bucket.ops.size() << " members, "
                          << copies.from.size() << " copied, " << gaps.size()
                          << " gaps\n");
  createCopies(place, copies, loc);
  return send;
}

Value Lowering::zeroBuffer(int32_t device, ArrayRef<int64_t> shape,
                           Type element, Location loc) {
  auto type = RankedTensorType::get(shape, element);
  auto zero = cast<DenseElementsAttr>(OpBuilder(context_).getZeroAttr(type));
  Value &buffer = splats_[{device, zero}];
  if (buffer)
    return buffer;
  buffer = createBuffer(device, shape, element, Space::Parameters, loc);
  bufferBuilder(device).create<soaprt::LoadOp>(
      loc, "zero", zero, type, SmallVector<int64_t>(shape.size(), 0), buffer);
  return buffer;
}

/// True if the results of a reduce-scatter are runs of one length, in the order
/// of the members. `whole`: the box of its operands.
static bool isCutEvenly(soapir::ReductionOpInterface op, const Box &whole) {
  int64_t length = volume(whole) / op->getNumResults(), first = 0;
  for (Value result : op->getResults()) {
    Box share = soapir::getBox(result).getBox();
    if (volume(share) != length ||
        firstOfRun(difference(share, whole), shapeOf(share), shapeOf(whole)) !=
            first)
      return false;
    first += length;
  }
  return !SOAP_FAULT("bucket-shares-swapped");
}

void Lowering::addShares(BucketCopies &copies, soapir::ReductionOpInterface op,
                         int32_t member, Value send, int64_t begin) {
  Location loc = op->getLoc();
  Value made = shards_.lookup(op->getOperand(member));
  auto type = cast<soaprt::BufferType>(send.getType());
  int64_t chunks = type.getShape()[0], chunk = type.getShape()[1];
  int64_t room = op.getChunkBytes() / type.getElementBytes();
  int32_t device = op.getOver()[member];
  Box whole = soapir::getBox(op->getOperand(member)).getBox();
  if (isCutEvenly(op, whole)) {
    SmallVector<int64_t> shape{chunks, room};
    copies.add(createView(device, made, 0, shape, loc), {0, 0}, send,
               {0, begin}, shape);
    return;
  }
  for (int64_t to = 0; to < chunks; ++to) {
    Box share = soapir::getBox(op->getResult(to)).getBox();
    int64_t first =
        (SOAP_FAULT("bucket-shares-swapped") ? chunks - 1 - to : to) * chunk +
        begin;
    int64_t size = isEmpty(share) ? 0 : volume(share);
    SmallVector<int64_t, 5> sizes = shapeOf(share);
    if (size > 0)
      copies.add(made, difference(share, whole),
                 createView(device, send, first, sizes, loc),
                 SmallVector<int64_t>(sizes.size(), 0), sizes);
    if (size < room)
      copies.add(zeroBuffer(device, room - size, type.getElementType(), loc),
                 createView(device, send, first + size, room - size, loc));
  }
}

Value Lowering::packBucket(const Place &place, const Bucket &bucket,
                           int32_t member) {
  soapir::ReductionOpInterface first = bucket.ops.front();
  Location loc = first->getLoc();
  BucketLayout layout(bucket.ops);
  auto chunks = static_cast<int64_t>(first.getOver().size());
  Type element = soapir::getShardType(first->getOperand(0)).getElementType();
  Value send = createBuffer(place.device, {chunks, layout.size}, element,
                            Space::Activations, loc);
  BucketCopies copies{context_};
  for (auto [op, begin] : llvm::zip_equal(bucket.ops, layout.begins))
    addShares(copies, op, member, send, begin);
  for (auto [begin, count] : layout.gaps) {
    SmallVector<int64_t> shape{chunks, count};
    copies.add(zeroBuffer(place.device, shape, element, loc), {0, 0}, send,
               {0, begin}, shape);
  }
  LLVM_DEBUG(llvm::dbgs() << place.node << " on device " << place.device << ": "
                          << bucket.ops.size() << " members, "
                          << copies.from.size() << " boxes copied\n");
  createCopies(place, copies, loc);
  return send;
}

//===----------------------------------------------------------------------===//
// The collective, and what a device gets
//===----------------------------------------------------------------------===//

void Lowering::reduceBucket(OpBuilder &builder, const Bucket &bucket,
                            int32_t member, ValueRange sends, Value receive) {
  soapir::ReductionOpInterface first = bucket.ops.front();
  auto row = builder.create<soaprt::CollectiveOp>(
      first->getLoc(), soaprt::TokenType::get(context_),
      soaprt::CollectiveKindAttr::get(context_,
                                      *collectiveOf(first.getActionKind())),
      builder.getDenseI32ArrayAttr(first.getOver()),
      builder.getI32IntegerAttr(member), sends, ValueRange(receive),
      soaprt::CombineAttr::get(
          context_, soapir::getShardType(first->getOperand(0)).getPartial()),
      soaprt::CollectiveAlgorithmAttr::get(context_, first.getAlgorithm()),
      builder.getI32IntegerAttr(bucket.tag), ValueRange(),
      builder.getStringAttr(nameOf(first)), builder.getI64IntegerAttr(-1),
      soaprt::StreamAttr());
  if (first.getPriority())
    row->setAttr(soaprt::priorityAttrName, builder.getUnitAttr());
}

void Lowering::lowerBucketMember(const Bucket &bucket, int32_t member) {
  soapir::ReductionOpInterface first = bucket.ops.front();
  Location loc = first->getLoc();
  int32_t device = first.getOver()[member];
  std::string name = nameOf(first);
  Place place{device, /*init=*/false, name};
  bool isPacked = isPackedBucket(first.getActionKind(), bucket.ops.size());
  Value send = isPacked ? packBucket(place, bucket, member)
                        : gatherBucket(place, bucket, member);
  auto type = cast<soaprt::BufferType>(send.getType());
  BucketLayout layout(bucket.ops);
  SmallVector<Value> sends(1, send);
  if (isPacked) {
    sends.clear();
    for (int64_t chunk = 0; chunk < type.getShape()[0]; ++chunk)
      sends.push_back(
          createView(device, send, chunk * layout.size, layout.size, loc));
  }

  Value receive = createBuffer(device, layout.size, type.getElementType(),
                               Space::Activations, loc);
  OpBuilder builder = rowBuilder(place);
  if (SOAP_FAULT("bucket-before-members"))
    builder.setInsertionPointToStart(devices_[device].main);
  reduceBucket(builder, bucket, member, sends, receive);
  if (SOAP_FAULT("bucket-reduced-twice") && !isPacked)
    reduceBucket(builder, {bucket.ops, bucket.tag + 1}, member, receive,
                 receive);
  BucketCopies copies{context_};
  for (auto [op, begin] : llvm::zip_equal(bucket.ops, layout.begins)) {
    Value result = op->getResult(member);
    soapir::ShardType resultType = soapir::getShardType(result);
    int64_t at = SOAP_FAULT("bucket-place-wrong") ? 0 : begin;
    Value view =
        tryBucketView(device, {receive, at}, resultType.getTensor(), loc);
    if (!view) {
      view = createBuffer(resultType, loc);
      copies.add(createView(device, receive, begin, resultType.getShape(), loc),
                 view);
    }
    shards_.map(result, view);
  }
  createCopies(place, copies, loc);
}

void Lowering::lowerBucket(soapir::ReductionOpInterface first) {
  SmallVector<soapir::ReductionOpInterface> ops = soapir::bucketFrom(first);
  Bucket bucket{ops, tags_++};
  if (SOAP_FAULT("bucket-reduced-twice"))
    ++tags_;
  auto members = static_cast<int32_t>(first.getOver().size());
  for (int32_t member = 0; member < members; ++member)
    lowerBucketMember(bucket, member);
}
