//===- WireFormat.h - Walk protobuf messages in place -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the fields of a serialized protobuf message without copying them. The
// importer needs the byte offset of every weight in its file, which protobuf's
// own classes do not tell, and must not load weights to find it. Format:
// Protocol Buffers documentation, "Encoding".
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_WIREFORMAT_H
#define SOAP_LIB_TARGET_ONNX_WIREFORMAT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace soap::onnx_import {

enum class WireType : uint8_t {
  Varint = 0,
  Fixed64 = 1,
  Bytes = 2,
  StartGroup = 3,
  EndGroup = 4,
  Fixed32 = 5
};

/// One field of a message. `content` is the payload (without tag and length),
/// `whole` the field with its tag; both lie inside the walked buffer.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::Varint;
  llvm::StringRef content;
  llvm::StringRef whole;
};

/// Calls `visit` for every field of `message`, in order, until it returns
/// false. Returns false if the message is malformed: a truncated field, an
/// unknown wire type or a group. Nested messages are not entered.
bool walkFields(llvm::StringRef message,
                llvm::function_ref<bool(const WireField &)> visit);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_WIREFORMAT_H
