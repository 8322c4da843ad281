//===- LibraryTables.cpp - Tables of library kernels ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/LibraryTables.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Runtime/Model.fbs.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;

/// Pads behind x of a convolution whose gradients the library computes; nothing
/// where windows start behind the start of x, or x goes on behind the last one.
static std::optional<SmallVector<int64_t>>
padsBehind(ArrayRef<int64_t> x, ArrayRef<int64_t> weight, ArrayRef<int64_t> y,
           ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
           ArrayRef<int64_t> padsLo) {
  SmallVector<int64_t> pads;
  for (auto [i, stride] : llvm::enumerate(strides)) {
    int64_t extent = (weight[2 + i] - 1) * dilations[i] + 1;
    pads.push_back((y[2 + i] - 1) * stride + extent - padsLo[i] - x[2 + i]);
    if (padsLo[i] < 0 || pads.back() <= -stride)
      return std::nullopt;
  }
  return pads;
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

static std::optional<SmallVector<int64_t>>
padsBehind(nn::ConvBackwardDataOp op) {
  return padsBehind(shapeOf(op.getResult()), shapeOf(op.getWeight()),
                    shapeOf(op.getDy()), op.getStrides(), op.getDilations(),
                    op.getPadsLo());
}

static std::optional<SmallVector<int64_t>>
padsBehind(nn::ConvBackwardFilterOp op) {
  return padsBehind(shapeOf(op.getX()), shapeOf(op.getResult()),
                    shapeOf(op.getDy()), op.getStrides(), op.getDilations(),
                    op.getPadsLo());
}

bool soap::hasLibraryPads(Operation *op) {
  if (auto data = dyn_cast<nn::ConvBackwardDataOp>(op))
    return padsBehind(data).has_value();
  auto filter = dyn_cast<nn::ConvBackwardFilterOp>(op);
  return filter && padsBehind(filter).has_value();
}

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

LogicalResult soap::buildLibraryTable(Operation *op, fb::KernelT &kernel) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](nn::ConvOp conv) {
        auto *table = set<fb::ConvT>(kernel);
        table->strides = conv.getStrides();
        table->dilations = conv.getDilations();
        table->pads_lo = conv.getPadsLo();
        table->pads_hi = conv.getPadsHi();
        table->groups = conv.getGroups();
        table->bias = conv.getBias() != nullptr;
        table->tf32 = conv.getTf32();
        return success();
      })
      .Case<nn::ConvBackwardDataOp, nn::ConvBackwardFilterOp>([&](auto back) {
        auto *table = set<fb::ConvBackwardT>(kernel);
        table->of_filter = isa<nn::ConvBackwardFilterOp>(op);
        table->strides = back.getStrides();
        table->dilations = back.getDilations();
        table->pads_lo = back.getPadsLo();
        auto pads = padsBehind(back);
        table->pads_hi.assign(pads->begin(), pads->end());
        table->groups = back.getGroups();
        table->tf32 = back.getTf32();
        if constexpr (std::is_same_v<decltype(back), nn::ConvBackwardDataOp>)
          table->bias = back.getBias() != nullptr;
        return success();
      })
      .Case([&](nn::MatMulOp matmul) {
        auto *table = set<fb::MatMulT>(kernel);
        table->transpose_a = matmul.getTransposeA();
        table->transpose_b = matmul.getTransposeB();
        table->bias = matmul.getBias() != nullptr;
        table->alpha = matmul.getAlpha().convertToFloat();
        table->tf32 = matmul.getTf32();
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
      .Case([&](nn::AttentionOp attention) {
        auto *table = set<fb::AttentionT>(kernel);
        table->scale = attention.getScale().convertToFloat();
        table->fill = attention.getFill().convertToFloat();
        table->transposed_keys = attention.getTransposedKeys();
        table->hides = !attention.getMaskKeeps();
        table->bf16 = attention.getBf16();
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
      .Case([&](nn::LayerNormOp norm) {
        auto *table = set<fb::LayerNormT>(kernel);
        table->axis = norm.getAxis();
        table->epsilon = norm.getEpsilon().convertToFloat();
        table->bias = norm.getBias() != nullptr;
        return success();
      })
      .Default([](Operation *other) {
        return other->emitOpError("expected an operation with a library table");
      });
}
