//===- TileTables.cpp - What buffers hold, for soap-run --verify ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

using namespace mlir;
using namespace soap;

/// The last row of a program that writes each buffer.
static DenseMap<Operation *, int32_t> lastWriters(Block &program) {
  DenseMap<Operation *, int32_t> writers;
  for (auto [position, row] :
       llvm::enumerate(program.getOps<soaprt::RowOpInterface>()))
    for (Value value : row.getWrites())
      writers[soaprt::getStorage(value).buffer] = position;
  return writers;
}

LogicalResult DeviceTable::buildTiles(soaprt::MainOp main,
                                      fb::DeviceProgramT &table,
                                      fb::ProgramT &program) {
  auto writers = lastWriters(main.getBlock());
  auto &values = program.values;
  for (auto tile : op_.getBlock().getOps<soaprt::TileOp>()) {
    if (tile.getProgram() != main.getProgram())
      continue;
    soaprt::BufferOp buffer = soaprt::getStorage(tile.getBuffer()).buffer;
    auto writer = writers.find(buffer);
    // Temporaries of init are gone when it ends.
    if (writer == writers.end() &&
        buffer.getType().getSpace() != Space::Parameters)
      continue;
    auto [value, isNew] = index_.values.try_emplace(
        {main.getProgramAttr(), tile.getValueAttr(), tile.getResult()},
        values.size());
    if (isNew) {
      auto type = cast<RankedTensorType>(tile.getType());
      std::optional<fb::ElementType> element =
          elementType(type.getElementType());
      if (!element)
        return tile.emitOpError("expected elements that the runtime knows, "
                                "got: ")
               << type.getElementType();
      auto entry = std::make_unique<fb::ValueT>();
      entry->name = tile.getValue().str();
      entry->result = tile.getResult();
      entry->element = *element;
      entry->shape = type.getShape();
      values.push_back(std::move(entry));
    }
    auto entry = std::make_unique<fb::TileT>();
    entry->value = value->second;
    entry->data = std::make_unique<fb::Extent>(extentOf(tile.getBuffer()));
    for (auto [lo, size] :
         llvm::zip_equal(tile.getLo(), tile.getBuffer().getType().getShape()))
      entry->box.emplace_back(lo, lo + size);
    if (tile.getBuffer().getType().isChannelsLast())
      entry->order = fb::ElementOrder::ChannelsLast;
    entry->parts.assign(tile.getParts().begin(), tile.getParts().end());
    entry->part_count = tile.getNumParts().value_or(0);
    entry->summed = tile.getSummed();
    entry->row =
        tile.getInitial() || writer == writers.end() ? -1 : writer->second;
    table.tiles.push_back(std::move(entry));
  }
  llvm::stable_sort(table.tiles, [](const auto &a, const auto &b) {
    return a->row < b->row;
  });
  return success();
}
