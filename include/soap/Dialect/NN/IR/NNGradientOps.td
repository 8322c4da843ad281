//===- NNGradientOps.td - Operations of gradients ----------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNGRADIENTOPS_TD
#define SOAP_DIALECT_NN_IR_NNGRADIENTOPS_TD

include "soap/Dialect/NN/IR/NNBase.td"

def NN_ConvBackwardFilterOp : NN_PureOp<"conv_backward_filter", [],
    ["buildLocal", "setLocalAccess", "getFlops", "appendKernelKey"]> {
  let summary = "Gradient of a convolution's weight";
  let description = [{
    For the convolution of x (N, C, spatial...) with a weight (F, C/G, K...) that
    gives y, of which dy (N, F, spatial...) is the gradient: element k of the
    result is the sum over samples and positions o of
    `x[o*stride + k*dilation - pads_lo] * dy[o]`; x is zero outside.

    Loops without groups: `f c`, R: `n h w`, declared as `n f h w c`; x
    `(n, c, h*s+[-p, max((K-1)d, s-1)-p], ...)`, dy `(n, f, h, w)`, result
    `(f, c, [K], [K])`, parts are summed.

    Loops with G groups, C' = C/G and F' = F/G: `g`, R: `n h w`, declared as
    `n g h w`; x `(n, g*C'+[0, C'-1], ...)`, dy `(n, g*F'+[0, F'-1], h, w)`,
    result `(g*F'+[0, F'-1], [C'], [K], [K])`.

    Example:

    ```mlir
    %dw = nn.conv_backward_filter %x, %dy {nn.name = "conv1.grad",
            strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
            pads_lo = array<i64: 3, 3>}
        : (tensor<8x3x224x224xf32>, tensor<8x64x112x112xf32>)
        -> tensor<64x3x7x7xf32>
    ```

    Constraints:
    - all element types are equal, but the result is f32 for operands of f16 and
      bf16
    - `tf32` (nn-lower-precision) says that factors may be rounded to TF32; they
      are f32 then
    - x, dy and result have the same rank, 3 to 5; x and dy as many samples
    - one stride, dilation and pad per spatial dimension; strides and dilations
      are positive, pads not negative
    - `groups` divides the channels of x and dy
    - the result has the shape (F, C/G, K...)
  }];
  let arguments = (ins NN_NumberTensor:$x, NN_NumberTensor:$dy,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_lo, DefaultValuedAttr<I64Attr, "1">:$groups,
      UnitAttr:$tf32);
  let assemblyFormat = [{
    $x `,` $dy attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_MaxPoolBackwardOp : NN_PureOp<"max_pool_backward", [],
    ["buildLocal", "setLocalAccess", "getFlops"]> {
  let summary = "Gradient of a maximum over windows";
  let description = [{
    For the `nn.max_pool` of x with these windows, of whose result dy is the
    gradient: every element of dy goes to the first element of its window, in
    row-major order, that is the window's maximum.

    A tile reads x around its own elements, so far that all windows that reach
    them are whole: its result starts `offsets` elements (by default: none)
    behind its x, in the spatial dimensions. `pads_lo` is where the first window
    starts before x; negative: behind its start.

    Loops: `n c h w` of the result; x `(n, c, h+[-(K-1)d, (K-1)d], ...)`, dy
    `(n, c, floor((h+[min(p-(K-1)d+s-1, p), p])/s), ...)`.

    Example:

    ```mlir
    %dx = nn.max_pool_backward %x, %dy {nn.name = "pool1.grad",
            kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>,
            dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>}
        : (tensor<1x64x112x112xf32>, tensor<1x64x56x56xf32>)
        -> tensor<1x64x112x112xf32>
    ```

    Constraints:
    - all element types are equal
    - a rank of 3 to 5; as many samples and channels on x, dy and result
    - one kernel size, stride, dilation, pad and offset per spatial dimension;
      kernel sizes, strides and dilations are positive, offsets not negative
    - the result lies inside of x
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$dy,
      DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_lo,
      OptionalAttr<DenseI64ArrayAttr>:$offsets);
  let assemblyFormat = [{
    $x `,` $dy attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNGRADIENTOPS_TD
