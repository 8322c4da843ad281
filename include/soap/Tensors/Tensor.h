//===- Tensor.h - Tensors on the host ---------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TENSORS_TENSOR_H
#define SOAP_TENSORS_TENSOR_H

#include "soap/Runtime/Runtime.h"
#include "soap/Tensors/Error.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace soap::tensors {

/// Element i of a dense tensor, whatever its type.
double elementAt(soap_element element, const unsigned char *data, size_t i);
bool isFloat(soap_element element);
/// True if every number of type `from` is one of the wider type `to`, both
/// integers or both floats.
bool isWidening(soap_element from, soap_element to);

/// A dense, row-major tensor.
struct Tensor {
  soap_element element = SOAP_F32;
  std::vector<int64_t> shape;
  std::vector<unsigned char> bytes;

  Tensor() = default;
  explicit Tensor(const soap_port &port)
      : element(port.element), shape(port.shape, port.shape + port.rank),
        bytes(port.bytes) {}
  size_t count() const { return bytes.size() / soap_element_size(element); }
  /// Element i, whatever its type.
  double at(size_t i) const { return elementAt(element, bytes.data(), i); }
  /// Gives element i a value, rounded to its type.
  void set(size_t i, double value);
  bool isFloat() const { return tensors::isFloat(element); }
};

/// `f32 [1x3x224x224]`
std::string typeOf(soap_element element, const std::vector<int64_t> &shape);
inline std::string typeOf(const Tensor &t) {
  return typeOf(t.element, t.shape);
}
std::string typeOf(const soap_port &port);

/// Files; throw UsageError with the file's name. NumPy has no bf16, no floats
/// of 8 bits and no integers of 4: numpy.save writes them, from the package
/// ml_dtypes, as void of 2 or 1 bytes, and so does writeNpy. Such a file has
/// type `wanted` where that is one of them, of this size; else what has 2 bytes
/// is bf16.
Tensor readNpy(const std::string &path,
               std::optional<soap_element> wanted = std::nullopt);
void writeNpy(const std::string &path, const Tensor &tensor);
/// An ONNX TensorProto, as in ONNX's test data sets.
Tensor readTensorProto(const std::string &path);
/// By the file's ending: .npy or .pb.
Tensor readTensor(const std::string &path,
                  std::optional<soap_element> wanted = std::nullopt);

/// Values of an input from `random:SEED[:LOW:HIGH]`, `zeros` or a file. A file
/// of a narrower type that loses nothing is widened, which `note` is told in a
/// line. Random values are those of include/soap/Runtime/RandomRecipe.h under
/// the input's name: normal(0, 1), or uniform in (LOW, HIGH]; integers are
/// uniform in [LOW, HIGH), by default [0, table size) or [0, 2). Throws
/// UsageError.
Tensor makeInput(const soap_port &port, const std::string &source,
                 const std::function<void(const std::string &)> &note = {});

} // namespace soap::tensors

#endif // SOAP_TENSORS_TENSOR_H
