//===- MatMulKernel.cpp - Products by cuBLASLt ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/CudaKernels.h"
#include "CUDA/Fastest.h"
#include "CUDA/MatMulShape.h"
#include "CUDA/Product.h"
#include "CUDA/Stream.h"
#include "CUDA/WidenKernel.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

/// Bytes of an element.
static int64_t sizeOf(cudaDataType_t type) {
  return type == CUDA_R_32F ? 4 : 2;
}

namespace {
/// Of the factors, and of the result and what is added.
struct Types {
  cudaDataType_t factors, result;
};
} // namespace

/// The matrices of one call.
static Product::Matrices matricesOf(const MatMulShape::Call &call,
                                    const Binding &binding, DevicePointer y,
                                    Types types) {
  auto at = [](DevicePointer base, int64_t offset, cudaDataType_t type) {
    return base + static_cast<uint64_t>(offset * sizeOf(type));
  };
  return {at(binding.operands[0], call.a, types.factors),
          at(binding.operands[1], call.b, types.factors),
          at(y, call.y, types.result)};
}

namespace {
/// A bias of 16-bit floats for a result of f32: the epilogue adds f32, which is
/// made in scratch memory.
struct WideRow {
  fb::ElementType element;
  int64_t columns;

  WidenKernel::Work work() const {
    auto count = static_cast<uint64_t>(columns);
    return {count, count, 1};
  }
};
} // namespace

/// Of the scratch memory; what follows lies at a multiple of 256.
static uint64_t rowBytes(const std::optional<WideRow> &row) {
  return row ? (4 * row->work().count + 255) / 256 * 256 : 0;
}

namespace {
class BoundMatMul final : public BoundKernel {
public:
  BoundMatMul(std::unique_ptr<Product> product,
              const Product::Algorithm &algorithm, const Binding &binding,
              std::vector<MatMulShape::Call> calls, Types types,
              std::optional<StridedCopy> bias, std::optional<WideRow> wideRow)
      : product_(std::move(product)), algorithm_(algorithm), binding_(binding),
        calls_(std::move(calls)), types_(types), bias_(std::move(bias)),
        wideRow_(wideRow) {}

  void enqueue(Stream &stream) override {
    auto &own = static_cast<CudaStream &>(stream);
    own.gpu().use();
    DevicePointer y = binding_.results[0];
    if (bias_)
      own.copy(*bias_, binding_.operands[2], y);
    if (wideRow_)
      WidenKernel::of(own.gpu(), wideRow_->element)
          .launch(own, wideRow_->work(), binding_.operands[2], std::nullopt,
                  binding_.scratchpad);
    for (const MatMulShape::Call &call : calls_)
      product_->enqueue(
          own.handle(), algorithm_, matricesOf(call, binding_, y, types_),
          binding_.scratchpad + rowBytes(wideRow_), bias_.has_value());
  }

private:
  std::unique_ptr<Product> product_;
  Product::Algorithm algorithm_;
  Binding binding_;
  std::vector<MatMulShape::Call> calls_;
  Types types_;
  std::optional<StridedCopy> bias_; ///< Where the epilogue does not add it.
  std::optional<WideRow> wideRow_;
};

class MatMulKernel final : public Kernel {
public:
  MatMulKernel(CudaDevice &device, const fb::Kernel &kernel,
               MatMulShape productShape, Types types,
               std::optional<StridedCopy> bias, bool hasRow,
               std::optional<WideRow> wideRow)
      : device_(device), kernel_(kernel), shape_(std::move(productShape)),
        types_(types), bias_(std::move(bias)), hasRow_(hasRow),
        wideRow_(wideRow) {
    constexpr uint64_t otherwise = uint64_t{32} << 20;
    uint64_t most = kernel.workspace_bytes();
    most = most ? most : otherwise;
    proposals_ = makeProduct()->propose(
        most - std::min(most, rowBytes(wideRow_)), alignment());
    implementation_ = "cublasLt";
  }
  bool isSupported() const { return !proposals_.empty(); }

  size_t scratchpadBytes() const override {
    size_t bytes = 0;
    for (const Product::Algorithm &proposal : proposals_)
      bytes = std::max(bytes, proposal.workspaceSize);
    return rowBytes(wideRow_) + bytes;
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto product = makeProduct();
    if (hasRow_)
      product->setRow(wideRow_ ? binding.scratchpad : binding.operands[2]);
    const Product::Algorithm &algorithm = choose(*product, binding);
    return std::make_unique<BoundMatMul>(std::move(product), algorithm, binding,
                                         shape_.calls, types_, bias_, wideRow_);
  }

private:
  std::unique_ptr<Product> makeProduct() const {
    const fb::MatMul &op = *kernel_.op_as_MatMul();
    ProductShape shape;
    shape.m = shape_.m;
    shape.n = shape.yLeading = shape_.n;
    shape.k = shape_.k;
    shape.batch = shape_.batch;
    shape.aLeading = op.transpose_a() ? shape_.m : shape_.k;
    shape.bLeading = op.transpose_b() ? shape_.k : shape_.n;
    shape.aStride = shape_.aStride;
    shape.bStride = shape_.bStride;
    shape.yStride = shape_.yStride;
    shape.transposeA = op.transpose_a();
    shape.transposeB = op.transpose_b();
    shape.alpha = op.alpha();
    shape.tf32 = op.tf32();
    shape.factors = types_.factors;
    shape.result = types_.result;
    shape.hasRow = hasRow_;
    return std::make_unique<Product>(device_.gpu(), shape);
  }
  /// A call of several begins at a matrix of an operand; a single one at its
  /// start, and blocks begin at multiples of 256.
  Product::Alignment alignment() const {
    Product::Alignment result;
    for (const MatMulShape::Call &call : shape_.calls)
      result.add(call.a * sizeOf(types_.factors),
                 call.b * sizeOf(types_.factors),
                 call.y * sizeOf(types_.result));
    return result;
  }
  const Product::Algorithm &choose(const Product &product,
                                   const Binding &binding) const {
    auto run = [&](CudaStream &stream, size_t proposal, DevicePointer result) {
      product.enqueue(stream.handle(), proposals_[proposal],
                      matricesOf(shape_.calls[0], binding, result, types_),
                      binding.scratchpad + rowBytes(wideRow_), /*adds=*/false);
    };
    return proposals_[fastestProposal(device_, kernel_, proposals_.size(),
                                      run)];
  }

  CudaDevice &device_;
  const fb::Kernel &kernel_;
  MatMulShape shape_;
  Types types_;
  std::optional<StridedCopy> bias_;
  bool hasRow_;
  std::optional<WideRow> wideRow_;
  std::vector<Product::Algorithm> proposals_;
};
} // namespace

static std::optional<cudaDataType_t> typeOf(fb::ElementType element) {
  switch (element) {
  case fb::ElementType::F32:
    return CUDA_R_32F;
  case fb::ElementType::F16:
    return CUDA_R_16F;
  case fb::ElementType::BF16:
    return CUDA_R_16BF;
  default:
    return std::nullopt;
  }
}

std::unique_ptr<Kernel> cuda::makeMatMulKernel(CudaDevice &device,
                                               const fb::Kernel &kernel) {
  const fb::MatMul *op = kernel.op_as_MatMul();
  if (kernel.operands()->size() != (op->bias() ? 3U : 2U))
    return nullptr;
  auto elementOf = [&](uint32_t operand) {
    return kernel.operands()->Get(operand)->element();
  };
  fb::ElementType element = kernel.results()->Get(0)->element();
  std::optional<cudaDataType_t> factors = typeOf(elementOf(0)),
                                result = typeOf(element);
  if (!factors || !result || elementOf(1) != elementOf(0) ||
      (element != fb::ElementType::F32 && element != elementOf(0)) ||
      (op->bias() && elementOf(2) != element && elementOf(2) != elementOf(0)))
    return nullptr;
  auto shapeOf = [](const fb::TensorType *tensor) {
    return toVector(tensor->shape());
  };
  Shape y = shapeOf(kernel.results()->Get(0));
  auto shape = MatMulShape::of(*op, shapeOf(kernel.operands()->Get(0)),
                               shapeOf(kernel.operands()->Get(1)), y);
  // A sum of nothing is none that the library computes.
  if (!shape || shape->k == 0 || shape->batch > INT32_MAX)
    return nullptr;
  std::optional<StridedCopy> bias;
  bool hasRow = false;
  std::optional<WideRow> wideRow;
  if (op->bias()) {
    Shape given = shapeOf(kernel.operands()->Get(2));
    hasRow = isRow(given, y);
    bias = broadcast(given, y, elementSize(element));
    if (!bias)
      return nullptr;
    if (hasRow)
      bias.reset();
    if (elementOf(2) != element) {
      if (!hasRow)
        return nullptr;
      wideRow = WideRow{elementOf(2), y.back()};
    }
  }
  auto product = std::make_unique<MatMulKernel>(
      device, kernel, std::move(*shape), Types{*factors, *result},
      std::move(bias), hasRow, wideRow);
  if (!product->isSupported())
    return nullptr;
  return product;
}
