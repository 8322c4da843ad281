//===- RecurrentActivations.cpp - Activations of layers ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::AttributeProto;

namespace {
/// An activation of ONNX, the op's, how many numbers it takes (alpha, or alpha
/// and beta) and their defaults.
struct ActivationForm {
  llvm::StringLiteral name;
  nn::ActivationKind kind;
  int numbers;
  float alpha, beta;
};
} // namespace

static constexpr ActivationForm activationForms[] = {
    {"Relu", nn::ActivationKind::Relu, 0, 0, 0},
    {"Tanh", nn::ActivationKind::Tanh, 0, 0, 0},
    {"Sigmoid", nn::ActivationKind::Sigmoid, 0, 0, 0},
    {"Affine", nn::ActivationKind::Affine, 2, 1, 0},
    {"LeakyRelu", nn::ActivationKind::LeakyRelu, 1, 0.01f, 0},
    {"ThresholdedRelu", nn::ActivationKind::ThresholdedRelu, 1, 1, 0},
    {"ScaledTanh", nn::ActivationKind::ScaledTanh, 2, 1, 1},
    {"HardSigmoid", nn::ActivationKind::HardSigmoid, 2, 0.2f, 0.5f},
    {"Elu", nn::ActivationKind::Elu, 1, 1, 0},
    {"Softsign", nn::ActivationKind::Softsign, 0, 0, 0},
    {"Softplus", nn::ActivationKind::Softplus, 0, 0, 0},
};

FailureOr<ArrayAttr> soap::onnx_import::readActivations(NodeContext &node,
                                                        int64_t gates,
                                                        int64_t directions) {
  const AttributeProto *list = node.find("activations");
  if (!list)
    return ArrayAttr();
  static constexpr llvm::StringLiteral ofLSTM[] = {"Sigmoid", "Tanh", "Tanh"};
  llvm::ArrayRef<llvm::StringLiteral> defaults = ofLSTM;
  if (gates == 3)
    defaults = defaults.drop_back();
  if (gates == 1)
    defaults = defaults.take_back();
  auto count = static_cast<int>(defaults.size());
  if (list->strings_size() != count * directions)
    return node.fail("expected " + llvm::Twine(count * directions) +
                     " activations, got: " + llvm::Twine(list->strings_size()));
  const AttributeProto *alphas = node.find("activation_alpha");
  const AttributeProto *betas = node.find("activation_beta");
  int alpha = 0, beta = 0;
  auto next = [](const AttributeProto *given, int &at, bool isUsed,
                 float otherwise) {
    return isUsed && given && at < given->floats_size() ? given->floats(at++)
                                                        : otherwise;
  };
  bool isDefault = true;
  SmallVector<Attribute> result;
  for (int i = 0; i != list->strings_size(); ++i) {
    llvm::StringRef name = list->strings(i);
    isDefault &=
        name.equals_insensitive(defaults[static_cast<size_t>(i % count)]);
    const auto *form = llvm::find_if(activationForms, [&](const auto &each) {
      return name.equals_insensitive(each.name);
    });
    if (form == std::end(activationForms))
      return node.fail("expected an activation of ONNX, got: '" + name.str() +
                       "'");
    float a = next(alphas, alpha, form->numbers >= 1, form->alpha);
    float b = next(betas, beta, form->numbers >= 2, form->beta);
    if (!std::isfinite(a) || !std::isfinite(b))
      return node.fail("expected finite activation_alpha and activation_beta, "
                       "got: others");
    result.push_back(nn::ActivationAttr::get(node.builder().getContext(),
                                             form->kind, static_cast<double>(a),
                                             static_cast<double>(b)));
  }
  if (isDefault)
    return ArrayAttr();
  return node.builder().getArrayAttr(result);
}
