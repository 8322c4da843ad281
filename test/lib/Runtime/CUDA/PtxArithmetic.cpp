//===- PtxArithmetic.cpp - What PTX instructions calculate ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

using namespace soap::ptx;

//===----------------------------------------------------------------------===//
// Bits and numbers
//===----------------------------------------------------------------------===//

static uint64_t masked(uint64_t bits, unsigned bytes) {
  return bytes >= 8 ? bits : bits & ((uint64_t{1} << (8 * bytes)) - 1);
}

static int64_t extended(uint64_t bits, unsigned bytes) {
  unsigned shift = 64 - 8 * bytes;
  return static_cast<int64_t>(bits << shift) >> shift;
}

template <typename T>
static T fromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename T>
static uint64_t toBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

/// A float of any width, exactly.
static double toNumber(uint64_t bits, TypeSize type) {
  if (type.type == Type::BF)
    return fromBits<float>(bits << 16);
  if (type.bytes == 2)
    return static_cast<double>(fromBits<_Float16>(bits));
  if (type.bytes == 4)
    return fromBits<float>(bits);
  return fromBits<double>(bits);
}

/// Rounded to the nearest, ties to even.
static uint64_t fromNumber(double number, TypeSize type) {
  if (type.type == Type::BF) {
    auto bits = static_cast<uint32_t>(toBits(static_cast<float>(number)));
    if (std::isnan(number))
      return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
  if (type.bytes == 2)
    return toBits(static_cast<_Float16>(number));
  if (type.bytes == 4)
    return toBits(static_cast<float>(number));
  return toBits(number);
}

static bool isFloat(TypeSize type) {
  return type.type == Type::F || type.type == Type::BF;
}

[[noreturn]] static void unknown(const Instruction &instruction) {
  std::string name = instruction.opcode;
  for (const std::string &modifier : instruction.modifiers)
    name += "." + modifier;
  throw std::runtime_error("line " + std::to_string(instruction.number) +
                           ": the interpreter does not know " + name);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Minimum and maximum leave NaN out unless told to keep it.
static double pick(const Instruction &in, double a, double b, bool isMax) {
  if (std::isnan(a) || std::isnan(b))
    return in.has("NaN") || (std::isnan(a) && std::isnan(b))
               ? std::numeric_limits<double>::quiet_NaN()
           : std::isnan(a) ? b
                           : a;
  if (a == b) // -0 is less than 0.
    return std::signbit(a) == isMax ? b : a;
  return (a > b) == isMax ? a : b;
}

template <typename T>
static double floatResult(const Instruction &in, T a, T b, T c) {
  const std::string &op = in.opcode;
  if (op == "add")
    return a + b;
  if (op == "sub")
    return a - b;
  if (op == "mul")
    return a * b;
  if (op == "fma" || op == "mad")
    return std::fma(a, b, c);
  if (op == "div")
    return a / b;
  if (op == "sqrt")
    return std::sqrt(a);
  if (op == "rsqrt")
    return T(1) / std::sqrt(a);
  if (op == "rcp")
    return T(1) / a;
  if (op == "ex2")
    return std::exp2(a);
  if (op == "lg2")
    return std::log2(a);
  if (op == "sin")
    return std::sin(a);
  if (op == "cos")
    return std::cos(a);
  if (op == "tanh")
    return std::tanh(a);
  if (op == "neg")
    return -a;
  if (op == "abs")
    return std::fabs(a);
  if (op == "min" || op == "max")
    return pick(in, a, b, op == "max");
  if (op == "copysign") // The sign of a, the magnitude of b.
    return std::copysign(b, a);
  unknown(in);
}

static uint64_t calculateFloat(const Instruction &in, const uint64_t *s) {
  TypeSize type = in.type();
  double a = toNumber(s[0], type), b = toNumber(s[1], type),
         c = toNumber(s[2], type);
  double result =
      type.bytes == 8
          ? floatResult<double>(in, a, b, c)
          : floatResult<float>(in, static_cast<float>(a), static_cast<float>(b),
                               static_cast<float>(c));
  if (in.has("sat"))
    result = std::isnan(result) ? 0 : std::clamp(result, 0.0, 1.0);
  return fromNumber(result, type);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// A product of the full width, or its upper half.
static uint64_t product(const Instruction &in, uint64_t a, uint64_t b) {
  TypeSize type = in.type();
  bool isSigned = type.type == Type::S;
  __extension__ using Wide = __int128;
  Wide wide =
      isSigned ? Wide(extended(a, type.bytes)) * Wide(extended(b, type.bytes))
               : Wide(static_cast<unsigned __int128>(a) * b);
  if (in.has("hi"))
    wide >>= 8 * type.bytes;
  return masked(static_cast<uint64_t>(wide),
                in.has("wide") ? 2 * type.bytes : type.bytes);
}

static uint64_t quotient(const Instruction &in, uint64_t a, uint64_t b) {
  TypeSize type = in.type();
  bool isRest = in.opcode == "rem";
  if (b == 0)
    return isRest ? a : masked(~uint64_t{0}, type.bytes);
  if (type.type != Type::S)
    return isRest ? a % b : a / b;
  int64_t x = extended(a, type.bytes), y = extended(b, type.bytes);
  if (y == -1) // The least number has no positive counterpart.
    return isRest ? 0 : masked(-static_cast<uint64_t>(x), type.bytes);
  return masked(static_cast<uint64_t>(isRest ? x % y : x / y), type.bytes);
}

static uint64_t shifted(const Instruction &in, uint64_t a, uint64_t by) {
  TypeSize type = in.type();
  unsigned bits = 8 * type.bytes;
  by = masked(by, 4);
  if (in.opcode == "shl")
    return by >= bits ? 0 : masked(a << by, type.bytes);
  if (type.type == Type::S)
    return masked(static_cast<uint64_t>(extended(a, type.bytes) >>
                                        std::min<uint64_t>(by, bits - 1)),
                  type.bytes);
  return by >= bits ? 0 : a >> by;
}

/// Operations on bits of which LLVM makes others.
static uint64_t bitResult(const Instruction &in, const uint64_t *s) {
  const std::string &op = in.opcode;
  unsigned bits = 8 * in.type().bytes;
  if (op == "popc")
    return static_cast<uint64_t>(__builtin_popcountll(s[0]));
  if (op == "clz")
    return s[0] == 0
               ? bits
               : static_cast<uint64_t>(__builtin_clzll(s[0])) - (64 - bits);
  if (op == "brev") {
    uint64_t result = 0;
    for (unsigned i = 0; i != bits; ++i)
      result |= (s[0] >> i & 1) << (bits - 1 - i);
    return result;
  }
  if (op == "bfe") {
    unsigned at = s[1] & 255, length = s[2] & 255;
    if (length == 0 || at >= bits)
      return 0;
    length = std::min(length, bits - at);
    uint64_t field = s[0] >> at & (length == 64 ? ~uint64_t{0}
                                                : (uint64_t{1} << length) - 1);
    bool isNegative = in.type().type == Type::S && (field >> (length - 1) & 1);
    return isNegative ? masked(field | ~uint64_t{0} << length, in.type().bytes)
                      : field;
  }
  if (op == "bfi") {
    unsigned at = s[2] & 255, length = s[3] & 255;
    if (length == 0 || at >= bits)
      return s[1];
    length = std::min(length, bits - at);
    uint64_t mask = (length == 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1)
                    << at;
    return (s[1] & ~mask) | (s[0] << at & mask);
  }
  if (op == "prmt") {
    uint64_t bytes = masked(s[0], 4) | s[1] << 32, result = 0;
    for (unsigned i = 0; i != 4; ++i) {
      unsigned select = s[2] >> (4 * i) & 15;
      uint64_t byte = bytes >> (8 * (select & 7)) & 255;
      if (select & 8)
        byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
  if (op == "lop3") {
    uint64_t result = 0;
    for (unsigned i = 0; i != 32; ++i) {
      unsigned index =
          (s[0] >> i & 1) * 4 + (s[1] >> i & 1) * 2 + (s[2] >> i & 1);
      result |= (s[3] >> index & 1) << i;
    }
    return result;
  }
  if (op == "shf") {
    uint64_t both = masked(s[0], 4) | s[1] << 32;
    auto by = static_cast<unsigned>(s[2]);
    by = in.has("wrap") ? by & 31 : std::min(by, 32U);
    return masked(in.has("l") ? both >> (32 - by) : both >> by, 4);
  }
  unknown(in);
}

static uint64_t calculateInteger(const Instruction &in, const uint64_t *s) {
  const std::string &op = in.opcode;
  TypeSize type = in.type();
  unsigned bytes = type.bytes;
  auto cut = [&](uint64_t value) { return masked(value, bytes); };
  if (op == "add")
    return cut(s[0] + s[1]);
  if (op == "sub")
    return cut(s[0] - s[1]);
  if (op == "mul")
    return product(in, s[0], s[1]);
  if (op == "mad")
    return masked(product(in, s[0], s[1]) + s[2],
                  in.has("wide") ? 2 * bytes : bytes);
  if (op == "div" || op == "rem")
    return quotient(in, s[0], s[1]);
  if (op == "shl" || op == "shr")
    return shifted(in, s[0], s[1]);
  if (op == "and")
    return s[0] & s[1];
  if (op == "or")
    return s[0] | s[1];
  if (op == "xor")
    return s[0] ^ s[1];
  if (op == "not")
    return type.type == Type::Pred ? !s[0] : cut(~s[0]);
  if (op == "neg")
    return cut(-s[0]);
  if (op == "abs")
    return extended(s[0], bytes) < 0 ? cut(-s[0]) : s[0];
  if (op == "min" || op == "max") {
    bool isLess = type.type == Type::S
                      ? extended(s[0], bytes) < extended(s[1], bytes)
                      : s[0] < s[1];
    return isLess == (op == "min") ? s[0] : s[1];
  }
  return bitResult(in, s);
}

//===----------------------------------------------------------------------===//
// Comparisons and conversions
//===----------------------------------------------------------------------===//

template <typename T>
static bool compare(const Instruction &in, const std::string &how, T a, T b) {
  if (how == "eq")
    return a == b;
  if (how == "ne")
    return a != b;
  if (how == "lt" || how == "lo")
    return a < b;
  if (how == "le" || how == "ls")
    return a <= b;
  if (how == "gt" || how == "hi")
    return a > b;
  if (how == "ge" || how == "hs")
    return a >= b;
  unknown(in);
}

static uint64_t compared(const Instruction &in, const uint64_t *s) {
  TypeSize type = in.type();
  std::string how = in.modifiers.at(0);
  bool result;
  if (isFloat(type)) {
    double a = toNumber(s[0], type), b = toNumber(s[1], type);
    bool hasNaN = std::isnan(a) || std::isnan(b);
    if (how == "num" || how == "nan") {
      result = hasNaN == (how == "nan");
    } else if (how.size() == 3) { // Unordered: also true of NaN.
      result = hasNaN || compare(in, how.substr(0, 2), a, b);
    } else {
      result = !hasNaN && compare(in, how, a, b);
    }
  } else if (type.type == Type::S) {
    result = compare(in, how, extended(s[0], type.bytes),
                     extended(s[1], type.bytes));
  } else {
    result = compare(in, how, s[0], s[1]);
  }
  if (in.has("and"))
    return result && s[2];
  if (in.has("or"))
    return result || s[2];
  if (in.has("xor"))
    return result != (s[2] != 0);
  return result;
}

/// A float as an integer that has it, or the nearest one that there is.
static uint64_t toInteger(double number, TypeSize type) {
  if (std::isnan(number))
    return 0;
  unsigned bits = 8 * type.bytes;
  if (type.type == Type::S) {
    double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    if (number >= limit)
      return masked((uint64_t{1} << (bits - 1)) - 1, type.bytes);
    if (number < -limit)
      return masked(uint64_t{1} << (bits - 1), type.bytes);
    return masked(static_cast<uint64_t>(static_cast<int64_t>(number)),
                  type.bytes);
  }
  if (number <= 0)
    return 0;
  if (number >= std::ldexp(1.0, static_cast<int>(bits)))
    return masked(~uint64_t{0}, type.bytes);
  return static_cast<uint64_t>(number);
}

static double roundedAs(const Instruction &in, double number) {
  if (in.has("rni"))
    return std::nearbyint(number);
  if (in.has("rzi"))
    return std::trunc(number);
  if (in.has("rmi"))
    return std::floor(number);
  if (in.has("rpi"))
    return std::ceil(number);
  return number;
}

static uint64_t converted(const Instruction &in, const uint64_t *s) {
  TypeSize to = in.type(0), from = in.type(1);
  if (!isFloat(from) && !isFloat(to)) {
    if (!in.has("sat"))
      return masked(from.type == Type::S
                        ? static_cast<uint64_t>(extended(s[0], from.bytes))
                        : s[0],
                    to.bytes);
    unknown(in);
  }
  if (!isFloat(from)) {
    double number = from.type == Type::S
                        ? static_cast<double>(extended(s[0], from.bytes))
                        : static_cast<double>(s[0]);
    // A 64-bit integer must not be rounded twice.
    if (to.type == Type::F && to.bytes == 4)
      return toBits(from.type == Type::S
                        ? static_cast<float>(extended(s[0], from.bytes))
                        : static_cast<float>(s[0]));
    return fromNumber(number, to);
  }
  double number = toNumber(s[0], from);
  if (!isFloat(to))
    return toInteger(roundedAs(in, number), to);
  number = roundedAs(in, number);
  if (in.has("rz") || in.has("rm") || in.has("rp"))
    unknown(in);
  if (in.has("relu"))
    number = std::max(number, 0.0);
  return fromNumber(number, to);
}

uint64_t soap::ptx::calculate(const Instruction &in, const uint64_t *s) {
  if (in.opcode == "setp")
    return compared(in, s);
  if (in.opcode == "selp")
    return s[2] ? s[0] : s[1];
  if (in.opcode == "cvt")
    return converted(in, s);
  if (in.opcode == "mov" || in.opcode == "cvta")
    return s[0];
  return isFloat(in.type()) ? calculateFloat(in, s) : calculateInteger(in, s);
}
