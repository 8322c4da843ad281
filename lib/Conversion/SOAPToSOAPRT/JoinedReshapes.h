//===- JoinedReshapes.h - Kernels that reshape around a transposition -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_SOAPTOSOAPRT_JOINEDRESHAPES_H
#define SOAP_LIB_CONVERSION_SOAPTOSOAPRT_JOINEDRESHAPES_H

#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"

namespace soap {

/// Whether a kernel is one of soaprt-join-reshapes: it exchanges two parts of
/// dim 1, which are dims of their own in between.
bool isChannelShuffle(soaprt::KernelOp kernel);

/// The native kernel of such a kernel between tensors with channels last.
mlir::FailureOr<NativeKernelCall>
getOrCreateChannelsLastShuffle(NativeKernels &kernels, soaprt::KernelOp kernel);

} // namespace soap

#endif // SOAP_LIB_CONVERSION_SOAPTOSOAPRT_JOINEDRESHAPES_H
