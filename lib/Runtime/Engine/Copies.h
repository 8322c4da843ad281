//===- Copies.h - Rows that copy boxes --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_COPIES_H
#define SOAP_LIB_RUNTIME_ENGINE_COPIES_H

#include "Backend/Backend.h"
#include <functional>

namespace soap::runtime {

/// The address of a device's buffer.
using BufferAddress = std::function<DevicePointer(uint32_t buffer)>;

std::unique_ptr<RowAction> makeCopy(const fb::Copy &copy,
                                    const BufferAddress &address);
std::unique_ptr<RowAction> makeFeed(const fb::Feed &feed, uint32_t device,
                                    const BufferAddress &address);
std::unique_ptr<RowAction> makeDrain(const fb::Drain &drain, uint32_t device,
                                     const BufferAddress &address);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_COPIES_H
