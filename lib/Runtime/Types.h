//===- Types.h - Element types, shapes and boxes ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_TYPES_H
#define SOAP_LIB_RUNTIME_TYPES_H

#include "Error.h"
#include "soap/Runtime/Model.fbs.h"
#include <cstdint>
#include <string>
#include <vector>

namespace soap::runtime {

using Shape = std::vector<int64_t>;

/// Bytes of one element.
size_t elementSize(fb::ElementType element);
/// "f32", "i64", ...
const char *elementName(fb::ElementType element);
/// The type's name in a safetensors file: "F32", "I64", ...
const char *storedName(fb::ElementType element);

/// a * b; throws on overflow and on negative operands.
int64_t checkedMul(int64_t a, int64_t b);

/// Number of elements; throws on a negative extent or overflow.
int64_t elementCount(const Shape &shape);
/// Bytes of a dense tensor.
int64_t byteCount(fb::ElementType element, const Shape &shape);
/// `[1x3x224x224]`
std::string toString(const Shape &shape);

/// A table's vector of integers; null counts as empty.
template <typename T>
std::vector<T> toVector(const flatbuffers::Vector<T> *vector) {
  return vector ? std::vector<T>(vector->begin(), vector->end())
                : std::vector<T>();
}

inline std::string toString(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

/// Range-for over a table's vector; null counts as empty.
template <typename T>
class Items {
public:
  explicit Items(const flatbuffers::Vector<T> *vector) : vector_(vector) {}
  uint32_t size() const { return vector_ ? vector_->size() : 0; }
  auto operator[](uint32_t i) const { return vector_->Get(i); }
  struct Iterator {
    const Items *items;
    uint32_t i;
    auto operator*() const { return (*items)[i]; }
    Iterator &operator++() {
      ++i;
      return *this;
    }
    bool operator!=(const Iterator &o) const { return i != o.i; }
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

private:
  const flatbuffers::Vector<T> *vector_;
};
template <typename T>
Items<T> items(const flatbuffers::Vector<T> *vector) {
  return Items<T>(vector);
}

/// The rows of one of a device's programs, which exists.
inline auto rowsOf(const fb::Device &device, uint32_t program) {
  return items(device.programs()->Get(program)->rows());
}
/// The rows of all of a device's programs.
template <typename Visit>
void forEachRow(const fb::Device &device, Visit visit) {
  for (const fb::DeviceProgram *program : items(device.programs()))
    for (const fb::Row *row : items(program->rows()))
      visit(row);
}

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_TYPES_H
