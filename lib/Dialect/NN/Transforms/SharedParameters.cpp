//===- SharedParameters.cpp - Parameters that share elements --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For inference, a tensor of the model may be several parameters, each the part
// or the shape of it that an operation reads. One that is trained is one.
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// Whether two parts of one tensor have elements in common.
static bool overlap(ParameterOp a, ParameterOp b) {
  // What is said of two shapes of the tensor cannot be compared.
  if (a.getGlobalShape() != b.getGlobalShape())
    return true;
  ArrayRef<int64_t> sizesOfA = a.getResult().getType().getShape();
  ArrayRef<int64_t> sizesOfB = b.getResult().getType().getShape();
  for (auto [loOfA, sizeOfA, loOfB, sizeOfB] :
       llvm::zip_equal(*a.getOffsets(), sizesOfA, *b.getOffsets(), sizesOfB))
    if (loOfA >= loOfB + sizeOfB || loOfB >= loOfA + sizeOfA)
      return false;
  return true;
}

static bool anyOverlap(ArrayRef<ParameterOp> parts) {
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (overlap(parts[i], parts[j]))
        return true;
  return false;
}

/// The parameter that is all of the tensor `parts` are parts of, which is among
/// `wholes`, or is made: it stands at the start of the block.
static ParameterOp findWhole(ArrayRef<ParameterOp> parts,
                             ArrayRef<ParameterOp> wholes, NodeNames &names) {
  ParameterOp part = parts.front();
  Block &block = *part->getBlock();
  for (ParameterOp whole : wholes)
    if (getName(whole) == part.getTensorName()) {
      whole->moveBefore(&block.front());
      return whole;
    }
  if (!anyOverlap(parts))
    return {};
  auto builder = OpBuilder::atBlockBegin(&block);
  auto whole = builder.create<ParameterOp>(
      part.getLoc(), part.getResult().getType().clone(*part.getGlobalShape()),
      part.getSource());
  setName(whole, names.unique(part.getTensorName()));
  if (part->hasAttr(constantAttrName))
    whole->setAttr(constantAttrName, builder.getUnitAttr());
  return whole;
}

/// Replaces a parameter by what it is of `whole`.
static void replaceByPart(ParameterOp parameter, ParameterOp whole,
                          NodeNames &names) {
  OpBuilder builder(parameter);
  Location loc = parameter.getLoc();
  RankedTensorType type = parameter.getResult().getType();
  Value value = whole.getResult();
  std::string name = getName(parameter).str();
  names.release(name);
  auto shaped =
      type.clone(parameter.getGlobalShape().value_or(type.getShape()));
  if (value.getType() != shaped) {
    auto reshape = builder.create<ReshapeOp>(loc, shaped, value);
    setName(reshape,
            names.unique(parameter.getOffsets() ? name + ".shape" : name));
    value = reshape;
  }
  if (parameter.getOffsets()) {
    SmallVector<int64_t> steps(type.getRank(), 1);
    auto slice = builder.create<SliceOp>(loc, type, value,
                                         *parameter.getOffsets(), steps);
    setName(slice, names.unique(name));
    value = slice;
  }
  parameter.getResult().replaceAllUsesWith(value);
  parameter.erase();
}

void soap::nn::joinSharedParameters(func::FuncOp function, NodeNames &names) {
  struct Shared {
    SmallVector<ParameterOp, 1> wholes;
    llvm::MapVector<StringRef, SmallVector<ParameterOp, 1>> parts;
  };
  llvm::MapVector<Attribute, Shared> sources;
  for (auto parameter : function.getOps<ParameterOp>()) {
    Shared &shared = sources[parameter.getSource()];
    if (parameter.getOffsets())
      shared.parts[parameter.getTensorName()].push_back(parameter);
    else
      shared.wholes.push_back(parameter);
  }
  for (auto &[source, shared] : sources) {
    for (auto &[tensor, parts] : shared.parts)
      if (ParameterOp whole = findWhole(parts, shared.wholes, names))
        for (ParameterOp part : parts)
          replaceByPart(part, whole, names);
    // Equal elements that are made say nothing about a tensor. What has one
    // shape is several tensors of the model: exporters store equal values once.
    if (isa<SplatAttr>(source) || shared.wholes.empty())
      continue;
    ParameterOp first = shared.wholes.front();
    for (ParameterOp other : llvm::drop_begin(shared.wholes))
      if (other.getResult().getType() != first.getResult().getType()) {
        first->moveBefore(&first->getBlock()->front());
        replaceByPart(other, first, names);
      }
  }
}
