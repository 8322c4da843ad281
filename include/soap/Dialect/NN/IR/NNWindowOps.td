//===- NNWindowOps.td - Pooling, reduction, normalisation --*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNWINDOWOPS_TD
#define SOAP_DIALECT_NN_IR_NNWINDOWOPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

def NN_MaxPoolOp : NN_PureOp<"max_pool", [],
    ["setLocalAccess", "getFlops", "getBytes"]> {
  let summary = "Maximum over windows";
  let description = [{
    ONNX MaxPool: input and result (N, C, spatial...). Padding is -inf. The
    result shape is explicit: what ceil_mode adds is part of `pads_hi`.

    Loops: `n c h w`; input `(n, c, h*s+[-p, max((K-1)d, s-1)-p], ...)`.

    Example:

    ```mlir
    %1 = nn.max_pool %x {nn.name = "pool1", kernel = array<i64: 3, 3>,
           strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
           pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 1, 1>}
       : (tensor<1x64x112x112xf32>) -> tensor<1x64x56x56xf32>
    ```

    Constraints:
    - a rank of 3 to 5; one kernel size, stride, dilation and pad per spatial
      dimension; kernel sizes, strides and dilations are positive
    - pads are not negative and smaller than the window: each window reaches the
      input
    - the result shape is as computed for `nn.conv`
  }];
  let arguments = (ins NN_NumberTensor:$input, DenseI64ArrayAttr:$kernel,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_lo, DenseI64ArrayAttr:$pads_hi);
  let assemblyFormat = [{
    $input attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_AvgPoolOp : NN_PureOp<"avg_pool", [],
    ["setLocalAccess", "getFlops", "getBytes"]> {
  let summary = "Average over windows";
  let description = [{
    ONNX AveragePool: as `nn.max_pool`, with padding 0. A window is divided by
    the number of its positions inside the input or inside the counted padding:
    the `counted_lo` and `counted_hi` elements next to the input (all zero for
    count_include_pad = 0; never what ceil_mode adds). Dilated windows that
    count none (they step over the input) give 0, as in onnxruntime.

    Loops: `n c h w`; input `(n, c, h*s+[-p, max((K-1)d, s-1)-p], ...)`. Counted pads of a
    tile are those that its windows can reach.

    Example:

    ```mlir
    %1 = nn.avg_pool %x {nn.name = "pool5", kernel = array<i64: 7, 7>,
           strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
           pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>,
           counted_lo = array<i64: 0, 0>, counted_hi = array<i64: 0, 0>}
       : (tensor<1x1024x7x7xf32>) -> tensor<1x1024x1x1xf32>
    ```

    Constraints:
    - as `nn.max_pool`
    - counted pads are not negative and not larger than the pads
  }];
  let arguments = (ins NN_FloatTensor:$input, DenseI64ArrayAttr:$kernel,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_lo, DenseI64ArrayAttr:$pads_hi,
      DenseI64ArrayAttr:$counted_lo, DenseI64ArrayAttr:$counted_hi);
  let assemblyFormat = [{
    $input attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

def NN_ReduceOp : NN_PureOp<"reduce", [], ["getFlops"]> {
  let summary = "Reduction over dimensions";
  let description = [{
    ONNX ReduceSum, ReduceProd, ReduceMax, ReduceMin; ReduceMean and
    GlobalAveragePool are sums with `scale` 1/count. The scale is that of the
    whole reduction, in every tile. With `keepdims` reduced dimensions stay,
    with size 1.

    Loops: `d0 .. dk` of the input without the reduced, R: the reduced; input
    `(d0, .., dk)`; parts are joined by the kind.

    Example:

    ```mlir
    %1 = nn.reduce %x {nn.name = "gap", kind = #nn.reduce_kind<sum>,
           axes = array<i64: 2, 3>, keepdims = true, scale = 0.25 : f32}
       : (tensor<1x64x2x2xf32>) -> tensor<1x64x1x1xf32>
    ```

    Constraints:
    - axes are ascending, inside the rank
    - `scale` is 1 unless the kind is sum
    - `scale` is 1 for integers
    - input and result have the same element type, but sums and products of f16
      and bf16 have a result of f32
    - the result has the shape above
  }];
  let arguments = (ins NN_NumberTensor:$input, NN_ReduceKindAttr:$kind,
      DenseI64ArrayAttr:$axes, BoolAttr:$keepdims,
      DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let assemblyFormat = [{
    $input attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

def NN_BatchNormOp : NN_PureOp<"batch_norm", [NN_PerElement,
    AllTypesMatch<["x", "result"]>,
    AllTypesMatch<["scale", "bias", "mean", "variance"]>], ["getFlops"]> {
  let summary = "Batch normalisation with given statistics";
  let description = [{
    ONNX BatchNormalization with given statistics: `(x - mean) / sqrt(variance +
    epsilon) * scale + bias` per channel (dimension 1). In a training step, with
    `of_batch`, mean and variance are those of x over all dimensions but the
    channels (Ioffe and Szegedy, 2015), which other operations compute; the
    gradient of x then contains what goes through both.

    Loops: `n c`, then the spatial dimensions; x and result `(n, c, h, w)`,
    the others `(c)`.

    Example:

    ```mlir
    %1 = nn.batch_norm %x, %scale, %bias, %mean, %variance
           {nn.name = "bn1", epsilon = 1.0e-05 : f32}
       : tensor<1x64x112x112xf32>, tensor<64xf32>
    ```

    Constraints:
    - x has a rank of 2 to 5
    - scale, bias, mean and variance have one element per channel
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$scale,
      NN_FloatTensor:$bias, NN_FloatTensor:$mean, NN_FloatTensor:$variance,
      F32Attr:$epsilon, UnitAttr:$of_batch);
  let assemblyFormat = [{
    $x `,` $scale `,` $bias `,` $mean `,` $variance attr-dict `:` type($x) `,`
    type($scale)
  }];
  let hasVerifier = 1;
}

def NN_LRNOp : NN_PureOp<"lrn", [SameOperandsAndResultType],
    ["buildLocal", "getFlops", "getBytes", "appendKernelKey"]> {
  let summary = "Local response normalisation across channels";
  let description = [{
    ONNX LRN: `x / (bias + alpha/size * sum)^beta`, where the sum is over the
    squares of channels c - (size-1)/2 .. c + size/2 (dimension 1), as far as
    they exist.

    Loops: `n c`, then the spatial dimensions; x `(n, c+[-(S-1)/2, S/2], h, w)`.
    A tile normalises its channels and the neighbours they read, then crops.

    Example:

    ```mlir
    %1 = nn.lrn %x {nn.name = "norm1", size = 5 : i64, alpha = 1.0e-04 : f32,
           beta = 7.5e-01 : f32, bias = 1.0 : f32} : tensor<1x64x56x56xf32>
    ```

    Constraints:
    - x has a rank of 2 to 5
    - `size` is positive
  }];
  let arguments = (ins NN_FloatTensor:$x, I64Attr:$size, F32Attr:$alpha,
      F32Attr:$beta, F32Attr:$bias);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def NN_SoftmaxOp : NN_PureOp<"softmax", [AllShapesMatch<["x", "result"]>],
    ["getFlops"]> {
  let summary = "Softmax along one dimension";
  let description = [{
    ONNX Softmax of opset 13 and later: exp(x) / sum(exp(x)) along `axis`; with
    `log` its logarithm, ONNX LogSoftmax.

    Loops: all dimensions but the axis, `d0 .. dk`; the axis is whole.

    Example:

    ```mlir
    %1 = nn.softmax %x {nn.name = "prob", axis = 1 : i64} : tensor<8x1000xf32>
    %2 = nn.softmax %s {nn.name = "weights", axis = 1 : i64}
       : (tensor<8x64xf32>) -> tensor<8x64xbf16>
    ```

    Constraints:
    - `axis` is inside the rank
    - x and result have the same shape and element type, but one of them may be
      f32 where the other one is f16 or bf16 (nn-narrow-activations): all is
      computed in f32, and the result is rounded once
  }];
  let arguments = (ins NN_FloatTensor:$x, I64Attr:$axis, UnitAttr:$log);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OneOrTwoTypes>(type($x), type($result))
  }];
  let hasVerifier = 1;
}

def NN_LayerNormOp : NN_PureOp<"layer_norm", [AllShapesMatch<["x", "result"]>],
    ["getFlops"]> {
  let summary = "Normalisation over the last dimensions";
  let description = [{
    ONNX LayerNormalization: `(x - mean) / sqrt(variance + epsilon) * scale +
    bias`, where mean and variance are those of all elements that differ only in
    dimensions `axis` and later.

    Loops: the dimensions before the axis, `d0 .. dk`; the others are whole.

    Example:

    ```mlir
    %1 = nn.layer_norm %x, %scale bias %bias {nn.name = "ln1", axis = 2 : i64,
           epsilon = 1.0e-05 : f32}
       : (tensor<8x128x768xf32>, tensor<768xf32>, tensor<768xf32>)
       -> tensor<8x128x768xf32>
    ```

    Constraints:
    - all element types are equal, but x may be f32 and the result f16 or bf16, or
      the other way round (nn-narrow-activations), and scale and bias f32 beside
      these: all is computed in f32, and the result is rounded once
    - `axis` is inside the rank
    - scale and bias have the shape of x from the axis on
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$scale,
      Optional<NN_FloatTensor>:$bias, I64Attr:$axis, F32Attr:$epsilon);
  let assemblyFormat = [{
    $x `,` $scale (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNWINDOWOPS_TD
