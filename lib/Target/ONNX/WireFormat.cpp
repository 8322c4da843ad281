//===- WireFormat.cpp - Walk protobuf messages in place ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WireFormat.h"

using namespace soap::onnx_import;

/// Removes a varint from the front of `bytes`; false if it is cut off or longer
/// than ten bytes.
static bool takeVarint(llvm::StringRef &bytes, uint64_t &value) {
  value = 0;
  for (unsigned i = 0; i != 10 && i != bytes.size(); ++i) {
    auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes = bytes.drop_front(i + 1);
      return true;
    }
  }
  return false;
}

bool soap::onnx_import::walkFields(
    llvm::StringRef message,
    llvm::function_ref<bool(const WireField &)> visit) {
  llvm::StringRef rest = message;
  while (!rest.empty()) {
    const char *start = rest.data();
    uint64_t tag, length = 0;
    if (!takeVarint(rest, tag) || tag >> 3 == 0 || tag >> 32 != 0)
      return false;
    WireField field;
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    const char *content = rest.data();
    switch (field.type) {
    case WireType::Varint: {
      uint64_t ignored;
      if (!takeVarint(rest, ignored))
        return false;
      length = static_cast<uint64_t>(rest.data() - content);
      break;
    }
    case WireType::Fixed64:
    case WireType::Fixed32:
      length = field.type == WireType::Fixed64 ? 8 : 4;
      if (length > rest.size())
        return false;
      rest = rest.drop_front(length);
      break;
    case WireType::Bytes:
      if (!takeVarint(rest, length) || length > rest.size())
        return false;
      content = rest.data();
      rest = rest.drop_front(length);
      break;
    default:
      return false;
    }
    field.content = llvm::StringRef(content, length);
    field.whole =
        llvm::StringRef(start, static_cast<size_t>(rest.data() - start));
    if (!visit(field))
      return true;
  }
  return true;
}
