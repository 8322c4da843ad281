//===- JSONReader.h - Numbers from and to JSON objects ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOPOLOGY_JSONREADER_H
#define SOAP_TOPOLOGY_JSONREADER_H

#include "soap/Support/JSON.h"
#include "soap/Topology/Topology.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <type_traits>

namespace soap::detail {

/// The values that a number in a file may have, both ends included.
template <typename T>
struct Bounds {
  T least, largest;
  bool orZero = false; ///< 0 may stand below `least`: there is none.
};

/// @{ The bounds of all files: what no machine leaves, far within what the
/// arithmetic of costs holds.
constexpr Bounds<double> rateBounds{1, 1e21};
constexpr Bounds<double> bandwidthBounds{1, 1e18},
    optionalBandwidthBounds{1, 1e18, /*orZero=*/true};
constexpr Bounds<double> bytesBounds{0, 1e18}, sizeBounds{0, 1e9};
constexpr Bounds<double> secondsBounds{0, 1000};
constexpr Bounds<int64_t> alignmentBounds{1, 1 << 20}; ///< Bytes.
/// @}

/// Reads fields, all of them without a check in between, and keeps the first
/// mistake until takeError() asks for it.
class JSONReader {
public:
  void fail(const llvm::Twine &text) {
    if (mistake_.empty())
      mistake_ = text.str();
  }
  /// Fails with the first mistake so far.
  llvm::Error takeError() const {
    if (mistake_.empty())
      return llvm::Error::success();
    return llvm::createStringError(mistake_);
  }
  /// A number; without `otherwise` the field is required.
  double number(const llvm::json::Object &object, llvm::StringRef key,
                const llvm::Twine &where, Bounds<double> bounds,
                std::optional<double> otherwise = {}) {
    const llvm::json::Value *value = object.get(key);
    if (!value && otherwise)
      return *otherwise;
    return bounded<double>(value ? value->getAsNumber() : std::nullopt, value,
                           where + ": expected a number '" + key + "'", bounds);
  }
  int64_t integer(const llvm::json::Object &object, llvm::StringRef key,
                  const llvm::Twine &where, Bounds<int64_t> bounds,
                  std::optional<int64_t> otherwise = {}) {
    const llvm::json::Value *value = object.get(key);
    if (!value && otherwise)
      return *otherwise;
    return bounded<int64_t>(value ? value->getAsInteger() : std::nullopt, value,
                            where + ": expected an integer '" + key + "'",
                            bounds);
  }

  /// A text, "" without it; true or false, false without it.
  std::string text(const llvm::json::Object &object, llvm::StringRef key,
                   const llvm::Twine &where) {
    const llvm::json::Value *value = object.get(key);
    std::optional<llvm::StringRef> known =
        value ? value->getAsString() : llvm::StringRef();
    if (!known)
      fail(where + ": expected a text '" + key + "', got: something else");
    return known.value_or("").str();
  }
  bool flag(const llvm::json::Object &object, llvm::StringRef key,
            const llvm::Twine &where) {
    const llvm::json::Value *value = object.get(key);
    std::optional<bool> known = value ? value->getAsBoolean() : false;
    if (!known)
      fail(where + ": expected true or false for '" + key +
           "', got: something else");
    return known.value_or(false);
  }

private:
  /// Returns 0 where there is no number, and the nearest one that is allowed
  /// where it is another: callers go on before they ask for the error.
  template <typename T>
  T bounded(std::optional<T> number, const llvm::json::Value *value,
            const llvm::Twine &expected, Bounds<T> bounds) {
    if (number && ((*number >= bounds.least && *number <= bounds.largest) ||
                   (bounds.orZero && *number == 0)))
      return *number;
    std::string text;
    llvm::raw_string_ostream os(text);
    auto print = [&](T n) {
      if constexpr (std::is_integral_v<T>)
        os << n;
      else
        os << llvm::format("%g", n);
    };
    os << (bounds.orZero ? " of 0, or from " : " from ");
    print(bounds.least);
    os << " to ";
    print(bounds.largest);
    os << ", got: ";
    if (number)
      print(*number);
    else
      os << (value ? "something else" : "none");
    fail(expected + text);
    if (!number)
      return 0;
    return *number < bounds.least ? bounds.least : bounds.largest;
  }

  std::string mistake_;
};

DeviceKind readKind(JSONReader &reader, llvm::StringRef name,
                    const llvm::json::Object &object);
/// Writes the fields of a kind into the object that is open.
void writeKind(llvm::json::OStream &json, const DeviceKind &kind);
/// Writes a number in the shortest form that is read back as the same one.
/// llvm::json prints 3e-06 as 3.0000000000000001e-06.
void writeNumber(llvm::json::OStream &json, llvm::StringRef key, double value);

} // namespace soap::detail

#endif // SOAP_TOPOLOGY_JSONREADER_H
