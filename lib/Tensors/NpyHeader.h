//===- NpyHeader.h - What stands in front of NumPy's data -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TENSORS_NPYHEADER_H
#define SOAP_LIB_TENSORS_NPYHEADER_H

#include "soap/Tensors/Tensor.h"
#include <string_view>

namespace soap::tensors {

struct NpyHeader {
  soap_element element = SOAP_F32;
  std::vector<int64_t> shape;
  size_t begin = 0; ///< The first byte of the elements, which go to the end.
};

/// Reads the header of the file whose bytes are `data`. `place` names the file
/// in errors, `wanted` as in readNpy(). Throws UsageError.
NpyHeader readNpyHeader(std::string_view data, const std::string &place,
                        std::optional<soap_element> wanted);

} // namespace soap::tensors

#endif // SOAP_LIB_TENSORS_NPYHEADER_H
