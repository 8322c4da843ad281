//===- LowerTiles.cpp - What buffers hold ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace soap;

void Lowering::createTiles(func::FuncOp main) {
  struct Tile {
    soapir::BoxAttr box;
    Value buffer;
    bool isInitial, isSummed;
    Location loc;
  };
  SmallVector<Tile> tiles;
  // The shape of a value: its tiles cover it.
  DenseMap<std::pair<StringAttr, int64_t>, SmallVector<int64_t>> shapes;
  DenseSet<std::pair<Value, Attribute>> seen;
  for (auto op : main.getBody().getOps<soapir::ShardOpInterface>())
    for (OpResult shard : op->getResults()) {
      soapir::BoxAttr box = op.getBox(shard.getResultNumber());
      SmallVector<int64_t> &shape = shapes[{box.getValue(), box.getResult()}];
      shape.resize(box.getRank());
      for (auto [size, range] : llvm::zip_equal(shape, box.getBox()))
        size = std::max(size, range.hi);
      // Shards on the host have no buffer; some are views with equal boxes.
      if (Value buffer = shards_.lookupOrNull(shard);
          buffer && seen.insert({buffer, box}).second)
        tiles.push_back(
            {box, buffer, isOverwritten(shard),
             cast<soapir::ShardType>(shard.getType()).getPartial() ==
                 Combine::Sum,
             op.getLoc()});
    }
  OpBuilder builder(context_);
  for (auto &[box, buffer, isInitial, isSummed, loc] : tiles) {
    auto type = cast<soaprt::BufferType>(buffer.getType());
    if (type.getBytes() == 0)
      continue;
    auto device = cast<soaprt::DeviceOp>(buffer.getDefiningOp()->getParentOp());
    builder.setInsertionPointToEnd(&device.getBlock());
    builder.create<soaprt::TileOp>(
        loc, box.getValue(), box.getResult(),
        RankedTensorType::get(shapes[{box.getValue(), box.getResult()}],
                              type.getElementType()),
        lowerBounds(box.getBox()), box.getParts(),
        box.isPartial() ? builder.getI64IntegerAttr(box.getNumParts())
                        : IntegerAttr(),
        isSummed, buffer, isInitial, program_);
  }
}
