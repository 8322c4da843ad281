//===- ParameterExpressions.cpp - What depends on parameters only ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterExpressions.h"
#include "mlir/Dialect/Traits.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

using namespace mlir;
using namespace soap::nn;

bool soap::nn::isParameterOrConstant(Operation *op) {
  return isa_and_nonnull<ParameterOp, ConstantOp>(op);
}

Attribute soap::nn::splatOf(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    return elements && elements.isSplat() ? elements.getSplatValue<Attribute>()
                                          : Attribute();
  }
  auto parameter = value.getDefiningOp<ParameterOp>();
  auto splat =
      parameter ? dyn_cast<SplatAttr>(parameter.getSource()) : SplatAttr();
  return splat && !findWrite(parameter) ? splat.getValue() : Attribute();
}

std::optional<double> soap::nn::numberOf(Value value) {
  auto number = dyn_cast_or_null<FloatAttr>(splatOf(value));
  if (!number || !number.getType().isF32())
    return std::nullopt;
  return number.getValueAsDouble();
}

ParameterExpressions::ParameterExpressions(func::FuncOp function) {
  if (function.isExternal())
    return;
  // Operands are defined before their readers: one pass suffices.
  for (Operation &op : function.front()) {
    auto parameter = dyn_cast<ParameterOp>(op);
    bool expression =
        (parameter ? !isState(parameter) : isParameterOrConstant(&op)) ||
        (isa<PartitionOpInterface>(op) && isPure(&op) &&
         op.getNumOperands() != 0 &&
         llvm::all_of(op.getOperands(), [&](Value v) { return contains(v); }));
    if (expression)
      values_.insert(op.result_begin(), op.result_end());
  }
}

ExpressionBuilder::ExpressionBuilder(func::FuncOp function,
                                     ParameterExpressions &expressions)
    : builder_(function.getContext()), expressions_(expressions),
      names_(function) {}

StringAttr ExpressionBuilder::uniqueName(StringRef base) {
  return builder_.getStringAttr(names_.unique(base));
}

Value ExpressionBuilder::create(StringRef opName, StringRef name,
                                ValueRange operands) {
  auto type = cast<RankedTensorType>(operands[0].getType());
  SmallVector<int64_t> shape(type.getShape());
  for (Value operand : operands.drop_front()) {
    SmallVector<int64_t> joined;
    OpTrait::util::getBroadcastedShape(
        shape, cast<RankedTensorType>(operand.getType()).getShape(), joined);
    shape = joined;
  }
  OperationState state(operands[0].getLoc(), opName);
  state.addOperands(operands);
  state.addTypes(type.clone(shape));
  state.addAttribute("nn.name", uniqueName(name));
  Value result = builder_.create(state)->getResult(0);
  expressions_.insert(result);
  return result;
}

Value ExpressionBuilder::reshape(StringRef name, Value value,
                                 ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  auto op =
      builder_.create<ReshapeOp>(value.getLoc(), type.clone(shape), value);
  op->setAttr("nn.name", uniqueName(name));
  expressions_.insert(op.getResult());
  return op.getResult();
}

Value ExpressionBuilder::scalar(StringRef name, Type element, double number) {
  auto type = RankedTensorType::get({}, element);
  auto value =
      DenseElementsAttr::get(type, builder_.getFloatAttr(element, number));
  auto op = builder_.create<ConstantOp>(builder_.getUnknownLoc(), value);
  op->setAttr("nn.name", uniqueName(name));
  expressions_.insert(op.getResult());
  return op.getResult();
}
