//===- NNElementwiseOps.td - Operations per element --------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNELEMENTWISEOPS_TD
#define SOAP_DIALECT_NN_IR_NNELEMENTWISEOPS_TD

include "soap/Dialect/NN/IR/NNBase.td"

class NN_BinaryOp<string mnemonic, string onnx, string meaning> :
    NN_PureOp<mnemonic> {
  let summary = meaning # ", per element";
  let description = [{
    ONNX }] # onnx # [{. Dimensions broadcast as in numpy, aligned on the right.

    Loops: `d0 .. dk` of the result; operands and result `(d0, .., dk)`; an
    operand's dimension that is broadcast uses no loop.

    Example:

    ```mlir
    %2 = nn.}] # mnemonic # [{ %a, %b {nn.name = "}] # mnemonic # [{1"}
       : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    ```

    Constraints:
    - operands and result have the same element type
    - the result has the shape to which the operands broadcast
  }];
  let arguments = (ins NN_Tensor:$a, NN_Tensor:$b);
  let assemblyFormat = [{
    $a `,` $b attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDefinition = [{
    ::soap::PartitionSpec $cppClass::getPartitionSpec() {
      return ::soap::nn::detail::elementwiseSpec(*this);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::soap::nn::detail::verifyBroadcast(*this);
    }
  }];
  let hasVerifier = 1;
}

def NN_AddOp : NN_BinaryOp<"add", "Add and Sum", "a + b">;
def NN_SubOp : NN_BinaryOp<"sub", "Sub", "a - b">;
def NN_MulOp : NN_BinaryOp<"mul", "Mul", "a * b">;
def NN_DivOp : NN_BinaryOp<"div", "Div", "a / b">;
def NN_MaxOp : NN_BinaryOp<"max", "Max", "max(a, b)">;
def NN_MinOp : NN_BinaryOp<"min", "Min", "min(a, b)">;

class NN_UnaryOp<string mnemonic, string onnx, string meaning,
                 dag attributes = (ins)> :
    NN_PureOp<mnemonic, [SameOperandsAndResultType]> {
  let summary = meaning # ", per element";
  let description = [{
    ONNX }] # onnx # [{.

    Loops: `d0 .. dk`; operand and result `(d0, .., dk)`.

    Example:

    ```mlir
    %1 = nn.}] # mnemonic # [{ %x {nn.name = "}] # mnemonic # [{1"} : tensor<8x64xf32>
    ```
  }];
  let arguments = !con((ins NN_FloatTensor:$x), attributes);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let extraClassDefinition = [{
    ::soap::PartitionSpec $cppClass::getPartitionSpec() {
      return ::soap::nn::detail::elementwiseSpec(*this);
    }
  }];
}

def NN_ReluOp : NN_UnaryOp<"relu", "Relu", "max(x, 0)">;
def NN_SigmoidOp : NN_UnaryOp<"sigmoid", "Sigmoid", "1 / (1 + exp(-x))">;
def NN_TanhOp : NN_UnaryOp<"tanh", "Tanh", "tanh(x)">;
def NN_SqrtOp : NN_UnaryOp<"sqrt", "Sqrt", "square root of x">;

def NN_ClipOp : NN_PureOp<"clip", [SameOperandsAndResultType]> {
  let summary = "min(max(x, min), max), per element";
  let description = [{
    ONNX Clip. A bound that the model leaves open is infinite.

    Loops: `d0 .. dk`; operand and result `(d0, .., dk)`.

    Example:

    ```mlir
    %1 = nn.clip %x {nn.name = "relu6", min = 0.0 : f32, max = 6.0 : f32}
       : tensor<8x64xf32>
    ```

    Constraints:
    - neither bound is NaN
  }];
  let arguments = (ins NN_FloatTensor:$x, F32Attr:$min, F32Attr:$max);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNELEMENTWISEOPS_TD
