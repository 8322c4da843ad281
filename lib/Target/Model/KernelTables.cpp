//===- KernelTables.cpp - Kernels of a compiled model ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;

template <typename TableT>
static TableT *set(fb::KernelT &kernel) {
  auto *table = new TableT; // Owned by the union.
  kernel.op.type = fb::KernelOpUnionTraits<TableT>::enum_value;
  kernel.op.value = table;
  return table;
}

template <typename OpT>
static void setPool(fb::PoolT &pool, OpT op) {
  pool.kernel = op.getKernel();
  pool.strides = op.getStrides();
  pool.dilations = op.getDilations();
  pool.pads_lo = op.getPadsLo();
  pool.pads_hi = op.getPadsHi();
}

static LogicalResult setLibraryOp(Operation *op, fb::KernelT &kernel) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](nn::ConvOp conv) {
        auto *table = set<fb::ConvT>(kernel);
        table->strides = conv.getStrides();
        table->dilations = conv.getDilations();
        table->pads_lo = conv.getPadsLo();
        table->pads_hi = conv.getPadsHi();
        table->groups = conv.getGroups();
        table->bias = conv.getBias() != nullptr;
        return success();
      })
      .Case([&](nn::MatMulOp matmul) {
        auto *table = set<fb::MatMulT>(kernel);
        table->transpose_a = matmul.getTransposeA();
        table->transpose_b = matmul.getTransposeB();
        table->bias = matmul.getBias() != nullptr;
        table->alpha = matmul.getAlpha().convertToFloat();
        return success();
      })
      .Case([&](nn::MaxPoolOp pool) {
        auto *table = set<fb::PoolT>(kernel);
        table->kind = fb::PoolKind::Max;
        setPool(*table, pool);
        return success();
      })
      .Case([&](nn::AvgPoolOp pool) {
        auto *table = set<fb::PoolT>(kernel);
        table->kind = fb::PoolKind::Average;
        setPool(*table, pool);
        auto positive = [](int64_t pad) { return pad > 0; };
        table->count_include_pad =
            llvm::any_of(pool.getCountedLo(), positive) ||
            llvm::any_of(pool.getCountedHi(), positive);
        return success();
      })
      .Case([&](nn::SoftmaxOp softmax) {
        auto *table = set<fb::SoftmaxT>(kernel);
        table->axis = softmax.getAxis();
        table->log = softmax.getLog();
        return success();
      })
      .Case([&](nn::LRNOp lrn) {
        auto *table = set<fb::LrnT>(kernel);
        table->size = lrn.getSize();
        table->alpha = lrn.getAlpha().convertToFloat();
        table->beta = lrn.getBeta().convertToFloat();
        table->bias = lrn.getBias().convertToFloat();
        return success();
      })
      .Default([](Operation *other) {
        return other->emitOpError("expected an operation that the library "
                                  "computes; lower it to a native kernel");
      });
}

static LogicalResult
setTypes(soaprt::KernelOp op, TypeRange types,
         std::vector<std::unique_ptr<fb::TensorTypeT>> &tables) {
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    std::optional<fb::ElementType> element =
        elementType(tensor.getElementType());
    if (!element)
      return op.emitOpError("expected elements that the runtime knows, got: ")
             << tensor.getElementType();
    auto table = std::make_unique<fb::TensorTypeT>();
    table->element = *element;
    table->shape = tensor.getShape();
    tables.push_back(std::move(table));
  }
  return success();
}

FailureOr<std::unique_ptr<fb::KernelT>> soap::kernelTable(soaprt::KernelOp op) {
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->key = op.getKey().str();
  kernel->flops = static_cast<uint64_t>(op.getFlops().convertToDouble());
  if (op.getNative())
    set<fb::NativeT>(*kernel)->symbol = op.getIndex();
  else if (failed(setLibraryOp(op.getAnchor(), *kernel)))
    return failure();
  if (failed(
          setTypes(op, op.getBlock().getArgumentTypes(), kernel->operands)) ||
      failed(setTypes(op, op.getResultTypes(), kernel->results)))
    return failure();
  return kernel;
}
