"""Random operators of recurrent and transformer networks, as operators.py. What
jumps (comparisons, rounding) reads inputs of the graph only, which are equal in
every strategy to the bit."""

import numpy as np

from operators import (MAX_ELEMENTS, WEIGHTS, anything, broadcast_operand, of_rank,
                       operator, ranked, size, wider_operand)

# Layers have most loops and rules.
WEIGHTS.update({
    "Cast": 1, "Conv": 9, "ConvTranspose": 2, "Dropout": 1, "Einsum": 2, "Gather": 2,
    "Gemm": 5, "GRU": 4, "Identity": 1, "LSTM": 4, "RNN": 3, "LayerNormalization": 2, "MatMul": 4,
    "MaxPool": 3, "RMSNormalization": 4, "Resize": 4, "Upsample": 6,
    **dict.fromkeys(["Abs", "Ceil", "Cos", "Erf", "Floor", "Neg", "Round", "Sin",
                     "And", "Not", "Or", "Xor", "Equal", "Greater", "Less",
                     "GreaterOrEqual", "LessOrEqual", "Exp", "Log",
                     "Reciprocal"], 0.6)})


def positive(b, x):
    magnitude = b.hidden("Abs", [x], b.shapes[x])
    return b.hidden("Add", [magnitude, b.scalar(0.5)], b.shapes[x])


# -- Per element


@operator("Abs", "Cos", "Neg", "Sin", of=anything)
@operator("Erf", since=9, of=anything)
def unary(b, op, x, shape):
    b.node(op, [x], shape)
    return True


@operator("Gelu", since=20, of=anything)
def gelu(b, op, x, shape):
    b.node(op, [x], shape, approximate=b.rng.choice(["none", "tanh"]))
    return True


@operator("Exp", of=anything)
def exp(b, op, x, shape):
    b.node(op, [b.hidden("Tanh", [x], shape)], shape)
    return True


@operator("Log", "Reciprocal", of=anything)
def of_positive(b, op, x, shape):
    b.node(op, [positive(b, x)], shape)
    return True


@operator("Pow", of=anything)
def power(b, op, x, shape):
    exponent = b.rng.choice([0, 0.5, -1, 1, 1.5, 2, 3])
    whole = exponent in (0, 1, 2, 3)
    base = b.hidden("Tanh", [x], shape) if whole else positive(b, x)
    kind = b.rng.choice(["scalar", "scalar", "integer", "row", "each"])
    if kind == "integer" and whole and b.opset >= 12:
        operand = b.initializer(np.array([exponent] if shape else exponent,
                                         dtype=b.rng.choice([np.int32, np.int64])))
    elif kind == "row" and shape:
        operand = b.initializer(np.full(shape[-1:], exponent, np.float32))
    elif kind == "each":  # Exponents that are computed.
        base = positive(b, x)
        operand, shape = wider_operand(b, shape)
        if not operand:
            return False
        bounded = b.hidden("Tanh", [operand], b.shape_of(operand))
        operand = bounded
    else:
        operand = b.scalar(exponent)
    b.node(op, [base, operand], shape)
    return True


# -- Repetition and look-ups


@operator("Expand", since=8, of=anything)
def expand(b, op, x, shape):
    result = [b.rng.randint(1, 4) if n == 1 else n for n in shape]
    target = [1 if n == m and b.chance(0.3) else m for n, m in zip(shape, result)]
    if b.chance(0.2):  # The last ones suffice, where the others stay.
        while target and result[len(result) - len(target)] == \
                shape[len(shape) - len(target)]:
            target.pop(0)
    else:
        more = [b.rng.randint(1, 3) for _ in range(b.rng.choice([0, 1, 1, 2]))]
        result, target = more + result, more + target
    if size(result) > MAX_ELEMENTS or len(result) > 8:
        return False
    b.node(op, [x, b.integers(target)], result)
    return True


@operator("Tile", of=ranked)
def tile(b, op, x, shape):
    repeats = [b.rng.choice([1, 1, 2, 3]) for _ in shape]
    result = [n * r for n, r in zip(shape, repeats)]
    if size(result) > MAX_ELEMENTS:
        return False
    b.node(op, [x, b.integers(repeats)], result)
    return True


@operator("Gather")
def gather(b, op):
    """Of activations along any axis, or of a table of parameters; indices that are
    known, follow one another, or are an input."""
    rows = b.rng.randint(1, 9)
    x, shape = b.pick(), (rows, b.rng.randint(2, 8))
    if x and b.chance(0.6):
        shape = b.shapes[x]
    else:
        x = b.parameter(shape)
    axis = b.rng.randrange(len(shape))
    n = shape[axis]
    form = b.rng.choice([(), (b.rng.randint(1, 6),), (b.rng.randint(1, 6),),
                         (b.rng.randint(1, 3), b.rng.randint(1, 4))])
    result = (*shape[:axis], *form, *shape[axis + 1:])
    if size(result) > MAX_ELEMENTS or len(result) > 8:
        return False
    lowest = -n if b.opset >= 11 else 0
    dtype = b.rng.choice([np.int32, np.int64])
    if b.chance(0.3):  # The runtime takes none that count from the end.
        indices = b.add_integer_input(form, 0, n, dtype)
    elif len(form) == 1 and form[0] <= n and b.chance(0.3):  # A slice.
        step = b.rng.choice([1, -1] + ([2] if 2 * form[0] <= n + 1 else []))
        start = b.rng.randint(0, n - 1 - (form[0] - 1) * abs(step))
        follow = [start + i * abs(step) for i in range(form[0])]
        indices = b.integers(follow if step > 0 else follow[::-1])
    else:
        indices = b.initializer(b.values.integers(lowest, n, form).astype(dtype))
    b.node(op, [x, indices], result, axis=b.axis(axis, len(shape)))
    return True


# -- Layers


def of_wide_rows(shape):
    return len(shape) > 1 and shape[-1] > 2


@operator("LayerNormalization", since=17, of=of_wide_rows)
@operator("RMSNormalization", since=23, of=of_wide_rows)
def layer_norm(b, op, x, shape):
    axis = b.rng.randrange(0, len(shape))
    inner = shape[axis:]
    # LayerNormalization broadcasts, too.
    broadcast = lambda: inner if b.chance(0.8) else [
        1 if b.chance(0.5) else n for n in inner]
    operands = [x, b.parameter(broadcast(), positive=True) if b.chance(0.9)
                else b.operand(inner)]
    if op == "LayerNormalization" and b.chance(0.5):
        operands.append(b.operand(broadcast()))
    shapes = [shape]
    if op == "LayerNormalization" and b.chance(0.3):  # The statistics, too.
        shapes += [(*shape[:axis], *(1 for _ in inner))] * 2
    b.multi_node(op, operands, shapes, axis=axis - b.rng.choice([0, len(shape)]),
                 epsilon=b.rng.choice([1e-5, 1e-5, 0.1]))
    return True


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"],
            "RNN": ["Tanh"]}
# Those that stay tame. ThresholdedRelu jumps.
ACTIVATIONS = ["Sigmoid", "Tanh", "Softsign", "HardSigmoid", "Relu", "LeakyRelu", "Elu",
               "Affine", "ScaledTanh", "Softplus"]
# What reads an alpha, or a beta. Where the node lists none, onnxruntime has other
# defaults of some than ONNX.
ALPHAS = {"HardSigmoid", "LeakyRelu", "Elu", "Affine", "ScaledTanh"}
BETAS = {"HardSigmoid", "Affine", "ScaledTanh"}


def some_activations(b, op, directions):
    """Names, alphas and betas, as attributes of a node."""
    if b.chance(0.5):
        return {"activations": DEFAULTS[op] * directions if b.chance(0.3) else None}
    names = [b.rng.choice(["Sigmoid", "HardSigmoid", "Softsign"] if default == "Sigmoid"
                          else ACTIVATIONS) for default in DEFAULTS[op] * directions]

    def numbers(readers):
        return [b.rng.choice([0.2, 0.5, 0.8]) for name in names if name in readers] or None

    return {"activations": names, "activation_alpha": numbers(ALPHAS),
            "activation_beta": numbers(BETAS)}


@operator("LSTM", "GRU", "RNN", of=of_rank(3))
def layer(b, op, x, shape):
    steps, batch, inputs = shape
    direction = b.rng.choice(["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    gates, hidden_size = GATES[op], b.rng.randint(1, 6)
    scale = (inputs + hidden_size) ** -0.5
    state = (directions, batch, hidden_size)
    lengths = ""
    if b.chance(0.3):
        known = b.chance(0.3)
        lengths = b.initializer(np.full(batch, steps, np.int32)) if known else \
            b.add_integer_input((batch,), 1, steps + 1, np.int32)
    operands = [x, b.operand((directions, gates * hidden_size, inputs), scale),
                b.operand((directions, gates * hidden_size, hidden_size), scale),
                b.operand((directions, 2 * gates * hidden_size), 0.1)
                if b.chance(0.7) else "",
                lengths, b.operand(state, 0.5) if b.chance(0.3) else ""]
    results = [(steps, directions, batch, hidden_size), state]
    attributes = {"linear_before_reset": b.rng.choice([0, 1])} if op == "GRU" else {}
    if op == "LSTM":
        operands += [b.operand(state, 0.5) if b.chance(0.3) else "",
                     b.operand((directions, 3 * hidden_size), 0.5)
                     if b.chance(0.3) else ""]
        results.append(state)
        attributes = {"input_forget": b.rng.choice([0, 0, 1])}
    while not operands[-1]:
        operands.pop()
    outputs = [b.name("t") if b.chance(0.6) else "" for _ in results]
    if not any(outputs):
        outputs[b.rng.randrange(len(outputs))] = b.name("t")
    while not outputs[-1]:
        outputs.pop()
    b.multi_node(op, operands, results, outputs, hidden_size=hidden_size,
                 direction=direction, clip=b.rng.choice([None, None, 0.5, 2.0]),
                 **some_activations(b, op, directions), **attributes)
    return True
