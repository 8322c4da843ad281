//===- Evaluation.cpp - The evaluation program beside a step --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model that is trained is used, too: with the parameters that the step has
// left, the running statistics of batch norms, and without a loss. This is the
// model as it was before the step was made of it.
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "soap/Dialect/NN/IR/EmptyOutputs.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

OwningOpRef<ModuleOp> soap::nn::createEvaluation(func::FuncOp model) {
  auto outer = model->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> made = ModuleOp::create(model.getLoc(), evaluationName);
  // What the module says of the model, as of outputs without elements.
  for (NamedAttribute attribute : outer->getDiscardableAttrs())
    (*made)->setDiscardableAttr(attribute.getName(), attribute.getValue());
  made->push_back(model->clone());
  return made;
}

void soap::nn::markState(ModuleOp evaluation, func::FuncOp step) {
  llvm::StringSet<> written;
  for (auto write : step.getOps<WriteOp>())
    if (auto parameter = write.getParameter().getDefiningOp<ParameterOp>())
      written.insert(getName(parameter));
  Builder builder(evaluation.getContext());
  for (auto function : evaluation.getOps<func::FuncOp>())
    for (auto parameter : function.getOps<ParameterOp>())
      if (written.contains(getName(parameter)))
        parameter->setAttr(stateAttrName, builder.getUnitAttr());
}
