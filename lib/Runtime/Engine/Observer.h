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

#include "Backend/Backend.h"
#include "Model/CompiledModel.h"

namespace soap::runtime {

/// Who is shown the tiles; nobody if `show` is null.
struct Observer {
  soap_observer show = nullptr;
  void *user = nullptr;

  explicit operator bool() const { return show != nullptr; }
  void operator()(const soap_tile &tile) const { show(&tile, user); }
};

/// A tile of a device, and where it lies there.
struct DeviceTile {
  soap_tile tile = {}; ///< Without `data`. Points into the table.
  DeviceSpan place;
  fb::ElementOrder order = fb::ElementOrder::RowMajor;
};
DeviceTile describeTile(const fb::Model &model, uint32_t program,
                        uint32_t device, const fb::Tile &tile,
                        DevicePointer data);

/// Shows tiles in a stream, after the commands before it unless one of them has
/// failed.
class TileShow final : private HostCall {
public:
  TileShow(std::vector<DeviceTile> tiles, const Observer &observer,
           const BackendTraits &traits);
  void enqueue(Stream &stream);

private:
  void run() override;

  /// A tile that is copied to the host, in row-major order.
  struct Copy {
    StridedCopy box;
    DevicePointer from;
    std::vector<char> data;
  };

  std::vector<DeviceTile> tiles_;
  std::vector<Copy> copies_;
  Observer observer_;
  Stream *shown_ = nullptr;
};

/// A row that shows `tiles` each time that it has run and did not fail, before
/// anybody learns that it has ended.
std::unique_ptr<RowAction> observe(std::unique_ptr<RowAction> row,
                                   std::vector<DeviceTile> tiles,
                                   const Observer &observer,
                                   const BackendTraits &traits);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_OBSERVER_H
