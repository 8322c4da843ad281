"""One function per ONNX operator: adds a node with random attributes to a
builder and returns true, or returns false if no tensor fits. Here are those per
element, normalisation, reduction and products; *_operators.py have the others."""

import math

FUNCTIONS = {}  # ONNX operator to function.
SETS = {}  # ONNX operator to the first and last operator set of its function.
WEIGHTS = {"Conv": 5, "MaxPool": 2, "AveragePool": 2, "Gemm": 3, "MatMul": 2,
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


def add_any(b):
    """Adds one random operator, if it fits."""
    names = sorted(name for name, (since, until) in SETS.items()
                   if since <= b.opset <= until)
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


@operator("Add", "Sub", "Mul", "Max", "Min", of=anything)
def binary(b, op, x, shape):
    operands = [x, broadcast_operand(b, shape)]
    b.rng.shuffle(operands)
    if op in ("Max", "Min") and b.rng.random() < 0.3:
        operands.append(broadcast_operand(b, shape))
    b.node(op, operands, shape)
    return True


@operator("Sum", of=ranked)
def add_all(b, op, x, shape):
    b.node(op, [x] + [broadcast_operand(b, shape) for _ in range(b.rng.randint(1, 2))],
           shape)
    return True


@operator("Div", since=11, of=ranked)
def divide(b, op, x, shape):
    if b.rng.random() < 0.5:
        dims = [1 if b.rng.random() < 0.3 else n for n in shape]
        divisor = b.parameter(dims, positive=True)
    else:  # A divisor that is computed: in (0.2, 0.8).
        y = b.pick(lambda other: other == shape)
        squashed = b.node("Sigmoid", [y], shape)
        divisor = b.node("Clip", [squashed, b.scalar(0.2), b.scalar(0.8)], shape)
    b.node(op, [x, divisor], shape)
    return True


@operator("Relu", "Sigmoid", "Tanh", "Identity", of=anything)
def unary(b, op, x, shape):
    b.node(op, [x], shape)
    return True


@operator("Sqrt", since=11, of=ranked)
def root(b, op, x, shape):
    positive = b.node("Clip", [x, b.scalar(0.1)], shape)
    b.node(op, [positive], shape)
    return True


@operator("Clip", since=11, of=ranked)
def clip(b, op, x, shape):
    low, high = b.rng.uniform(-2, 0), b.rng.uniform(0.3, 2)
    bounds = b.rng.choice([[b.scalar(low), b.scalar(high)], [b.scalar(low)],
                           ["", b.scalar(high)]])
    b.node(op, [x, *bounds], shape)
    return True


@operator("Dropout", of=ranked)
def dropout(b, op, x, shape):
    if b.opset >= 12:
        b.node(op, [x, b.scalar(0.5)], shape)
    else:
        b.node(op, [x], shape, ratio=0.5)
    return True


@operator("Cast", of=ranked)
def cast(b, op, x, shape):
    b.node(op, [x], shape, to=1)
    return True


# -- Normalisation and reduction


@operator("BatchNormalization", of=of_rank(2, 5))
def batch_norm(b, op, x, shape):
    channels = shape[1]
    operands = [b.parameter((channels,), 0.3, f"bn{i}", positive)
                for i, positive in enumerate([True, False, False, True])]
    b.node(op, [x, *operands], shape, epsilon=b.rng.choice([1e-5, 1e-3]))
    return True


@operator("LRN", of=of_rank(4))  # All that onnxruntime knows.
def lrn(b, op, x, shape):
    b.node(op, [x], shape, size=b.rng.choice([1, 3, 5]),
           alpha=b.rng.uniform(1e-4, 0.5), beta=0.75, bias=b.rng.choice([1.0, 2.0]))
    return True


@operator("Softmax", of=ranked)
def softmax(b, op, x, shape):
    b.node(op, [x], shape, axis=b.rng.randrange(-len(shape), len(shape))
           if b.opset >= 13 else b.rng.randrange(len(shape)))
    return True


@operator("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", of=ranked)
def reduce(b, op, x, shape):
    axes = sorted(b.rng.sample(range(len(shape)), b.rng.randint(1, len(shape))))
    if op == "ReduceProd":
        axes = axes[:1]
        if shape[axes[0]] > 8:
            return False
    keep = b.rng.random() < 0.6
    result = [1 if i in axes else n for i, n in enumerate(shape)
              if keep or i not in axes]
    signed = [a - len(shape) if b.rng.random() < 0.3 and b.opset >= 11 else a
              for a in axes]
    if b.opset >= (13 if op == "ReduceSum" else 18):
        b.node(op, [x, b.integers(signed)], result, keepdims=int(keep))
    else:
        b.node(op, [x], result, axes=signed, keepdims=int(keep))
    return True


# -- Contractions


@operator("Gemm", since=11, of=of_rank(2))
def gemm(b, op, x, shape):
    transposes, n = b.rng.random() < 0.3, b.rng.randint(1, 10)
    rows, inner = shape[::-1] if transposes else shape
    turned = b.rng.random() < 0.5
    y = b.pick(lambda shape: len(shape) == 2 and shape[1 if turned else 0] == inner)
    if y and b.rng.random() < 0.3:
        n = b.shapes[y][0 if turned else 1]
    else:
        y = b.parameter((n, inner) if turned else (inner, n), inner**-0.5)
    bias = [] if b.rng.random() < 0.3 else [b.parameter(b.rng.choice(
        [(n,), (1, n), (rows, n), (rows, 1), (1,)]), 0.5)]
    b.node(op, [x, y, *bias], (rows, n), alpha=b.rng.choice([1.0, 0.5, 2.0]),
           beta=b.rng.choice([1.0, 0.5]), transA=int(transposes), transB=int(turned))
    return True


@operator("MatMul", of=of_rank(2, 5))
def matmul(b, op, x, shape):
    inner, n = shape[-1], b.rng.randint(1, 10)
    y = b.pick(lambda other: len(other) >= 2 and other[-2] == inner
               and all(p == q or 1 in (p, q) for p, q in
                       zip(other[-3::-1], shape[-3::-1])))
    if not y or b.rng.random() < 0.5:
        batch = [m if b.rng.random() < 0.5 else 1 for m in shape[:-2]]
        batch = batch[b.rng.randint(0, len(batch)):]
        y = b.parameter((*batch, inner, n), inner**-0.5)
        other = (*batch, inner, n)
    else:
        other = b.shapes[y]
    rank = max(len(shape), len(other)) - 2
    pad = lambda s: (1,) * (rank + 2 - len(s)) + tuple(s)
    result = [max(p, q) for p, q in zip(pad(shape)[:-2], pad(other)[:-2])]
    result += [shape[-2], other[-1]]
    if size(result) > MAX_ELEMENTS:
        return False
    b.node(op, [x, y], result)
    return True
