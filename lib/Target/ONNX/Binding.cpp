//===- Binding.cpp - Inputs that the user makes constants -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"

using namespace soap;
using namespace soap::onnx_import;
using onnx::TensorProto;

/// The header of a NumPy file, versions 1 to 3: a Python dictionary with the
/// keys descr, fortran_order and shape. NEP 1, "A simple file format for NumPy
/// arrays".
static llvm::Expected<TensorRecord>
parseNumpy(llvm::StringRef bytes, llvm::StringRef file, uint64_t &offset) {
  auto wrong = [&](const llvm::Twine &got) {
    return makeError("expected a NumPy array of little-endian numbers or "
                     "booleans in C order, got: '" +
                     file + "' " + got);
  };
  uint64_t length = 0, start = 10;
  if (bytes.size() < 12)
    return wrong("is truncated");
  auto byte = [&](size_t i) {
    return static_cast<uint64_t>(static_cast<unsigned char>(bytes[i]));
  };
  length = byte(8) | byte(9) << 8;
  if (byte(6) > 1) {
    length |= byte(10) << 16 | byte(11) << 24;
    start = 12;
  }
  if (length > bytes.size() - start)
    return wrong("is truncated");
  llvm::StringRef header = bytes.substr(start, length);
  offset = start + length;
  TensorRecord record;
  auto [before, descr] = header.split("'descr':");
  descr = descr.ltrim();
  int type = llvm::StringSwitch<int>(descr.substr(1, 3))
                 .Case("<f2", TensorProto::FLOAT16)
                 .Case("<f4", TensorProto::FLOAT)
                 .Case("<f8", TensorProto::DOUBLE)
                 .Case("|i1", TensorProto::INT8)
                 .Case("<i2", TensorProto::INT16)
                 .Case("<i4", TensorProto::INT32)
                 .Case("<i8", TensorProto::INT64)
                 .Case("|u1", TensorProto::UINT8)
                 .Case("<u2", TensorProto::UINT16)
                 .Case("<u4", TensorProto::UINT32)
                 .Case("<u8", TensorProto::UINT64)
                 .Case("|b1", TensorProto::BOOL)
                 .Default(TensorProto::UNDEFINED);
  if (type == TensorProto::UNDEFINED)
    return wrong("has another element type");
  record.proto.set_data_type(type);
  if (!header.split("'fortran_order':").second.ltrim().starts_with("False"))
    return wrong("is in Fortran order");
  llvm::StringRef shape =
      header.split("'shape':").second.split('(').second.split(')').first;
  llvm::SmallVector<llvm::StringRef> dims;
  shape.split(dims, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef dim : dims) {
    int64_t size;
    if (dim.trim().empty())
      continue;
    if (dim.trim().getAsInteger(10, size))
      return wrong("has a broken shape");
    record.proto.add_dims(size);
  }
  if (!countElements(record.shape()))
    return wrong("has a shape out of bounds");
  return record;
}

llvm::Error GraphImporter::bindInput(const std::string &name,
                                     llvm::StringRef file) {
  auto buffer = options_.files.open(file);
  if (!buffer)
    return makeError("expected a readable file in --bind=" + name + ", got: '" +
                     file + "': " + llvm::toString(buffer.takeError()));
  llvm::StringRef bytes = (*buffer)->getBuffer();
  constexpr llvm::StringLiteral magic = "\x93NUMPY";
  bool numpy = bytes.starts_with(magic);
  uint64_t offset = 0;
  llvm::Expected<TensorRecord> record =
      numpy ? parseNumpy(bytes, file, offset) : parseTensor(bytes);
  if (!record)
    return record.takeError();
  if (!countElements(record->shape()) ||
      record->proto.data_location() == TensorProto::EXTERNAL)
    return makeError("expected a tensor with its data in --bind=" + name +
                     ", got: '" + file + "'");
  record->proto.set_name(name);
  llvm::StringRef data = numpy ? bytes.drop_front(offset) : record->raw;
  if (!data.empty()) {
    offset = static_cast<uint64_t>(data.data() - bytes.data());
    record->external = DataReference{file.str(), offset, data.size()};
  }
  return storeTensor(name, *record, values_[name]);
}
