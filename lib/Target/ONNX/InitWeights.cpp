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
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using onnx_import::HostTensor;

namespace {

/// The distribution of one parameter.
struct Recipe {
  nn::Distribution distribution;
  double a, b;

  double meanSquare() const {
    return distribution == nn::Distribution::Normal
               ? a * a + b * b
               : (a * a + a * b + b * b) / 3;
  }
};

/// Chooses recipes in block order, with an estimate of the second moment of
/// every value, so that activations keep their scale through deep networks.
class WeightInitializer {
public:
  WeightInitializer(ModuleOp module, uint64_t seed, const nn::Files &files)
      : module_(module), seed_(seed), files_(files) {}

  void run();

private:
  std::optional<HostTensor> readParameter(nn::ParameterOp parameter) const;
  bool isLeftConstant(nn::ParameterOp parameter) const;
  double meanOf(Value value, llvm::function_ref<double(double)> function,
                double otherwise) const;
  void assign(Value operand, Recipe recipe);
  double assignContraction(Operation *op);
  double assignBatchNorm(nn::BatchNormOp norm);
  void assignLayer(Operation *layer);
  /// The second moment of the result of `op`, whose operands are known.
  double estimate(Operation *op);
  double power(Value value) const {
    auto it = powers_.find(value);
    return it == powers_.end() ? 1.0 : it->second;
  }

  ModuleOp module_;
  uint64_t seed_;
  const nn::Files &files_;
  llvm::StringMap<Attribute> recipes_; ///< By ONNX tensor.
  llvm::DenseMap<Value, double> powers_;
};

constexpr Recipe scaleRecipe{nn::Distribution::Uniform, 0.5, 1.5};
constexpr Recipe shiftRecipe{nn::Distribution::Normal, 0.0, 0.1};
/// Of inputs: uniform in [0, 1).
constexpr double inputPower = 1.0 / 3;

} // namespace

/// The parameter that `value` is, or whose elements it only moves.
static nn::ParameterOp parameterOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<nn::ReshapeOp, nn::TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<nn::ParameterOp>(op);
}

/// The values of a small parameter in a file.
std::optional<HostTensor>
WeightInitializer::readParameter(nn::ParameterOp parameter) const {
  auto file = parameter ? dyn_cast<nn::FileAttr>(parameter.getSource())
                        : nn::FileAttr();
  if (!file)
    return std::nullopt;
  RankedTensorType type = parameter.getResult().getType();
  if (!type.getElementType().isF32() ||
      type.getNumElements() > onnx_import::maxHostElements)
    return std::nullopt;
  auto bytes = onnx_import::Model::readBytes(
      files_, {file.getPath().str(), static_cast<uint64_t>(file.getOffset()),
               static_cast<uint64_t>(file.getLength())});
  onnx_import::TensorRecord record;
  record.proto.set_data_type(onnx::TensorProto::FLOAT);
  record.proto.add_dims(type.getNumElements());
  auto host = bytes ? onnx_import::readTensor(record, *bytes)
                    : llvm::Expected<HostTensor>(bytes.takeError());
  if (host)
    return std::move(*host);
  llvm::consumeError(host.takeError());
  return std::nullopt;
}

/// True if the model leaves a parameter constant: a splat, or a small tensor
/// whose elements are all equal.
bool WeightInitializer::isLeftConstant(nn::ParameterOp parameter) const {
  if (isa<nn::SplatAttr>(parameter.getSource()))
    return true;
  std::optional<HostTensor> host = readParameter(parameter);
  return host && host->size() > 1 && llvm::all_of(host->floats, [&](double v) {
           return v == host->floats[0];
         });
}

/// The mean of `function` over the elements of a parameter; `otherwise` if they
/// are not known.
double WeightInitializer::meanOf(Value value,
                                 llvm::function_ref<double(double)> function,
                                 double otherwise) const {
  nn::ParameterOp parameter = parameterOf(value);
  if (parameter)
    if (auto splat = dyn_cast<nn::SplatAttr>(parameter.getSource()))
      return function(cast<FloatAttr>(splat.getValue()).getValueAsDouble());
  std::optional<HostTensor> host = readParameter(parameter);
  if (!host)
    return otherwise;
  double sum = 0;
  for (double element : host->floats)
    sum += function(element);
  double mean = sum / static_cast<double>(host->size());
  return std::isfinite(mean) ? mean : otherwise;
}

static double square(double x) { return x * x; }

/// The number of products that are summed up in one result element.
static int64_t fanIn(Operation *op) {
  if (auto conv = dyn_cast<nn::ConvOp>(op)) {
    RankedTensorType type = conv.getWeight().getType();
    return type.getNumElements() / type.getDimSize(0);
  }
  if (auto conv = dyn_cast<nn::ConvBackwardDataOp>(op)) {
    // Every element of dy meets the kernel once, spread over the strides.
    RankedTensorType type = conv.getWeight().getType();
    int64_t products = type.getNumElements() / type.getDimSize(1) /
                       static_cast<int64_t>(conv.getGroups());
    for (int64_t stride : conv.getStrides())
      products = std::max<int64_t>(1, products / stride);
    return products;
  }
  auto matmul = cast<nn::MatMulOp>(op);
  RankedTensorType type = matmul.getB().getType();
  return type.getDimSize(type.getRank() - (matmul.getTransposeB() ? 1 : 2));
}

/// The ONNX tensor that a parameter is (a view of).
static StringRef tensorOf(Operation *parameter) {
  if (auto location = dyn_cast<NameLoc>(parameter->getLoc()))
    return location.getName().getValue();
  return parameter->getAttrOfType<StringAttr>("nn.name").getValue();
}

void WeightInitializer::assign(Value operand, Recipe recipe) {
  nn::ParameterOp parameter = parameterOf(operand);
  if (!parameter || isa<nn::RandomAttr>(parameter.getSource()) ||
      !parameter.getResult().getType().getElementType().isF32())
    return;
  auto known = recipes_.find(tensorOf(parameter));
  if (known != recipes_.end()) {
    parameter.setSourceAttr(known->second);
    return;
  }
  if (!isLeftConstant(parameter))
    return;
  StringRef tensor = tensorOf(parameter);
  Attribute source =
      nn::RandomAttr::get(module_.getContext(), seed_, tensor,
                          recipe.distribution, recipe.a, recipe.b);
  recipes_[tensor] = source;
  parameter.setSourceAttr(source);
}

/// The batch norm that alone reads a value, apart from outputs: a tensor that
/// is shown as an output has to keep its values.
static nn::BatchNormOp batchNormBehind(Value value) {
  nn::BatchNormOp norm;
  for (Operation *user : value.getUsers()) {
    if (isa<nn::OutputOp>(user))
      continue;
    auto reader = dyn_cast<nn::BatchNormOp>(user);
    if (!reader || norm)
      return {};
    norm = reader;
  }
  return norm;
}

double WeightInitializer::assignContraction(Operation *op) {
  // Twice the second moment keeps the scale through a following ReLU: He et
  // al., "Delving deep into rectifiers", 2015, section 2.2. In front of a batch
  // norm with given statistics it is what these were measured on.
  double target = 2;
  if (nn::BatchNormOp norm = batchNormBehind(op->getResult(0))) {
    auto identity = [](double x) { return x; };
    bool given = parameterOf(norm.getVariance()) &&
                 !isLeftConstant(parameterOf(norm.getVariance()));
    double variance = meanOf(norm.getVariance(), identity, target);
    if (given && variance > 0)
      target = variance;
  }
  double products = static_cast<double>(fanIn(op)) * power(op->getOperand(0));
  double deviation = products > 0 ? std::sqrt(target / products) : 0.0;
  if (!std::isfinite(deviation))
    deviation = 1;
  assign(op->getOperand(1), {nn::Distribution::Normal, 0.0, deviation});
  if (op->getNumOperands() > 2)
    assign(op->getOperand(2), shiftRecipe);
  return target;
}

double WeightInitializer::assignBatchNorm(nn::BatchNormOp norm) {
  assign(norm.getScale(), scaleRecipe);
  assign(norm.getBias(), shiftRecipe);
  assign(norm.getMean(), shiftRecipe);
  assign(norm.getVariance(), scaleRecipe);
  // E[((x - mean) / deviation * scale + bias)^2] of independent factors. That
  // of 1 / variance for a uniform variance in [0.5, 1.5] is ln 3.
  double epsilon = norm.getEpsilon().convertToDouble();
  double inverse = meanOf(
      norm.getVariance(),
      [&](double x) { return 1 / std::max(x + epsilon, 1e-12); }, std::log(3));
  double mean = meanOf(norm.getMean(), square, shiftRecipe.meanSquare());
  double scale = meanOf(norm.getScale(), square, scaleRecipe.meanSquare());
  double shift = meanOf(norm.getBias(), square, shiftRecipe.meanSquare());
  return (power(norm.getX()) + mean) * inverse * scale + shift;
}

void WeightInitializer::assignLayer(Operation *layer) {
  // Gates get a variance of about one, so that they are neither linear nor
  // saturated. The operands of all layers are x, both weights and the bias.
  Value x = layer->getOperand(0), recurrent = layer->getOperand(2);
  auto inputs =
      static_cast<double>(cast<RankedTensorType>(x.getType()).getDimSize(2));
  auto hidden = static_cast<double>(
      cast<RankedTensorType>(recurrent.getType()).getDimSize(3));
  double products = inputs * std::max(power(x), 1e-6);
  assign(layer->getOperand(1),
         {nn::Distribution::Normal, 0.0, 1 / std::sqrt(products)});
  assign(recurrent, {nn::Distribution::Normal, 0.0, 1 / std::sqrt(hidden)});
  // A sum of parts of one tensor; of a GRU, with other parts behind it.
  Operation *bias = layer->getOperand(3).getDefiningOp();
  if (auto concat = dyn_cast_or_null<nn::ConcatOp>(bias))
    bias = concat.getInputs().front().getDefiningOp();
  if (auto add = dyn_cast_or_null<nn::AddOp>(bias))
    if (auto half = add.getA().getDefiningOp<nn::SliceOp>())
      assign(half.getX(), shiftRecipe);
}

double WeightInitializer::estimate(Operation *op) {
  if (isa<nn::InputOp>(op))
    return inputPower;
  if (isa<nn::ConvOp, nn::ConvBackwardDataOp, nn::MatMulOp>(op))
    return assignContraction(op);
  if (auto norm = dyn_cast<nn::BatchNormOp>(op))
    return assignBatchNorm(norm);
  if (auto norm = dyn_cast<nn::LayerNormOp>(op)) {
    assign(norm.getScale(), scaleRecipe);
    if (norm.getBias())
      assign(norm.getBias(), shiftRecipe);
    return scaleRecipe.meanSquare() + shiftRecipe.meanSquare();
  }
  if (auto gather = dyn_cast<nn::GatherOp>(op)) {
    constexpr Recipe tableRecipe{nn::Distribution::Normal, 0.0, 1.0};
    assign(gather.getData(), tableRecipe);
    return parameterOf(gather.getData()) ? 1.0 : power(gather.getData());
  }
  if (auto choice = dyn_cast<nn::WhereOp>(op))
    return power(choice.getB());
  if (isa<nn::LSTMOp, nn::GRUOp, nn::RNNOp>(op)) {
    assignLayer(op);
    return 0.25;
  }
  if (isa<nn::ReluOp, nn::GeluOp>(op))
    return power(op->getOperand(0)) / 2;
  if (isa<nn::MaxPoolOp>(op))
    return power(op->getOperand(0)) * 1.5;
  if (isa<nn::SigmoidOp, nn::TanhOp, nn::SoftmaxOp>(op))
    return std::min(power(op->getOperand(0)), 0.5);
  if (isa<nn::ConcatOp>(op)) {
    double sum = 0, elements = 0;
    for (Value operand : op->getOperands()) {
      auto count = static_cast<double>(
          cast<RankedTensorType>(operand.getType()).getNumElements());
      sum += power(operand) * count;
      elements += count;
    }
    return sum / elements;
  }
  if (op->getNumOperands() == 2) {
    // A parameter scales or shifts; activations add up.
    bool scales = isa<nn::MulOp, nn::DivOp>(op);
    const Recipe &recipe = scales ? scaleRecipe : shiftRecipe;
    double moments[2];
    for (unsigned i = 0; i != 2; ++i) {
      Value operand = op->getOperand(i);
      assign(operand, recipe);
      moments[i] = parameterOf(operand)
                       ? meanOf(operand, square, recipe.meanSquare())
                       : power(operand);
    }
    return scales ? moments[0] * moments[1] : moments[0] + moments[1];
  }
  return op->getNumOperands() ? power(op->getOperand(0)) : 1.0;
}

void WeightInitializer::run() {
  auto main = module_.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return;
  for (Operation &op : main.front())
    if (op.getNumResults() != 0) {
      double moment = estimate(&op);
      for (Value result : op.getResults())
        powers_[result] = std::isfinite(moment) ? moment : 1.0;
    }
}

void soap::initializeWeights(ModuleOp module, uint64_t seed,
                             const nn::Files &files) {
  WeightInitializer(module, seed, files).run();
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
      // Of the whole tensor, also where an op reads a part of it.
      int64_t elements = 1;
      for (int64_t size : parameter.getGlobalShape().value_or(
               parameter.getResult().getType().getShape()))
        elements *= size;
      json.attribute("elements", elements);
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
