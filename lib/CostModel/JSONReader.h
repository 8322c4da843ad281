//===- JSONReader.h - Numbers from and to JSON objects ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_COSTMODEL_JSONREADER_H
#define SOAP_LIB_COSTMODEL_JSONREADER_H

#include "soap/CostModel/JSON.h"
#include "soap/CostModel/Topology.h"
#include "llvm/ADT/Twine.h"
#include <optional>

namespace soap::detail {

/// Reads fields; the first error stays in `error`.
class JSONReader {
public:
  std::string error;

  void fail(const llvm::Twine &text) {
    if (error.empty())
      error = text.str();
  }
  /// A finite number; without `otherwise` the field is required.
  double number(const llvm::json::Object &object, llvm::StringRef key,
                const llvm::Twine &where,
                std::optional<double> otherwise = {}) {
    const llvm::json::Value *value = object.get(key);
    if (!value && otherwise)
      return *otherwise;
    if (value)
      if (std::optional<double> result = value->getAsNumber())
        return *result;
    fail(where + ": expected a number '" + key +
         "', got: " + (value ? "something else" : "none"));
    return 0;
  }
  int64_t integer(const llvm::json::Object &object, llvm::StringRef key,
                  const llvm::Twine &where,
                  std::optional<int64_t> otherwise = {}) {
    const llvm::json::Value *value = object.get(key);
    if (!value && otherwise)
      return *otherwise;
    if (value)
      if (std::optional<int64_t> result = value->getAsInteger())
        return *result;
    fail(where + ": expected an integer '" + key +
         "', got: " + (value ? "something else" : "none"));
    return 0;
  }
};

DeviceKind readKind(JSONReader &reader, llvm::StringRef name,
                    const llvm::json::Object &object);
/// Writes the fields of a kind into the object that is open.
void writeKind(llvm::json::OStream &json, const DeviceKind &kind);
/// Writes a number in the shortest form that is read back as the same one.
/// llvm::json prints 3e-06 as 3.0000000000000001e-06.
void writeNumber(llvm::json::OStream &json, llvm::StringRef key, double value);

} // namespace soap::detail

#endif // SOAP_LIB_COSTMODEL_JSONREADER_H
