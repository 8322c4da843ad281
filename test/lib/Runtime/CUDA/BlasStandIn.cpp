//===- BlasStandIn.cpp - cuBLASLt without a GPU ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulated/Memory.h"
#include "Error.h"
#include "Queue.h"
#include <algorithm>
#include <cstring>
#include <cublasLt.h>
#include <vector>

// A library of the name of cuBLASLt, for tests: it computes products on the
// host, in the streams of the stand-in for the driver, and refuses what the
// library would.

using namespace soap;
using runtime::DevicePointer;
using runtime::text;

namespace {
struct Description {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transposesA, transposesB;
  int32_t epilogue;
  const char *bias;
};
struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t ld, stride;
  int32_t batch;
};
struct Preference {
  uint64_t workspace = 0;
  /// What the addresses of a, b, c and d are multiples of.
  uint32_t alignments[4] = {256, 256, 256, 256};
};

/// One product, when it runs.
struct Product {
  Description description;
  Layout a, b, d;
  float alpha, beta;
  const char *aData, *bData;
  char *dData;

  void run() const;
};
} // namespace

static size_t sizeOf(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

static float load(const char *data, cudaDataType_t type, int64_t index) {
  data += index * static_cast<int64_t>(sizeOf(type));
  if (type == CUDA_R_32F) {
    float value;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, data, sizeof(bits));
  if (type == CUDA_R_16BF) {
    uint32_t wide = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  _Float16 half;
  std::memcpy(&half, &bits, sizeof(half));
  return static_cast<float>(half);
}

/// As tensor cores take an f32: with 10 bits behind the point.
static float toTF32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t{0x1fff};
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

static void store(char *data, cudaDataType_t type, int64_t index, float value) {
  data += index * static_cast<int64_t>(sizeOf(type));
  if (type == CUDA_R_32F) {
    std::memcpy(data, &value, sizeof(value));
  } else if (type == CUDA_R_16BF) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    auto high = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    std::memcpy(data, &high, sizeof(high));
  } else {
    auto half = static_cast<_Float16>(value);
    std::memcpy(data, &half, sizeof(half));
  }
}

void Product::run() const {
  auto at = [](const void *pointer) {
    return emulated::privateAddress(DevicePointer(const_cast<void *>(pointer)),
                                    nullptr);
  };
  const char *aHost = at(aData), *bHost = at(bData);
  char *dHost = at(dData);
  const char *bias = description.epilogue == CUBLASLT_EPILOGUE_BIAS
                         ? at(description.bias)
                         : nullptr;
  bool tf32 = description.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  auto m = static_cast<int64_t>(d.rows), n = static_cast<int64_t>(d.columns);
  auto k = static_cast<int64_t>(description.transposesA ? a.rows : a.columns);
  auto factor = [&](const char *data, cudaDataType_t type, int64_t at) {
    float value = load(data, type, at);
    return tf32 ? toTF32(value) : value;
  };
  // Columns of A, one after the other, so that the inner loop is one that
  // compilers make fast code of. Sums are made in the order of s.
  std::vector<float> columns(static_cast<size_t>(m * k));
  std::vector<float> sums(static_cast<size_t>(m));
  for (int32_t i = 0; i != d.batch; ++i) {
    for (int64_t s = 0; s != k; ++s)
      for (int64_t row = 0; row != m; ++row)
        columns[s * m + row] =
            factor(aHost, a.type,
                   i * a.stride + (description.transposesA ? s + row * a.ld
                                                           : row + s * a.ld));
    for (int64_t column = 0; column != n; ++column) {
      std::fill(sums.begin(), sums.end(), 0.0F);
      for (int64_t s = 0; s != k; ++s) {
        float y = factor(bHost, b.type,
                         i * b.stride + (description.transposesB
                                             ? column + s * b.ld
                                             : s + column * b.ld));
        const float *x = &columns[s * m];
        for (int64_t row = 0; row != m; ++row)
          sums[row] += x[row] * y;
      }
      for (int64_t row = 0; row != m; ++row) {
        int64_t index = i * d.stride + row + column * d.ld;
        float result = alpha * sums[row];
        if (beta != 0)
          result += beta * load(dHost, d.type, index);
        if (bias)
          result += load(bias, d.type, row);
        store(dHost, d.type, index, result);
      }
    }
  }
}

static Description &of(cublasLtMatmulDesc_t handle) {
  return *reinterpret_cast<Description *>(handle);
}
static Layout &of(cublasLtMatrixLayout_t handle) {
  return *reinterpret_cast<Layout *>(handle);
}
static Preference &of(cublasLtMatmulPreference_t handle) {
  return *reinterpret_cast<Preference *>(handle);
}

size_t cublasLtGetVersion() {
  const char *version = std::getenv("SOAP_CUBLAS_VERSION");
  return version ? std::strtoull(version, nullptr, 10) : CUBLAS_VERSION;
}
const char *cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INVALID_VALUE
             ? "CUBLAS_STATUS_INVALID_VALUE"
             : "CUBLAS_STATUS_OF_ANOTHER_KIND";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  static int any;
  *handle = reinterpret_cast<cublasLtHandle_t>(&any);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *handle,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  auto *own =
      new Description{compute, scale, 0, 0, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
  *handle = reinterpret_cast<cublasLtMatmulDesc_t>(own);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) {
  delete &of(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  Description &own = of(handle);
  auto set = [&](auto &place) {
    if (bytes != sizeof(place))
      return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&place, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(own.transposesA);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(own.transposesB);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(own.epilogue);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(own.bias);
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *handle,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  if (ld < static_cast<int64_t>(rows) || rows == 0 || columns == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  auto *own = new Layout{type, rows, columns, ld, 0, 1};
  *handle = reinterpret_cast<cublasLtMatrixLayout_t>(own);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) {
  delete &of(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  Layout &own = of(handle);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == 4)
    std::memcpy(&own.batch, value, bytes);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET &&
           bytes == 8)
    std::memcpy(&own.stride, value, bytes);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *handle) {
  *handle = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  delete &of(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t handle,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  Preference &own = of(handle);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == 8)
    std::memcpy(&own.workspace, value, bytes);
  int operand = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (operand >= 0 && operand < 4 && bytes == 4)
    std::memcpy(&own.alignments[operand], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// True if the library computes this: shapes agree, and so do stacks.
static bool isProduct(const Description &own, const Layout &a, const Layout &b,
                      const Layout &c, const Layout &d) {
  uint64_t m = own.transposesA ? a.columns : a.rows;
  uint64_t k = own.transposesA ? a.rows : a.columns;
  uint64_t inner = own.transposesB ? b.columns : b.rows;
  uint64_t n = own.transposesB ? b.rows : b.columns;
  return k == inner && m == d.rows && n == d.columns && c.rows == d.rows &&
         c.columns == d.columns && a.batch == d.batch && b.batch == d.batch &&
         a.type == b.type && c.type == d.type &&
         (d.type == a.type || d.type == CUDA_R_32F) &&
         (own.compute == CUBLAS_COMPUTE_32F ||
          (own.compute == CUBLAS_COMPUTE_32F_FAST_TF32 &&
           a.type == CUDA_R_32F)) &&
         own.scale == CUDA_R_32F;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int most,
    cublasLtMatmulHeuristicResult_t *results, int *count) {
  if (!isProduct(of(operation), of(a), of(b), of(c), of(d)))
    return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  for (size_t workspace : {size_t{1} << 12, size_t{0}, size_t{1} << 20})
    if (workspace <= of(preference).workspace && *count != most) {
      cublasLtMatmulHeuristicResult_t &own = results[(*count)++];
      own = {};
      own.workspaceSize = workspace;
      own.algo.data[0] = workspace;
      for (int i = 0; i != 4; ++i)
        own.algo.data[1 + i] = of(preference).alignments[i];
    }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
               const void *alpha, const void *aData, cublasLtMatrixLayout_t a,
               const void *bData, cublasLtMatrixLayout_t b, const void *beta,
               const void *cData, cublasLtMatrixLayout_t c, void *dData,
               cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
               void *workspace, size_t workspaceBytes, cudaStream_t stream) {
  const Description &own = of(operation);
  const void *addresses[] = {aData, bData, cData, dData};
  for (int i = 0; i != 4; ++i)
    if (reinterpret_cast<uintptr_t>(addresses[i]) % algorithm->data[1 + i] != 0)
      return CUBLAS_STATUS_INVALID_VALUE;
  if (!isProduct(own, of(a), of(b), of(c), of(d)) || cData != dData ||
      algorithm->data[0] > workspaceBytes || (workspaceBytes && !workspace) ||
      (own.epilogue == CUBLASLT_EPILOGUE_BIAS && !own.bias))
    return CUBLAS_STATUS_INVALID_VALUE;
  auto *product = new Product{own,
                              of(a),
                              of(b),
                              of(d),
                              *static_cast<const float *>(alpha),
                              *static_cast<const float *>(beta),
                              static_cast<const char *>(aData),
                              static_cast<const char *>(bData),
                              static_cast<char *>(dData)};
  standin::log(text(
      "product ", of(d).rows, " x ", of(d).columns, ", ", of(d).batch,
      " at once, ", own.epilogue == CUBLASLT_EPILOGUE_BIAS ? "with" : "without",
      " a bias", own.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? ", TF32" : ""));
  // Never deleted: a graph may run it again.
  auto run = [](void *data) {
    if (!standin::isIdle())
      static_cast<const Product *>(data)->run();
  };
  return cuLaunchHostFunc(stream, run, product) == CUDA_SUCCESS
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}
