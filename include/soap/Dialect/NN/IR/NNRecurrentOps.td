//===- NNRecurrentOps.td - Recurrent layers ----------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNRECURRENTOPS_TD
#define SOAP_DIALECT_NN_IR_NNRECURRENTOPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

class NN_RecurrentOp<string mnemonic, list<Trait> traits = []> :
    NN_Op<mnemonic, !listconcat([Pure,
      DeclareOpInterfaceMethods<PartitionOpInterface,
        ["getPartitionSpec", "setLocalAccess", "getFlops", "getBytes"]>],
      traits)> {
  let hasVerifier = 1;
}

def NN_LSTMOp : NN_RecurrentOp<"lstm", [AttrSizedOperandSegments]> {
  let summary = "LSTM layer over a whole sequence";
  let description = [{
    ONNX LSTM. Operands: x (T, N, X), input weight (D, 4, H, X), recurrent
    weight (D, 4, H, H), bias (D, 4, H), first hidden state and first cell state
    (D, N, H), perhaps the lengths of the sequences (N) and a peephole
    (D, 3, H). Results: hidden states of all steps (T, D, N, H), last cell state
    (D, N, H). The gates are, in ONNX's order, input, output, forget and cell:

        i, f = sigmoid(W x_t + R h + p * c + b)    g = tanh(W x_t + R h + b)
        c' = f * c + i * g
        o = sigmoid(W x_t + R h + p * c' + b)      h' = o * tanh(c')

    The peephole p has the order input, output, forget. With `input_forget` f is
    1 - i. What the activations of gates read is bounded to [-`clip`, `clip`]
    (not c', as in onnxruntime; ONNX leaves that open). `activations` replace
    sigmoid and the two tanh, in the order of ONNX, per direction.

    With two directions the second runs backwards; a layer of one direction
    runs backwards if it is `reverse`. Hidden states lie where their inputs do.
    A sample takes part in the steps t < `lengths`: at others it keeps its
    state, which is also what the result holds there (ONNX has zeros). So the
    last hidden state is a slice of the first result.

    `tf32` (nn-lower-precision) says that the factors of W x and R h may be
    rounded to TF32; they are f32 then.

    Loops: `dir n`; x `([T], n, [X])`, weights `(dir, [4], [H], ..)`, bias and
    peephole `(dir, [..], [H])`, states `(dir, n, [H])`, lengths `(n)`, results
    `([T], dir, n, [H])` and `(dir, n, [H])`. Every step needs all of h: the
    hidden dimension is whole.

    Example:

    ```mlir
    %y, %c = nn.lstm %x, %w, %r, %b, %h0, %c0 {nn.name = "encoder1"}
       : (tensor<40x8x512xf32>, tensor<1x4x1024x512xf32>,
          tensor<1x4x1024x1024xf32>, tensor<1x4x1024xf32>,
          tensor<1x8x1024xf32>, tensor<1x8x1024xf32>)
       -> (tensor<40x1x8x1024xf32>, tensor<1x8x1024xf32>)
    ```

    Constraints:
    - all element types but that of the lengths are equal
    - one or two directions; `reverse` only with one
    - operands and results have the shapes above
    - three activations per direction; `clip` is positive
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$input_weight,
      NN_FloatTensor:$recurrent_weight, NN_FloatTensor:$bias,
      NN_FloatTensor:$first_hidden, NN_FloatTensor:$first_cell,
      Optional<NN_IndexTensor>:$lengths, Optional<NN_FloatTensor>:$peephole,
      UnitAttr:$reverse, UnitAttr:$input_forget, OptionalAttr<F32Attr>:$clip,
      OptionalAttr<NN_ActivationArrayAttr>:$activations, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$hidden, NN_FloatTensor:$last_cell);
  let assemblyFormat = [{
    $x `,` $input_weight `,` $recurrent_weight `,` $bias `,` $first_hidden `,`
    $first_cell (`lengths` $lengths^)? (`peephole` $peephole^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def NN_GRUOp : NN_RecurrentOp<"gru"> {
  let summary = "GRU layer over a whole sequence";
  let description = [{
    ONNX GRU. Operands: x (T, N, X), input weight (D, 3, H, X), recurrent weight
    (D, 3, H, H), bias (D, 4, H), first hidden state (D, N, H), perhaps the
    lengths of the sequences (N). Result: hidden states of all steps
    (T, D, N, H). The gates are, in ONNX's order, update, reset and hidden; the
    fourth bias is that of R in the last one:

        z, r = sigmoid(W x_t + R h + b)
        g = tanh(W x_t + b + R (r * h) + b4), or, if `linear_before_reset`,
        g = tanh(W x_t + b + r * (R h + b4))
        h' = (1 - z) * g + z * h

    `clip`, `activations` (two per direction), directions, lengths and `tf32` are
    those of `nn.lstm`.

    Loops: `dir n`, as for `nn.lstm`.

    Example:

    ```mlir
    %y = nn.gru %x, %w, %r, %b, %h0 {nn.name = "encoder1"}
       : (tensor<40x8x512xf32>, tensor<1x3x1024x512xf32>,
          tensor<1x3x1024x1024xf32>, tensor<1x4x1024xf32>,
          tensor<1x8x1024xf32>) -> tensor<40x1x8x1024xf32>
    ```

    Constraints:
    - all element types but that of the lengths are equal
    - one or two directions; `reverse` only with one
    - operands and result have the shapes above
    - two activations per direction; `clip` is positive
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$input_weight,
      NN_FloatTensor:$recurrent_weight, NN_FloatTensor:$bias,
      NN_FloatTensor:$first_hidden, Optional<NN_IndexTensor>:$lengths,
      UnitAttr:$reverse, UnitAttr:$linear_before_reset,
      OptionalAttr<F32Attr>:$clip,
      OptionalAttr<NN_ActivationArrayAttr>:$activations, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$hidden);
  let assemblyFormat = [{
    $x `,` $input_weight `,` $recurrent_weight `,` $bias `,` $first_hidden
    (`lengths` $lengths^)? attr-dict `:` functional-type(operands, results)
  }];
}

def NN_RNNOp : NN_RecurrentOp<"rnn"> {
  let summary = "Plain recurrent layer over a whole sequence";
  let description = [{
    ONNX RNN: h' = tanh(W x_t + R h + b). Operands: x (T, N, X), input weight
    (D, 1, H, X), recurrent weight (D, 1, H, H), bias (D, 1, H), first hidden
    state (D, N, H), perhaps the lengths of the sequences (N). Result: hidden
    states of all steps (T, D, N, H). `clip`, `activations` (one per direction),
    directions, lengths and `tf32` are those of `nn.lstm`.

    Loops: `dir n`, as for `nn.lstm`.

    Example:

    ```mlir
    %y = nn.rnn %x, %w, %r, %b, %h0 {nn.name = "encoder1"}
       : (tensor<40x8x512xf32>, tensor<1x1x1024x512xf32>,
          tensor<1x1x1024x1024xf32>, tensor<1x1x1024xf32>,
          tensor<1x8x1024xf32>) -> tensor<40x1x8x1024xf32>
    ```

    Constraints:
    - all element types but that of the lengths are equal
    - one or two directions; `reverse` only with one
    - operands and result have the shapes above
    - one activation per direction; `clip` is positive
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$input_weight,
      NN_FloatTensor:$recurrent_weight, NN_FloatTensor:$bias,
      NN_FloatTensor:$first_hidden, Optional<NN_IndexTensor>:$lengths,
      UnitAttr:$reverse, OptionalAttr<F32Attr>:$clip,
      OptionalAttr<NN_ActivationArrayAttr>:$activations, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$hidden);
  let assemblyFormat = [{
    $x `,` $input_weight `,` $recurrent_weight `,` $bias `,` $first_hidden
    (`lengths` $lengths^)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif // SOAP_DIALECT_NN_IR_NNRECURRENTOPS_TD
