//===- Registration.cpp - Which operations have gradients -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientSupport.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace soap::nn;

void soap::nn::registerGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NNDialect *) {
    attachElementwiseGradients(context);
    attachContractionGradients(context);
    attachIndexGradients(context);
    attachRecurrentGradients(context);
    attachResizeGradients(context);
    attachShapeGradients(context);
    attachWindowGradients(context);
  });
}
