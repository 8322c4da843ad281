//===- MappedArray.h - Arrays of NumPy's files, in place --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays that may be larger than memory. A .npy file, and an array that
// numpy.savez stored in a .npz file, are mapped: the system reads a page when
// it is used, and may forget it. What numpy.savez_compressed wrote is
// decompressed into memory, once.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TENSORS_MAPPEDARRAY_H
#define SOAP_TENSORS_MAPPEDARRAY_H

#include "soap/Tensors/Tensor.h"
#include <memory>

namespace soap::tensors {

class MappedArray {
public:
  /// Opens `source`: FILE.npy, FILE.npz or FILE.npz:ARRAY. Of a .npz file that
  /// names no array, it is the one called `name`. `wanted` as in readNpy().
  /// Throws UsageError with the file's name: no such file or array, a damaged
  /// one, a type that SOAP does not know. A file must keep its bytes while it
  /// is mapped.
  MappedArray(const std::string &source, const std::string &name,
              std::optional<soap_element> wanted);

  /// The file, without the array's name.
  const std::string &path() const { return path_; }
  /// `'FILE.npy'`, or `array 'x' of 'FILE.npz'`.
  const std::string &place() const { return place_; }
  soap_element element() const { return element_; }
  const std::vector<int64_t> &shape() const { return shape_; }
  /// Dense and row-major, not aligned.
  const unsigned char *data() const { return data_; }

private:
  std::string path_, place_;
  soap_element element_ = SOAP_F32;
  std::vector<int64_t> shape_;
  std::shared_ptr<const unsigned char> owner_; ///< A mapping, or memory.
  const unsigned char *data_ = nullptr;
};

} // namespace soap::tensors

#endif // SOAP_TENSORS_MAPPEDARRAY_H
