//===- NNContractionOps.td - Convolution and matrix product --*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNCONTRACTIONOPS_TD
#define SOAP_DIALECT_NN_IR_NNCONTRACTIONOPS_TD

include "soap/Dialect/NN/IR/NNBase.td"

def NN_ConvOp : NN_PureOp<"conv", [],
    ["buildLocal", "setLocalAccess", "getFlops", "getBytes", "appendKernelKey"]> {
  let summary = "Convolution";
  let description = [{
    ONNX Conv: input (N, C, spatial...), weight (F, C/G, K...), optional bias
    (F), result (N, F, spatial...); 1 to 3 spatial dimensions. Pads are explicit
    and may differ on the two sides; they are zeros. Result dimension i is
    `(input + pads_lo + pads_hi - dilation*(K-1) - 1) / stride + 1`.

    Loops without groups: `n f h w`, R: `c`; input
    `(n, c, h*s+[-p, max((K-1)d, s-1)-p], ...)`, weight `(f, c, [K], [K])`, bias `(f)`
    (first part of a reduction only), result `(n, f, h, w)`, parts are summed.

    Loops with G groups, C' = C/G and F' = F/G: `n g h w`; input
    `(n, g*C'+[0, C'-1], ...)`, weight `(g*F'+[0, F'-1], [C'], [K], [K])`, bias
    and result `g*F'+[0, F'-1]`.

    Example:

    ```mlir
    %1 = nn.conv %x, %w bias %b {nn.name = "conv1",
           strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
           pads_lo = array<i64: 3, 3>, pads_hi = array<i64: 3, 3>}
       : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>)
       -> tensor<1x64x112x112xf32>
    ```

    Constraints:
    - all element types are equal, but for operands of f16 and bf16 the result is
      f32, and the bias may be
    - integers of 8 bits, of which one may have a sign and the other none, may
      have a result and a bias of i32: they are widened before they are
      multiplied
    - `tf32` (nn-lower-precision) says that factors may be rounded to TF32; they
      are f32 then
    - input and weight have the same rank, 3 to 5
    - one stride, dilation and pad per spatial dimension; strides and dilations
      are positive, pads not negative
    - `groups` divides the channels of input and result
    - weight and bias have the shapes above, the result is as computed above
  }];
  let arguments = (ins NN_NumberTensor:$input, NN_NumberTensor:$weight,
      Optional<NN_NumberTensor>:$bias,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_lo, DenseI64ArrayAttr:$pads_hi,
      DefaultValuedAttr<I64Attr, "1">:$groups, UnitAttr:$tf32);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_ConvBackwardDataOp : NN_PureOp<"conv_backward_data", [],
    ["buildLocal", "setLocalAccess", "getFlops", "appendKernelKey"]> {
  let summary = "Gradient of a convolution's input; transposed convolution";
  let description = [{
    ONNX ConvTranspose. For the convolution of a result-shaped tensor (N, C,
    spatial...) with weight (F, C/G, K...) that gives dy (N, F, spatial...):
    element h of the result is the sum over all positions o of dy and k of the
    kernel with `o*stride = h + pads_lo - k*dilation`, plus the optional bias
    (C). The result shape is explicit: what output_padding adds is part of it.

    Loops without groups: `n c h w`, R: `f`; dy
    `(n, f, floor((h+[min(p-(K-1)d+s-1, p), p])/s), ...)`, weight
    `(f, c, [K], [K])`, bias `(c)` (first part of a reduction only), result
    `(n, c, h, w)`, parts are summed.

    Loops with G groups, C' = C/G and F' = F/G: `n g h w`; dy
    `(n, g*F'+[0, F'-1], ...)`, weight `(g*F'+[0, F'-1], [C'], [K], [K])`, bias
    and result `g*C'+[0, C'-1]`.

    Example:

    ```mlir
    %1 = nn.conv_backward_data %dy, %w bias %b {nn.name = "up1",
           strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
           pads_lo = array<i64: 0, 0>}
       : (tensor<1x64x28x28xf32>, tensor<64x32x2x2xf32>, tensor<32xf32>)
       -> tensor<1x32x56x56xf32>
    ```

    Constraints:
    - all element types are equal, but for operands of f16 and bf16 the result is
      f32, and the bias may be
    - `tf32` (nn-lower-precision) says that factors may be rounded to TF32; they
      are f32 then
    - dy, weight and result have the same rank, 3 to 5
    - one stride, dilation and pad per spatial dimension; strides and dilations
      are positive, pads not negative
    - `groups` divides the channels of dy and result
    - weight and bias have the shapes above
  }];
  let arguments = (ins NN_NumberTensor:$dy, NN_NumberTensor:$weight,
      Optional<NN_NumberTensor>:$bias,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_lo,
      DefaultValuedAttr<I64Attr, "1">:$groups, UnitAttr:$tf32);
  let assemblyFormat = [{
    $dy `,` $weight (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_MatMulOp : NN_PureOp<"matmul", [], ["getFlops"]> {
  let summary = "Batched matrix product";
  let description = [{
    ONNX MatMul and Gemm: `alpha * a x b + bias` with a (B..., N, K), b
    (B..., K, F), optional bias (F), result (B..., N, F). `transpose_a` and
    `transpose_b` say that the last two dimensions of an operand are exchanged:
    a is (B..., K, N), b is (B..., F, K). Batch dimensions broadcast as in
    numpy, aligned on the right.

    Loops: `b0 .. n f`, R: `k`; a `(b.., n, k)`, b `(b.., k, f)`, bias `(f)`
    (first part of a reduction only), result `(b.., n, f)`, parts are summed. A
    batch dimension that is broadcast uses no loop.

    Example:

    ```mlir
    %1 = nn.matmul %x, %w bias %b {nn.name = "fc6", transpose_b}
       : (tensor<8x9216xf32>, tensor<4096x9216xf32>, tensor<4096xf32>)
       -> tensor<8x4096xf32>
    ```

    Constraints:
    - all element types are equal, but for operands of f16 and bf16 the result is
      f32, and the bias may be
    - integers of 8 bits, of which one may have a sign and the other none, may
      have a result and a bias of i32: they are widened before they are
      multiplied
    - `tf32` (nn-lower-precision) says that factors may be rounded to TF32; they
      are f32 then
    - both operands have a rank of 2 or more
    - both operands have the same K
    - `alpha` is 1 for integers
    - batch dimensions broadcast, bias and result have the shapes above
  }];
  let arguments = (ins NN_NumberTensor:$a, NN_NumberTensor:$b,
      Optional<NN_NumberTensor>:$bias,
      UnitAttr:$transpose_a, UnitAttr:$transpose_b,
      DefaultValuedAttr<F32Attr, "1.0f">:$alpha, UnitAttr:$tf32);
  let assemblyFormat = [{
    $a `,` $b (`bias` $bias^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNCONTRACTIONOPS_TD
