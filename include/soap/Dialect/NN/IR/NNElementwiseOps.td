//===- NNElementwiseOps.td - Operations per element --------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNELEMENTWISEOPS_TD
#define SOAP_DIALECT_NN_IR_NNELEMENTWISEOPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

class NN_BinaryOp<string mnemonic, string onnx, string meaning,
                  Type operand = NN_NumberTensor, dag attributes = (ins),
                  list<Trait> traits = []> :
    NN_PureOp<mnemonic, !listconcat([NN_PerElement], traits)> {
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
  let arguments = !con((ins operand:$a, operand:$b), attributes);
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

def NN_AddOp : NN_BinaryOp<"add", "Add and Sum", "a + b", NN_NumberTensor,
                           (ins), [NN_Additive]>;
def NN_SubOp : NN_BinaryOp<"sub", "Sub", "a - b", NN_NumberTensor, (ins),
                           [NN_Additive]>;
def NN_MulOp : NN_BinaryOp<"mul", "Mul", "a * b">;
def NN_DivOp : NN_BinaryOp<"div", "Div", "a / b">;
def NN_MaxOp : NN_BinaryOp<"max", "Max", "max(a, b)">;
def NN_MinOp : NN_BinaryOp<"min", "Min", "min(a, b)">;
def NN_PowOp : NN_BinaryOp<"pow", "Pow", "a to the power of b">;
def NN_AndOp : NN_BinaryOp<"and", "And and BitwiseAnd",
                           "a and b, of integers bit by bit", NN_BitTensor>;
def NN_OrOp : NN_BinaryOp<"or", "Or and BitwiseOr",
                          "a or b, of integers bit by bit", NN_BitTensor>;
def NN_XorOp : NN_BinaryOp<"xor", "Xor and BitwiseXor",
                           "a or b, not both, of integers bit by bit",
                           NN_BitTensor>;

/// `truncate`: as C's % and fmod, and the only form of floats.
def NN_ModOp : NN_BinaryOp<"mod", "Mod",
    "Remainder of a / b with the sign of b, or, with `truncate`, with the sign "
    "of a (exact for floats, 0 for an integer b that is 0)",
    NN_NumberTensor, (ins UnitAttr:$truncate)> {
  let extraClassDefinition = [{
    ::soap::PartitionSpec $cppClass::getPartitionSpec() {
      return ::soap::nn::detail::elementwiseSpec(*this);
    }
  }];
}

class NN_ShiftOp<string mnemonic, string direction> :
    NN_PureOp<mnemonic, [NN_PerElement]> {
  let summary = "Bits moved to the " # direction # ", per element";
  let description = [{
    ONNX BitShift: the bits of `a`, moved by `b` places to the }] # direction # [{;
    from the width of `a` on nothing is left of them. Dimensions broadcast as in
    numpy, aligned on the right.

    Loops: `d0 .. dk` of the result; operands and result `(d0, .., dk)`; an
    operand's dimension that is broadcast uses no loop.

    Example:

    ```mlir
    %2 = nn.}] # mnemonic # [{ %a, %b {nn.name = "}] # mnemonic # [{1"}
       : (tensor<8x64xui8>, tensor<64xui8>) -> tensor<8x64xui8>
    ```

    Constraints:
    - operands and result have the same element type
    - the result has the shape to which the operands broadcast
  }];
  let arguments = (ins NN_UnsignedTensor:$a, NN_UnsignedTensor:$b);
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

def NN_ShiftLeftOp : NN_ShiftOp<"shift_left", "left">;
def NN_ShiftRightOp : NN_ShiftOp<"shift_right", "right">;

def NN_CompareOp : NN_PureOp<"compare", [NN_PerElement]> {
  let summary = "Comparison, per element";
  let description = [{
    ONNX Equal, Greater, GreaterOrEqual, Less, LessOrEqual: whether `a`
    `predicate` `b` holds. Comparisons with NaN do not hold, but for `ne`.
    Dimensions broadcast as in numpy.

    Loops: `d0 .. dk` of the result, as for `nn.add`.

    Example:

    ```mlir
    %2 = nn.compare %a, %b {nn.name = "mask",
           predicate = #nn.predicate<lt>}
       : (tensor<8x64xi64>, tensor<64xi64>) -> tensor<8x64xi1>
    ```

    Constraints:
    - operands have the same element type, the result has booleans
    - the result has the shape to which the operands broadcast
  }];
  let arguments = (ins NN_NumberTensor:$a, NN_NumberTensor:$b,
                       NN_PredicateAttr:$predicate);
  let assemblyFormat = [{
    $a `,` $b attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_WhereOp : NN_PureOp<"where", [NN_PerElement]> {
  let summary = "Choice between two values, per element";
  let description = [{
    ONNX Where: `a` where the condition holds, else `b`. Dimensions of all three
    operands broadcast as in numpy.

    Loops: `d0 .. dk` of the result, as for `nn.add`.

    Example:

    ```mlir
    %3 = nn.where %c, %a, %b {nn.name = "masked"}
       : (tensor<8x64xi1>, tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
    ```

    Constraints:
    - a, b and the result have the same element type
    - the result has the shape to which the operands broadcast
  }];
  let arguments = (ins NN_BoolTensor:$condition, NN_Tensor:$a, NN_Tensor:$b);
  let assemblyFormat = [{
    $condition `,` $a `,` $b attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

class NN_UnaryOp<string mnemonic, string onnx, string meaning,
                 Type operand = NN_FloatTensor, dag attributes = (ins)> :
    NN_PureOp<mnemonic, [NN_PerElement, SameOperandsAndResultType]> {
  let summary = meaning # ", per element";
  let description = [{
    ONNX }] # onnx # [{.

    Loops: `d0 .. dk`; operand and result `(d0, .., dk)`.

    Example:

    ```mlir
    %1 = nn.}] # mnemonic # [{ %x {nn.name = "}] # mnemonic # [{1"} : tensor<8x64xf32>
    ```
  }];
  let arguments = !con((ins operand:$x), attributes);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let extraClassDefinition = [{
    ::soap::PartitionSpec $cppClass::getPartitionSpec() {
      return ::soap::nn::detail::elementwiseSpec(*this);
    }
  }];
}

def NN_ReluOp : NN_UnaryOp<"relu", "Relu", "max(x, 0)", NN_NumberTensor>;
def NN_SigmoidOp : NN_UnaryOp<"sigmoid", "Sigmoid", "1 / (1 + exp(-x))">;
def NN_TanhOp : NN_UnaryOp<"tanh", "Tanh", "tanh(x)">;
def NN_SqrtOp : NN_UnaryOp<"sqrt", "Sqrt", "square root of x">;
def NN_ExpOp : NN_UnaryOp<"exp", "Exp", "exp(x)">;
def NN_LogOp : NN_UnaryOp<"log", "Log", "natural logarithm of x">;
def NN_ErfOp : NN_UnaryOp<"erf", "Erf", "error function of x">;
def NN_SinOp : NN_UnaryOp<"sin", "Sin", "sin(x)">;
def NN_CosOp : NN_UnaryOp<"cos", "Cos", "cos(x)">;
def NN_TanOp : NN_UnaryOp<"tan", "Tan", "tan(x)">;
def NN_AsinOp : NN_UnaryOp<"asin", "Asin", "arcsine of x">;
def NN_AcosOp : NN_UnaryOp<"acos", "Acos", "arccosine of x">;
def NN_AtanOp : NN_UnaryOp<"atan", "Atan", "arctangent of x">;
def NN_SinhOp : NN_UnaryOp<"sinh", "Sinh", "hyperbolic sine of x">;
def NN_CoshOp : NN_UnaryOp<"cosh", "Cosh", "hyperbolic cosine of x">;
def NN_AsinhOp : NN_UnaryOp<"asinh", "Asinh", "inverse hyperbolic sine of x">;
def NN_AcoshOp : NN_UnaryOp<"acosh", "Acosh", "inverse hyperbolic cosine of x">;
def NN_AtanhOp : NN_UnaryOp<"atanh", "Atanh",
                            "inverse hyperbolic tangent of x">;
def NN_ReciprocalOp : NN_UnaryOp<"reciprocal", "Reciprocal", "1 / x">;
def NN_FloorOp : NN_UnaryOp<"floor", "Floor", "largest integer up to x">;
def NN_CeilOp : NN_UnaryOp<"ceil", "Ceil", "smallest integer from x on">;
def NN_RoundOp : NN_UnaryOp<"round", "Round", "nearest integer, ties to even">;
def NN_NegOp : NN_UnaryOp<"neg", "Neg", "-x", NN_NumberTensor>;
def NN_AbsOp : NN_UnaryOp<"abs", "Abs", "absolute value of x", NN_NumberTensor>;
def NN_SignOp : NN_UnaryOp<"sign", "Sign",
    "1 for a positive, -1 for a negative x, else x", NN_NumberTensor>;
def NN_NotOp : NN_UnaryOp<"not", "Not and BitwiseNot",
                          "not x, of integers bit by bit", NN_BitTensor>;

/// `approximate`: by tanh, as GPT-2 has it.
def NN_GeluOp : NN_UnaryOp<"gelu", "Gelu",
    "x / 2 * (1 + erf(x / sqrt(2))), or approximately x / 2 * "
    "(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))",
    NN_FloatTensor, (ins UnitAttr:$approximate)>;

def NN_CastOp : NN_PureOp<"cast", [NN_PerElement]> {
  let summary = "Conversion to another element type";
  let description = [{
    ONNX Cast between floats, integers and booleans. What is not 0 is true.
    Floats become integers by truncation. What the integer type cannot hold is
    taken modulo its range, in so far as 32 bits (64 for wider and for unsigned
    types of 32) hold the truncated float; else the result is undefined. Floats
    become narrower ones by rounding to the nearest, ties to even; too large
    ones become infinite, or NaN in 8-bit types without infinities. With
    `saturate` they become the largest number of an 8-bit type instead.

    Loops: `d0 .. dk`; operand and result `(d0, .., dk)`.

    Example:

    ```mlir
    %1 = nn.cast %x {nn.name = "cast1"} : (tensor<8x64xi64>) -> tensor<8x64xf32>
    ```

    Constraints:
    - operand and result have the same shape
  }];
  let arguments = (ins NN_Tensor:$x, UnitAttr:$saturate);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_BitCastOp : NN_PureOp<"bit_cast", [NN_PerElement], ["getFlops"]> {
  let summary = "The same bits as another element type";
  let description = [{
    ONNX BitCast: the bits of an element are those of an element of the other
    type. A boolean is a byte of 0 or 1; of a byte, what is not 0 is true.

    Loops: `d0 .. dk`; operand and result `(d0, .., dk)`.

    Example:

    ```mlir
    %1 = nn.bit_cast %x {nn.name = "bits"} : (tensor<8x64xf32>) -> tensor<8x64xi32>
    ```

    Constraints:
    - operand and result have the same shape, and element types of as many bits
      (a boolean has 8)
  }];
  let arguments = (ins NN_Tensor:$x);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_ExpandOp : NN_PureOp<"expand", [NN_PerElement], ["getFlops"]> {
  let summary = "Broadcast to a larger shape";
  let description = [{
    ONNX Expand: dimensions of size 1 are repeated, missing ones on the left are
    added.

    Loops: `d0 .. dk` of the result; a repeated dimension of x uses no loop.

    Example:

    ```mlir
    %1 = nn.expand %x {nn.name = "cls"} : (tensor<1x1x64xf32>) -> tensor<8x1x64xf32>
    ```

    Constraints:
    - x and result have the same element type
    - x broadcasts to the result
  }];
  let arguments = (ins NN_Tensor:$x);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_ClipOp : NN_PureOp<"clip", [NN_PerElement, SameOperandsAndResultType]> {
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
