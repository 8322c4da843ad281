//===- TensorBytes.cpp - Tensors of any element type ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorBytes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace soap::test;

static constexpr char guard = '\x5a';

TensorBytes::TensorBytes(RankedTensorType type)
    : element_(type.getElementType()), count_(type.getNumElements()),
      width_(llvm::divideCeil(type.getElementTypeBitWidth(), 8)),
      bytes_(alignment + count_ * width_ + alignment, guard) {}

const char *TensorBytes::at(size_t index) const {
  auto start = reinterpret_cast<uintptr_t>(bytes_.data());
  return reinterpret_cast<const char *>(llvm::alignTo(start, alignment)) +
         index * width_;
}

void *TensorBytes::data() { return const_cast<char *>(at(0)); }

double TensorBytes::get(size_t index) const {
  uint64_t bits = 0;
  std::memcpy(&bits, at(index), width_);
  if (auto type = dyn_cast<FloatType>(element_)) {
    llvm::APFloat value(type.getFloatSemantics(),
                        llvm::APInt(type.getWidth(), bits));
    bool loses;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &loses);
    return value.convertToDouble();
  }
  return static_cast<double>(llvm::SignExtend64(bits, width_ * 8));
}

void TensorBytes::set(size_t index, double value) {
  uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  if (auto type = dyn_cast<FloatType>(element_)) {
    llvm::APFloat converted(value);
    bool loses;
    converted.convert(type.getFloatSemantics(),
                      llvm::APFloat::rmNearestTiesToEven, &loses);
    bits = converted.bitcastToAPInt().getZExtValue();
  }
  std::memcpy(const_cast<char *>(at(index)), &bits, width_);
}

void TensorBytes::fill(uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> whole(0, element_.isInteger(1) ? 1 : 4);
  for (size_t i = 0; i != count_; ++i)
    set(i, isa<FloatType>(element_) ? normal(engine) : whole(engine));
}

bool TensorBytes::isGuarded() const {
  for (const char *byte = at(count_), *end = bytes_.data() + bytes_.size();
       byte != end; ++byte)
    if (*byte != guard)
      return false;
  return true;
}

void TensorBytes::expectClose(const TensorBytes &expected, double relative,
                              double absolute) const {
  ASSERT_EQ(count_, expected.count_);
  for (size_t i = 0; i != count_; ++i) {
    double a = get(i), b = expected.get(i);
    bool close = std::isnan(b) ? std::isnan(a)
                 : std::isinf(b)
                     ? a == b
                     : std::abs(a - b) <= absolute + relative * std::abs(b);
    ASSERT_TRUE(close) << "element " << i << ": " << a << ", expected " << b;
  }
}
