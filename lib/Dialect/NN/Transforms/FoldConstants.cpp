//===- FoldConstants.cpp - Compute operations on constants ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterExpressions.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Debug.h"
#include <cmath>

namespace soap::nn {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

#define DEBUG_TYPE "nn-fold-constants"

using namespace mlir;
using namespace soap::nn;

/// Results with more elements than this stay.
static constexpr int64_t maxElements = 1 << 16;

namespace {

/// Elements that are known: one for all (a splat), or all of them.
struct Known {
  RankedTensorType type;
  bool parameter = false; ///< Stems from a parameter.
  bool splat = false;
  SmallVector<double> floats; ///< Of floating point types.
  SmallVector<int64_t> ints;  ///< Of integer types.

  bool integral() const { return isa<IntegerType>(type.getElementType()); }
};

class FoldConstantsPass
    : public soap::nn::impl::FoldConstantsPassBase<FoldConstantsPass> {
public:
  void runOnOperation() override;
};

} // namespace

/// Types whose arithmetic is done here exactly as at run time.
static bool isFoldable(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.getWidth() <= 64;
  return element.isF32() || element.isF64();
}

static double roundTo(Type element, double value) {
  return element.isF32() ? static_cast<double>(static_cast<float>(value))
                         : value;
}

static std::optional<Known> knownValue(Value value) {
  Known known;
  known.type = cast<RankedTensorType>(value.getType());
  Type element = known.type.getElementType();
  if (!isFoldable(element))
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (auto parameter = dyn_cast_or_null<ParameterOp>(op)) {
    auto splat = dyn_cast<SplatAttr>(parameter.getSource());
    if (!splat || parameter.getOffsets() || findWrite(parameter))
      return std::nullopt;
    known.parameter = known.splat = true;
    if (auto number = dyn_cast<FloatAttr>(splat.getValue()))
      known.floats.push_back(number.getValueAsDouble());
    else if (auto number = dyn_cast<IntegerAttr>(splat.getValue()))
      known.ints.push_back(number.getValue().getSExtValue());
    else
      return std::nullopt;
    return known;
  }
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements ||
      (!elements.isSplat() && elements.getNumElements() > maxElements))
    return std::nullopt;
  known.splat = elements.isSplat();
  auto addFloat = [&](const APFloat &v) {
    known.floats.push_back(v.convertToDouble());
  };
  auto addInt = [&](const APInt &v) { known.ints.push_back(v.getSExtValue()); };
  if (known.integral() && known.splat)
    addInt(elements.getSplatValue<APInt>());
  else if (known.integral())
    llvm::for_each(elements.getValues<APInt>(), addInt);
  else if (known.splat)
    addFloat(elements.getSplatValue<APFloat>());
  else
    llvm::for_each(elements.getValues<APFloat>(), addFloat);
  return known;
}

/// For every element of the result, in order, the element of the operand that
/// `map` names by its coordinates.
static SmallVector<int64_t>
gatherIndices(ArrayRef<int64_t> result, ArrayRef<int64_t> operand,
              llvm::function_ref<int64_t(ArrayRef<int64_t>, size_t)> map) {
  SmallVector<int64_t> indices, at(result.size(), 0);
  int64_t count = 1;
  for (int64_t dim : result)
    count *= dim;
  for (int64_t i = 0; i != count; ++i) {
    int64_t flat = 0;
    for (size_t d = 0; d != operand.size(); ++d)
      flat = flat * operand[d] + map(at, d);
    indices.push_back(flat);
    for (size_t d = result.size(); d-- != 0;) {
      if (++at[d] != result[d])
        break;
      at[d] = 0;
    }
  }
  return indices;
}

/// Operand k of an element-wise operation, broadcast to the result.
static SmallVector<int64_t> broadcastIndices(ArrayRef<int64_t> result,
                                             ArrayRef<int64_t> operand) {
  size_t skip = result.size() - operand.size();
  return gatherIndices(result, operand, [&](ArrayRef<int64_t> at, size_t d) {
    return operand[d] == 1 ? 0 : at[skip + d];
  });
}

/// Where nn.reshape, nn.slice or nn.transpose finds each element of its result.
static SmallVector<int64_t> movedIndices(Operation *op) {
  ArrayRef<int64_t> result =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  ArrayRef<int64_t> x =
      cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
  if (isa<ReshapeOp>(op)) {
    // A reshape keeps the row-major order.
    return gatherIndices(result, result,
                         [](ArrayRef<int64_t> at, size_t d) { return at[d]; });
  }
  if (auto slice = dyn_cast<SliceOp>(op))
    return gatherIndices(result, x, [&](ArrayRef<int64_t> at, size_t d) {
      return slice.getStarts()[d] + at[d] * slice.getSteps()[d];
    });
  auto transpose = cast<TransposeOp>(op);
  SmallVector<size_t> inverse(x.size());
  for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
    inverse[static_cast<size_t>(from)] = to;
  return gatherIndices(result, x, [&](ArrayRef<int64_t> at, size_t d) {
    return at[inverse[d]];
  });
}

/// One element of an element-wise operation on floats, or nullopt for other
/// operations.
static std::optional<double> apply(Operation *op, ArrayRef<double> x) {
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case<AddOp>([&](auto) { return x[0] + x[1]; })
      .Case<SubOp>([&](auto) { return x[0] - x[1]; })
      .Case<MulOp>([&](auto) { return x[0] * x[1]; })
      .Case<DivOp>([&](auto) { return x[0] / x[1]; })
      .Case<MaxOp>([&](auto) { return std::fmax(x[0], x[1]); })
      .Case<MinOp>([&](auto) { return std::fmin(x[0], x[1]); })
      .Case<ReluOp>([&](auto) { return x[0] > 0 ? x[0] : 0.0; })
      .Case<SigmoidOp>([&](auto) { return 1 / (1 + std::exp(-x[0])); })
      .Case<TanhOp>([&](auto) { return std::tanh(x[0]); })
      .Case<SqrtOp>([&](auto) { return std::sqrt(x[0]); })
      .Case<ExpOp>([&](auto) { return std::exp(x[0]); })
      .Case<LogOp>([&](auto) { return std::log(x[0]); })
      .Case<ErfOp>([&](auto) { return std::erf(x[0]); })
      .Case<NegOp>([&](auto) { return -x[0]; })
      .Case<AbsOp>([&](auto) { return std::fabs(x[0]); })
      .Case<ReciprocalOp>([&](auto) { return 1 / x[0]; })
      .Case<PowOp>([&](auto) { return std::pow(x[0], x[1]); })
      .Case<ExpandOp>([&](auto) { return x[0]; })
      .Case<ClipOp>([&](ClipOp clip) {
        return std::fmin(std::fmax(x[0], clip.getMin().convertToDouble()),
                         clip.getMax().convertToDouble());
      })
      .Default([](auto) { return std::nullopt; });
}

/// The same on integers, which wrap around. Division by 0 stays.
static std::optional<int64_t> apply(Operation *op, ArrayRef<int64_t> x) {
  auto u = [&](size_t i) { return static_cast<uint64_t>(x[i]); };
  using Result = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<AddOp>([&](auto) { return static_cast<int64_t>(u(0) + u(1)); })
      .Case<SubOp>([&](auto) { return static_cast<int64_t>(u(0) - u(1)); })
      .Case<MulOp>([&](auto) { return static_cast<int64_t>(u(0) * u(1)); })
      .Case<DivOp>([&](auto) {
        bool defined = x[1] != 0 && !(x[0] == INT64_MIN && x[1] == -1);
        return defined ? Result(x[0] / x[1]) : std::nullopt;
      })
      .Case<MaxOp>([&](auto) { return std::max(x[0], x[1]); })
      .Case<MinOp>([&](auto) { return std::min(x[0], x[1]); })
      .Case<NegOp>([&](auto) { return static_cast<int64_t>(-u(0)); })
      .Case<ExpandOp>([&](auto) { return x[0]; })
      .Default([](auto) { return std::nullopt; });
}

template <typename T>
static std::optional<SmallVector<T>>
computeElements(Operation *op, ArrayRef<Known> operands, bool splat,
                SmallVector<T> Known::*elements) {
  if (isa<ReshapeOp, SliceOp, TransposeOp>(op)) {
    const SmallVector<T> &x = operands[0].*elements;
    if (splat)
      return x;
    SmallVector<T> result;
    for (int64_t i : movedIndices(op))
      result.push_back(x[static_cast<size_t>(i)]);
    return result;
  }
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  SmallVector<SmallVector<int64_t>> indices;
  for (const Known &known : operands)
    indices.push_back(known.splat
                          ? SmallVector<int64_t>()
                          : broadcastIndices(shape, known.type.getShape()));
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= splat ? 1 : dim;
  SmallVector<T> result, arguments(operands.size());
  for (int64_t i = 0; i != count; ++i) {
    for (size_t k = 0; k != operands.size(); ++k)
      arguments[k] =
          (operands[k].*
           elements)[operands[k].splat ? 0
                                       : static_cast<size_t>(indices[k][i])];
    std::optional<T> value = apply(op, ArrayRef<T>(arguments));
    if (!value)
      return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

/// The value of `op` as nn.constant or nn.parameter before it, or null.
static Value foldOp(Operation *op, OpBuilder &builder) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      !isa<PartitionOpInterface>(op) || isParameterOrConstant(op))
    return nullptr;
  SmallVector<Known> operands;
  bool splat = true, parameter = false;
  for (Value operand : op->getOperands()) {
    std::optional<Known> known = knownValue(operand);
    if (!known)
      return nullptr;
    splat &= known->splat;
    parameter |= known->parameter;
    operands.push_back(std::move(*known));
  }
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Type element = type.getElementType();
  if ((!splat && (parameter || type.getNumElements() > maxElements)) ||
      operands[0].type.getElementType() != element)
    return nullptr;

  SmallVector<Attribute> attributes;
  if (operands[0].integral()) {
    auto elements = computeElements<int64_t>(op, operands, splat, &Known::ints);
    if (!elements)
      return nullptr;
    unsigned width = element.getIntOrFloatBitWidth();
    for (int64_t value : *elements)
      attributes.push_back(IntegerAttr::get(
          element, APInt(64, static_cast<uint64_t>(value)).zextOrTrunc(width)));
  } else {
    auto elements =
        computeElements<double>(op, operands, splat, &Known::floats);
    if (!elements)
      return nullptr;
    for (double value : *elements)
      attributes.push_back(FloatAttr::get(element, roundTo(element, value)));
  }
  builder.setInsertionPoint(op);
  Operation *result;
  if (parameter)
    result = builder.create<ParameterOp>(
        op->getLoc(), type,
        SplatAttr::get(builder.getContext(), cast<TypedAttr>(attributes[0])));
  else
    result = builder.create<ConstantOp>(
        op->getLoc(), DenseElementsAttr::get(type, attributes));
  result->setAttr("nn.name", op->getAttr("nn.name"));
  return result->getResult(0);
}

void FoldConstantsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  OpBuilder builder(&getContext());
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (Value value = foldOp(&op, builder)) {
      LLVM_DEBUG(llvm::dbgs() << "'" << soap::nn::getName(&op) << "' becomes a "
                              << value.getDefiningOp()->getName() << "\n");
      op.getResult(0).replaceAllUsesWith(value);
      op.erase();
      ++numFolded;
    }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isParameterOrConstant(&op) && op.use_empty())
      op.erase();
  soap::nn::leaveLostGroups(function.front());
}
