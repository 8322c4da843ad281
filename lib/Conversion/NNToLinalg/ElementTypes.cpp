//===- ElementTypes.cpp - Element types that linalg does not have ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of arith take integers without a signedness, and no floats of 16
// bits here: these are computed in f32. So before the patterns run, operations
// on narrow floats get casts around them, and unsigned integers, integers of 4
// bits and floats of 8 become the integers that their memory holds. What an
// operation's types were stands in an attribute.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/Precision.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

/// The element types of operands and results before they were erased.
static constexpr llvm::StringLiteral typesAttr = "nn.element_types";

Type soap::storageType(Type element) {
  auto integer = [&](unsigned width) {
    return IntegerType::get(element.getContext(), width);
  };
  unsigned width = element.getIntOrFloatBitWidth();
  if (isa<FloatType>(element))
    return width < 16 ? integer(8) : element;
  return width == 1 ? element : integer(std::max(width, 8u));
}

Type linalg_lowering::elementTypeOf(Operation *op, unsigned index) {
  if (auto types = op->getAttrOfType<ArrayAttr>(typesAttr))
    return cast<TypeAttr>(types[index]).getValue();
  Value value = index < op->getNumOperands()
                    ? op->getOperand(index)
                    : op->getResult(index - op->getNumOperands());
  return getElementTypeOrSelf(value);
}

//===----------------------------------------------------------------------===//
// Floats of 16 bits
//===----------------------------------------------------------------------===//

/// Operations that only move elements, and those per element, which cast each
/// one on its way.
static bool takesNarrowFloats(Operation *op) {
  if (isElementwise(op))
    return true;
  if (auto scatter = dyn_cast<nn::ScatterElementsOp>(op))
    return !scatter.getReduction();
  if (auto scatter = dyn_cast<nn::ScatterNDOp>(op))
    return !scatter.getReduction();
  return isa<nn::InputOp, nn::ParameterOp, nn::ConstantOp, nn::OutputOp,
             nn::ConcatOp, nn::SliceOp, nn::PadOp, nn::ReshapeOp,
             nn::TransposeOp, nn::GatherOp, nn::GatherElementsOp,
             nn::GatherNDOp, nn::TileOp, nn::TriluOp, nn::YieldOp>(op);
}

static bool isNarrowFloat(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && nn::isFloatOf16Bits(tensor.getElementType());
}

static Value castTo(OpBuilder &builder, Operation *op, Value value,
                    Type element) {
  auto type = tensorType(value).clone(element);
  auto cast = builder.create<nn::CastOp>(op->getLoc(), type, value);
  nn::setName(cast, nn::getName(op));
  return cast.getResult();
}

/// Casts the operands to f32, and the results from it.
static void computeWide(Operation *op) {
  OpBuilder builder(op);
  Type wide = builder.getF32Type();
  for (OpOperand &operand : op->getOpOperands())
    if (isNarrowFloat(operand.get().getType()))
      operand.set(castTo(builder, op, operand.get(), wide));
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    if (!isNarrowFloat(result.getType()))
      continue;
    auto narrow = cast<RankedTensorType>(result.getType());
    result.setType(narrow.clone(wide));
    Value back = castTo(builder, op, result, narrow.getElementType());
    result.replaceAllUsesExcept(back, back.getDefiningOp());
  }
}

//===----------------------------------------------------------------------===//
// Products of integers of 8 bits
//===----------------------------------------------------------------------===//

/// Casts the factors to the i32 of the result, each by its own sign.
static void widenFactors(Operation *product) {
  OpBuilder builder(product);
  for (OpOperand &factor : product->getOpOperands().take_front(2))
    factor.set(castTo(builder, product, factor.get(), builder.getI32Type()));
}

//===----------------------------------------------------------------------===//
// Types that are erased
//===----------------------------------------------------------------------===//

static Type erased(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.getElementType().isIntOrFloat())
    return type;
  return shaped.clone(storageType(shaped.getElementType()));
}

static TypedAttr erased(TypedAttr value) {
  Type type = erased(value.getType());
  if (auto elements = dyn_cast<DenseElementsAttr>(value)) {
    Type element = elements.getElementType();
    if (element == storageType(element))
      return value;
    SmallVector<Attribute> stored;
    for (Attribute number : elements.getValues<Attribute>())
      stored.push_back(erased(cast<TypedAttr>(number)));
    if (elements.isSplat())
      stored.resize(1);
    return DenseElementsAttr::get(cast<ShapedType>(type), stored);
  }
  if (!value.getType().isIntOrFloat() ||
      storageType(value.getType()) == value.getType())
    return value;
  Type stored = storageType(value.getType());
  if (auto number = dyn_cast<FloatAttr>(value))
    return IntegerAttr::get(stored, number.getValue().bitcastToAPInt());
  APInt number = cast<IntegerAttr>(value).getValue();
  unsigned width = stored.getIntOrFloatBitWidth();
  return IntegerAttr::get(stored, nn::isUnsigned(value.getType())
                                      ? number.zext(width)
                                      : number.sext(width));
}

/// Notes the element types of an operation whose types are erased.
static void noteTypes(Operation *op) {
  SmallVector<Attribute> types;
  bool changes = false;
  auto note = [&](Value value) {
    Type element = getElementTypeOrSelf(value);
    types.push_back(TypeAttr::get(element));
    changes |= element.isIntOrFloat() && storageType(element) != element;
  };
  llvm::for_each(op->getOperands(), note);
  llvm::for_each(op->getResults(), note);
  if (changes)
    op->setAttr(typesAttr, ArrayAttr::get(op->getContext(), types));
}

void linalg_lowering::legalizeElementTypes(Operation *root) {
  SmallVector<Operation *> operations;
  root->walk([&](Operation *op) {
    if (isa_and_nonnull<nn::NNDialect>(op->getDialect()))
      operations.push_back(op);
  });
  for (Operation *op : operations) {
    if (nn::multipliesBytes(op))
      widenFactors(op);
    if (!takesNarrowFloats(op))
      computeWide(op);
  }
  root->walk([&](Operation *op) {
    bool isEnd = isa<nn::InputOp, nn::ParameterOp, nn::OutputOp>(op);
    if (!isEnd && isa_and_nonnull<nn::NNDialect>(op->getDialect()))
      noteTypes(op);
  });
  root->walk([&](Operation *op) {
    for (Value result : op->getResults())
      result.setType(erased(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(erased(argument.getType()));
    if (auto constant = dyn_cast<nn::ConstantOp>(op))
      constant.setValueAttr(
          cast<ElementsAttr>(erased(cast<TypedAttr>(constant.getValue()))));
    if (auto pad = dyn_cast<nn::PadOp>(op))
      pad.setValueAttr(erased(pad.getValue()));
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      auto eraseAll = [](ArrayRef<Type> types) {
        return llvm::to_vector(
            llvm::map_range(types, [](Type type) { return erased(type); }));
      };
      function.setType(
          function.cloneTypeWith(eraseAll(function.getArgumentTypes()),
                                 eraseAll(function.getResultTypes())));
    }
  });
}
