//===- ElementOrders.h - Row-major, or channels last ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_PARTITION_ELEMENTORDERS_H
#define SOAP_PARTITION_ELEMENTORDERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdint>

namespace soap {

/// Whether the elements of a tensor of this shape, [samples, channels, size of
/// the image...], lie otherwise with channels last (NHWC) than row-major.
inline bool hasOrders(llvm::ArrayRef<int64_t> shape) {
  return shape.size() >= 3 && !llvm::is_contained(shape, 0) && shape[1] > 1 &&
         llvm::any_of(shape.drop_front(2),
                      [](int64_t size) { return size > 1; });
}

} // namespace soap

#endif // SOAP_PARTITION_ELEMENTORDERS_H
