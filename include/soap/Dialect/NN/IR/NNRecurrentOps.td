//===- NNRecurrentOps.td - Recurrent layers ----------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNRECURRENTOPS_TD
#define SOAP_DIALECT_NN_IR_NNRECURRENTOPS_TD

include "soap/Dialect/NN/IR/NNBase.td"

def NN_LSTMOp : NN_Op<"lstm", [Pure,
    DeclareOpInterfaceMethods<PartitionOpInterface,
      ["getPartitionSpec", "setLocalAccess", "getFlops", "getBytes"]>]> {
  let summary = "LSTM layer over a whole sequence";
  let description = [{
    ONNX LSTM with its default activations. Operands: x (T, N, X), input weight
    (D, 4, H, X), recurrent weight (D, 4, H, H), bias (D, 4, H), first hidden
    state and first cell state (D, N, H). Results: hidden states of all steps
    (T, D, N, H), last cell state (D, N, H). The gates are, in ONNX's order,
    input, output, forget and cell:

        i, o, f = sigmoid(W x_t + R h + b)   g = tanh(W x_t + R h + b)
        c' = f * c + i * g                   h' = o * tanh(c')

    With two directions the second runs backwards; a layer of one direction
    runs backwards if it is `reverse`. Hidden states lie where their inputs do.
    The last hidden state is a slice of the first result.

    Loops: `dir n`; x `([T], n, [X])`, weights `(dir, [4], [H], ..)`, bias
    `(dir, [4], [H])`, states `(dir, n, [H])`, results `([T], dir, n, [H])` and
    `(dir, n, [H])`. Every step needs all of h: the hidden dimension is whole.

    Example:

    ```mlir
    %y, %c = nn.lstm %x, %w, %r, %b, %h0, %c0 {nn.name = "encoder1"}
       : (tensor<40x8x512xf32>, tensor<1x4x1024x512xf32>,
          tensor<1x4x1024x1024xf32>, tensor<1x4x1024xf32>,
          tensor<1x8x1024xf32>, tensor<1x8x1024xf32>)
       -> (tensor<40x1x8x1024xf32>, tensor<1x8x1024xf32>)
    ```

    Constraints:
    - all element types are equal
    - one or two directions; `reverse` only with one
    - operands and results have the shapes above
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$input_weight,
      NN_FloatTensor:$recurrent_weight, NN_FloatTensor:$bias,
      NN_FloatTensor:$first_hidden, NN_FloatTensor:$first_cell,
      UnitAttr:$reverse);
  let results = (outs NN_FloatTensor:$hidden, NN_FloatTensor:$last_cell);
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNRECURRENTOPS_TD
