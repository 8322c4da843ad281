//===- Tensor.h - Constant tensors of a model -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors that are stored in a model: by reference (bytes of a file) for
// weights, by value (HostTensor) for the small ones that shape arithmetic and
// operands such as axes and pads need.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_TENSOR_H
#define SOAP_LIB_TARGET_ONNX_TENSOR_H

#include "ElementTypes.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace soap::onnx_import {

using Shape = llvm::SmallVector<int64_t, 5>;

/// No tensor has more elements than this, nor more dimensions than maxRank.
inline constexpr int64_t maxElements = int64_t{1} << 40;
inline constexpr int64_t maxDim = (int64_t{1} << 31) - 1;
inline constexpr size_t maxRank = 16;
/// Tensors of at most this many elements take part in shape arithmetic.
inline constexpr int64_t maxHostElements = int64_t{1} << 16;
/// The largest table that an operator's lowering writes into the model.
inline constexpr int64_t maxTableElements = maxHostElements * 64;

/// The number of elements of a static shape, or nullopt if a dimension is
/// negative or one of the bounds above is passed.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// "[1, 3, 224, 224]".
std::string toString(llvm::ArrayRef<int64_t> shape);
/// Bytes of the raw data of `count` elements of a known type.
int64_t storedBytes(int elementType, int64_t count);

/// A message that becomes (part of) an `error:` line.
llvm::Error makeError(const llvm::Twine &message);
/// The same with one indented line per problem; many are counted, not listed.
llvm::Error listError(const llvm::Twine &headline,
                      llvm::ArrayRef<std::string> lines);
/// A name of the file in quotes, safe to print.
std::string quoted(llvm::StringRef name);

/// Bytes of a file.
struct DataReference {
  std::string file;
  uint64_t offset = 0, length = 0;
};

/// A tensor of the model without its bulk data. `raw` is the little-endian
/// data inside the mapped model file (TensorProto.raw_data or a packed
/// float_data), empty if it is elsewhere: in `proto` (int64_data, ...), or in
/// an external file.
struct TensorRecord {
  onnx::TensorProto proto;
  llvm::StringRef raw;
  std::optional<DataReference> external;

  Shape shape() const {
    return Shape(proto.dims().begin(), proto.dims().end());
  }
};

/// Reads a serialized TensorProto, leaving bulk data in place.
llvm::Expected<TensorRecord> parseTensor(llvm::StringRef message);

/// A small tensor by value. Integers and booleans stand in `ints` (UINT64
/// wrapped around), floating
/// point numbers in `floats` (rounded to the element type).
struct HostTensor {
  int elementType = onnx::TensorProto::UNDEFINED;
  Shape shape;
  std::vector<int64_t> ints;
  std::vector<double> floats;

  bool integral() const { return isIntegral(elementType); }
  int64_t size() const {
    return static_cast<int64_t>(integral() ? ints.size() : floats.size());
  }
  /// Element i as a number, whatever the type.
  double number(int64_t i) const {
    return !integral() ? floats[i]
           : isUnsigned(elementType)
               ? static_cast<double>(static_cast<uint64_t>(ints[i]))
               : static_cast<double>(ints[i]);
  }

  /// A tensor of `size(shape)` elements, all zero.
  static HostTensor zeros(int elementType, llvm::ArrayRef<int64_t> shape);
  /// A rank-1 INT64 tensor.
  static HostTensor vector(llvm::ArrayRef<int64_t> values);
  /// Rounds or wraps element i to the element type.
  void setNumber(int64_t i, double value);
  void setInteger(int64_t i, int64_t value);
};

/// Reads the values of a tensor. `raw` replaces the record's own bytes where
/// they come from an external file. Errors: more than maxHostElements, a type
/// that cannot be read, data that does not fit the shape.
llvm::Expected<HostTensor> readTensor(const TensorRecord &record,
                                      llvm::StringRef raw);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_TENSOR_H
