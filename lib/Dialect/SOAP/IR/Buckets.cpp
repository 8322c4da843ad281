//===- Buckets.cpp - Reductions that are one collective -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Partition/Buckets.h"
#include "BoxVerifier.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

bool ReductionOpInterface::isJoinedBy(Operation *next) {
  auto other = dyn_cast_or_null<ReductionOpInterface>(next);
  return other && getBucket() && getBucket() == other.getBucket() &&
         next->getName() == (*this)->getName();
}

bool ReductionOpInterface::joinsPrevious() {
  auto before = dyn_cast_or_null<ReductionOpInterface>((*this)->getPrevNode());
  return before && before.isJoinedBy(*this);
}

int64_t ReductionOpInterface::getChunkBytes() {
  int64_t bytes = 0;
  for (Value result : (*this)->getResults())
    bytes = std::max(bytes, getShardType(result).getSizeInBytes());
  return bytes;
}

SmallVector<ReductionOpInterface>
soapir::bucketFrom(ReductionOpInterface first) {
  SmallVector<ReductionOpInterface> ops{first};
  while (ops.back().isJoinedBy(ops.back()->getNextNode()))
    ops.push_back(cast<ReductionOpInterface>(ops.back()->getNextNode()));
  return ops;
}

int64_t soapir::bucketBytes(ArrayRef<ReductionOpInterface> ops) {
  ReductionOpInterface first = ops.front();
  if (ops.size() == 1)
    return getShardType(first->getOperand(0)).getSizeInBytes();
  SmallVector<int64_t> bytes;
  for (ReductionOpInterface op : ops)
    bytes.push_back(op.getChunkBytes());
  return bytesOfBucket(first.getActionKind(), first.getOver().size(), bytes);
}

LogicalResult soapir::verifyBucket(ReductionOpInterface op) {
  if (op.getBucket().has_value() != op.getBehind().has_value())
    return op->emitOpError("expected a bucket and the node that it stands "
                           "behind, got one of them");
  if (op.getBucket() && static_cast<int64_t>(*op.getBucket()) < 0)
    return op->emitOpError("expected a bucket of at least 0, got: ")
           << static_cast<int64_t>(*op.getBucket());
  Operation *next = op->getNextNode();
  if (!op.isJoinedBy(next))
    return success();
  auto other = cast<ReductionOpInterface>(next);
  ShardType type = getShardType(op->getOperand(0)),
            otherType = getShardType(other->getOperand(0));
  if (op.getOver() != other.getOver() ||
      op.getAlgorithm() != other.getAlgorithm() ||
      op.getPriority() != other.getPriority() ||
      type.getElementType() != otherType.getElementType() ||
      type.getPartial() != otherType.getPartial())
    return op->emitOpError("expected the next reduction of bucket ")
           << *op.getBucket()
           << " to have the same devices, algorithm, priority, element type "
              "and combiner";
  return success();
}
