//===- Observer.h - Shows what buffers hold while a step runs ---*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory is reused within a step, so a tile can only be seen right after the
// row that completes it. Observed rows are wrapped; a device without an
// observer runs the rows themselves.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_OBSERVER_H
#define SOAP_LIB_RUNTIME_ENGINE_OBSERVER_H

#include "Engine/Row.h"
#include "Model/CompiledModel.h"

namespace soap::runtime {

/// Who is shown the tiles; nobody if `show` is null.
struct Observer {
  soap_observer show = nullptr;
  void *user = nullptr;

  explicit operator bool() const { return show != nullptr; }
  void operator()(const soap_tile &tile) const { show(&tile, user); }
};

/// A tile of a device, ready to be shown. Points into the table.
soap_tile describeTile(const fb::Model &model, uint32_t device,
                       const fb::Tile &tile, const char *data);

/// A row that shows `tiles` after each run that did not fail, before anybody
/// learns that it has ended.
std::unique_ptr<RowAction> observe(std::unique_ptr<RowAction> row,
                                   std::vector<soap_tile> tiles,
                                   const Observer &observer);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_OBSERVER_H
