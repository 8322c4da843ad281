//===- MatMulKernel.cpp - Products by cuBLASLt ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Blas.h"
#include "CUDA/CudaKernels.h"
#include "CUDA/Fastest.h"
#include "CUDA/MatMulShape.h"
#include "CUDA/Stream.h"
#include <algorithm>
#include <numeric>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

/// Bytes of an element.
static int64_t sizeOf(cudaDataType_t type) {
  return type == CUDA_R_32F ? 4 : 2;
}

namespace {
using Description = BlasObject<cublasLtMatmulDesc_t>;
using Layout = BlasObject<cublasLtMatrixLayout_t>;
using Algorithm = cublasLtMatmulHeuristicResult_t;

/// The library's matrices are column-major: ours are their transposes, so it is
/// asked for y' = b' a'. A bias that is a row of y is then a column, as its
/// epilogue wants.
class Product {
public:
  /// Of the factors, and of the result and what is added.
  struct Types {
    cudaDataType_t factors, result;
  };

  Product(const Gpu &gpu, const fb::MatMul &op, MatMulShape shape, Types types,
          bool hasRow);

  /// What the library proposes, best first, within so much scratch memory.
  std::vector<Algorithm> propose(uint64_t workspaceBytes) const;
  /// Enqueues one call. `row` is the bias that the epilogue adds, if it does.
  void enqueue(CUstream stream, const Algorithm &algorithm,
               const MatMulShape::Call &call, DevicePointer a, DevicePointer b,
               DevicePointer y, DevicePointer workspace, bool adds) const;
  void setRow(DevicePointer row);
  const MatMulShape &shape() const { return shape_; }

private:
  Layout makeLayout(cudaDataType_t type, int64_t rows, int64_t columns,
                    int64_t stride) const;

  const Gpu &gpu_;
  MatMulShape shape_;
  Types types_;
  float alpha_;
  Description description_;
  Layout a_, b_, y_;
};
} // namespace

/// Sums are f32; factors of f32 are rounded to TF32 where the model allows it.
static Description makeDescription(const Gpu &gpu, bool tf32) {
  (void)blasHandle(gpu); // Loads the library.
  cublasLtMatmulDesc_t handle = nullptr;
  checkBlas(blas().cublasLtMatmulDescCreate(&handle,
                                            tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                 : CUBLAS_COMPUTE_32F,
                                            CUDA_R_32F),
            "to describe a product");
  return {handle, blas().cublasLtMatmulDescDestroy};
}

Layout Product::makeLayout(cudaDataType_t type, int64_t rows, int64_t columns,
                           int64_t stride) const {
  cublasLtMatrixLayout_t handle = nullptr;
  checkBlas(blas().cublasLtMatrixLayoutCreate(
                &handle, type, static_cast<uint64_t>(rows),
                static_cast<uint64_t>(columns), rows),
            "to describe a matrix");
  Layout layout(handle, blas().cublasLtMatrixLayoutDestroy);
  auto batch = static_cast<int32_t>(shape_.batch);
  auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                 size_t bytes) {
    checkBlas(blas().cublasLtMatrixLayoutSetAttribute(handle, attribute, value,
                                                      bytes),
              "to describe a stack of matrices");
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch));
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride));
  return layout;
}

Product::Product(const Gpu &gpu, const fb::MatMul &op, MatMulShape given,
                 Types types, bool hasRow)
    : gpu_(gpu), shape_(std::move(given)), types_(types), alpha_(op.alpha()),
      description_(
          makeDescription(gpu, op.tf32() && types.factors == CUDA_R_32F)),
      a_(op.transpose_a()
             ? makeLayout(types.factors, shape_.m, shape_.k, shape_.aStride)
             : makeLayout(types.factors, shape_.k, shape_.m, shape_.aStride)),
      b_(op.transpose_b()
             ? makeLayout(types.factors, shape_.k, shape_.n, shape_.bStride)
             : makeLayout(types.factors, shape_.n, shape_.k, shape_.bStride)),
      y_(makeLayout(types.result, shape_.n, shape_.m, shape_.yStride)) {
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, int32_t value) {
    checkBlas(blas().cublasLtMatmulDescSetAttribute(
                  description_.get(), attribute, &value, sizeof(value)),
              "to describe a product");
  };
  // The library's first operand is our second one.
  set(CUBLASLT_MATMUL_DESC_TRANSA,
      op.transpose_b() ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB,
      op.transpose_a() ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (hasRow)
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
}

void Product::setRow(DevicePointer row) {
  auto pointer = row.value();
  checkBlas(blas().cublasLtMatmulDescSetAttribute(
                description_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointer,
                sizeof(pointer)),
            "to take a bias");
}

std::vector<Algorithm> Product::propose(uint64_t workspaceBytes) const {
  cublasLtMatmulPreference_t handle = nullptr;
  checkBlas(blas().cublasLtMatmulPreferenceCreate(&handle),
            "to take preferences");
  BlasObject<cublasLtMatmulPreference_t> preference(
      handle, blas().cublasLtMatmulPreferenceDestroy);
  checkBlas(blas().cublasLtMatmulPreferenceSetAttribute(
                handle, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                &workspaceBytes, sizeof(workspaceBytes)),
            "to take preferences");
  // A call of several begins at a matrix of an operand. Where there is one
  // call, the library takes addresses to be multiples of 256, as blocks are.
  if (shape_.calls.size() > 1) {
    auto set = [&](cublasLtMatmulPreferenceAttributes_t which,
                   int64_t MatMulShape::Call::*offset, cudaDataType_t type) {
      int64_t alignment = 256;
      for (const MatMulShape::Call &call : shape_.calls)
        alignment = std::gcd(alignment, call.*offset * sizeOf(type));
      auto bytes = static_cast<uint32_t>(alignment);
      checkBlas(blas().cublasLtMatmulPreferenceSetAttribute(
                    handle, which, &bytes, sizeof(bytes)),
                "to take preferences");
    };
    using Call = MatMulShape::Call;
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &Call::b, types_.factors);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &Call::a, types_.factors);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &Call::y, types_.result);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &Call::y, types_.result);
  }
  constexpr int most = 8;
  std::vector<Algorithm> proposals(most);
  int count = 0;
  cublasStatus_t status = blas().cublasLtMatmulAlgoGetHeuristic(
      blasHandle(gpu_), description_.get(), b_.get(), a_.get(), y_.get(),
      y_.get(), handle, most, proposals.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED)
    return {};
  checkBlas(status, "to propose an algorithm");
  proposals.resize(static_cast<size_t>(count));
  proposals.erase(std::remove_if(proposals.begin(), proposals.end(),
                                 [](const Algorithm &proposal) {
                                   return proposal.state !=
                                          CUBLAS_STATUS_SUCCESS;
                                 }),
                  proposals.end());
  return proposals;
}

void Product::enqueue(CUstream stream, const Algorithm &algorithm,
                      const MatMulShape::Call &call, DevicePointer a,
                      DevicePointer b, DevicePointer y, DevicePointer workspace,
                      bool adds) const {
  auto at = [](DevicePointer base, int64_t offset, cudaDataType_t type) {
    return reinterpret_cast<void *>(
        base.value() + static_cast<uintptr_t>(offset * sizeOf(type)));
  };
  void *first = at(b, call.b, types_.factors);
  void *second = at(a, call.a, types_.factors);
  void *result = at(y, call.y, types_.result);
  float beta = adds ? 1 : 0;
  checkBlas(blas().cublasLtMatmul(
                blasHandle(gpu_), description_.get(), &alpha_, first, b_.get(),
                second, a_.get(), &beta, result, y_.get(), result, y_.get(),
                &algorithm.algo, reinterpret_cast<void *>(workspace.value()),
                algorithm.workspaceSize, stream),
            "to enqueue a product");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
class BoundMatMul final : public BoundKernel {
public:
  BoundMatMul(std::unique_ptr<Product> product, const Algorithm &algorithm,
              const Binding &binding, std::optional<StridedCopy> bias)
      : product_(std::move(product)), algorithm_(algorithm), binding_(binding),
        bias_(std::move(bias)) {}

  void enqueue(Stream &stream) override {
    auto &own = static_cast<CudaStream &>(stream);
    own.gpu().use();
    DevicePointer y = binding_.results[0];
    if (bias_)
      own.copy(*bias_, binding_.operands[2], y);
    for (const MatMulShape::Call &call : product_->shape().calls)
      product_->enqueue(own.handle(), algorithm_, call, binding_.operands[0],
                        binding_.operands[1], y, binding_.scratchpad,
                        bias_.has_value());
  }

private:
  std::unique_ptr<Product> product_;
  Algorithm algorithm_;
  Binding binding_;
  std::optional<StridedCopy> bias_; ///< Where the epilogue does not add it.
};

class MatMulKernel final : public Kernel {
public:
  MatMulKernel(CudaDevice &device, const fb::Kernel &kernel,
               MatMulShape productShape, Product::Types types,
               std::optional<StridedCopy> bias, bool hasRow)
      : device_(device), kernel_(kernel), shape_(std::move(productShape)),
        types_(types), bias_(std::move(bias)), hasRow_(hasRow) {
    constexpr uint64_t otherwise = uint64_t{32} << 20;
    uint64_t most = kernel.workspace_bytes();
    proposals_ = makeProduct()->propose(most ? most : otherwise);
    implementation_ = "cublasLt";
  }
  bool isSupported() const { return !proposals_.empty(); }

  size_t scratchpadBytes() const override {
    size_t bytes = 0;
    for (const Algorithm &proposal : proposals_)
      bytes = std::max(bytes, proposal.workspaceSize);
    return bytes;
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto product = makeProduct();
    if (hasRow_)
      product->setRow(binding.operands[2]);
    const Algorithm &algorithm = choose(*product, binding);
    return std::make_unique<BoundMatMul>(std::move(product), algorithm, binding,
                                         bias_);
  }

private:
  std::unique_ptr<Product> makeProduct() const {
    return std::make_unique<Product>(device_.gpu(), *kernel_.op_as_MatMul(),
                                     shape_, types_, hasRow_);
  }
  const Algorithm &choose(const Product &product,
                          const Binding &binding) const {
    auto run = [&](CudaStream &stream, size_t proposal, DevicePointer result) {
      product.enqueue(stream.handle(), proposals_[proposal],
                      product.shape().calls[0], binding.operands[0],
                      binding.operands[1], result, binding.scratchpad,
                      /*adds=*/false);
    };
    return proposals_[fastestProposal(device_, kernel_, proposals_.size(),
                                      run)];
  }

  CudaDevice &device_;
  const fb::Kernel &kernel_;
  MatMulShape shape_;
  Product::Types types_;
  std::optional<StridedCopy> bias_;
  bool hasRow_;
  std::vector<Algorithm> proposals_;
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
      (op->bias() && elementOf(2) != element))
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
  if (op->bias()) {
    Shape given = shapeOf(kernel.operands()->Get(2));
    hasRow = isRow(given, y);
    bias = broadcast(given, y, elementSize(element));
    if (!bias)
      return nullptr;
    if (hasRow)
      bias.reset();
  }
  auto product = std::make_unique<MatMulKernel>(
      device, kernel, std::move(*shape), Product::Types{*factors, *result},
      std::move(bias), hasRow);
  if (!product->isSupported())
    return nullptr;
  return product;
}
