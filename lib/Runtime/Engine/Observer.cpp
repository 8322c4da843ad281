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
  return {result, {data, tile.data()->bytes()}};
}

TileShow::TileShow(std::vector<DeviceTile> shownTiles, const Observer &observer,
                   const BackendTraits &traits)
    : tiles_(std::move(shownTiles)), observer_(observer) {
  for (DeviceTile &tile : tiles_) {
    if (traits.memoryIsHost) {
      tile.tile.data = hostAddress(tile.place.data);
      continue;
    }
    hostData_.emplace_back(tile.place.bytes);
    tile.tile.data = hostData_.back().data();
    copies_.push_back(StridedCopy::dense(tile.place.bytes));
  }
}

void TileShow::enqueue(Stream &stream) {
  for (size_t i = 0; i != hostData_.size(); ++i)
    stream.copyToHost(copies_[i], tiles_[i].place.data, hostData_[i].data());
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
