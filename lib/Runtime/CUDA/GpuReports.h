//===- GpuReports.h - The GPUs of a machine and their links -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_GPUREPORTS_H
#define SOAP_LIB_RUNTIME_CUDA_GPUREPORTS_H

#include "Backend/DeviceReport.h"

namespace soap::runtime::cuda {

/// All GPUs that this process sees, by number: what the driver says, and links
/// as NVML says; without it no links, and why.
DeviceReports reportGpus();

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_GPUREPORTS_H
