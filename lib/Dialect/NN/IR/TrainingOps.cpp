//===- TrainingOps.cpp - Updates of parameters ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalBox.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;

//===----------------------------------------------------------------------===//
// nn.write
//===----------------------------------------------------------------------===//

ModuleOp soap::nn::findEvaluation(ModuleOp module) {
  for (auto inner : module.getOps<ModuleOp>())
    if (inner.getName() == StringRef(evaluationName))
      return inner;
  return {};
}

bool soap::nn::isState(ParameterOp parameter) {
  return parameter->hasAttr(stateAttrName) || findWrite(parameter);
}

bool soap::nn::isFixed(Operation *producer) {
  auto parameter = dyn_cast<ParameterOp>(producer);
  return isa<ConstantOp>(producer) ||
         (parameter && (!isState(parameter) || SOAP_FAULT("written-is-fixed")));
}

WriteOp soap::nn::findWrite(ParameterOp parameter) {
  for (OpOperand &use : parameter->getUses())
    if (auto write = dyn_cast<WriteOp>(use.getOwner());
        write && &use == &write.getParameterMutable())
      return write;
  return {};
}

LogicalResult WriteOp::verify() {
  // In a task, the parameter is an argument.
  Operation *source = getParameter().getDefiningOp();
  if (!isa_and_nonnull<PartitionOpInterface>(source))
    return success();
  auto parameter = dyn_cast<ParameterOp>(source);
  if (!parameter)
    return emitOpError() << "expected a parameter that an nn.parameter makes, "
                            "got: the result of "
                         << source->getName();
  if (isa<InitAttr>(parameter.getSource()))
    return emitOpError() << "expected a parameter with a source of its own, "
                            "got: a result of @init, which is computed once";
  for (OpOperand &use : parameter->getUses())
    if (auto write = dyn_cast<WriteOp>(use.getOwner());
        write && write != *this && &use == &write.getParameterMutable())
      return emitOpError() << "expected to be the only operation that writes '"
                           << getName(source) << "', got also: '"
                           << getName(write) << "'";
  return success();
}

PartitionSpec WriteOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}
double WriteOp::getFlops(const LocalTile &tile) { return 0; }
// What makes the value can write it to where the parameter lives.
double WriteOp::getBytes(const LocalTile &tile) { return 0; }

//===----------------------------------------------------------------------===//
// nn.schedule
//===----------------------------------------------------------------------===//

LogicalResult ScheduleOp::verify() {
  for (Value value : llvm::concat<Value>(
           SmallVector<Value>(getOperands()),
           SmallVector<Value>(getResults().begin(), getResults().end())))
    if (!shapeOf(value).empty())
      return emitOpError() << "expected scalars, got: " << value.getType();
  Type element = elementType(getLearningRate());
  for (Value value : {getCorrection1(), getCorrection2()})
    if (elementType(value) != element)
      return emitOpError() << "expected corrections of the learning rate's "
                              "element type "
                           << element << ", got: " << elementType(value);
  for (auto [name, value] :
       {std::pair("rate", getRate()), std::pair("factor", getFactor())})
    if (double number = value.convertToDouble();
        !std::isfinite(number) || number < 0)
      return emitOpError() << "expected '" << name
                           << "' that is finite and not negative, got: "
                           << number;
  for (auto [name, value] :
       {std::pair("beta1", getBeta1()), std::pair("beta2", getBeta2())})
    if (double number = value.convertToDouble(); !(number >= 0 && number < 1))
      return emitOpError() << "expected '" << name
                           << "' of at least 0 and below 1, got: " << number;
  if (static_cast<int64_t>(getWarmup()) < 0)
    return emitOpError() << "expected a 'warmup' of 0 steps or more, got: "
                         << static_cast<int64_t>(getWarmup());
  if (static_cast<int64_t>(getPeriod()) < 1)
    return emitOpError() << "expected a 'period' of 1 step or more, got: "
                         << static_cast<int64_t>(getPeriod());
  return success();
}

PartitionSpec ScheduleOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}
double ScheduleOp::getFlops(const LocalTile &tile) { return 10; }

//===----------------------------------------------------------------------===//
// nn.dropout
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  if (getStep() && !shapeOf(getStep()).empty())
    return emitOpError() << "expected a scalar as number of the step, got: "
                         << getStep().getType();
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return emitOpError()
           << "expected a 'ratio' of at least 0 and below 1, got: " << ratio;
  return verifyBox(*this, shapeOf(getResult()));
}

PartitionSpec DropoutOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}

void DropoutOp::setLocalAccess(const LocalTile &tile) {
  if (!isWhole(tile.resultBoxes[0], tile.spec) &&
      !SOAP_FAULT("mask-by-local-index"))
    setBox(*this, tile.resultBoxes[0], extentsOf(tile.spec));
}

// Ten rounds of two products, four exclusive ors and two sums each.
double DropoutOp::getFlops(const LocalTile &tile) {
  return (getStep() ? 80.0 : 0.0) * volume(tile.resultBoxes[0]);
}

uint32_t DropoutOp::getThreshold() {
  double words = std::nearbyint(std::ldexp(getRatio().convertToDouble(), 32));
  return static_cast<uint32_t>(std::min(words, 4294967295.0));
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

LogicalResult soap::nn::detail::verifyUpdate(Operation *op) {
  // w, the gradient, and as much state as there are results beside w.
  unsigned count = op->getNumResults() + 1;
  Type type = op->getResult(0).getType();
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (index < count && operand.getType() != type)
      return op->emitOpError()
             << "expected operand " << index << " of the result's type " << type
             << ", got: " << operand.getType();
    if (index >= count &&
        (!shapeOf(operand).empty() ||
         elementType(operand) != elementType(op->getResult(0))))
      return op->emitOpError()
             << "expected a scalar of " << elementType(op->getResult(0))
             << " as operand " << index << ", got: " << operand.getType();
  }
  for (Type other : op->getResultTypes())
    if (other != type)
      return op->emitOpError()
             << "expected results of one type " << type << ", got: " << other;
  for (NamedAttribute attribute : op->getAttrs())
    if (auto number = dyn_cast<FloatAttr>(attribute.getValue());
        number && !number.getValue().isFinite())
      return op->emitOpError()
             << "expected a finite number for '" << attribute.getName().strref()
             << "', got: " << number.getValueAsDouble();
  return success();
}

static double perElement(const LocalTile &tile, double operations) {
  return operations * volume(tile.resultBoxes[0]);
}
double SGDOp::getFlops(const LocalTile &tile) { return perElement(tile, 4); }
double MomentumOp::getFlops(const LocalTile &tile) {
  return perElement(tile, getNesterov() ? 8 : 6);
}
double AdamOp::getFlops(const LocalTile &tile) { return perElement(tile, 14); }

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNTrainingOps.cpp.inc"
