"""One function per ONNX operator: adds a node with random attributes to a
builder and returns true, or returns false if no tensor fits."""

import math

FUNCTIONS = {}  # ONNX operator to function.
SETS = {}  # ONNX operator to the first and last operator set of its function.
WEIGHTS = {"Conv": 5, "MaxPool": 2, "AveragePool": 2, "Gemm": 3, "MatMul": 2,
           "Cast": 0.3, "Identity": 0.3, "Dropout": 0.3}  # Else 1.
MAX_ELEMENTS = 20000


def operator(*names, since=1, until=math.inf):
    def register(function):
        for name in names:
            FUNCTIONS[name] = function
            SETS[name] = since, until
        return function
    return register


def add_any(b):
    """Adds one random operator, if it fits."""
    names = sorted(name for name, (since, until) in SETS.items()
                   if since <= b.opset <= until)
    name, = b.rng.choices(names, [WEIGHTS.get(name, 1) for name in names])
    return FUNCTIONS[name](b, name)


def size(shape):
    return math.prod(shape)


def spatial(shape):
    return 3 <= len(shape) <= 5


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


@operator("Add", "Sub", "Mul", "Max", "Min")
def binary(b, op):
    x = b.pick(lambda shape: True)
    shape = b.shapes[x]
    operands = [x, broadcast_operand(b, shape)]
    b.rng.shuffle(operands)
    if op in ("Max", "Min") and b.rng.random() < 0.3:
        operands.append(broadcast_operand(b, shape))
    b.node(op, operands, shape)
    return True


@operator("Sum")
def add_all(b, op):
    x = b.pick()
    if not x:
        return False
    shape = b.shapes[x]
    b.node(op, [x] + [broadcast_operand(b, shape) for _ in range(b.rng.randint(1, 2))],
           shape)
    return True


@operator("Div", since=11)
def divide(b, op):
    x = b.pick()
    if not x:
        return False
    shape = b.shapes[x]
    if b.rng.random() < 0.5:
        dims = [1 if b.rng.random() < 0.3 else n for n in shape]
        divisor = b.parameter(dims, positive=True)
    else:  # A divisor that is computed: in (0.2, 0.8).
        y = b.pick(lambda other: other == shape)
        squashed = b.node("Sigmoid", [y], shape)
        divisor = b.node("Clip", [squashed, b.scalar(0.2), b.scalar(0.8)], shape)
    b.node(op, [x, divisor], shape)
    return True


@operator("Relu", "Sigmoid", "Tanh", "Identity")
def unary(b, op):
    x = b.pick(lambda shape: True)
    b.node(op, [x], b.shapes[x])
    return True


@operator("Sqrt", since=11)
def root(b, op):
    x = b.pick()
    if not x:
        return False
    shape = b.shapes[x]
    positive = b.node("Clip", [x, b.scalar(0.1)], shape)
    b.node(op, [positive], shape)
    return True


@operator("Clip", since=11)
def clip(b, op):
    x = b.pick()
    if not x:
        return False
    low, high = b.rng.uniform(-2, 0), b.rng.uniform(0.3, 2)
    bounds = b.rng.choice([[b.scalar(low), b.scalar(high)], [b.scalar(low)],
                           ["", b.scalar(high)]])
    b.node(op, [x, *bounds], b.shapes[x])
    return True


@operator("Dropout")
def dropout(b, op):
    x = b.pick()
    if not x:
        return False
    if b.opset >= 12:
        b.node(op, [x, b.scalar(0.5)], b.shapes[x])
    else:
        b.node(op, [x], b.shapes[x], ratio=0.5)
    return True


@operator("Cast")
def cast(b, op):
    x = b.pick()
    if not x:
        return False
    b.node(op, [x], b.shapes[x], to=1)
    return True


# -- Windows


def windows(b, shape, dilates=True, pad_limit=None, kernel_limit=5):
    """Kernel, strides, dilations, pads and result of a spatial operator; None if
    the drawn window does not fit."""
    kernel, strides, dilations, lo, hi, result = [], [], [], [], [], []
    for n in shape[2:]:
        k = b.rng.choice([1, 2, 3, 3, 3, 4, kernel_limit])
        s = b.rng.choice([1, 1, 1, 2, 2, 3, 4])
        d = b.rng.choice([1, 1, 1, 2]) if dilates else 1
        reach = (k - 1) * d + 1
        # Mostly what keeps the size, sometimes anything.
        most = min(reach - 1, 4) if pad_limit is None else min(pad_limit(k, d), 4)
        p, q = ((reach - 1) // 2, (reach - 1) // 2) if b.rng.random() < 0.5 else (
            b.rng.randint(0, max(0, most)), b.rng.randint(0, max(0, most)))
        if n + p + q < reach:
            return None
        kernel.append(k), strides.append(s), dilations.append(d)
        lo.append(min(p, max(0, most))), hi.append(min(q, max(0, most)))
        if n + lo[-1] + hi[-1] < reach:
            return None
        result.append((n + lo[-1] + hi[-1] - reach) // s + 1)
    return kernel, strides, dilations, lo, hi, result


@operator("Conv")
def conv(b, op):
    x = b.pick(spatial)
    window = x and windows(b, b.shapes[x])
    if not window:
        return False
    kernel, strides, dilations, lo, hi, result = window
    batch, channels = b.shapes[x][:2]
    groups = b.rng.choice([1, 1, 1] + [g for g in (2, 3, 4, channels)
                                       if channels % g == 0])
    filters = groups * b.rng.randint(1, max(1, 8 // groups))
    fan_in = channels // groups * size(kernel)
    weight = b.parameter((filters, channels // groups, *kernel), fan_in**-0.5)
    bias = [b.parameter((filters,), 0.5)] if b.rng.random() < 0.6 else []
    attributes = {"group": groups, "strides": strides, "dilations": dilations,
                  "kernel_shape": kernel}
    if b.rng.random() < 0.15 and all(d == 1 for d in dilations):
        attributes["auto_pad"] = b.rng.choice(["SAME_UPPER", "SAME_LOWER"])
        result = [-(-n // s) for n, s in zip(b.shapes[x][2:], strides)]
        if any((r - 1) * s + k < n for r, s, k, n in
               zip(result, strides, kernel, b.shapes[x][2:])):
            return False
    else:
        attributes["pads"] = lo + hi
    b.node(op, [x, weight, *bias], (batch, filters, *result), **attributes)
    return True


@operator("MaxPool", "AveragePool", since=10)
def pool(b, op):
    x = b.pick(spatial)
    average = op == "AveragePool"
    dilates = (not average or b.opset >= 19) and b.rng.random() < 0.3
    window = x and windows(b, b.shapes[x], dilates,
                           lambda k, d: k - 1, kernel_limit=4)
    if not window:
        return False
    kernel, strides, dilations, lo, hi, result = window
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": lo + hi}
    if dilates or not average:
        attributes["dilations"] = dilations
    if average and b.rng.random() < 0.5:
        attributes["count_include_pad"] = 1
    if b.rng.random() < 0.3:
        attributes["ceil_mode"] = 1
        result = []
        for n, k, s, d, p, q in zip(b.shapes[x][2:], kernel, strides, dilations, lo, hi):
            reach = (k - 1) * d + 1
            count = -(-(n + p + q - reach) // s) + 1
            # onnx and onnxruntime disagree about a window that starts in the
            # padding behind.
            if (count - 1) * s >= n + p:
                return False
            result.append(count)
    b.node(op, [x], (*b.shapes[x][:2], *result), **attributes)
    return True


@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(b, op):
    x = b.pick(spatial)
    if not x:
        return False
    shape = b.shapes[x]
    b.node(op, [x], (*shape[:2], *(1 for _ in shape[2:])))
    return True


# -- Normalisation and reduction


@operator("BatchNormalization")
def batch_norm(b, op):
    x = b.pick(lambda shape: 2 <= len(shape) <= 5)
    if not x:
        return False
    channels = b.shapes[x][1]
    operands = [b.parameter((channels,), 0.3, f"bn{i}", positive)
                for i, positive in enumerate([True, False, False, True])]
    b.node(op, [x, *operands], b.shapes[x], epsilon=b.rng.choice([1e-5, 1e-3]))
    return True


@operator("LRN")
def lrn(b, op):
    x = b.pick(lambda shape: len(shape) == 4)  # All that onnxruntime knows.
    if not x:
        return False
    b.node(op, [x], b.shapes[x], size=b.rng.choice([1, 3, 5]),
           alpha=b.rng.uniform(1e-4, 0.5), beta=0.75, bias=b.rng.choice([1.0, 2.0]))
    return True


@operator("Softmax")
def softmax(b, op):
    x = b.pick()
    if not x:
        return False
    shape = b.shapes[x]
    b.node(op, [x], shape, axis=b.rng.randrange(-len(shape), len(shape))
           if b.opset >= 13 else b.rng.randrange(len(shape)))
    return True


@operator("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
def reduce(b, op):
    x = b.pick()
    if not x:
        return False
    shape = b.shapes[x]
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


@operator("Gemm", since=11)
def gemm(b, op):
    x = b.pick(lambda shape: len(shape) == 2)
    if not x:
        return False
    transposes, n = b.rng.random() < 0.3, b.rng.randint(1, 10)
    rows, inner = b.shapes[x][::-1] if transposes else b.shapes[x]
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


@operator("MatMul")
def matmul(b, op):
    x = b.pick(lambda shape: len(shape) >= 2)
    if not x:
        return False
    shape = b.shapes[x]
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


# -- Shapes


def regroup(b, count):
    """Random factors with the product `count`."""
    factors = []
    while count > 1 and len(factors) < 4:
        divisors = [d for d in range(2, min(count, 30) + 1) if count % d == 0]
        factor = b.rng.choice(divisors) if divisors else count
        factors.append(factor)
        count //= factor
    if count > 1 or not factors:
        factors.append(count)
    return factors


@operator("Reshape")
def reshape(b, op):
    x = b.pick()
    if not x:
        return False
    shape = list(b.shapes[x])
    if len(shape) > 1 and b.rng.random() < 0.5:  # Merge or split neighbours.
        at = b.rng.randrange(len(shape) - 1)
        result = shape[:at] + [shape[at] * shape[at + 1]] + shape[at + 2:]
    elif b.rng.random() < 0.5:
        at = b.rng.randrange(len(shape))
        result = shape[:at] + regroup(b, shape[at]) + shape[at + 1:]
    else:
        result = regroup(b, size(shape))
    if len(result) > 5:
        return False
    target = list(result)
    if b.rng.random() < 0.3:
        target[b.rng.randrange(len(target))] = -1
    b.node(op, [x, b.integers(target)], result)
    return True


@operator("Flatten")
def flatten(b, op):
    x = b.pick(lambda shape: len(shape) >= 2)
    if not x:
        return False
    shape = b.shapes[x]
    axis = b.rng.randint(0, len(shape))
    b.node(op, [x], (size(shape[:axis]), size(shape[axis:])), axis=axis)
    return True


@operator("Squeeze")
def squeeze(b, op):
    x = b.pick(lambda shape: 1 in shape and len(shape) > 1)
    if not x:
        return False
    shape = b.shapes[x]
    ones = [i for i, n in enumerate(shape) if n == 1][:len(shape) - 1]
    axes = sorted(b.rng.sample(ones, b.rng.randint(1, len(ones))))
    result = [n for i, n in enumerate(shape) if i not in axes]
    if b.opset >= 13:
        b.node(op, [x, b.integers(axes)], result)
    else:
        b.node(op, [x], result, axes=axes)
    return True


@operator("Unsqueeze")
def unsqueeze(b, op):
    x = b.pick(lambda shape: len(shape) < 5)
    if not x:
        return False
    shape = list(b.shapes[x])
    axis = b.rng.randint(0, len(shape))
    result = shape[:axis] + [1] + shape[axis:]
    if b.opset >= 13:
        b.node(op, [x, b.integers([axis])], result)
    else:
        b.node(op, [x], result, axes=[axis])
    return True


@operator("Transpose")
def transpose(b, op):
    x = b.pick(lambda shape: len(shape) >= 2)
    if not x:
        return False
    order = list(range(len(b.shapes[x])))
    b.rng.shuffle(order)
    b.node(op, [x], [b.shapes[x][i] for i in order], perm=order)
    return True


@operator("Concat")
def concat(b, op):
    x = b.pick()
    if not x:
        return False
    shape = b.shapes[x]
    axis = b.rng.randrange(len(shape))
    like = lambda other: (len(other) == len(shape) and all(
        p == q for i, (p, q) in enumerate(zip(other, shape)) if i != axis))
    parts = [x] + [b.pick(like) for _ in range(b.rng.randint(1, 3))]
    if b.rng.random() < 0.3:
        parts.append(b.parameter([b.rng.randint(1, 4) if i == axis else n
                                  for i, n in enumerate(shape)]))
        shape_of = lambda name: b.shapes.get(name) or next(
            s for n, s, _ in b.parameters if n == name)
    else:
        shape_of = b.shapes.get
    b.rng.shuffle(parts)
    total = sum(shape_of(part)[axis] for part in parts)
    result = [total if i == axis else n for i, n in enumerate(shape)]
    if size(result) > MAX_ELEMENTS:
        return False
    negative = b.rng.random() < 0.3 and b.opset >= 11
    b.node(op, parts, result, axis=axis - (len(shape) if negative else 0))
    return True


@operator("Slice", since=10)
def cut(b, op):
    x = b.pick()
    if not x:
        return False
    shape = b.shapes[x]
    axes = sorted(b.rng.sample(range(len(shape)), b.rng.randint(1, len(shape))))
    starts, ends, steps, result = [], [], [], list(shape)
    for axis in axes:
        n = shape[axis]
        step = b.rng.choice([1, 1, 1, 2, 3, -1, -2])
        low = b.rng.randint(0, n - 1)
        high = b.rng.randint(low + 1, n)
        if step > 0:
            starts.append(low), ends.append(high)
        else:
            starts.append(high - 1), ends.append(low - 1 if low else -n - 1)
        steps.append(step)
        result[axis] = -(-(high - low) // abs(step))
    b.node(op, [x, *map(b.integers, (starts, ends, axes, steps))], result)
    return True


@operator("Split")
def split(b, op):
    x = b.pick(lambda shape: max(shape, default=1) > 1)
    if not x:
        return False
    shape = b.shapes[x]
    axis = b.rng.choice([i for i, n in enumerate(shape) if n > 1])
    count = b.rng.randint(2, min(3, shape[axis]))
    cuts = sorted(b.rng.sample(range(1, shape[axis]), count - 1))
    sizes = [q - p for p, q in zip([0, *cuts], [*cuts, shape[axis]])]
    shapes = [[n if i == axis else m for i, m in enumerate(shape)] for n in sizes]
    if b.opset >= 13:
        b.multi_node(op, [x, b.integers(sizes)], shapes, axis=axis)
    else:
        b.multi_node(op, [x], shapes, axis=axis, split=sizes)
    return True


@operator("Pad", since=11)
def pad(b, op):
    x = b.pick()
    if not x:
        return False
    shape = b.shapes[x]
    lo = [b.rng.choice([0, 0, 1, 2, 5]) for _ in shape]
    hi = [b.rng.choice([0, 0, 1, 3]) for _ in shape]
    if b.rng.random() < 0.2:
        at = b.rng.randrange(len(shape))
        if shape[at] > 1:
            lo[at] = -1
    result = [n + p + q for n, p, q in zip(shape, lo, hi)]
    if size(result) > MAX_ELEMENTS:
        return False
    value = [b.scalar(b.rng.uniform(-1, 1))] if b.rng.random() < 0.5 else []
    b.node(op, [x, b.integers(lo + hi), *value], result)
    return True
