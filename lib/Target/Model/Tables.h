//===- Tables.h - Builds the tables of a compiled model ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_MODEL_TABLES_H
#define SOAP_LIB_TARGET_MODEL_TABLES_H

#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Target/Model/Model.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace soap {

/// The schema's name of an element type; fails for types that it does not know.
std::optional<fb::ElementType> elementType(mlir::Type type);

/// The bytes of one element (little endian); empty if `value` is no number.
std::vector<uint8_t> elementBytes(mlir::Attribute value);

/// The table of a kernel: a call of the library or of native code. Emits an
/// error if the library has no such kernel.
mlir::FailureOr<std::unique_ptr<fb::KernelT>> kernelTable(soaprt::KernelOp op,
                                                          const Target &target);

/// Indices of what rows of all devices refer to.
struct ModelIndex {
  llvm::DenseMap<mlir::Operation *, uint32_t> ports, kernels;
  /// Numbers the nodes, in order of appearance.
  llvm::StringMap<uint32_t> nodes;
  /// Entries of the tables of values, by program, node and number of the
  /// result.
  llvm::DenseMap<std::tuple<mlir::StringAttr, mlir::StringAttr, int64_t>,
                 uint32_t>
      values;
  mlir::SymbolTable symbols;

  explicit ModelIndex(mlir::ModuleOp module) : symbols(module) {}
};

/// Builds the table of one device.
class DeviceTable {
public:
  DeviceTable(soaprt::DeviceOp op, ModelIndex &index, WeightsFile &weights)
      : op_(op), index_(index), weights_(weights) {}

  mlir::LogicalResult build(fb::DeviceT &table);
  /// Adds what buffers hold in a program, after build(); the values that this
  /// is of are those of `program`.
  mlir::LogicalResult buildTiles(soaprt::MainOp main, fb::DeviceProgramT &table,
                                 fb::ProgramT &program);

private:
  mlir::LogicalResult buildLoad(soaprt::LoadOp load, fb::DeviceT &table);
  mlir::LogicalResult
  buildProgram(mlir::Block &program,
               std::vector<std::unique_ptr<fb::RowT>> &rows);
  mlir::LogicalResult buildBody(mlir::Operation *row, fb::RowT &table);
  mlir::LogicalResult build(soaprt::LaunchOp op, fb::RowT &table);
  mlir::LogicalResult build(soaprt::CopyOp op, fb::RowT &table);
  mlir::LogicalResult build(soaprt::ExchangeOp op, fb::RowT &table);
  mlir::LogicalResult build(soaprt::CollectiveOp op, fb::RowT &table);
  mlir::LogicalResult build(soaprt::FeedOp op, fb::RowT &table);
  mlir::LogicalResult build(soaprt::DrainOp op, fb::RowT &table);

  mlir::LogicalResult buffersOf(mlir::ValueRange values,
                                std::vector<uint32_t> &list);
  /// The schema's buffer of a value that a kernel can read where it starts:
  /// that of the soaprt.buffer or, for a view, one of its own.
  mlir::FailureOr<uint32_t> bufferOf(mlir::Value value);
  fb::Extent extentOf(mlir::Value value);
  /// Either side may be null: an input or output of `portType`.
  std::unique_ptr<fb::BoxCopyT> boxCopy(soaprt::BoxCopyAttr box,
                                        mlir::Value from, mlir::Value to,
                                        mlir::RankedTensorType portType = {});

  soaprt::DeviceOp op_;
  ModelIndex &index_;
  WeightsFile &weights_;
  fb::DeviceT *device_ = nullptr;
  llvm::DenseMap<mlir::Operation *, uint32_t> buffers_;
  llvm::DenseMap<mlir::Value, uint32_t> views_;
};

} // namespace soap

#endif // SOAP_LIB_TARGET_MODEL_TABLES_H
