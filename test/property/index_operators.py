"""Random look-ups and stores by element, places and orders, as operators.py. Indices
are inputs or known; what jumps reads inputs of the graph only."""

import itertools

import numpy as np

from integer_operators import pick_input
from operators import MAX_ELEMENTS, WEIGHTS, of_rank, operator, ranked, size

WEIGHTS.update({"GatherElements": 2, "GatherND": 2, "ScatterElements": 2, "ScatterND": 2,
                "Scatter": 4, "ArgMax": 1, "ArgMin": 1, "CumSum": 2, "OneHot": 2,
                "TopK": 2, "Trilu": 2})
# The first operator set with the reductions of both stores.
REDUCTIONS = {"none": 11, "add": 16, "mul": 16, "max": 18, "min": 18}


def operand_of(b, array, dtype=None):
    """Indices: an input, or known."""
    array = np.asarray(array).astype(dtype or b.rng.choice([np.int32, np.int64]))
    if b.chance(0.5):
        return b.initializer(array)
    name = b.name("in")
    b.inputs[name] = array
    return name


def signed(b, indices, sizes):
    """Some of them counted from the end."""
    negative = b.values.integers(0, 2, indices.shape).astype(bool) & b.chance(0.5)
    return np.where(negative, indices - sizes, indices)


@operator("GatherElements", since=11, of=ranked)
def gather_elements(b, op, x, shape):
    axis = b.rng.randrange(len(shape))
    form = [n if b.chance(0.7) else b.rng.randint(1, n) for n in shape]
    form[axis] = b.rng.randint(1, 6)
    if size(form) > MAX_ELEMENTS:
        return False
    indices = b.values.integers(0, shape[axis], form)
    b.node(op, [x, operand_of(b, signed(b, indices, shape[axis]))], form,
           axis=b.axis(axis, len(shape)))
    return True


@operator("GatherND", since=11, of=ranked)
def gather_nd(b, op, x, shape):
    batch = b.rng.randint(0, min(2, len(shape) - 1)) if b.opset >= 12 else 0
    indexed = b.rng.randint(1, min(3, len(shape) - batch))
    outer = [b.rng.randint(1, 5) for _ in range(b.rng.randint(0, 2))]
    form = [*shape[:batch], *outer, indexed]
    result = [*form[:-1], *shape[batch + indexed:]]
    if size(result) > MAX_ELEMENTS or len(result) > 8 or size(form) > MAX_ELEMENTS:
        return False
    sizes = np.array(shape[batch:batch + indexed])
    indices = b.values.integers(0, sizes, form)
    # onnxruntime has 64-bit indices only.
    b.node(op, [x, operand_of(b, signed(b, indices, sizes), np.int64)], result,
           batch_dims=batch if b.opset >= 12 else None)
    return True


def data_or_zeros(b, x, shape):
    """What updates go onto."""
    if b.chance(0.6):
        return x
    return b.initializer(np.zeros(shape, np.float32)) if b.chance(0.5) else \
        b.parameter(shape)


def reduction_of(b):
    name = b.rng.choice([name for name, since in REDUCTIONS.items() if since <= b.opset])
    return name, {"reduction": name} if b.opset >= 16 else {}


@operator("Scatter", since=9, until=10, of=ranked)
@operator("ScatterElements", since=11, of=ranked)
def scatter_elements(b, op, x, shape):
    axis = b.rng.randrange(len(shape))
    form = [n if b.chance(0.7) else b.rng.randint(1, n) for n in shape]
    reduction, attribute = ("none", {}) if op == "Scatter" else reduction_of(b)
    form[axis] = b.rng.randint(1, shape[axis] if reduction == "none" else 6)
    if size(form) > MAX_ELEMENTS:
        return False
    if reduction == "none":  # No element twice.
        keys = [*form[:axis], shape[axis], *form[axis + 1:]]
        order = np.argsort(b.values.random(keys), axis=axis)
        indices = np.take(order, range(form[axis]), axis=axis)
    else:
        indices = b.values.integers(0, shape[axis], form)
    if b.opset >= 11:
        indices = signed(b, indices, shape[axis])
    b.node(op, [data_or_zeros(b, x, shape), operand_of(b, indices), b.operand(form)],
           shape, axis=b.axis(axis, len(shape)), **attribute)
    return True


@operator("ScatterND", since=11, of=ranked)
def scatter_nd(b, op, x, shape):
    indexed = b.rng.randint(1, min(3, len(shape)))
    sizes = shape[:indexed]
    reduction, attribute = reduction_of(b)
    outer = [b.rng.randint(1, 4) for _ in range(b.rng.randint(0, 2))]
    if reduction == "none" and size(outer) > size(sizes):
        return False
    form = [*outer, *shape[indexed:]]
    if size(form) > MAX_ELEMENTS or size(sizes) > MAX_ELEMENTS or not form:
        return False
    if reduction == "none":  # No slice twice.
        places = list(itertools.product(*map(range, sizes)))
        chosen = b.rng.sample(places, size(outer))
    else:
        chosen = [[b.rng.randrange(n) for n in sizes] for _ in range(size(outer))]
    indices = np.array(chosen, np.int64).reshape([*outer, indexed])
    b.node(op, [data_or_zeros(b, x, shape),
                operand_of(b, signed(b, indices, np.array(sizes)), np.int64),
                b.operand(form)], shape, **attribute)
    return True


@operator("OneHot", since=9)
def one_hot(b, op):
    form = [b.rng.randint(1, 5) for _ in range(b.rng.randint(1, 3))]
    depth, axis = b.rng.randint(1, 6), b.rng.randint(0, len(form))
    # Some are outside; negative ones count from the end since operator set 11.
    indices = b.values.integers(-depth if b.opset >= 11 else 0, depth + 1, form)
    values = b.operand((2,))
    b.node(op, [operand_of(b, indices, np.int64),
                b.initializer(np.array(depth, dtype=np.int64)), values],
           [*form[:axis], depth, *form[axis:]], axis=b.axis(axis, len(form) + 1, since=9))
    return True


@operator("ArgMax", "ArgMin")
def arg(b, op):
    x = pick_input(b)
    shape = b.shapes[x]
    if not shape:
        return False
    axis, keep = b.rng.randrange(len(shape)), b.rng.choice([0, 1])
    if b.chance(0.4) and b.opset >= 12:  # Several equal ones.
        x = b.hidden("Floor", [x], shape)
    result = [1 if i == axis else n for i, n in enumerate(shape) if keep or i != axis]
    places = b.hidden(op, [x], result, axis=b.axis(axis, len(shape)), keepdims=keep,
                      select_last_index=b.rng.choice([0, 1]) if b.opset >= 12 else None)
    b.node("Cast", [places], result, to=1)
    return True


@operator("TopK")
def top(b, op):
    x = pick_input(b)
    shape = b.shapes[x]
    if not shape:
        return False
    axis = b.rng.randrange(len(shape))
    count = b.rng.randint(1, shape[axis])
    result = [count if i == axis else n for i, n in enumerate(shape)]
    operands, attributes = [x], {"axis": b.axis(axis, len(shape))}
    if b.opset < 10:
        attributes["k"] = count
    else:
        operands.append(b.integers([count]))
    if b.opset >= 11:
        attributes["largest"] = b.rng.choice([0, 1])
    values, places = b.multi_node(op, operands, [result, result], **attributes)
    del b.shapes[places]
    if b.chance(0.7):
        b.node("Cast", [places], result, to=1)
    return True


@operator("CumSum", since=11, of=ranked)
def cum_sum(b, op, x, shape):
    axis = b.rng.randrange(len(shape))
    along = b.initializer(np.array(b.axis(axis, len(shape)), np.int64))
    b.node(op, [x, along], shape, exclusive=b.rng.choice([0, 1]),
           reverse=b.rng.choice([0, 1]))
    return True


@operator("Trilu", since=14, of=of_rank(2, 8))
def trilu(b, op, x, shape):
    operands = [x]
    if b.chance(0.7):
        operands.append(b.initializer(np.array(b.rng.randint(-2, 2), np.int64)))
    b.node(op, operands, shape, upper=b.rng.choice([0, 1]))
    return True
