//===- ProgramUses.h - Who touches the buffers of a program -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes ask that make one launch of two.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_SOAPTOSOAPRT_PROGRAMUSES_H
#define SOAP_LIB_CONVERSION_SOAPTOSOAPRT_PROGRAMUSES_H

#include "mlir/IR/SymbolTable.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "llvm/ADT/DenseMap.h"

namespace soap {

/// Who touches a buffer, also through views. A row that reads it twice stands
/// there twice.
struct BufferUses {
  llvm::SmallVector<soaprt::RowOpInterface, 2> writers, readers;
  llvm::SmallVector<soaprt::TileOp, 1> tiles;
  bool isViewed = false, isLoaded = false;
};

/// The uses of all buffers of a device, in all of its programs.
class ProgramUses {
public:
  explicit ProgramUses(soaprt::DeviceOp device);

  /// Of the buffer that `value` is, or is a view of.
  BufferUses &of(mlir::Value value) {
    return uses_[soaprt::getStorage(value).buffer];
  }

  /// Notes that `row` does what `first` and `second` did: it reads and writes
  /// no other buffer than these.
  void replace(soaprt::LaunchOp first, soaprt::LaunchOp second,
               soaprt::LaunchOp row);

  /// Erases a buffer that nobody touches any more, with its tiles.
  void erase(mlir::Value buffer);

private:
  llvm::DenseMap<mlir::Operation *, BufferUses> uses_;
};

/// A whole buffer of activations, no view of one.
bool isWholeActivation(mlir::Value value);

/// Whether a tile is kept from step to step, or is a part of a sum: such a
/// buffer stays as it is.
bool isKeptOrPart(soaprt::TileOp tile);

/// Gives an nn operation another name if one of its block has the same.
void makeNameUnique(mlir::Operation *op);

/// Erases kernels that nobody launches.
void eraseUnlaunched(mlir::ModuleOp module, mlir::SymbolTable &symbols);

} // namespace soap

#endif // SOAP_LIB_CONVERSION_SOAPTOSOAPRT_PROGRAMUSES_H
