"""One function per ONNX operator: adds a node with random attributes to a
builder and returns true, or returns false if no tensor fits. Here are those per
element, normalisation and reduction; *_operators.py have the others."""

import math

import numpy as np

FUNCTIONS = {}  # ONNX operator to function.
SETS = {}  # ONNX operator to the first and last operator set of its function.
COMBINATIONS = []  # Functions of a builder that add several operators.
WEIGHTS = {"Conv": 5, "MaxPool": 2, "AveragePool": 3, "Gemm": 3, "MatMul": 2,
           "Cast": 0.3, "Identity": 0.3, "Dropout": 0.3}  # Else 1.
MAX_ELEMENTS = 20000


def operator(*names, since=1, until=math.inf, of=None):
    """Registers a function for operator sets `since` to `until`. With `of`, a test of
    shapes, it gets a tensor that fits and its shape, too, and is not called if none
    fits."""
    def register(function):
        def with_tensor(b, op):
            x = b.pick(of)
            return x is not None and function(b, op, x, b.shapes[x])

        for name in names:
            FUNCTIONS[name] = with_tensor if of else function
            SETS[name] = since, until
        return function
    return register


def anything(shape):
    return True


def ranked(shape):
    return len(shape) > 0


def of_rank(low, high=None):
    return lambda shape: low <= len(shape) <= (high or low)


spatial = of_rank(3, 5)


def combination(function):
    COMBINATIONS.append(function)
    return function


def add_any(b):
    """Adds one random operator, if it fits; of those that the builder may take."""
    if not b.only and b.chance(0.07):
        return b.rng.choice(COMBINATIONS)(b)
    names = sorted(name for name, (since, until) in SETS.items()
                   if since <= b.opset <= until and (not b.only or name in b.only))
    name, = b.rng.choices(names, [WEIGHTS.get(name, 1) for name in names])
    return FUNCTIONS[name](b, name)


def size(shape):
    return math.prod(shape)


# -- Elementwise


def broadcast_operand(b, shape):
    """A tensor or parameter that broadcasts to `shape`."""
    same = b.pick(lambda other: other == shape)
    if same and b.rng.random() < 0.5:
        return same
    dims = [1 if b.rng.random() < 0.3 else n for n in shape]
    dims = dims[b.rng.choice([0, 0, 0, b.rng.randint(0, len(dims))]):]
    other = b.pick(lambda candidate: candidate == tuple(dims))
    if other and b.rng.random() < 0.5:
        return other
    return b.parameter(dims) if dims else b.scalar(b.rng.uniform(0.5, 2))


def wider_operand(b, shape):
    """A tensor or parameter where each may broadcast to the other, and the shape of
    both; nothing if that is too large."""
    def joined(other):
        try:
            return np.broadcast_shapes(shape, other)
        except ValueError:
            return None

    def fits(other):
        return joined(other) is not None and size(joined(other)) <= MAX_ELEMENTS

    y = b.pick(fits)
    if y and b.chance(0.5):
        return y, joined(b.shapes[y])
    dims = [b.rng.choice([1, n]) if n > 1 else b.rng.randint(1, 4) for n in shape]
    if len(dims) < 6 and b.chance(0.4):
        dims.insert(0, b.rng.randint(1, 3))
    if not dims or not fits(tuple(dims)):
        return None, None
    return b.operand(dims), joined(tuple(dims))


@operator("Add", "Sub", "Mul", "Max", "Min", of=anything)
def binary(b, op, x, shape):
    variadic = op in ("Max", "Min")
    if variadic and b.opset < 8:  # They do not broadcast yet.
        y = b.pick(lambda other: other == shape)
    elif variadic and b.chance(0.1):
        return unary(b, op, x, shape)
    elif b.chance(0.2):
        y, shape = wider_operand(b, shape)
    else:
        y = broadcast_operand(b, shape)
    if not y:
        return False
    operands = [x, y]
    b.rng.shuffle(operands)
    if variadic and b.opset >= 8 and b.chance(0.3):
        operands.append(broadcast_operand(b, shape))
    b.node(op, operands, shape)
    return True


@operator("Sum", since=8, of=ranked)
def add_all(b, op, x, shape):
    b.node(op, [x] + [broadcast_operand(b, shape) for _ in range(b.rng.randint(0, 2))],
           shape)
    return True


def clipped(b, x, low, high, shape):
    """Between bounds, each of which may be None."""
    if b.opset < 11:
        return b.node("Clip", [x], shape, min=low, max=high)
    bounds = ["" if bound is None else b.scalar(bound) for bound in (low, high)]
    while bounds and not bounds[-1]:
        bounds.pop()
    return b.node("Clip", [x, *bounds], shape)


@operator("Div", of=ranked)
def divide(b, op, x, shape):
    if b.chance(0.5):
        dims = [1 if b.chance(0.3) else n for n in shape]
        divisor = b.parameter(dims, positive=True)
    else:  # A divisor that is computed: in (0.2, 0.8).
        y = b.pick(lambda other: other == shape)
        divisor = clipped(b, b.node("Sigmoid", [y], shape), 0.2, 0.8, shape)
        if b.chance(0.3):
            x = broadcast_operand(b, shape)
    b.node(op, [x, divisor], shape)
    return True


@operator("Relu", "Sigmoid", "Tanh", "Identity", of=anything)
def unary(b, op, x, shape):
    b.node(op, [x], shape)
    return True


@operator("Sqrt", of=anything)
def root(b, op, x, shape):
    b.node(op, [clipped(b, x, 0.1, None, shape)], shape)
    return True


@operator("Clip", of=anything)
def clip(b, op, x, shape):
    low = None if b.chance(0.25) else b.rng.uniform(-2, 0)
    high = None if b.chance(0.25) else b.rng.uniform(0.3, 2)
    clipped(b, x, low, high, shape)
    return True


@operator("Dropout", of=anything)
def dropout(b, op, x, shape):
    if b.opset < 12:
        b.node(op, [x], shape, ratio=b.rng.choice([0.5, 0.2]))
        return True
    operands = b.rng.choice([[], [b.scalar(0.5)]])
    if operands and b.chance(0.3):
        operands.append(b.initializer(np.array(False)))
    b.node(op, [x, *operands], shape, seed=3 if b.chance(0.2) else None)
    return True


@operator("Cast", of=anything)
def cast(b, op, x, shape):
    b.node(op, [x], shape, to=1)
    return True


# -- Normalisation and reduction


@operator("BatchNormalization", of=of_rank(2, 5))
def batch_norm(b, op, x, shape):
    channels = shape[1]
    operands = [b.parameter((channels,), 0.3, f"bn{i}", positive)
                for i, positive in enumerate([True, False, False, True])]
    for i in range(3):
        if b.chance(0.05):  # What cannot be folded into a convolution.
            operands[i] = b.operand((channels,), 0.3)
    b.node(op, [x, *operands], shape, epsilon=b.rng.choice([1e-5, 1e-3, 0.1]))
    return True


@operator("LRN", of=of_rank(4))  # All that onnxruntime knows, and odd sizes.
def lrn(b, op, x, shape):
    b.node(op, [x], shape, size=b.rng.choice([1, 3, 5, 7, 11]),
           alpha=b.rng.choice([1e-4, b.rng.uniform(1e-4, 0.5)]),
           beta=b.rng.choice([0.75, 0.5, 1.0]), bias=b.rng.choice([1.0, 2.0]))
    return True


@operator("Softmax", "LogSoftmax", of=ranked)
def softmax(b, op, x, shape):
    b.node(op, [x], shape, axis=b.axis(b.rng.randrange(len(shape)), len(shape)))
    return True


def reduced(b, op, x, shape, axes):
    """Over these axes; over all if there are none."""
    keep = b.chance(0.6)
    over = axes or range(len(shape))
    result = [1 if i in over else n for i, n in enumerate(shape)
              if keep or i not in over]
    signed = b.axes(axes, len(shape))
    if b.opset < (13 if op == "ReduceSum" else 18):
        b.node(op, [x], result, axes=signed or None, keepdims=int(keep))
    elif not axes:
        operands = b.rng.choice([[], [""], [b.initializer(np.array([], np.int64))]])
        b.node(op, [x, *operands], result, keepdims=int(keep), noop_with_empty_axes=0)
    else:
        b.node(op, [x, b.integers(signed)], result, keepdims=int(keep),
               noop_with_empty_axes=b.rng.choice([0, 1]))
    return True


def some_axes(b, shape):
    axes = b.rng.sample(range(len(shape)), b.rng.randint(1, len(shape)))
    return axes if b.chance(0.3) else sorted(axes)


@operator("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", of=ranked)
def reduce(b, op, x, shape):
    if b.opset >= (13 if op == "ReduceSum" else 18) and b.chance(0.05):
        b.node(op, [x], shape, noop_with_empty_axes=1)  # Nothing at all.
        return True
    axes = [] if b.chance(0.15) else some_axes(b, shape)
    if op == "ReduceProd" and size([shape[a] for a in axes] or shape) > 12:
        return False
    return reduced(b, op, x, shape, axes)


@operator("ReduceLogSumExp", of=ranked)
def log_sum_exp(b, op, x, shape):
    return reduced(b, op, x, shape, [] if b.chance(0.15) else some_axes(b, shape))


@operator("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceSumSquare", of=ranked)
def norm(b, op, x, shape):
    source = b.hidden("Tanh", [x], shape)
    if op == "ReduceLogSum":
        magnitude = b.hidden("Abs", [x], shape)
        source = b.hidden("Add", [magnitude, b.scalar(0.5)], shape)
    return reduced(b, op, source, shape, [] if b.chance(0.15) else some_axes(b, shape))
