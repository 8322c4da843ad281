//===- FoldGelu.cpp - GELUs that are written out --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write x / 2 * (1 + erf(x / sqrt(2))) in many orders. What is
// compared here is not the operations but what they compute: the argument of
// erf or tanh is a polynomial of x, and a result is one polynomial plus another
// times that erf or tanh.
//
//===----------------------------------------------------------------------===//

#include "ParameterExpressions.h"
#include "Unread.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include <array>
#include <cmath>
#include <optional>

namespace soap::nn {
#define GEN_PASS_DEF_FOLDGELUPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap::nn;

namespace {
/// Coefficients of 1, x, x^2 and x^3.
using Polynomial = std::array<double, 4>;

/// `alone` + `times` * t, where t is the result of the erf or tanh.
struct Expression {
  Polynomial alone = {}, times = {};
};

class FoldGeluPass : public soap::nn::impl::FoldGeluPassBase<FoldGeluPass> {
public:
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// What operations compute
//===----------------------------------------------------------------------===//

static bool isZero(const Polynomial &p) {
  return llvm::all_of(p, [](double c) { return c == 0; });
}

static Polynomial sum(const Polynomial &a, const Polynomial &b, double factor) {
  Polynomial result;
  for (size_t i = 0; i != result.size(); ++i)
    result[i] = a[i] + factor * b[i];
  return result;
}

static std::optional<Polynomial> product(const Polynomial &a,
                                         const Polynomial &b) {
  Polynomial result = {};
  for (size_t i = 0; i != a.size(); ++i)
    for (size_t j = 0; j != b.size(); ++j) {
      if (a[i] == 0 || b[j] == 0)
        continue;
      if (i + j >= result.size())
        return std::nullopt;
      result[i + j] += a[i] * b[j];
    }
  return result;
}

static std::optional<Expression> product(const Expression &a,
                                         const Expression &b) {
  if (!isZero(a.times) && !isZero(b.times))
    return std::nullopt;
  auto alone = product(a.alone, b.alone), left = product(a.alone, b.times),
       right = product(a.times, b.alone);
  if (!alone || !left || !right)
    return std::nullopt;
  return Expression{*alone, sum(*left, *right, 1)};
}

static bool isArithmetic(Operation *op) {
  return isa_and_nonnull<AddOp, SubOp, MulOp, DivOp, NegOp>(op);
}

/// Operations between x, or an erf or tanh, and what is made of it.
static constexpr int mostOperations = 8;

/// `value` in terms of x and of t, which may be null.
static std::optional<Expression> express(Value value, Value x, Value t,
                                         int depth = 0) {
  if (value == x)
    return Expression{{0, 1}, {}};
  if (value == t)
    return Expression{{}, {1}};
  if (auto number = numberOf(value))
    return Expression{{*number}, {}};
  Operation *op = value.getDefiningOp();
  if (!isArithmetic(op) || depth == mostOperations ||
      value.getType() != x.getType())
    return std::nullopt;
  auto a = express(op->getOperand(0), x, t, depth + 1);
  if (!a)
    return std::nullopt;
  if (isa<NegOp>(op))
    return Expression{sum({}, a->alone, -1), sum({}, a->times, -1)};
  if (isa<DivOp>(op)) {
    auto number = numberOf(op->getOperand(1));
    return number && *number != 0 ? product(*a, {{1 / *number}, {}})
                                  : std::nullopt;
  }
  auto b = express(op->getOperand(1), x, t, depth + 1);
  if (!b)
    return std::nullopt;
  if (isa<MulOp>(op))
    return product(*a, *b);
  double sign = isa<SubOp>(op) ? -1 : 1;
  return Expression{sum(a->alone, b->alone, sign),
                    sum(a->times, b->times, sign)};
}

/// Whether coefficients are equal as far as constants of f32 say.
static bool areEqual(const Polynomial &a, const Polynomial &b) {
  for (size_t i = 0; i != a.size(); ++i)
    if (std::abs(a[i] - b[i]) > 1e-6 * std::abs(b[i]))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// What erf or tanh is applied to, of x: x / sqrt(2), or
/// sqrt(2 / pi) * (x + 0.044715 * x^3).
static Polynomial argumentOf(bool approximate) {
  if (!approximate)
    return {0, std::sqrt(0.5)};
  double factor = std::sqrt(2 / std::acos(-1.0));
  return {0, factor, 0, factor * 0.044715};
}

/// The x of which `argument` is the argument of a GELU's erf or tanh; null if
/// there is none.
static Value findX(Value argument, bool approximate) {
  llvm::SetVector<Value> values;
  values.insert(argument);
  for (size_t i = 0; i < values.size() && i < 32; ++i) {
    Value x = values[i];
    if (x.getType() == argument.getType())
      if (auto known = express(argument, x, /*t=*/nullptr);
          known && areEqual(known->alone, argumentOf(approximate)))
        return x;
    if (Operation *op = x.getDefiningOp(); isArithmetic(op))
      values.insert(op->operand_begin(), op->operand_end());
  }
  return nullptr;
}

/// The operation whose result is x / 2 * (1 + t); null if there is none.
static Operation *findResult(Value x, Value t) {
  llvm::SetVector<Operation *> users(t.user_begin(), t.user_end());
  for (size_t i = 0; i < users.size() && i < 32; ++i) {
    Operation *op = users[i];
    if (!isArithmetic(op))
      continue;
    auto made = express(op->getResult(0), x, t);
    if (made && areEqual(made->alone, {0, 0.5}) &&
        areEqual(made->times, {0, 0.5}))
      return op;
    users.insert(op->user_begin(), op->user_end());
  }
  return nullptr;
}

void FoldGeluPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  SmallVector<Operation *> functions;
  for (Operation &op : function.front())
    if (isa<ErfOp, TanhOp>(op) && getElementTypeOrSelf(op.getResult(0)).isF32())
      functions.push_back(&op);
  for (Operation *op : functions) {
    bool approximate = isa<TanhOp>(op);
    Value x = findX(op->getOperand(0), approximate);
    Operation *result = x ? findResult(x, op->getResult(0)) : nullptr;
    if (!result)
      continue;
    OpBuilder builder(result);
    auto gelu = builder.create<GeluOp>(result->getLoc(), x.getType(), x);
    gelu.setApproximate(approximate);
    gelu->setDiscardableAttrs(result->getDiscardableAttrDictionary());
    result->getResult(0).replaceAllUsesWith(gelu);
    eraseUnread(result);
    ++numFolded;
  }
  soap::nn::leaveLostGroups(function.front());
}
