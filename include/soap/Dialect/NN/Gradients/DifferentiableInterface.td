//===- DifferentiableInterface.td - Gradients of an op -----*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_GRADIENTS_DIFFERENTIABLEINTERFACE_TD
#define SOAP_DIALECT_NN_GRADIENTS_DIFFERENTIABLEINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::soap::nn";
  let description = [{
    Says how the gradients of an operation's operands follow from those of its
    results (reverse mode). Operations without it have no gradient; a loss that
    depends on a parameter through one is an error of `nn-build-training-step`.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the gradients of the operands for which `isNeeded` says true, in
        their types, and returns one value per operand: null where the result
        does not depend on the operand (or only in steps). `results` are the
        gradients of the results, null where the loss depends on no element of
        one; at least one is not. Fails, with an error on the operation, for a
        mode that has no gradient here.
      }],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildGradients",
      (ins "::soap::nn::GradientBuilder &":$builder,
           "::llvm::ArrayRef<::mlir::Value>":$results,
           "const ::llvm::BitVector &":$isNeeded)>,
  ];
}

#endif // SOAP_DIALECT_NN_GRADIENTS_DIFFERENTIABLEINTERFACE_TD
