//===- TensorBytes.h - Tensors of any element type --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_TARGET_CUDA_TENSORBYTES_H
#define SOAP_UNITTESTS_TARGET_CUDA_TENSORBYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include <cstdint>
#include <vector>

namespace soap::test {

/// The bytes of a dense tensor of floats, integers or truth values, between
/// guards, aligned as on a device.
class TensorBytes {
public:
  explicit TensorBytes(mlir::RankedTensorType type);

  void *data();
  size_t count() const { return count_; }
  double get(size_t index) const;
  void set(size_t index, double value);
  /// Floats normal with deviation 1; integers from 0 to 4, so that they are
  /// indices too; truth values.
  void fill(uint64_t seed);
  /// False if something was written behind the last element.
  bool isGuarded() const;
  void expectClose(const TensorBytes &expected, double relative,
                   double absolute) const;

private:
  static constexpr size_t alignment = 256;
  const char *at(size_t index) const;

  mlir::Type element_;
  size_t count_, width_;
  std::vector<char> bytes_;
};

} // namespace soap::test

#endif // SOAP_UNITTESTS_TARGET_CUDA_TENSORBYTES_H
