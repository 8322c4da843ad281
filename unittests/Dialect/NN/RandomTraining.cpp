//===- RandomTraining.cpp - Random updates of parameters ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

Operation *Generator::write(StringRef) {
  List whole = shape(0, 4);
  Value value = argument(whole), parameter;
  if (random.flip()) {
    parameter = argument(whole); // As in a task.
  } else {
    auto source = builder.create<ParameterOp>(
        loc, type(whole), SplatAttr::get(builder.getContext(), number(1)));
    setName(source, "parameter");
    parameter = source.getResult();
  }
  return builder.create<WriteOp>(loc, value, parameter);
}

Operation *Generator::schedule(StringRef) {
  element = random.flip() ? builder.getF32Type() : builder.getF64Type();
  Value before;
  if (random.flip())
    before = argument({}, builder.getI64Type());
  auto real = [&](int64_t hi) {
    return llvm::APFloat(static_cast<double>(random.in(0, hi)) / 16);
  };
  auto kind = static_cast<ScheduleKind>(random.in(0, 3));
  int64_t warmup = random.flip() ? random.in(1, 12) : 0;
  return builder.create<ScheduleOp>(
      loc, RankedTensorType::get({}, builder.getI64Type()), type({}), type({}),
      type({}), before, kind, real(40), warmup, random.in(1, 12), real(20),
      real(15), real(15));
}

Operation *Generator::update(StringRef kind) {
  element = random.flip() ? builder.getF32Type() : builder.getF64Type();
  List whole = shape(0, 4);
  bool isAdam = kind == "nn.adam", isMomentum = kind == "nn.momentum";
  size_t state = isAdam ? 2 : isMomentum ? 1 : 0;
  SmallVector<Value> operands;
  for (size_t i = 0; i != 2 + state; ++i)
    operands.push_back(argument(whole));
  // The learning rate, corrections, and in half of the cases a scale.
  for (size_t i = 0, e = (isAdam ? 3 : 1) + random.in(0, 1); i != e; ++i)
    operands.push_back(argument({}));
  OperationState made(loc, kind, operands,
                      SmallVector<Type>(1 + state, type(whole)), {});
  auto set = [&](StringRef name, double value) {
    made.addAttribute(name, builder.getF64FloatAttr(value));
  };
  auto below1 = [&] { return static_cast<double>(random.in(0, 15)) / 16; };
  if (random.flip())
    set("weight_decay", below1());
  if (isMomentum)
    set("momentum", below1());
  if (isMomentum && random.flip())
    made.addAttribute("nesterov", builder.getUnitAttr());
  if (isAdam && random.flip()) {
    set("beta1", below1());
    set("beta2", below1());
    set("epsilon", below1());
  }
  if (isAdam && random.flip())
    made.addAttribute("decoupled", builder.getUnitAttr());
  return builder.create(made);
}

Operation *Generator::dropout(StringRef) {
  List tile = shape(0, 4), offsets, whole;
  // A tile of a larger value, in half of the cases.
  for (int64_t size : tile) {
    offsets.push_back(random.in(0, 9));
    whole.push_back(offsets.back() + size + random.in(0, 100000));
  }
  bool isPart = random.flip();
  Value step;
  if (random.in(0, 9) != 0)
    step = argument({}, builder.getI64Type());
  auto seed = static_cast<uint64_t>(random.in(0, int64_t(1) << 60)) * 11;
  auto list = [&](const List &entries) {
    return isPart ? builder.getDenseI64ArrayAttr(entries) : DenseI64ArrayAttr();
  };
  return builder.create<DropoutOp>(
      loc, type(tile), argument(tile), step,
      llvm::APFloat(static_cast<double>(random.in(0, 15)) / 16), seed,
      list(offsets), list(whole));
}

bool soap::nn::test::isPositive(Operation *op, unsigned operand) {
  if (Block *body = getFusedBody(op))
    return llvm::any_of(
        body->getArgument(operand).getUses(), [](OpOperand &use) {
          return isPositive(use.getOwner(), use.getOperandNumber());
        });
  // The number of steps before this one; a variance, and bias corrections.
  if (isa<ScheduleOp>(op) || (isa<DropoutOp>(op) && operand == 1))
    return true;
  if (isa<AdamOp>(op))
    return operand == 3 || operand == 5 || operand == 6;
  // Variances, arguments of roots and logarithms, bases.
  if (isa<BatchNormOp, SqrtOp, LogOp>(op))
    return operand + 1 == op->getNumOperands();
  return isa<PowOp>(op) && operand == 0;
}
