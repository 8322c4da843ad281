"""Random quantized operators, as operators.py. What is quantized comes from inputs of
the graph only: rounding jumps."""

import numpy as np

from integer_operators import pick_input
from operators import operator


def number(b, value, dtype=np.float32):
    return b.initializer(np.array(value, dtype))


def zero_point(b, dtype):
    low, high = (-20, 20) if dtype == np.int8 else (100, 150)
    return number(b, b.rng.randint(low, high), dtype)


def bytes_input(b, shape, dtype=np.uint8):
    low, high = (-128, 128) if dtype == np.int8 else (0, 256)
    return b.add_integer_input(shape, low, high, dtype)


def bytes_weight(b, shape, dtype=np.uint8):
    low, high = (-128, 128) if dtype == np.int8 else (0, 256)
    return b.initializer(b.values.integers(low, high, shape).astype(dtype))


def as_floats(b, name, shape, scale):
    """Of a size that other operators can be given."""
    b.node("DequantizeLinear", [name, number(b, scale)], shape)
    return True


@operator("QuantizeLinear", since=13)
def there_and_back(b, op):
    x = pick_input(b)
    shape = b.shapes[x]
    dtype = b.rng.choice([np.int8, np.uint8])
    scale = number(b, b.rng.uniform(0.01, 0.1))
    zero = [zero_point(b, dtype)] if dtype == np.int8 or b.chance(0.7) else []
    y = b.hidden("QuantizeLinear", [x, scale, *zero], shape)
    b.node("DequantizeLinear", [y, scale, *zero], shape)
    return True


@operator("DynamicQuantizeLinear", since=13)
def dynamic(b, op):
    x = pick_input(b)
    shape = b.shapes[x]
    outputs = b.multi_node(op, [x], [shape, (), ()])
    for name in outputs:
        del b.shapes[name]
    b.node("DequantizeLinear", outputs, shape)
    return True


def draw_product(b):
    n, k, m = (b.rng.randint(1, 9) for _ in range(3))
    return (b.rng.randint(1, 3), n, k) if b.chance(0.3) else (n, k), (k, m)


@operator("MatMulInteger", since=13)
def integer_product(b, op):
    a, w = draw_product(b)
    dtype = b.rng.choice([np.int8, np.uint8])
    operands = [bytes_input(b, a), bytes_weight(b, w, dtype)]
    if b.chance(0.7):
        operands += [zero_point(b, np.uint8), zero_point(b, dtype)]
    shape = (*a[:-1], w[-1])
    return as_floats(b, b.hidden(op, operands, shape), shape, 1e-4)


@operator("QLinearMatMul", since=13)
def scaled_product(b, op):
    a, w = draw_product(b)
    dtype = b.rng.choice([np.int8, np.uint8])
    operands = []
    for name, kind in ((bytes_input(b, a), np.uint8), (bytes_weight(b, w, dtype), dtype)):
        operands += [name, number(b, b.rng.uniform(0.003, 0.01)), zero_point(b, kind)]
    operands += [number(b, b.rng.uniform(0.03, 0.1)), zero_point(b, np.uint8)]
    shape = (*a[:-1], w[-1])
    return as_floats(b, b.hidden(op, operands, shape), shape, 0.01)


@operator("ConvInteger", "QLinearConv", since=13)
def convolution(b, op):
    n, c, f, size = b.rng.randint(1, 3), b.rng.randint(1, 4), b.rng.randint(1, 5), \
        b.rng.randint(3, 8)
    kernel, pad = b.rng.randint(1, 3), b.rng.randint(0, 1)
    x, w = bytes_input(b, (n, c, size, size)), bytes_weight(b, (f, c, kernel, kernel))
    shape = (n, f, *[size + 2 * pad - kernel + 1] * 2)
    pads = [pad] * 4
    if op == "ConvInteger":
        zeros = [zero_point(b, np.uint8), zero_point(b, np.uint8)]
        return as_floats(b, b.hidden(op, [x, w, *zeros], shape, pads=pads), shape, 1e-4)
    operands = []
    for name in (x, w):
        operands += [name, number(b, b.rng.uniform(0.003, 0.01)), zero_point(b, np.uint8)]
    operands += [number(b, b.rng.uniform(0.03, 0.1)), zero_point(b, np.uint8)]
    return as_floats(b, b.hidden(op, operands, shape, pads=pads), shape, 0.01)


@operator("DequantizeLinear", since=13)
def dequantized_product(b, op):
    """What quantizers write around a product of floats."""
    a, w = draw_product(b)
    factors = []
    for draw, shape in ((bytes_input, a), (bytes_weight, w)):
        dtype = b.rng.choice([np.int8, np.uint8])
        scale = number(b, b.rng.uniform(0.003, 0.01))
        zero = [zero_point(b, dtype)] if b.chance(0.7) else []
        factors.append(b.hidden(op, [draw(b, shape, dtype), scale, *zero], shape))
    b.node("MatMul", factors, (*a[:-1], w[-1]))
    return True
