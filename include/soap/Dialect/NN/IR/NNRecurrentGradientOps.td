//===- NNRecurrentGradientOps.td - Recurrent layers, back --*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNRECURRENTGRADIENTOPS_TD
#define SOAP_DIALECT_NN_IR_NNRECURRENTGRADIENTOPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

class NN_RecurrentGradientOp<string mnemonic, list<Trait> traits = []> :
    NN_Op<mnemonic, !listconcat([Pure,
      DeclareOpInterfaceMethods<PartitionOpInterface,
        ["getPartitionSpec", "setLocalAccess", "getFlops", "getBytes"]>],
      traits)> {
  let hasVerifier = 1;
}

def NN_LSTMBackwardOp :
    NN_RecurrentGradientOp<"lstm_backward", [AttrSizedOperandSegments]> {
  let summary = "Gradients within an LSTM layer, through all steps";
  let description = [{
    Backpropagation through time (Werbos 1990, "Backpropagation through time:
    what it does and how to do it") for an `nn.lstm` with the same attributes:
    what has to go from step to step. The gradients of weights, bias and x are
    products and sums of the results, for other operations.

    Operands: those of the layer, its first result `hidden` (T, D, N, H), and
    the gradients of its results: of all hidden states (T, D, N, H) and of the
    last cell state (D, N, H). The gates and cell states are computed again, so
    that the layer keeps its hidden states alone.

    Results: `gates` (D, N, T, 4, H), the gradients of what is added up in each
    gate before its bounds and its activation, in the order of `nn.lstm`;
    `states` (D, N, T, H), the hidden state before each step, which the recurrent
    weight is multiplied with; the gradients of the first hidden and the first
    cell state (D, N, H); with a peephole, its gradient (D, 3, H). Steps in which
    a sample takes no part have gradients of 0. `tf32` is that of `nn.lstm`, here
    and of the other layers.

    Loops: `dir n`, as for `nn.lstm`; `gates` and `states` `(dir, n, ..)`, the
    gradient of a peephole `(dir, [3], [H])`, of which parts are summed.

    Example:

    ```mlir
    %dg, %s, %dh0, %dc0 = nn.lstm_backward %x, %w, %r, %b, %h0, %c0, %y, %dy,
        %dc {nn.name = "encoder1.grad"}
       : (tensor<40x8x512xf32>, tensor<1x4x1024x512xf32>,
          tensor<1x4x1024x1024xf32>, tensor<1x4x1024xf32>,
          tensor<1x8x1024xf32>, tensor<1x8x1024xf32>,
          tensor<40x1x8x1024xf32>, tensor<40x1x8x1024xf32>,
          tensor<1x8x1024xf32>)
       -> (tensor<1x8x40x4x1024xf32>, tensor<1x8x40x1024xf32>,
           tensor<1x8x1024xf32>, tensor<1x8x1024xf32>)
    ```

    Constraints:
    - all element types but that of the lengths are equal, but the gradient of a
      peephole is f32 for operands of f16 and bf16
    - one or two directions; `reverse` only with one
    - operands and results have the shapes above
    - a gradient of the peephole if there is a peephole
    - three activations per direction; `clip` is positive
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$input_weight,
      NN_FloatTensor:$recurrent_weight, NN_FloatTensor:$bias,
      NN_FloatTensor:$first_hidden, NN_FloatTensor:$first_cell,
      NN_FloatTensor:$hidden, NN_FloatTensor:$d_hidden,
      NN_FloatTensor:$d_last_cell, Optional<NN_IndexTensor>:$lengths,
      Optional<NN_FloatTensor>:$peephole, UnitAttr:$reverse,
      UnitAttr:$input_forget, OptionalAttr<F32Attr>:$clip,
      OptionalAttr<NN_ActivationArrayAttr>:$activations, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$gates, NN_FloatTensor:$states,
      NN_FloatTensor:$d_first_hidden, NN_FloatTensor:$d_first_cell,
      Optional<NN_FloatTensor>:$d_peephole);
  let assemblyFormat = [{
    $x `,` $input_weight `,` $recurrent_weight `,` $bias `,` $first_hidden `,`
    $first_cell `,` $hidden `,` $d_hidden `,` $d_last_cell
    (`lengths` $lengths^)? (`peephole` $peephole^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def NN_GRUBackwardOp : NN_RecurrentGradientOp<"gru_backward"> {
  let summary = "Gradients within a GRU layer, through all steps";
  let description = [{
    What `nn.lstm_backward` is for `nn.lstm`, for an `nn.gru`. Operands: those of
    the layer but for the lengths, its result (T, D, N, H), the gradient of that,
    and perhaps the lengths. Results: `gates` (D, N, T, 3, H), `states`
    (D, N, T, H), `reset` (D, N, T, H) and the gradient of the first hidden state
    (D, N, H).

    `gates` are the gradients of what x and the first three biases are added to.
    In the third gate the recurrent weight is multiplied with r * h, which is
    `reset`. With `linear_before_reset` it is multiplied with h, as in the
    others, and `reset` is the gradient of this product (and of the fourth bias).

    Loops: `dir n`, as for `nn.lstm_backward`.

    Example:

    ```mlir
    %dg, %s, %rh, %dh0 = nn.gru_backward %x, %w, %r, %b, %h0, %y, %dy
       {nn.name = "encoder1.grad"}
       : (tensor<40x8x512xf32>, tensor<1x3x1024x512xf32>,
          tensor<1x3x1024x1024xf32>, tensor<1x4x1024xf32>,
          tensor<1x8x1024xf32>, tensor<40x1x8x1024xf32>,
          tensor<40x1x8x1024xf32>)
       -> (tensor<1x8x40x3x1024xf32>, tensor<1x8x40x1024xf32>,
           tensor<1x8x40x1024xf32>, tensor<1x8x1024xf32>)
    ```

    Constraints:
    - all element types but that of the lengths are equal
    - one or two directions; `reverse` only with one
    - operands and results have the shapes above
    - two activations per direction; `clip` is positive
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$input_weight,
      NN_FloatTensor:$recurrent_weight, NN_FloatTensor:$bias,
      NN_FloatTensor:$first_hidden, NN_FloatTensor:$hidden,
      NN_FloatTensor:$d_hidden, Optional<NN_IndexTensor>:$lengths,
      UnitAttr:$reverse, UnitAttr:$linear_before_reset,
      OptionalAttr<F32Attr>:$clip,
      OptionalAttr<NN_ActivationArrayAttr>:$activations, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$gates, NN_FloatTensor:$states,
      NN_FloatTensor:$reset, NN_FloatTensor:$d_first_hidden);
  let assemblyFormat = [{
    $x `,` $input_weight `,` $recurrent_weight `,` $bias `,` $first_hidden `,`
    $hidden `,` $d_hidden (`lengths` $lengths^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def NN_RNNBackwardOp : NN_RecurrentGradientOp<"rnn_backward"> {
  let summary = "Gradients within a plain recurrent layer, through all steps";
  let description = [{
    What `nn.lstm_backward` is for `nn.lstm`, for an `nn.rnn`. Operands: those of
    the layer but for the lengths, its result (T, D, N, H), the gradient of that,
    and perhaps the lengths. Results: `gates` (D, N, T, 1, H), `states`
    (D, N, T, H) and the gradient of the first hidden state (D, N, H).

    Loops: `dir n`, as for `nn.lstm_backward`.

    Example:

    ```mlir
    %dg, %s, %dh0 = nn.rnn_backward %x, %w, %r, %b, %h0, %y, %dy
       {nn.name = "encoder1.grad"}
       : (tensor<40x8x512xf32>, tensor<1x1x1024x512xf32>,
          tensor<1x1x1024x1024xf32>, tensor<1x1x1024xf32>,
          tensor<1x8x1024xf32>, tensor<40x1x8x1024xf32>,
          tensor<40x1x8x1024xf32>)
       -> (tensor<1x8x40x1x1024xf32>, tensor<1x8x40x1024xf32>,
           tensor<1x8x1024xf32>)
    ```

    Constraints:
    - all element types but that of the lengths are equal
    - one or two directions; `reverse` only with one
    - operands and results have the shapes above
    - one activation per direction; `clip` is positive
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$input_weight,
      NN_FloatTensor:$recurrent_weight, NN_FloatTensor:$bias,
      NN_FloatTensor:$first_hidden, NN_FloatTensor:$hidden,
      NN_FloatTensor:$d_hidden, Optional<NN_IndexTensor>:$lengths,
      UnitAttr:$reverse, OptionalAttr<F32Attr>:$clip,
      OptionalAttr<NN_ActivationArrayAttr>:$activations, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$gates, NN_FloatTensor:$states,
      NN_FloatTensor:$d_first_hidden);
  let assemblyFormat = [{
    $x `,` $input_weight `,` $recurrent_weight `,` $bias `,` $first_hidden `,`
    $hidden `,` $d_hidden (`lengths` $lengths^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif // SOAP_DIALECT_NN_IR_NNRECURRENTGRADIENTOPS_TD
