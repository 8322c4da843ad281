//===- NNDialect.cpp - The nn dialect -------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "soap/Dialect/NN/IR/EmptyOutputs.h"
#include "soap/Dialect/NN/IR/LaunchedLate.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/NNRecurrentGradients.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/NN/IR/TrainingDescription.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace soap;
using namespace soap::nn;

#include "soap/Dialect/NN/IR/NNDialect.cpp.inc"
#include "soap/Dialect/NN/IR/NNEnums.cpp.inc"

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// `a` and `b` of a recipe: a number in the notation of MLIR, no type.
static ParseResult parseDouble(AsmParser &parser, FailureOr<APFloat> &value) {
  double parsed;
  if (parser.parseFloat(parsed))
    return failure();
  value = APFloat(parsed);
  return success();
}

static void printDouble(AsmPrinter &printer, const APFloat &value) {
  printer.printFloat(value);
}

/// One type, of an operand and a result, or `(operand) -> result`.
static ParseResult parseOneOrTwoTypes(OpAsmParser &parser, Type &operand,
                                      Type &result) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseType(operand))
    return failure();
  result = operand;
  auto function = dyn_cast<FunctionType>(operand);
  if (!function)
    return success();
  if (function.getNumInputs() != 1 || function.getNumResults() != 1)
    return parser.emitError(location, "expected one operand and one result");
  operand = function.getInput(0);
  result = function.getResult(0);
  return success();
}

static void printOneOrTwoTypes(OpAsmPrinter &printer, Operation *op,
                               Type operand, Type result) {
  if (operand == result)
    printer << operand;
  else
    printer.printFunctionalType(op);
}

#define GET_ATTRDEF_CLASSES
#include "soap/Dialect/NN/IR/NNAttrs.cpp.inc"

LogicalResult FileAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef path, int64_t offset, int64_t length) {
  if (path.empty())
    return emitError() << "expected the path of a file, got an empty string";
  if (offset < 0 || length < 0 ||
      offset > std::numeric_limits<int64_t>::max() - length)
    return emitError() << "expected an offset and a length of 0 or more, got: "
                       << offset << ", " << length;
  return success();
}

LogicalResult RandomAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 uint64_t seed, StringRef name,
                                 Distribution distribution, APFloat from,
                                 APFloat to) {
  double a = from.convertToDouble(), b = to.convertToDouble();
  if (!std::isfinite(a) || !std::isfinite(b))
    return emitError() << "expected finite numbers, got: " << a << ", " << b;
  if (distribution == Distribution::Normal && b < 0)
    return emitError() << "expected a standard deviation of 0 or more, got: "
                       << b;
  if (distribution == Distribution::Uniform && b < a)
    return emitError() << "expected an interval [a, b] with a <= b, got: [" << a
                       << ", " << b << "]; swap the bounds";
  return success();
}

LogicalResult
ActivationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       ActivationKind kind, APFloat alpha, APFloat beta) {
  double a = alpha.convertToDouble(), b = beta.convertToDouble();
  if (!std::isfinite(a) || !std::isfinite(b))
    return emitError() << "expected finite numbers, got: " << a << ", " << b;
  return success();
}

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t index) {
  if (index < 0)
    return emitError() << "expected the index of a result of @init, got: "
                       << index;
  return success();
}

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

void NNDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "soap/Dialect/NN/IR/NNOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "soap/Dialect/NN/IR/NNTrainingOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "soap/Dialect/NN/IR/NNRecurrentGradientOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "soap/Dialect/NN/IR/NNFusedOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "soap/Dialect/NN/IR/NNAttrs.cpp.inc"
      >();
}

/// The attribute of a module that names outputs without elements.
static constexpr llvm::StringLiteral emptyOutputsName = "nn.empty_outputs";

static LogicalResult verifyEmptyOutputs(Operation *op, Attribute value) {
  auto outputs = dyn_cast<DictionaryAttr>(value);
  bool fits = outputs && isa<ModuleOp>(op);
  for (NamedAttribute output :
       fits ? outputs.getValue() : ArrayRef<NamedAttribute>()) {
    auto type = dyn_cast<TypeAttr>(output.getValue());
    auto tensor =
        type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
    fits &= tensor && tensor.hasStaticShape() &&
            llvm::is_contained(tensor.getShape(), 0);
  }
  if (!fits)
    return op->emitOpError()
           << "expected '" << emptyOutputsName
           << "' on a module, with names and types of tensors without "
              "elements, got: "
           << value;
  return success();
}

void soap::nn::addEmptyOutput(Operation *model, StringRef name,
                              RankedTensorType type) {
  NamedAttrList outputs(emptyOutputs(model));
  outputs.set(name, TypeAttr::get(type));
  model->setAttr(emptyOutputsName, outputs.getDictionary(model->getContext()));
}

DictionaryAttr soap::nn::emptyOutputs(Operation *model) {
  auto outputs = model->getAttrOfType<DictionaryAttr>(emptyOutputsName);
  return outputs ? outputs : DictionaryAttr::get(model->getContext());
}

void soap::nn::removeEmptyOutputs(Operation *model) {
  model->removeAttr(emptyOutputsName);
}

static LogicalResult verifyView(Operation *op, Attribute attribute) {
  auto fields = dyn_cast<DictionaryAttr>(attribute);
  auto shape = fields ? fields.getAs<DenseI64ArrayAttr>("shape") : nullptr;
  if (!isa<ParameterOp>(op) || !shape || fields.size() != 2 ||
      !fields.getAs<StringAttr>("tensor"))
    return op->emitOpError()
           << "expected '" << viewAttrName
           << "' with a 'shape' and the name of a 'tensor', on an nn.parameter";
  // A part of a view does not have all of its elements.
  int64_t count = 1;
  for (int64_t size : shape.asArrayRef())
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return op->emitOpError() << "expected '" << viewAttrName
                               << "' of sizes of 0 and more whose product is "
                                  "an integer of 64 bits, got: "
                               << shape;
  // Of another type the operation itself is refused.
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type)
    return success();
  if (!cast<ParameterOp>(op).getOffsets() && count != type.getNumElements())
    return op->emitOpError()
           << "expected '" << viewAttrName << "' of a tensor of "
           << type.getNumElements() << " elements, got: " << count;
  return success();
}

static LogicalResult verifyParts(Operation *op, Attribute attribute) {
  auto parts = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (!parts || parts.empty() || parts.size() > maxParts ||
      llvm::any_of(parts.asArrayRef(), [](int64_t size) { return size < 1; }))
    return op->emitOpError()
           << "expected 'nn.parts' to be an array of 1 to " << maxParts
           << " positive extents, got: " << attribute;
  if (!isAdditive(op))
    return op->emitOpError()
           << "expected no 'nn.parts' but on additive operations on f32 or f64 "
              "(nn.add, nn.sub, nn.reshape, nn.transpose, nn.slice, nn.concat, "
              "nn.pad with zeros)";
  return success();
}

LogicalResult NNDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  if (attribute.getName() == emptyOutputsName)
    return verifyEmptyOutputs(op, attribute.getValue());
  if (attribute.getName() == groupAttrName) {
    if (!isa<GroupAttr>(attribute.getValue()))
      return op->emitOpError() << "expected 'nn.group' to be a #nn.group, got: "
                               << attribute.getValue();
    return success();
  }
  if (attribute.getName() == updateAttrName) {
    auto leader = dyn_cast<StringAttr>(attribute.getValue());
    if (!leader || leader.empty())
      return op->emitOpError() << "expected '" << updateAttrName
                               << "' to be the name of an operation, got: "
                               << attribute.getValue();
    return success();
  }
  if (attribute.getName() == afterAttrName) {
    auto name = dyn_cast<StringAttr>(attribute.getValue());
    if (!name || name.empty() ||
        isa<InputOp, OutputOp, ParameterOp, ConstantOp>(op))
      return op->emitOpError()
             << "expected '" << afterAttrName
             << "' to be the name of an operation, on one that computes, got: "
             << attribute.getValue();
    return success();
  }
  if (attribute.getName() == lossGradientAttrName) {
    if (!isa<ConstantOp>(op) || !isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError() << "expected '" << lossGradientAttrName
                               << "' without a value, on an nn.constant";
    return success();
  }
  if (attribute.getName() == constantAttrName ||
      attribute.getName() == stateAttrName) {
    if (!isa<ParameterOp>(op) || !isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError() << "expected '" << attribute.getName().getValue()
                               << "' without a value, on an nn.parameter";
    return success();
  }
  if (attribute.getName() == viewAttrName)
    return verifyView(op, attribute.getValue());
  if (attribute.getName() == trainingAttrName) {
    if (!isa<ModuleOp>(op) || !isa<StringAttr>(attribute.getValue()))
      return op->emitOpError()
             << "expected '" << trainingAttrName
             << "' to be a string, of a module, got: " << attribute.getValue();
    return success();
  }
  if (attribute.getName() == partsAttrName)
    return verifyParts(op, attribute.getValue());
  if (attribute.getName() != "nn.name")
    return op->emitOpError() << "expected no attributes of the nn dialect but "
                                "'nn.name', 'nn.group', 'nn.update', "
                                "'nn.parts', 'nn.after', 'nn.constant', "
                                "'nn.state', 'nn.loss_gradient', "
                                "'nn.training' and 'nn.view', got: '"
                             << attribute.getName().getValue() << "'";
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name || name.empty())
    return op->emitOpError()
           << "expected 'nn.name' to be a string that is not empty, got: "
           << attribute.getValue();
  return success();
}

bool soap::nn::isStaticTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getRank() > maxRank)
    return false;
  // Sizes are checked one by one: their product may overflow.
  int64_t elements = 1;
  for (int64_t size : tensor.getShape()) {
    if (size < 1 || size > maxTensorElements / elements)
      return false;
    elements *= size;
  }
  return true;
}

StringRef soap::nn::getName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("nn.name");
  return name ? name.getValue() : StringRef();
}

void soap::nn::setName(Operation *op, const Twine &name) {
  op->setAttr("nn.name", StringAttr::get(op->getContext(), name));
}

StringRef soap::nn::getGroupLeader(Operation *op) {
  auto group = op->getAttrOfType<GroupAttr>(groupAttrName);
  return group ? group.getLeader() : StringRef();
}

StringRef soap::nn::getUpdateLeader(Operation *op) {
  auto leader = op->getAttrOfType<StringAttr>(updateAttrName);
  return leader ? leader.getValue() : StringRef();
}

void soap::nn::joinUpdate(Operation *op, Operation *leader) {
  op->setAttr(updateAttrName,
              StringAttr::get(op->getContext(), getName(leader)));
}

void soap::nn::leaveGroup(Operation *op) {
  op->removeAttr(groupAttrName);
  op->removeAttr(partsAttrName); // They are those of the group.
  op->removeAttr(updateAttrName);
}

void soap::nn::leaveLostGroups(Block &block) {
  llvm::DenseSet<StringRef> names;
  for (Operation &op : block) {
    if (!isa<InputOp, OutputOp, ParameterOp, ConstantOp>(op))
      names.insert(getName(&op));
    if (StringRef leader = getGroupLeader(&op);
        !leader.empty() && !names.contains(leader))
      leaveGroup(&op);
  }
}

StringRef GroupAttr::getLeaderLoop(StringRef loop) const {
  if (!getLoops())
    return loop;
  auto same = getLoops().getAs<StringAttr>(loop);
  return same ? same.getValue() : StringRef();
}

FailureOr<SmallVector<int16_t, 6>>
soap::nn::getLeaderLoops(Operation *op, const PartitionSpec &spec,
                         const PartitionSpec &leader) {
  auto group = op->getAttrOfType<GroupAttr>(groupAttrName);
  SmallVector<int16_t, 6> result(spec.loops.size(), -1);
  if (!group || !group.getLoops()) {
    for (auto [loop, same] : llvm::zip_equal(spec.loops, result))
      same = static_cast<int16_t>(leader.findLoop(loop.name));
    return result;
  }
  auto namesOf = [](const PartitionSpec &spec) {
    return llvm::join(
        llvm::map_range(spec.loops,
                        [](const LoopSpec &loop) { return loop.name; }),
        ", ");
  };
  llvm::SmallDenseSet<int> taken;
  for (NamedAttribute entry : group.getLoops()) {
    int loop = spec.findLoop(entry.getName());
    if (loop < 0)
      return op->emitOpError()
             << "expected loops of the operation (" << namesOf(spec)
             << ") in 'nn.group', got: '" << entry.getName().getValue() << "'";
    auto name = dyn_cast<StringAttr>(entry.getValue());
    int same = name ? leader.findLoop(name) : -1;
    if (same < 0)
      return op->emitOpError()
             << "expected loops of the leader '" << group.getLeader() << "' ("
             << namesOf(leader) << ") in 'nn.group', got: " << entry.getValue();
    if (!taken.insert(same).second)
      return op->emitOpError()
             << "expected each loop of the leader '" << group.getLeader()
             << "' for one loop in 'nn.group', got two for: " << name;
    result[loop] = static_cast<int16_t>(same);
  }
  return result;
}

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNOps.cpp.inc"
