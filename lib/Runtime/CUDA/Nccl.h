//===- Nccl.h - NCCL, the library of collectives ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_NCCL_H
#define SOAP_LIB_RUNTIME_CUDA_NCCL_H

#include "CUDA/Driver.h"
#include "Types.h"
#include <nccl.h>
#include <optional>

namespace soap::runtime::cuda {

/// The functions of NCCL that are called, as nccl.h has them.
struct Nccl {
#define SOAP_NCCL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "CUDA/Nccl.def"
};

/// NCCL, loaded on the first call. Throws SOAP_INVALID if it is missing or too
/// old.
const Nccl &nccl();
/// Throws SOAP_INVALID unless NCCL starts the calls of several communicators in
/// the order in which a process enqueues them.
void requireLaunchOrder();
/// True if a library of its name can be loaded.
bool hasNccl();
/// "NCCL 2.28.9", or "" if nobody has loaded it.
std::string ncclName();

/// "unhandled system error (socket closed by the remote end)"
std::string ncclErrorText(ncclResult_t result);

/// Throws SOAP_FAILED if a call of the library has failed, unless it goes on in
/// the background. `what` says what it was to do.
template <typename... Ts>
void checkNccl(ncclResult_t result, const Ts &...what) {
  if (result != ncclSuccess && result != ncclInProgress)
    failed("expected NCCL ", what..., ", got: ", ncclErrorText(result),
           "; NCCL_DEBUG=INFO in the environment shows what it does");
}

/// How NCCL joins elements. Logical operations on booleans, which are bytes of
/// 0 or 1, are a minimum and a maximum.
struct NcclReduction {
  ncclDataType_t type;
  ncclRedOp_t op;
};

/// Nothing for what NCCL does not know: integers of 16 bits, logical operations
/// on numbers.
std::optional<NcclReduction> ncclReductionOf(fb::Combine combine,
                                             fb::ElementType element);

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_NCCL_H
