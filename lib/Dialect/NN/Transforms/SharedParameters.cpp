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
#include "soap/Dialect/NN/Gradients/Gradients.h"
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

/// Names a reshape of a parameter. It is in the group of the first operation
/// that reads it, so that the parameter lives where it is read.
static void nameReshape(OpBuilder &builder, ReshapeOp reshape,
                        const std::string &name, NodeNames &names) {
  setName(reshape, names.unique(name));
  Value value = reshape.getResult();
  if (value.use_empty())
    return;
  auto [reader, access] = findReader(value);
  // Batch norms become other operations.
  if (reader->getNumResults() == 0 || isa<BatchNormOp>(reader))
    return;
  names.release(nn::getName(reshape));
  GradientBuilder(builder, reader, name, [&](StringRef base) {
    return names.unique(base);
  }).join(reshape, access);
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
    if (parameter.getOffsets()) {
      setName(reshape, names.unique(name + ".shape"));
    } else {
      parameter.getResult().replaceAllUsesWith(reshape);
      nameReshape(builder, reshape, name, names);
    }
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

/// Replaces those of `parameters`, which are of one type, for which `isTied`
/// holds by the first of them. Returns how many were replaced.
static size_t tie(SmallVectorImpl<ParameterOp> &parameters, IsTied isTied,
                  NodeNames &names) {
  ParameterOp first;
  size_t before = parameters.size();
  llvm::erase_if(parameters, [&](ParameterOp parameter) {
    if (!isTied(parameter))
      return false;
    if (!first) {
      first = parameter;
      first->moveBefore(&first->getBlock()->front());
      return false;
    }
    replaceByPart(parameter, first, names);
    return true;
  });
  return before - parameters.size();
}

/// Whether two shapes are the same but for dimensions of size 1.
static bool differInOnes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  auto sizes = [](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> result(shape);
    llvm::erase(result, 1);
    return result;
  };
  return sizes(a) == sizes(b);
}

/// Gives a parameter that is a view of a tensor of the model that tensor's name
/// and shape, and reshapes it. A shape in which tiles of the view are no tiles
/// stays the view's. A parameter stays as it is if the name is taken, as by an
/// equal tensor that is stored once.
static void trainAsTensor(ParameterOp view, NodeNames &names) {
  auto fields = view->getAttrOfType<DictionaryAttr>(viewAttrName);
  StringRef tensor = fields.getAs<StringAttr>("tensor").getValue();
  ArrayRef<int64_t> shape = fields.getAs<DenseI64ArrayAttr>("shape");
  RankedTensorType type = view.getResult().getType();
  std::string name = names.unique(tensor);
  if (name != tensor) {
    names.release(name);
    return;
  }
  if (!differInOnes(shape, type.getShape())) {
    names.release(nn::getName(view));
    setName(view, name);
    view->removeAttr(viewAttrName);
    return;
  }
  auto builder = OpBuilder::atBlockBegin(view->getBlock());
  auto whole = builder.create<ParameterOp>(view.getLoc(), type.clone(shape),
                                           view.getSource());
  setName(whole, name);
  if (view->hasAttr(constantAttrName))
    whole->setAttr(constantAttrName, builder.getUnitAttr());
  replaceByPart(view, whole, names);
}

/// The parameter of one source that others become shapes of: a tensor of the
/// model, if there is one.
static ParameterOp findTensor(ArrayRef<ParameterOp> wholes) {
  const auto *tensor = llvm::find_if(wholes, [](ParameterOp parameter) {
    return !parameter->hasAttr(viewAttrName);
  });
  return tensor == wholes.end() ? wholes.front() : *tensor;
}

size_t soap::nn::joinSharedParameters(func::FuncOp function, NodeNames &names,
                                      IsTied isTied) {
  struct Shared {
    SmallVector<ParameterOp> wholes;
    llvm::MapVector<StringRef, SmallVector<ParameterOp, 1>> parts;
  };
  size_t numTied = 0;
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
    if (shared.wholes.empty())
      continue;
    SmallVector<ParameterOp> &wholes = shared.wholes;
    // Equal elements that are made say nothing about a tensor. What has one
    // shape is several tensors of the model: exporters store equal values once.
    if (!isa<SplatAttr>(source)) {
      ParameterOp first = findTensor(wholes);
      llvm::erase_if(wholes, [&](ParameterOp other) {
        if (other.getResult().getType() == first.getResult().getType())
          return false;
        first->moveBefore(&first->getBlock()->front());
        replaceByPart(other, first, names);
        return true;
      });
      numTied += tie(wholes, isTied, names);
    }
    for (ParameterOp parameter : wholes)
      if (parameter->hasAttr(viewAttrName))
        trainAsTensor(parameter, names);
  }
  return numTied;
}
