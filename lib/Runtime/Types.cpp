//===- Types.cpp - Element types, shapes and boxes ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Types.h"
#include "soap/Runtime/Runtime.h"

using namespace soap;
using namespace soap::runtime;

namespace {
struct ElementInfo {
  fb::ElementType type;
  soap_element number;
  const char *name, *storedName;
  size_t size;
};
constexpr ElementInfo elements[] = {
#define SOAP_ELEMENT_TYPE(NAME, C_NAME, BYTES, SHORT, SAFETENSORS)             \
  {fb::ElementType::NAME, SOAP_##C_NAME, SHORT, SAFETENSORS, BYTES},
#include "soap/Runtime/ElementTypes.def"
};
constexpr size_t elementKinds = sizeof(elements) / sizeof(elements[0]);

/// The table has a row for every type of Model.fbs and of the C interface, at
/// its number.
constexpr bool isComplete() {
  for (size_t i = 0; i != elementKinds; ++i)
    if (static_cast<size_t>(elements[i].type) != i ||
        static_cast<size_t>(elements[i].number) != i)
      return false;
  return elementKinds == static_cast<size_t>(fb::ElementType::MAX) + 1;
}
static_assert(isComplete(), "ElementTypes.def differs from Model.fbs");
} // namespace

size_t runtime::elementSize(fb::ElementType element) {
  auto index = static_cast<size_t>(element);
  return index < elementKinds ? elements[index].size : 0;
}

const char *runtime::elementName(fb::ElementType element) {
  auto index = static_cast<size_t>(element);
  return index < elementKinds ? elements[index].name : "unknown";
}

const char *runtime::storedName(fb::ElementType element) {
  auto index = static_cast<size_t>(element);
  return index < elementKinds ? elements[index].storedName : "unknown";
}

int64_t runtime::checkedMul(int64_t a, int64_t b) {
  int64_t result;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &result))
    invalid("expected a size below 2^63, got: ", a, " * ", b,
            "; compile the model again");
  return result;
}

int64_t runtime::elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count = checkedMul(count, extent);
  return count;
}

int64_t runtime::byteCount(fb::ElementType element, const Shape &shape) {
  return checkedMul(elementCount(shape),
                    static_cast<int64_t>(elementSize(element)));
}

std::string runtime::toString(const Shape &shape) {
  std::string result = "[";
  for (size_t i = 0; i != shape.size(); ++i)
    result += (i ? "x" : "") + std::to_string(shape[i]);
  return result + "]";
}
