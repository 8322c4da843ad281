//===- Npy.cpp - NumPy's files --------------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format of numpy.save (numpy.lib.format, versions 1 to 3): magic, header
// length, a Python dictionary, then the data.
//
//===----------------------------------------------------------------------===//

#include "MappedFile.h"
#include "NpyHeader.h"
#include "soap/Tensors/Files.h"
#include <cstring>

using namespace soap;
using namespace soap::tensors;

namespace {
struct NpyType {
  const char *name;
  soap_element element;
};
constexpr NpyType types[] = {
    {"<f4", SOAP_F32}, {"<f8", SOAP_F64}, {"<f2", SOAP_F16},
    {"|i1", SOAP_I8},  {"<i2", SOAP_I16}, {"<i4", SOAP_I32},
    {"<i8", SOAP_I64}, {"|u1", SOAP_U8},  {"<u2", SOAP_U16},
    {"<u4", SOAP_U32}, {"<u8", SOAP_U64}, {"|b1", SOAP_BOOL}};
} // namespace

/// The types that NumPy does not have.
static const char *voidOf(soap_element element) {
  switch (element) {
  case SOAP_BF16:
    return "<V2";
  case SOAP_F8E4M3FN:
  case SOAP_F8E5M2:
  case SOAP_F8E4M3FNUZ:
  case SOAP_F8E5M2FNUZ:
  case SOAP_I4:
  case SOAP_U4:
    return "|V1";
  default:
    return nullptr;
  }
}

static std::optional<soap_element>
elementOf(const std::string &descr, std::optional<soap_element> wanted) {
  for (const NpyType &type : types)
    if (descr == type.name)
      return type.element;
  const char *isVoid = wanted ? voidOf(*wanted) : nullptr;
  if (isVoid && descr.substr(1) == isVoid + 1)
    return wanted;
  if (descr == "<V2" || descr == "|V2")
    return SOAP_BF16;
  return std::nullopt;
}

static std::string quotedKey(const std::string &key) { return "'" + key + "'"; }

/// The text after `'key':` in a header.
static std::string valueOf(const std::string &header, const std::string &key) {
  size_t at = header.find(quotedKey(key));
  if (at == std::string::npos)
    return "";
  at = header.find(':', at);
  if (at == std::string::npos)
    return "";
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string::npos ? "" : header.substr(at);
}

NpyHeader tensors::readNpyHeader(std::string_view data,
                                 const std::string &place,
                                 std::optional<soap_element> wanted) {
  auto wrong = [&](const std::string &what) -> UsageError {
    return UsageError("expected a .npy file of numbers in C order in " + place +
                      ", got: " + what +
                      "; write it with numpy.save(FILE, "
                      "numpy.ascontiguousarray(x, dtype='<f4')), or whichever "
                      "type the input has");
  };
  if (data.size() < 12 || data.compare(0, 6, "\x93NUMPY") != 0)
    throw wrong("another file");
  bool wide = data[6] > 1;
  uint32_t length = 0;
  std::memcpy(&length, data.data() + 8, wide ? 4 : 2);
  size_t begin = wide ? 12 : 10;
  if (length > data.size() - begin)
    throw wrong("a truncated header");
  std::string header(data.substr(begin, length));
  begin += length;
  for (const char *key : {"descr", "fortran_order", "shape"})
    if (size_t at = header.find(quotedKey(key));
        at != std::string::npos &&
        header.find(quotedKey(key), at + 1) != std::string::npos)
      throw wrong("a header with two '" + std::string(key) + "'");

  NpyHeader result;
  std::string descr = valueOf(header, "descr");
  std::optional<soap_element> known;
  if (descr.size() > 4 && descr[4] == descr[0])
    known = elementOf(descr.substr(1, 3), wanted);
  if (!known)
    throw wrong("type " + descr.substr(0, descr.find(',')));
  result.element = *known;
  if (valueOf(header, "fortran_order").rfind("False", 0) != 0)
    throw wrong("Fortran order");
  std::string shape = valueOf(header, "shape");
  size_t close = shape.find(')');
  if (shape.empty() || shape[0] != '(' || close == std::string::npos)
    throw wrong("no shape");
  size_t total = soap_element_size(result.element);
  size_t available = data.size() - begin;
  for (size_t at = 1; at < close;) {
    size_t end = std::min(shape.find(',', at), close);
    std::string extent = shape.substr(at, end - at);
    at = end + 1;
    if (extent.find_first_not_of(' ') == std::string::npos)
      continue;
    try {
      result.shape.push_back(std::stoll(extent));
    } catch (const std::logic_error &) {
      throw wrong("shape " + shape.substr(0, close + 1));
    }
    if (result.shape.back() < 0 ||
        __builtin_mul_overflow(total, static_cast<size_t>(result.shape.back()),
                               &total))
      throw wrong("shape " + shape.substr(0, close + 1));
  }
  if (total != available)
    throw wrong(std::to_string(available) + " bytes of data instead of " +
                std::to_string(total));
  result.begin = begin;
  return result;
}

Tensor tensors::readNpy(const std::string &path,
                        std::optional<soap_element> wanted) {
  Bytes file = mapFile(path);
  NpyHeader header = readNpyHeader(file.view(), "'" + path + "'", wanted);
  Tensor result;
  result.element = header.element;
  result.shape = std::move(header.shape);
  result.bytes.assign(file.owner.get() + header.begin,
                      file.owner.get() + file.size);
  return result;
}

void tensors::writeNpy(const std::string &path, const Tensor &tensor) {
  const char *descr = voidOf(tensor.element);
  for (const NpyType &type : types)
    if (type.element == tensor.element)
      descr = type.name;
  std::string shape;
  for (int64_t extent : tensor.shape)
    shape += std::to_string(extent) + ", ";
  std::string header = std::string("{'descr': '") + descr +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Magic, version, length and header end at a multiple of 64.
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  auto length = static_cast<uint16_t>(header.size());
  writeFile(path, [&](std::ostream &file) {
    file.write("\x93NUMPY\x01\x00", 8);
    file.write(reinterpret_cast<const char *>(&length), 2);
    file << header;
    file.write(reinterpret_cast<const char *>(tensor.bytes.data()),
               static_cast<std::streamsize>(tensor.bytes.size()));
  });
}
