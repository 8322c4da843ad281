"""Random functions of one number, remainders, bits, NaN and infinities, as
operators.py. What jumps reads inputs of the graph only."""

import numpy as np

from integer_operators import Integers, STEPS, pick_input, some_integers
from operators import WEIGHTS, anything, operator

WEIGHTS.update(dict.fromkeys(
    ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "IsInf", "IsNaN", "Mod",
     "Sign", "Sinh", "Tan", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"], 0.4))


@operator("Atan", of=anything)
@operator("Asinh", since=9, of=anything)
def everywhere(b, op, x, shape):
    b.node(op, [x], shape)
    return True


@operator("Acos", "Asin", "Tan", of=anything)
@operator("Atanh", "Cosh", "Sinh", since=9, of=anything)
def around_zero(b, op, x, shape):
    within = b.hidden("Mul", [b.hidden("Tanh", [x], shape), b.scalar(0.9)], shape)
    b.node(op, [within], shape)
    return True


@operator("Acosh", since=9, of=anything)
def from_one(b, op, x, shape):
    magnitude = b.hidden("Abs", [x], shape)
    b.node(op, [b.hidden("Add", [magnitude, b.scalar(1.2)], shape)], shape)
    return True


@operator("Sign", since=9)
def sign(b, op):
    x = pick_input(b)
    b.node(op, [x], b.shapes[x])
    return True


@operator("IsNaN", since=9)
@operator("IsInf", since=10)
def special(b, op):
    """Of an input that holds such numbers."""
    shape = tuple(b.rng.choice(list(b.shapes.values())))
    kinds = np.array([0.5, -2, np.nan, np.inf, -np.inf], dtype=np.float32)
    name = b.name("in")
    b.inputs[name] = np.asarray(b.values.choice(kinds, shape), np.float32)
    sides = {}
    if op == "IsInf" and b.chance(0.5):
        sides = {"detect_negative": b.rng.choice([0, 1]),
                 "detect_positive": b.rng.choice([0, 1])}
    mask = b.hidden(op, [name], shape, **sides)
    b.node("Cast", [mask], shape, to=1)
    return True


@operator("Mod", since=10)
def remainder(b, op):
    x = pick_input(b)
    shape = b.shapes[x]
    divisors = np.array(b.rng.choices([-1.5, -0.7, 0.3, 1.1, 2],
                                      k=shape[-1] if shape else 1), np.float32)
    divisor = b.initializer(divisors if shape else divisors[0])
    b.node(op, [x, divisor], shape, fmod=1)
    return True


def integer_remainder(chain):
    b = chain.b
    if b.opset < 10:
        return
    divisors = np.array(b.rng.choices([-3, -2, 2, 3, 5], k=(chain.shape or (1,))[-1]),
                        chain.dtype)
    divisor = b.initializer(divisors if chain.shape else divisors[0])
    chain.add("Mod", [chain.name, divisor], fmod=b.rng.choice([0, 1]))


def bits(chain, op):
    b = chain.b
    operands = [chain.name]
    if op != "BitwiseNot":
        operands.append(some_integers(b, chain.shape, chain.dtype))
    chain.add(op, operands)


@operator("BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", since=18)
def bitwise(b, op):
    chain = Integers(b)
    bits(chain, op)
    b.node("Cast", [chain.name], chain.shape, to=1)
    return True


STEPS.append(integer_remainder)
