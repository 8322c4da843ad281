"""Random operators of recurrent and transformer networks, as operators.py. What
jumps (comparisons, rounding) reads inputs of the graph only, which are equal in
every strategy to the bit."""

from operators import (MAX_ELEMENTS, WEIGHTS, anything, broadcast_operand, of_rank,
                       operator, ranked, size)

# Layers have most loops and rules.
WEIGHTS.update({
    "Cast": 1, "Conv": 9, "ConvTranspose": 2, "Dropout": 1, "Einsum": 2, "Gather": 2,
    "Gemm": 5, "Identity": 1, "LSTM": 4, "LayerNormalization": 2, "MatMul": 4,
    "MaxPool": 3, "RMSNormalization": 4, "Resize": 2, "Upsample": 6,
    **dict.fromkeys(["Abs", "Ceil", "Cos", "Erf", "Floor", "Neg", "Round", "Sin",
                     "And", "Not", "Or", "Xor", "Equal", "Greater", "Less",
                     "GreaterOrEqual", "LessOrEqual", "Exp", "Log",
                     "Reciprocal"], 0.4)})


def hidden(b, op, inputs, shape, **attributes):
    """A node whose result no random operator reads: not floats, or not tame."""
    name = b.node(op, inputs, shape, **attributes)
    del b.shapes[name]
    return name


def positive(b, x):
    magnitude = hidden(b, "Abs", [x], b.shapes[x])
    return hidden(b, "Add", [magnitude, b.scalar(0.5)], b.shapes[x])


def pick_input(b):
    return b.rng.choice(list(b.inputs))


# -- Per element


@operator("Abs", "Cos", "Erf", "Neg", "Sin", of=anything)
def unary(b, op, x, shape):
    b.node(op, [x], shape)
    return True


@operator("Gelu", since=20, of=anything)
def gelu(b, op, x, shape):
    b.node(op, [x], shape, approximate=b.rng.choice(["none", "tanh"]))
    return True


@operator("Exp", of=anything)
def exp(b, op, x, shape):
    b.node(op, [hidden(b, "Tanh", [x], shape)], shape)
    return True


@operator("Log", "Reciprocal", of=anything)
def of_positive(b, op, x, shape):
    b.node(op, [positive(b, x)], shape)
    return True


@operator("Pow", of=anything)
def power(b, op, x, shape):
    exponent = b.rng.choice([0.5, -1, 1.5, 2, 3])
    base = x if exponent in (2, 3) else positive(b, x)
    bounded = hidden(b, "Tanh", [base], shape) if base == x else base
    b.node(op, [bounded, b.scalar(exponent)], shape)
    return True


@operator("Ceil", "Floor", "Round", since=11)
def rounded(b, op):
    x = pick_input(b)
    b.node(op, [x], b.shapes[x])
    return True


COMPARISONS = ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"]


def compare(b, op, x):
    return hidden(b, op, [x, b.scalar(b.rng.uniform(-0.5, 0.5))], b.shapes[x])


@operator("And", "Not", "Or", "Where", "Xor", "Greater", "Less")
@operator("Equal", since=11)
@operator("GreaterOrEqual", "LessOrEqual", since=12)
def choice(b, op):
    """A mask from comparisons, then a choice between two values."""
    x = pick_input(b)
    shape = b.shapes[x]
    mask = compare(b, op if op in COMPARISONS else b.rng.choice(COMPARISONS[1:3]), x)
    if op in ("And", "Or", "Xor"):
        mask = hidden(b, op, [mask, compare(b, "Less", x)], shape)
    elif op == "Not":
        mask = hidden(b, op, [mask], shape)
    if op in ("Equal", "Not") and b.rng.random() < 0.5:
        b.node("Cast", [mask], shape, to=1)
        return True
    same = b.pick(lambda other: other == shape)
    b.node("Where", [mask, same, broadcast_operand(b, shape)], shape)
    return True


# -- Repetition and look-ups


@operator("Expand", "Tile", of=ranked)
def repeat(b, op, x, shape):
    if op == "Tile":
        repeats = [b.rng.choice([1, 1, 2, 3]) for _ in shape]
        result = [n * r for n, r in zip(shape, repeats)]
        operand = b.integers(repeats)
    else:
        result = [b.rng.randint(1, 3)] * b.rng.randint(0, 1) + [
            b.rng.randint(1, 4) if n == 1 else n for n in shape]
        operand = b.integers(result)
    if size(result) > MAX_ELEMENTS or len(result) > 5:
        return False
    b.node(op, [x, operand], result)
    return True


@operator("Gather")
def gather(b, op):
    """Of activations along any axis, or of a table of parameters."""
    rows = b.rng.randint(2, 9)
    x = b.pick() if b.rng.random() < 0.6 else b.parameter((rows, b.rng.randint(2, 8)))
    if not x:
        return False
    shape = b.shapes.get(x) or next(s for n, s, _ in b.parameters if n == x)
    axis = b.rng.randrange(len(shape))
    lowest = -shape[axis] if b.opset >= 11 else 0
    indices = [b.rng.randrange(lowest, shape[axis])
               for _ in range(b.rng.randint(2, 6))]
    result = (*shape[:axis], len(indices), *shape[axis + 1:])
    if size(result) > MAX_ELEMENTS:
        return False
    b.node(op, [x, b.integers(indices)], result, axis=axis)
    return True


@operator("Resize", since=13, of=of_rank(4))
@operator("Upsample", until=9, of=of_rank(4))
def resize(b, op, x, shape):
    scales = [1, 1, b.rng.choice([1, 2, 3]), b.rng.choice([1, 2])]
    result = [int(n * s) for n, s in zip(shape, scales)]
    if size(result) > MAX_ELEMENTS or scales[2:] == [1, 1]:
        return False
    linear = b.rng.random() < 0.5
    operand = b.name("scales")
    b.add_constant(operand, scales)
    mode = "linear" if linear else "nearest"
    if op == "Upsample":
        b.node(op, [x, operand], result, mode=mode)
        return True
    b.node(op, [x, "", operand], result, mode=mode,
           coordinate_transformation_mode=b.rng.choice(["half_pixel", "asymmetric"]),
           nearest_mode=None if linear else "floor")
    return True


# -- Layers


@operator("LogSoftmax", of=ranked)
def log_softmax(b, op, x, shape):
    b.node(op, [x], shape, axis=b.rng.randrange(len(shape)))
    return True


def of_wide_rows(shape):
    return len(shape) > 1 and shape[-1] > 2


@operator("LayerNormalization", since=17, of=of_wide_rows)
@operator("RMSNormalization", since=23, of=of_wide_rows)
def layer_norm(b, op, x, shape):
    axis = b.rng.randrange(1, len(shape))
    operands = [x, b.parameter(shape[axis:], positive=True)]
    if op == "LayerNormalization" and b.rng.random() < 0.5:
        operands.append(b.parameter(shape[axis:]))
    b.node(op, operands, shape, axis=axis - b.rng.choice([0, len(shape)]))
    return True


@operator("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceSumSquare", of=ranked)
def norm(b, op, x, shape):
    axis = b.rng.randrange(len(shape))
    result = [1 if i == axis else n for i, n in enumerate(shape)]
    source = positive(b, x) if op == "ReduceLogSum" else hidden(b, "Tanh", [x], shape)
    if b.opset >= 18:
        b.node(op, [source, b.integers([axis])], result)
    else:
        b.node(op, [source], result, axes=[axis])
    return True


@operator("Einsum", since=12, of=of_rank(2, 3))
def einsum(b, op, x, shape):
    features = b.rng.randint(2, 8)
    scale = shape[-1] ** -0.5
    if len(shape) == 2:
        equation, weight = b.rng.choice(["nk,kf->nf", "nk,kf->fn"]), (shape[-1], features)
        result = (shape[0], features)
        result = result if equation.endswith("nf") else result[::-1]
    else:
        equation, weight = "bnk,bkf->bnf", (shape[0], shape[-1], features)
        result = (*shape[:2], features)
    b.node(op, [x, b.parameter(weight, scale)], result, equation=equation)
    return True


@operator("LSTM", of=of_rank(3))
def lstm(b, op, x, shape):
    steps, batch, inputs = shape
    direction = b.rng.choice(["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    hidden_size = b.rng.randint(2, 6)
    scale = (inputs + hidden_size) ** -0.5
    operands = [x, b.parameter((directions, 4 * hidden_size, inputs), scale),
                b.parameter((directions, 4 * hidden_size, hidden_size), scale)]
    if b.rng.random() < 0.7:
        operands.append(b.parameter((directions, 8 * hidden_size), 0.1))
    b.multi_node(op, operands, [(steps, directions, batch, hidden_size),
                                (directions, batch, hidden_size),
                                (directions, batch, hidden_size)],
                 hidden_size=hidden_size, direction=direction)
    return True


@operator("ConvTranspose", of=of_rank(3, 4))
def conv_transpose(b, op, x, shape):
    batch, channels, *image = shape
    groups = b.rng.choice([g for g in (1, 1, 2, 3) if channels % g == 0])
    outputs = b.rng.randint(1, 3)
    kernel, strides, dilations, extra, lo, hi, result = ([] for _ in range(7))
    for n in image:
        kernel.append(b.rng.randint(1, 3))
        strides.append(b.rng.randint(1, 3))
        dilations.append(b.rng.choice([1, 1, 2]))
        extra.append(b.rng.randrange(strides[-1]))
        reach = (kernel[-1] - 1) * dilations[-1]
        lo.append(b.rng.randint(0, reach))
        hi.append(b.rng.randint(0, reach))
        result.append(strides[-1] * (n - 1) + extra[-1] + reach + 1 - lo[-1] - hi[-1])
    shape = (batch, outputs * groups, *result)
    if min(result) < 1 or size(shape) > MAX_ELEMENTS:
        return False
    operands = [x, b.parameter((channels, outputs, *kernel),
                               (channels / groups * size(kernel)) ** -0.5)]
    if b.rng.random() < 0.5:
        operands.append(b.parameter((outputs * groups,)))
    b.node(op, operands, shape, strides=strides, dilations=dilations, pads=lo + hi,
           output_padding=extra, group=groups)
    return True
