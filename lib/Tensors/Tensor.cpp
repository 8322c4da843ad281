//===- Tensor.cpp - Tensors on the host -----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/Tensor.h"
#include "soap/Runtime/RandomRecipe.h"
#include "soap/Tensors/SmallFloats.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace soap;
using namespace soap::tensors;

template <typename T>
static T load(const unsigned char *bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

double tensors::elementAt(soap_element element, const unsigned char *data,
                          size_t i) {
  switch (element) {
  case SOAP_F32:
    return load<float>(data, i);
  case SOAP_F64:
    return load<double>(data, i);
  case SOAP_F16:
  case SOAP_BF16:
    return decodeFloat(element, load<uint16_t>(data, i));
  case SOAP_F8E4M3FN:
  case SOAP_F8E5M2:
  case SOAP_F8E4M3FNUZ:
  case SOAP_F8E5M2FNUZ:
    return decodeFloat(element, load<uint8_t>(data, i));
  case SOAP_I8:
  case SOAP_I4:
    return load<int8_t>(data, i);
  case SOAP_I16:
    return load<int16_t>(data, i);
  case SOAP_I32:
    return load<int32_t>(data, i);
  case SOAP_I64:
    return static_cast<double>(load<int64_t>(data, i));
  case SOAP_U8:
  case SOAP_U4:
  case SOAP_BOOL:
    return load<uint8_t>(data, i);
  case SOAP_U16:
    return load<uint16_t>(data, i);
  case SOAP_U32:
    return load<uint32_t>(data, i);
  case SOAP_U64:
    return static_cast<double>(load<uint64_t>(data, i));
  }
  return NAN;
}

bool tensors::isFloat(soap_element element) {
  return element == SOAP_F32 || element == SOAP_F64 || isSmallFloat(element);
}

std::string tensors::typeOf(soap_element element,
                            const std::vector<int64_t> &shape) {
  std::string text = soap_element_name(element) + std::string(" [");
  for (size_t d = 0; d != shape.size(); ++d)
    text += (d ? "x" : "") + std::to_string(shape[d]);
  return text + "]";
}

std::string tensors::typeOf(const soap_port &port) {
  return typeOf(port.element, {port.shape, port.shape + port.rank});
}

Tensor tensors::readTensor(const std::string &path,
                           std::optional<soap_element> wanted) {
  auto endsWith = [&](const char *ending) {
    size_t length = std::strlen(ending);
    return path.size() >= length &&
           path.compare(path.size() - length, length, ending) == 0;
  };
  if (endsWith(".npy"))
    return readNpy(path, wanted);
  if (endsWith(".pb"))
    return readTensorProto(path);
  throw UsageError("expected a tensor file that ends in .npy or .pb, got: '" +
                   path + "'");
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

template <typename T>
static void store(Tensor &tensor, size_t i, T value) {
  std::memcpy(tensor.bytes.data() + i * sizeof(T), &value, sizeof(T));
}

void Tensor::set(size_t i, double value) {
  switch (element) {
  case SOAP_F32:
    return store(*this, i, static_cast<float>(value));
  case SOAP_F64:
    return store(*this, i, value);
  case SOAP_F16:
  case SOAP_BF16:
    return store(*this, i, static_cast<uint16_t>(encodeFloat(element, value)));
  case SOAP_F8E4M3FN:
  case SOAP_F8E5M2:
  case SOAP_F8E4M3FNUZ:
  case SOAP_F8E5M2FNUZ:
    return store(*this, i, static_cast<uint8_t>(encodeFloat(element, value)));
  case SOAP_I4: {
    auto low = static_cast<uint8_t>(static_cast<int64_t>(value) & 15);
    return store(*this, i, static_cast<int8_t>((low ^ 8) - 8));
  }
  case SOAP_U4:
    return store(*this, i,
                 static_cast<uint8_t>(static_cast<int64_t>(value) & 15));
  case SOAP_I8:
  case SOAP_BOOL:
    return store(*this, i, static_cast<int8_t>(value));
  case SOAP_U8:
    return store(*this, i, static_cast<uint8_t>(static_cast<int64_t>(value)));
  case SOAP_I16:
  case SOAP_U16:
    return store(*this, i, static_cast<int16_t>(value));
  case SOAP_I32:
  case SOAP_U32:
    return store(*this, i, static_cast<int32_t>(value));
  case SOAP_I64:
  case SOAP_U64:
    return store(*this, i, static_cast<int64_t>(value));
  }
}

static Tensor makeRandom(const soap_port &port, const std::string &source) {
  auto wrong = [&]() -> UsageError {
    return UsageError("expected random:SEED or random:SEED:LOW:HIGH with "
                      "finite LOW < HIGH for input '" +
                      std::string(port.name) + "', got: '" + source + "'");
  };
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= source.size();) {
    size_t end = std::min(source.find(':', begin), source.size());
    parts.push_back(source.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() != 2 && parts.size() != 4)
    throw wrong();
  uint64_t seed = 0;
  double low = 0, high = 0;
  bool bounded = parts.size() == 4;
  try {
    size_t used = 0;
    seed = std::stoull(parts[1], &used);
    if (used != parts[1].size())
      throw wrong();
    if (bounded)
      for (auto [part, end] : {std::pair(2, &low), {3, &high}}) {
        *end = std::stod(parts[part], &used);
        if (used != parts[part].size() || !std::isfinite(*end))
          throw wrong();
      }
  } catch (const std::logic_error &) {
    throw wrong();
  }
  // The distance of the ends must be finite, too.
  if (bounded && (!(low < high) || !std::isfinite(high - low)))
    throw wrong();

  Tensor result(port);
  uint64_t key =
      recipe::keyOf(seed, recipe::hashName(port.name, std::strlen(port.name)));
  for (size_t i = 0; i != result.count(); ++i) {
    if (result.isFloat()) {
      result.set(i, bounded ? recipe::uniform(key, i, low, high)
                            : recipe::normal(key, i, 0, 1));
      continue;
    }
    double from = bounded ? low : 0;
    double to = bounded                ? high
                : port.index_bound > 0 ? static_cast<double>(port.index_bound)
                                       : 2;
    double value = std::floor(recipe::uniform(key, i, from, to));
    result.set(i, value < to ? value : to - 1);
  }
  return result;
}

bool tensors::isWidening(soap_element from, soap_element to) {
  if (isFloat(from) || isFloat(to))
    return isFloat(from) &&
           ((to == SOAP_F64 && from != SOAP_F64) ||
            (to == SOAP_F32 && (from == SOAP_F16 || from == SOAP_BF16)));
  auto isUnsigned = [](soap_element element) {
    return element == SOAP_U8 || element == SOAP_U16 || element == SOAP_U32 ||
           element == SOAP_U64;
  };
  return from != SOAP_BOOL && to != SOAP_BOOL &&
         soap_element_size(from) < soap_element_size(to) &&
         (isUnsigned(from) || !isUnsigned(to));
}

Tensor
tensors::makeInput(const soap_port &port, const std::string &source,
                   const std::function<void(const std::string &)> &note) {
  if (source == "zeros")
    return Tensor(port);
  if (source.rfind("random:", 0) == 0)
    return makeRandom(port, source);
  Tensor result = readTensor(source, port.element);
  Tensor wanted(port);
  bool shapes = result.shape == wanted.shape;
  if (!shapes || (result.element != wanted.element &&
                  !isWidening(result.element, wanted.element)))
    throw UsageError("expected " + typeOf(port) + " for input '" + port.name +
                     "', got: " + typeOf(result) + " in '" + source +
                     "'; convert the file" +
                     (shapes ? "" : ", or compile with another --batch"));
  if (result.element == wanted.element)
    return result;
  if (note)
    note(std::string("input '") + port.name + "' is widened from " +
         soap_element_name(result.element) + " to " +
         soap_element_name(wanted.element));
  // No source of a widening has numbers that a double does not hold.
  for (size_t i = 0; i != wanted.count(); ++i)
    wanted.set(i, result.at(i));
  return wanted;
}
