//===- Bits.cpp - Operators on bits -----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::TensorProto;

LogicalResult soap::onnx_import::importBitShift(NodeContext &node) {
  auto a = node.tensor(0, ElementTypes::Integers),
       b = node.tensor(1, ElementTypes::Integers);
  if (failed(a) || failed(b))
    return failure();
  std::string direction = node.string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return node.fail("expected direction LEFT or RIGHT, got: " +
                     quoted(direction));
  int type = node.input(0).elementType, other = node.input(1).elementType;
  if (type != other || !isUnsigned(type))
    return node.fail("expected operands of one type of integers without a "
                     "sign, got: " +
                     typeName(type) + " and " + typeName(other));
  auto shape = node.broadcast(node.shape(0), node.shape(1));
  if (failed(shape))
    return failure();
  return node.finish(direction == "LEFT"
                         ? node.create<nn::ShiftLeftOp>(*shape, {*a, *b})
                         : node.create<nn::ShiftRightOp>(*shape, {*a, *b}));
}

LogicalResult soap::onnx_import::importBitCast(NodeContext &node) {
  auto type = static_cast<int>(node.integer("to", 0));
  int from = node.input(0).elementType;
  if (from == type)
    return importIdentity(node);
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  if (!isKnownType(type) || storedBits(type) != storedBits(from))
    return node.fail(
        "expected a type of numbers or booleans with the bits of " +
        typeName(from) + ", got: " + typeName(type));
  return node.finish(
      node.createOf<nn::BitCastOp>(node.elementType(type), node.shape(0), *x));
}

namespace {
/// Creates ops on bytes.
struct Bytes {
  OpBuilder &builder;
  Location loc;
  llvm::function_ref<std::string(llvm::StringRef)> nameOf;
  Type byte = builder.getIntegerType(8, /*isSigned=*/false);

  template <typename Op>
  Value make(llvm::ArrayRef<int64_t> shape, ValueRange operands,
             llvm::StringRef suffix,
             llvm::ArrayRef<NamedAttribute> attributes = {},
             Type element = nullptr) const {
    OperationState state(loc, Op::getOperationName());
    state.addOperands(operands);
    state.addAttributes(attributes);
    state.addAttribute("nn.name", builder.getStringAttr(nameOf(suffix)));
    state.addTypes(RankedTensorType::get(shape, element ? element : byte));
    return builder.create(state)->getResult(0);
  }
  Value number(uint64_t bits, llvm::StringRef suffix) const {
    auto scalar = DenseElementsAttr::get(RankedTensorType::get({}, byte),
                                         llvm::APInt(8, bits));
    return make<nn::ConstantOp>({}, {}, suffix,
                                builder.getNamedAttr("value", scalar));
  }
};
} // namespace

Value soap::onnx_import::unpackedParameter(
    OpBuilder &builder, Location loc, RankedTensorType type, Attribute source,
    llvm::function_ref<std::string(llvm::StringRef)> nameOf) {
  Bytes b{builder, loc, nameOf};
  int64_t count = type.getNumElements(), bytes = (count + 1) / 2;
  Value packed = b.make<nn::ParameterOp>(
      {bytes, 1}, {}, "_packed", builder.getNamedAttr("source", source));
  // The first of two elements is the low half of a byte.
  Value low =
      b.make<nn::AndOp>({bytes, 1}, {packed, b.number(15, "_mask")}, "_low");
  Value high = b.make<nn::ShiftRightOp>(
      {bytes, 1}, {packed, b.number(4, "_half")}, "_high");
  Value all = b.make<nn::ConcatOp>(
      {bytes, 2}, {low, high}, "_halves",
      builder.getNamedAttr("axis", builder.getI64IntegerAttr(1)));
  all = b.make<nn::ReshapeOp>({2 * bytes}, all, "_row");
  if (2 * bytes != count)
    all = b.make<nn::SliceOp>(
        {count}, all, "_elements",
        {builder.getNamedAttr("starts", builder.getDenseI64ArrayAttr({0})),
         builder.getNamedAttr("steps", builder.getDenseI64ArrayAttr({1}))});
  all = b.make<nn::ReshapeOp>(type.getShape(), all, "_shaped");
  return b.make<nn::CastOp>(type.getShape(), all, "", {},
                            type.getElementType());
}
