//===- Observer.cpp - Shows what buffers hold while a step runs -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Observer.h"

using namespace soap;
using namespace soap::runtime;

DeviceTile runtime::describeTile(const fb::Model &model, uint32_t program,
                                 uint32_t device, const fb::Tile &tile,
                                 DevicePointer data) {
  static_assert(sizeof(fb::Range) == 2 * sizeof(int64_t));
  const fb::Program *owner = model.programs()->Get(program);
  const fb::Value *value = owner->values()->Get(tile.value());
  soap_tile result = {};
  result.program = owner->name()->c_str();
  result.program_index = program;
  result.value = value->name()->c_str();
  result.result = value->result();
  result.element = static_cast<soap_element>(value->element());
  result.rank = items(value->shape()).size();
  if (result.rank) {
    result.shape = value->shape()->data();
    result.box = reinterpret_cast<const int64_t *>(tile.box()->Data());
  }
  result.part_count = tile.part_count();
  result.summed = tile.summed();
  result.parts_held = items(tile.parts()).size();
  if (result.parts_held)
    result.parts = tile.parts()->data();
  result.device = device;
  result.row = tile.row();
  result.task = -1;
  result.row_name = "";
  if (tile.row() >= 0) {
    const fb::Row *row = rowsOf(*model.devices()->Get(device),
                                program)[static_cast<uint32_t>(tile.row())];
    if (row->name())
      result.row_name = row->name()->c_str();
    result.task = row->task();
    bool received = row->body_type() == fb::RowBody::Exchange ||
                    row->body_type() == fb::RowBody::Collective ||
                    row->body_type() == fb::RowBody::Feed;
    // Copies between tasks belong to no task.
    bool assembled = row->body_type() == fb::RowBody::Copy && row->task() < 0;
    result.origin = received    ? SOAP_RECEIVED
                    : assembled ? SOAP_ASSEMBLED
                                : SOAP_COMPUTED;
  }
  return {result, {data, tile.data()->bytes()}, tile.order()};
}

/// From a tile as it lies in memory to row-major elements.
static StridedCopy rowMajorCopy(const DeviceTile &tile) {
  if (tile.order == fb::ElementOrder::RowMajor)
    return StridedCopy::dense(tile.place.bytes);
  StridedCopy copy;
  size_t rank = tile.tile.rank;
  for (size_t d = 0; d != rank; ++d)
    copy.extents.push_back(tile.tile.box[2 * d + 1] - tile.tile.box[2 * d]);
  int64_t elements = elementCount(copy.extents);
  copy.run = elements ? tile.place.bytes / static_cast<uint64_t>(elements) : 0;
  auto stride = static_cast<int64_t>(copy.run);
  copy.toStrides.resize(rank);
  for (size_t d = rank; d-- > 0; stride *= copy.extents[d])
    copy.toStrides[d] = stride;
  stride = static_cast<int64_t>(copy.run);
  copy.fromStrides.resize(rank);
  copy.fromStrides[1] = stride;
  stride *= copy.extents[1];
  for (size_t d = rank; d-- > 0;)
    if (d != 1) {
      copy.fromStrides[d] = stride;
      stride *= copy.extents[d];
    }
  copy.simplify();
  return copy;
}

TileShow::TileShow(std::vector<DeviceTile> shownTiles, const Observer &observer,
                   const BackendTraits &traits)
    : tiles_(std::move(shownTiles)), observer_(observer) {
  for (DeviceTile &tile : tiles_) {
    if (traits.memoryIsHost && tile.order == fb::ElementOrder::RowMajor) {
      tile.tile.data = hostAddress(tile.place.data);
      continue;
    }
    copies_.push_back({rowMajorCopy(tile), tile.place.data,
                       std::vector<char>(tile.place.bytes)});
    tile.tile.data = copies_.back().data.data();
  }
}

void TileShow::enqueue(Stream &stream) {
  for (Copy &copy : copies_)
    stream.copyToHost(copy.box, copy.from, copy.data.data());
  shown_ = &stream;
  stream.call(*this);
}

void TileShow::run() {
  if (shown_->hasFailed())
    return;
  for (const DeviceTile &tile : tiles_)
    observer_(tile.tile);
}

namespace {
class ObservedRow final : public RowAction {
public:
  ObservedRow(std::unique_ptr<RowAction> row, TileShow show)
      : row_(std::move(row)), show_(std::move(show)) {}

  void enqueue(Stream &stream, const Step &step) override {
    row_->enqueue(stream, step);
    show_.enqueue(stream);
  }
  bool callsHost() const override { return true; }
  uint64_t bytes() const override { return row_->bytes(); }
  void movements(std::vector<Movement> &result) const override {
    row_->movements(result);
  }

private:
  std::unique_ptr<RowAction> row_;
  TileShow show_;
};
} // namespace

std::unique_ptr<RowAction> runtime::observe(std::unique_ptr<RowAction> row,
                                            std::vector<DeviceTile> tiles,
                                            const Observer &observer,
                                            const BackendTraits &traits) {
  return std::make_unique<ObservedRow>(
      std::move(row), TileShow(std::move(tiles), observer, traits));
}
