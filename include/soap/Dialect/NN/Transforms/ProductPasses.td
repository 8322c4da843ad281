//===- ProductPasses.td - What products multiply -----------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that choose what products and convolutions multiply and make: element
// types, how factors lie, and who adds a bias.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_TRANSFORMS_PRODUCTPASSES_TD
#define SOAP_DIALECT_NN_TRANSFORMS_PRODUCTPASSES_TD

include "mlir/Pass/PassBase.td"

def LowerPrecisionPass : Pass<"nn-lower-precision", "::mlir::func::FuncOp"> {
  let summary = "Multiply narrower floats";
  let description = [{
    With to=tf32, products of f32 (nn.conv, nn.conv_backward_data,
    nn.conv_backward_filter, nn.matmul) and recurrent layers get the attribute
    `tf32`: what computes them may round the factors of their products to TF32
    (8 bits of exponent, 10 behind the point). Nothing is cast, and all tensors
    stay f32.

    With to=bf16 or f16, these products read operands of bf16 or f16, and still
    make f32, in which they sum. All else stays f32: parameters, biases, what is
    added to a product, normalisations, softmax, recurrent layers, losses,
    reductions, updates. With `round-layers`, recurrent layers get the attribute
    `tf32`, as with to=tf32: TF32 has at least the bits of either type.

    ```mlir
    %y = nn.matmul %x, %w bias %b {nn.name = "fc"}
       : (tensor<8x64xf32>, tensor<64x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
    // becomes, with to=bf16
    %x16 = nn.cast %x {nn.name = "x.bf16"} : (tensor<8x64xf32>) -> tensor<8x64xbf16>
    %w16 = nn.cast %w {nn.name = "w.bf16"} : (tensor<64x32xf32>) -> tensor<64x32xbf16>
    %y = nn.matmul %x16, %w16 bias %b {nn.name = "fc"}
       : (tensor<8x64xbf16>, tensor<64x32xbf16>, tensor<32xf32>) -> tensor<8x32xf32>
    ```

    A value is cast once, in front of the first product that reads it, whoever
    reads it later: the gradients of a product read the same casts. A value that
    is a cast from the narrow type is not cast back. In a training step a cast
    joins the group of what it casts, or, of a parameter or an input, that of
    its first reader, so that it is made where it is read and a strategy decides
    nothing about it. In inference a cast of weights is a parameter-only
    expression, which nn-hoist-init has made when a model is loaded, and one
    of an activation joins what nn-fuse makes of the operations before.

    Run it behind nn-build-training-step, which needs all in one type, and before
    nn-hoist-init and nn-fuse. Products of other types and private functions stay
    as they are. Error: another type.
  }];
  let options = [
    Option<"to", "to", "std::string", "\"bf16\"",
           "What is multiplied: tf32, bf16 or f16">,
    Option<"roundLayers", "round-layers", "bool", "false",
           "With to=bf16 or f16, recurrent layers may round to TF32">,
  ];
  let statistics = [
    Statistic<"numProducts", "products", "Products of narrower floats">,
    Statistic<"numCasts", "casts", "Casts that were added">
  ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

def IntegerProductsPass : Pass<"nn-integer-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply quantized tensors instead of what they stand for";
  let description = [{
    Products of f32 (nn.conv, nn.matmul) whose factors are dequantized integers
    of 8 bits, `(x - zero) * scale`, become products of i32, and the scales are
    applied to the sum:

    ```mlir
    %a = ((nn.cast %x) - (nn.cast %zx)) * %sx            // %x: 8x64xui8
    %b = ((nn.cast %w) - (nn.cast %zw)) * %sw            // %w: 64x32xi8
    %y = nn.matmul %a, %b bias %c {nn.name = "fc"} : f32
    // becomes
    %p = nn.matmul (%x - %zx), (%w - %zw) {nn.name = "fc.product"} : i32
    %y = (nn.cast %p) * (%sx * %sw) + %c
    ```

    nn-narrow-products then multiplies integers of 8 bits. The sum of integers is
    exact, where that of floats is rounded; both differ from each other by
    roundings of f32.

    The scale of the first factor is one number, that of the second may differ
    by what the product makes of it (channels, columns). So many products are
    summed that they fit into an i32: 33,025. Operations with gradients (members
    and leaders of groups) and those with a configuration stay as they are.
  }];
  let statistics = [
    Statistic<"numProducts", "products", "Products of integers">
  ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

def ArrangeFactorsPass : Pass<"nn-arrange-factors", "::mlir::func::FuncOp"> {
  let summary = "Let factors of products lie as libraries read them best";
  let description = [{
    An nn.matmul reads either factor as it is or with its last two dimensions
    exchanged. Of both forms this chooses one, for inference:

    - A product of a weight whose result has rows of no multiple of `alignment`
      bytes gets columns of zeros up to one, which an nn.slice leaves out, if it
      has at least `least-padded` multiplications: libraries write such rows
      several times faster.
    - Another weight whose rows are no multiple of `alignment` bytes, though its columns
      are, is transposed: tensor cores load 16 bytes at once. nn-hoist-init does
      it when a model is loaded.
    - An nn.transpose that only the product reads keeps the innermost dimension of
      its operand, if it had become the second last one, so that it copies rows
      (the keys of attention).

    ```mlir
    %y = nn.matmul %x, %w {nn.name = "tokens"}
       : (tensor<8x64xbf16>, tensor<64x50257xbf16>) -> tensor<8x50257xf32>
    // becomes
    %t = nn.transpose %w {nn.name = "w.transposed", permutation = array<i64: 1, 0>}
       : (tensor<64x50257xbf16>) -> tensor<50257x64xbf16>
    %y = nn.matmul %x, %t {nn.name = "tokens", transpose_b}
       : (tensor<8x64xbf16>, tensor<50257x64xbf16>) -> tensor<8x50257xf32>
    ```

    Functions with gradients or updates stay as they are. Run it behind
    nn-fold-transposes and nn-lower-precision, in front of nn-hoist-init. Error:
    an alignment below 1.
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", "16",
           "Bytes that rows of weights are to be multiples of">,
    Option<"leastPadded", "least-padded", "int64_t", "1 << 30",
           "Multiplications from which on results get columns of zeros">
  ];
  let statistics = [
    Statistic<"numPadded", "padded", "Products with columns of zeros">,
    Statistic<"numAligned", "aligned", "Weights that were transposed">,
    Statistic<"numTransposed", "transposed",
              "Transpositions that copy rows now">
  ];
}

def SeparateBiasPass : Pass<"nn-separate-bias", "::mlir::func::FuncOp"> {
  let summary = "Add the bias of a convolution behind it";
  let description = [{
    Where an operation per element alone reads an nn.conv, its bias, an expression
    over parameters, becomes an nn.add, which nn-fuse then makes one with the
    reader. The library is free to choose among implementations that know no bias.

    ```mlir
    %1 = nn.conv %x, %w bias %b {nn.name = "conv", ...}
    %2 = nn.relu %1 {nn.name = "relu"}
    // becomes
    %c = nn.reshape %b {nn.name = "conv_bias"} : (tensor<64xf32>) -> tensor<64x1x1xf32>
    %1 = nn.conv %x, %w {nn.name = "conv", ...}
    %s = nn.add %1, %c {nn.name = "conv.biased"}
    %2 = nn.relu %s {nn.name = "relu"}
    ```

    Functions with gradients or updates stay as they are. Run it behind
    nn-fold-batch-norm, in front of nn-lower-precision.
  }];
  let statistics = [
    Statistic<"numSeparated", "separated", "Biases that are added behind">
  ];
}

def NarrowActivationsPass : Pass<"nn-narrow-activations",
                                 "::mlir::func::FuncOp"> {
  let summary = "Round results of 16-bit products to 16 bits";
  let description = [{
    Behind products of bf16 or f16 (nn-lower-precision), values between
    operations are of this type, as torch.autocast has it. A library can round
    the sum that it has made in f32, so that half of the bytes are written and
    read.

    ```mlir
    %1 = nn.matmul %x, %w bias %b {nn.name = "fc"}
       : (tensor<8x64xbf16>, tensor<64x32xbf16>, tensor<32xf32>) -> tensor<8x32xf32>
    %2 = nn.relu %1 {nn.name = "relu"} : tensor<8x32xf32>
    %3 = nn.cast %2 {nn.name = "relu.bf16"} : (tensor<8x32xf32>) -> tensor<8x32xbf16>
    // becomes
    %b16 = nn.cast %b {nn.name = "b.bf16"} : (tensor<32xf32>) -> tensor<32xbf16>
    %1 = nn.matmul %x, %w bias %b16 {nn.name = "fc"}
       : (tensor<8x64xbf16>, tensor<64x32xbf16>, tensor<32xbf16>) -> tensor<8x32xf32>
    %2 = nn.cast %1 {nn.name = "fc.bf16"} : (tensor<8x32xf32>) -> tensor<8x32xbf16>
    %3 = nn.relu %2 {nn.name = "relu"} : tensor<8x32xbf16>
    ```

    - The result of a product is still f32 in the graph, and so are parts of a sum
      that a strategy splits; the cast behind it is one that soaprt-fuse-followers
      gives the library. What only outputs of the model read stays f32. So does a
      bias, with `followers`.
    - Operations that move elements, pools, and most operations per element take
      the type of what they read, where all their operands are so. To a sum with an
      expression over parameters, a bias, this one is rounded. Others (sums,
      exponentials, normalisations) are computed in f32, from values that are
      widened, also where one operand is f32: the sum of a residual connection is
      f32 if one of both terms is.
    - A cast of f32 goes in front of what reorders elements. A softmax or layer
      norm whose only reader is a cast makes the narrow type.
    - With `followers`, biases and normalisations are f32, and so are operations per
      element, between casts of which nn-fuse{drop-rounding} keeps the outer ones.

    Functions with gradients or updates stay as they are. Run it behind
    nn-lower-precision, in front of nn-hoist-init and nn-fuse.
  }];
  let options = [
    Option<"followers", "followers", "bool", "false",
           "The library rounds what followers made of a sum in f32, which are "
           "f32 between casts then, as biases and normalisations are">
  ];
  let statistics = [
    Statistic<"numProducts", "products", "Products whose results are rounded">
  ];
}

def NarrowProductsPass : Pass<"nn-narrow-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply 8-bit integers instead of what they were widened to";
  let description = [{
    Products of i32 (nn.conv, nn.matmul) whose factors are integers of 8 bits,
    widened and less a zero point, multiply the integers of 8 bits:

    ```mlir
    %a = nn.sub (nn.cast %x), %za : tensor<8x64xi32>     // %x: 8x64xui8
    %b = nn.sub (nn.cast %w), %zb : tensor<64x32xi32>    // %w: 64x32xi8
    %y = nn.matmul %a, %b bias %c {nn.name = "fc"}
    // becomes
    %p = nn.matmul %x, %w {nn.name = "fc"} : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
    %y = %p + (%c - %za * sum_k(%b)) - %zb * sum_k(nn.cast %x)
    ```

    The first factor is without a sign then and the second one has one, as
    libraries have it: the highest bit of others is turned over, which moves
    their zero point by 128. What belongs to a zero point that is known to be 0
    is left out. Sums over weights are parameter-only expressions, which
    nn-hoist-init has made when a model is loaded. Integers wrap around, so
    that both forms are equal.

    Pads of a convolution stand for differences of 0, that is, for the zero
    point: where it is known and not 0, an nn.pad puts it around the data, else
    the sums count only what lies inside.

    A zero point of a matrix may differ by row of the first factor and by column
    of the second; that of a convolution's data is one number, that of its
    weights may differ by channel, without groups. Other products stay as they
    are.
  }];
  let statistics = [
    Statistic<"numProducts", "products", "Products of 8-bit integers">
  ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

#endif // SOAP_DIALECT_NN_TRANSFORMS_PRODUCTPASSES_TD
