//===- Nccl.cpp - NCCL, the library of collectives ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Nccl.h"
#include "CUDA/DynamicLibrary.h"
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

static const DynamicLibrary ncclLibrary = {
    "NCCL", "libnccl.so.2",
    "install NCCL 2.18 or newer (package libnccl2 of NVIDIA's repository, or "
    "nvidia-nccl-cu13 of PyPI), where the loader finds it (LD_LIBRARY_PATH), "
    "or use --gpu-transport=host"};

/// Communicators that do not block came with 2.14, ncclCommFinalize as well;
/// with 2.18 they got what a failure needs.
static constexpr int kLeastNccl = NCCL_VERSION(2, 18, 0);

static std::atomic<int> &loadedVersion() {
  static std::atomic<int> version{0};
  return version;
}

static std::string versionOf(int version) {
  return text(version / 10000, '.', version / 100 % 100, '.', version % 100);
}

static Nccl loadNccl() {
  // Kernels of several communicators on one GPU start in the order in which
  // they are enqueued, which is the same on all of them: else each might wait
  // for one that another GPU starts later. Read at NCCL's first call.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*replace=*/0);
  void *handle = openLibrary(ncclLibrary);
  Nccl nccl;
#define SOAP_NCCL_FUNCTION(name)                                               \
  nccl.name = reinterpret_cast<decltype(nccl.name)>(                           \
      findFunction(ncclLibrary, handle, #name));
#include "CUDA/Nccl.def"
  int version = 0;
  nccl.ncclGetVersion(&version);
  if (version < kLeastNccl)
    invalid("expected NCCL ", versionOf(kLeastNccl),
            " or newer, got: ", versionOf(version), "; ", ncclLibrary.cure);
  loadedVersion() = version;
  return nccl;
}

void cuda::requireLaunchOrder() {
  (void)nccl();
  constexpr int least = NCCL_VERSION(2, 26, 0);
  if (loadedVersion() < least)
    invalid("expected NCCL ", versionOf(least),
            " or newer for a model with priority streams, as older ones may "
            "wait for ever there, got: ",
            versionOf(loadedVersion()), "; ", ncclLibrary.cure,
            ", or compile with a topology without priority_bytes");
}

const Nccl &cuda::nccl() {
  // If loading throws, the next call tries again.
  static const Nccl nccl = loadNccl();
  return nccl;
}

bool cuda::hasNccl() {
  return loadedVersion() || dlopen(ncclLibrary.file, RTLD_LAZY | RTLD_LOCAL);
}

std::string cuda::ncclName() {
  int version = loadedVersion();
  return version ? "NCCL " + versionOf(version) : std::string();
}

std::string cuda::ncclErrorText(ncclResult_t result) {
  const char *detail = nccl().ncclGetLastError(nullptr);
  std::string name = nccl().ncclGetErrorString(result);
  return detail && *detail ? text(name, " (", detail, ')') : name;
}

static std::optional<ncclDataType_t> ncclTypeOf(fb::ElementType element) {
  switch (element) {
  case fb::ElementType::F32:
    return ncclFloat32;
  case fb::ElementType::F64:
    return ncclFloat64;
  case fb::ElementType::F16:
    return ncclFloat16;
  case fb::ElementType::BF16:
    return ncclBfloat16;
  case fb::ElementType::I8:
    return ncclInt8;
  case fb::ElementType::I32:
    return ncclInt32;
  case fb::ElementType::I64:
    return ncclInt64;
  case fb::ElementType::U8:
  case fb::ElementType::Bool:
    return ncclUint8;
  case fb::ElementType::U32:
    return ncclUint32;
  case fb::ElementType::U64:
    return ncclUint64;
  default:
    return std::nullopt;
  }
}

std::optional<NcclReduction> cuda::ncclReductionOf(fb::Combine combine,
                                                   fb::ElementType element) {
  std::optional<ncclDataType_t> type = ncclTypeOf(element);
  if (!type)
    return std::nullopt;
  bool isBool = element == fb::ElementType::Bool;
  switch (combine) {
  case fb::Combine::Sum:
    return NcclReduction{*type, ncclSum};
  case fb::Combine::Prod:
    return NcclReduction{*type, ncclProd};
  case fb::Combine::Max:
    return NcclReduction{*type, ncclMax};
  case fb::Combine::Min:
    return NcclReduction{*type, ncclMin};
  case fb::Combine::And:
    if (isBool)
      return NcclReduction{*type, ncclMin};
    return std::nullopt;
  case fb::Combine::Or:
    if (isBool)
      return NcclReduction{*type, ncclMax};
    return std::nullopt;
  default:
    return std::nullopt;
  }
}
