//===- InitWeights.cpp - Seeded values for constant parameters --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Target/ONNX/Import.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace soap;

namespace {
struct Recipe {
  nn::Distribution distribution;
  double a, b;
};
} // namespace

/// The number of products that are summed up in one result element.
static int64_t fanIn(Operation *op) {
  if (auto conv = dyn_cast<nn::ConvOp>(op))
    return conv.getWeight().getType().getNumElements() /
           conv.getWeight().getType().getDimSize(0);
  auto matmul = cast<nn::MatMulOp>(op);
  RankedTensorType type = matmul.getB().getType();
  return type.getDimSize(type.getRank() - (matmul.getTransposeB() ? 1 : 2));
}

/// The recipe of what `use` reads, or nullopt if the op says nothing about it
/// (it only moves elements).
static std::optional<Recipe> recipeOf(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned operand = use.getOperandNumber();
  Recipe scale{nn::Distribution::Uniform, 0.5, 1.5};
  Recipe shift{nn::Distribution::Normal, 0.0, 0.1};
  if (isa<nn::ConvOp, nn::MatMulOp>(op)) {
    if (operand == 2)
      return shift;
    // The variance that keeps the scale through a following ReLU: He et al.,
    // "Delving deep into rectifiers", 2015, section 2.2.
    return Recipe{nn::Distribution::Normal, 0.0,
                  std::sqrt(2.0 / static_cast<double>(fanIn(op)))};
  }
  if (isa<nn::BatchNormOp>(op))
    return operand == 1 || operand == 4 ? scale : shift;
  if (isa<nn::MulOp, nn::DivOp>(op))
    return scale;
  if (isa<nn::ReshapeOp, nn::TransposeOp>(op)) {
    for (OpOperand &next : op->getResult(0).getUses())
      if (auto recipe = recipeOf(next))
        return recipe;
    return std::nullopt;
  }
  return shift;
}

/// True if the model leaves a parameter constant: a splat, or bytes of a small
/// tensor that are all equal.
static bool isLeftConstant(nn::ParameterOp parameter) {
  if (isa<nn::SplatAttr>(parameter.getSource()))
    return true;
  auto file = dyn_cast<nn::FileAttr>(parameter.getSource());
  RankedTensorType type = parameter.getResult().getType();
  if (!file || !type.getElementType().isF32() || type.getNumElements() < 2 ||
      type.getNumElements() > onnx_import::maxHostElements)
    return false;
  auto bytes = onnx_import::Model::readBytes(
      {file.getPath().str(), static_cast<uint64_t>(file.getOffset()),
       static_cast<uint64_t>(file.getLength())});
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return false;
  }
  llvm::StringRef data(*bytes);
  for (size_t i = 4; i + 4 <= data.size(); i += 4)
    if (data.substr(i, 4) != data.substr(0, 4))
      return false;
  return true;
}

/// The ONNX tensor that a parameter is (a view of).
static StringRef tensorOf(Operation *parameter) {
  if (auto location = dyn_cast<NameLoc>(parameter->getLoc()))
    return location.getName().getValue();
  return parameter->getAttrOfType<StringAttr>("nn.name").getValue();
}

void soap::initializeWeights(ModuleOp module, uint64_t seed) {
  llvm::StringMap<Attribute> recipes;
  module.walk([&](nn::ParameterOp parameter) {
    if (!isLeftConstant(parameter))
      return;
    StringRef tensor = tensorOf(parameter);
    auto known = recipes.find(tensor);
    if (known != recipes.end()) {
      parameter.setSourceAttr(known->second);
      return;
    }
    std::optional<Recipe> recipe;
    for (OpOperand &use : parameter.getResult().getUses())
      if (!recipe)
        recipe = recipeOf(use);
    if (!recipe)
      return;
    Attribute source =
        nn::RandomAttr::get(module.getContext(), seed, tensor,
                            recipe->distribution, recipe->a, recipe->b);
    recipes[tensor] = source;
    parameter.setSourceAttr(source);
  });
}

void soap::writeRecipes(ModuleOp module, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 2);
  llvm::StringSet<> written;
  json.arrayBegin();
  module.walk([&](nn::ParameterOp parameter) {
    auto recipe = dyn_cast<nn::RandomAttr>(parameter.getSource());
    if (!recipe || !written.insert(recipe.getName()).second)
      return;
    json.object([&] {
      json.attribute("tensor", recipe.getName());
      json.attribute("elements",
                     parameter.getResult().getType().getNumElements());
      json.attribute("seed", std::to_string(recipe.getSeed()));
      json.attribute("distribution",
                     nn::stringifyDistribution(recipe.getDistribution()));
      json.attribute("a", recipe.getA().convertToDouble());
      json.attribute("b", recipe.getB().convertToDouble());
    });
  });
  json.arrayEnd();
  os << "\n";
}
