//===- Observer.cpp - Shows what buffers hold while a step runs -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Observer.h"

using namespace soap;
using namespace soap::runtime;

soap_tile runtime::describeTile(const fb::Model &model, uint32_t device,
                                const fb::Tile &tile, const char *data) {
  static_assert(sizeof(fb::Range) == 2 * sizeof(int64_t));
  const fb::Value *value = model.values()->Get(tile.value());
  soap_tile result = {};
  result.value = value->name()->c_str();
  result.result = value->result();
  result.element = static_cast<soap_element>(value->element());
  result.rank = items(value->shape()).size();
  if (result.rank) {
    result.shape = value->shape()->data();
    result.box = reinterpret_cast<const int64_t *>(tile.box()->Data());
  }
  result.part_count = tile.part_count();
  result.parts_held = items(tile.parts()).size();
  if (result.parts_held)
    result.parts = tile.parts()->data();
  result.device = device;
  result.row = tile.row();
  result.task = -1;
  result.row_name = "";
  if (tile.row() >= 0) {
    const fb::Row *row = model.devices()->Get(device)->main()->Get(
        static_cast<uint32_t>(tile.row()));
    if (row->name())
      result.row_name = row->name()->c_str();
    result.task = row->task();
    bool received = row->body_type() == fb::RowBody::Exchange ||
                    row->body_type() == fb::RowBody::Collective ||
                    row->body_type() == fb::RowBody::Feed;
    // Copies between tasks belong to none.
    bool assembled = row->body_type() == fb::RowBody::Copy && row->task() < 0;
    result.origin = received    ? SOAP_RECEIVED
                    : assembled ? SOAP_ASSEMBLED
                                : SOAP_COMPUTED;
  }
  result.data = data;
  return result;
}

namespace {
class ObservedRow final : public RowAction {
public:
  ObservedRow(std::unique_ptr<RowAction> row, std::vector<soap_tile> tiles,
              const Observer &observer)
      : row(std::move(row)), tiles(std::move(tiles)), observer(observer) {}

  void run(const Step &step) override {
    row->run(step);
    for (const soap_tile &tile : tiles)
      observer(tile);
  }
  uint64_t bytes() const override { return row->bytes(); }
  void movements(std::vector<Movement> &result) const override {
    row->movements(result);
  }

private:
  std::unique_ptr<RowAction> row;
  std::vector<soap_tile> tiles;
  Observer observer;
};
} // namespace

std::unique_ptr<RowAction> runtime::observe(std::unique_ptr<RowAction> row,
                                            std::vector<soap_tile> tiles,
                                            const Observer &observer) {
  return std::make_unique<ObservedRow>(std::move(row), std::move(tiles),
                                       observer);
}
