//===- RandomFused.cpp - Random operations of several ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "soap/Dialect/NN/IR/NNFused.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

/// A reduction of `value`, of f32 or f64.
static Value createReduce(OpBuilder &builder, Random &random, Value value) {
  List axes, result;
  bool keepdims = random.flip();
  auto type = cast<RankedTensorType>(value.getType());
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    bool isKept = random.flip();
    if (!isKept)
      axes.push_back(dim);
    if (isKept || keepdims)
      result.push_back(isKept ? size : 1);
  }
  auto kind = static_cast<ReduceKind>(random.in(0, 3));
  auto reduce = builder.create<ReduceOp>(
      value.getLoc(), type.clone(result), value, kind, axes, keepdims,
      llvm::APFloat(kind == ReduceKind::Sum ? 0.125f : 1.0f));
  setName(reduce, "reduce");
  return reduce;
}

Operation *Generator::fused(StringRef kind) {
  bool reduces = kind == "nn.fused_reduce";
  if (reduces)
    element = random.flip() ? builder.getF32Type() : builder.getF64Type();
  List result = shape(0, 4, 5);
  auto whole = type(result);
  Region region;
  Block &body = region.emplaceBlock();
  OpBuilder inside(builder.getContext());
  inside.setInsertionPointToStart(&body);
  SmallVector<Value> inputs, made;
  // An operand of the new operation, as its region sees it.
  auto input = [&](ArrayRef<int64_t> size) -> Value {
    inputs.push_back(argument(size));
    return body.addArgument(inputs.back().getType(), loc);
  };
  // What another operation of the region may read.
  auto either = [&]() -> Value {
    int64_t choice = random.in(0, 2);
    if (choice == 0 && !made.empty())
      return made[random.in(0, made.size() - 1)];
    if (choice == 1) // Every operand of this type is read along all dimensions.
      for (BlockArgument known : body.getArguments())
        if (known.getType() == whole)
          return known;
    return input(narrowed(result));
  };
  auto add = [&](StringRef name, ValueRange operands) {
    OperationState state(loc, name, operands, whole);
    if (name == "nn.batch_norm")
      state.addAttribute("epsilon", builder.getF32FloatAttr(0.5f));
    if (name == "nn.clip")
      for (StringRef bound : {"min", "max"})
        state.addAttribute(
            bound, builder.getF32FloatAttr(bound == "min" ? -0.5f : 0.5f));
    Operation *part = inside.create(state);
    setName(part, "part" + Twine(made.size()));
    made.push_back(part->getResult(0));
  };
  for (int64_t i = 0, e = random.in(1, 5); i != e; ++i) {
    Value last = made.empty() ? input(result) : made.back();
    switch (random.in(0, result.size() >= 2 ? 7 : 6)) {
    case 0:
      add("nn.relu", last);
      break;
    case 1:
      add("nn.tanh", last);
      break;
    case 2:
      add("nn.clip", last);
      break;
    case 3:
      add("nn.mul", {either(), last});
      break;
    case 4:
      add("nn.sub", {last, either()});
      break;
    case 5:
      add("nn.max", {last, either()});
      break;
    case 6:
      add("nn.add", {last, last});
      break;
    default: {
      SmallVector<Value> operands = {last};
      for (int64_t vector = 0; vector != 4; ++vector)
        operands.push_back(input(result[1]));
      add("nn.batch_norm", operands);
    }
    }
  }
  Value last = made.back();
  if (reduces)
    last = createReduce(inside, random, last);
  inside.create<YieldOp>(loc, last);
  OperationState state(loc, kind, inputs, last.getType());
  state.addRegion()->takeBody(region);
  return builder.create(state);
}
