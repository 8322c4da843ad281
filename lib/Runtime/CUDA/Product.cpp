//===- Product.cpp - A product of cuBLASLt --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Product.h"
#include <algorithm>
#include <numeric>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

void Product::Alignment::add(int64_t aBytes, int64_t bBytes, int64_t yBytes) {
  auto join = [](uint32_t &bytes, int64_t offset) {
    bytes = static_cast<uint32_t>(std::gcd(int64_t{bytes}, offset));
  };
  join(a, aBytes);
  join(b, bBytes);
  join(y, yBytes);
}

/// Sums are f32; factors of f32 are rounded to TF32 where the model allows it.
static BlasObject<cublasLtMatmulDesc_t> makeDescription(const Gpu &gpu,
                                                        bool tf32) {
  (void)blasHandle(gpu); // Loads the library.
  cublasLtMatmulDesc_t handle = nullptr;
  checkBlas(blas().cublasLtMatmulDescCreate(&handle,
                                            tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                 : CUBLAS_COMPUTE_32F,
                                            CUDA_R_32F),
            "to describe a product");
  return {handle, blas().cublasLtMatmulDescDestroy};
}

Product::Layout Product::makeLayout(cudaDataType_t type, int64_t rows,
                                    int64_t columns, int64_t leading,
                                    int64_t stride) const {
  cublasLtMatrixLayout_t handle = nullptr;
  checkBlas(blas().cublasLtMatrixLayoutCreate(
                &handle, type, static_cast<uint64_t>(rows),
                static_cast<uint64_t>(columns), leading),
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

Product::Product(const Gpu &gpu, const ProductShape &shape)
    : gpu_(gpu), shape_(shape),
      description_(
          makeDescription(gpu, shape.tf32 && shape.factors == CUDA_R_32F)),
      a_(makeLayout(shape.factors, shape.transposeA ? shape.m : shape.k,
                    shape.transposeA ? shape.k : shape.m, shape.aLeading,
                    shape.aStride)),
      b_(makeLayout(shape.factors, shape.transposeB ? shape.k : shape.n,
                    shape.transposeB ? shape.n : shape.k, shape.bLeading,
                    shape.bStride)),
      y_(makeLayout(shape.result, shape.n, shape.m, shape.yLeading,
                    shape.yStride)) {
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, int32_t value) {
    checkBlas(blas().cublasLtMatmulDescSetAttribute(
                  description_.get(), attribute, &value, sizeof(value)),
              "to describe a product");
  };
  // The library's first operand is our second one.
  set(CUBLASLT_MATMUL_DESC_TRANSA,
      shape.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB,
      shape.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (shape.hasRow)
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
}

void Product::setRow(DevicePointer row) {
  auto pointer = row.value();
  checkBlas(blas().cublasLtMatmulDescSetAttribute(
                description_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointer,
                sizeof(pointer)),
            "to take a bias");
}

std::vector<Product::Algorithm> Product::propose(uint64_t workspaceBytes,
                                                 Alignment alignment) const {
  cublasLtMatmulPreference_t handle = nullptr;
  checkBlas(blas().cublasLtMatmulPreferenceCreate(&handle),
            "to take preferences");
  BlasObject<cublasLtMatmulPreference_t> preference(
      handle, blas().cublasLtMatmulPreferenceDestroy);
  checkBlas(blas().cublasLtMatmulPreferenceSetAttribute(
                handle, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                &workspaceBytes, sizeof(workspaceBytes)),
            "to take preferences");
  auto set = [&](cublasLtMatmulPreferenceAttributes_t which, uint32_t bytes) {
    checkBlas(blas().cublasLtMatmulPreferenceSetAttribute(handle, which, &bytes,
                                                          sizeof(bytes)),
              "to take preferences");
  };
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment.b);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment.a);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment.y);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment.y);
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
                      const Matrices &matrices, DevicePointer workspace,
                      bool adds) const {
  auto at = [](DevicePointer pointer) {
    return reinterpret_cast<void *>(pointer.value());
  };
  float beta = adds ? 1 : 0;
  checkBlas(blas().cublasLtMatmul(blasHandle(gpu_), description_.get(),
                                  &shape_.alpha, at(matrices.b), b_.get(),
                                  at(matrices.a), a_.get(), &beta,
                                  at(matrices.y), y_.get(), at(matrices.y),
                                  y_.get(), &algorithm.algo, at(workspace),
                                  algorithm.workspaceSize, stream),
            "to enqueue a product");
}
