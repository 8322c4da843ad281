"""Constants and parameters in all the forms that models have them: initializers,
Constant nodes, and what is computed from these and from shapes alone."""

import math

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPTIONAL = {"strides": 1, "dilations": 1, "pads": 0, "output_padding": 0}


def without_defaults(b, op, attributes):
    """The attributes that are given; half of the time without those that say what
    holds anyway."""
    given = {name: value for name, value in attributes.items() if value is not None}
    if op in ("Constant", "ConstantOfShape", "If", "Loop", "Scan") or b.chance(0.5):
        return given
    known = onnx.defs.get_schema(op, b.opset, "").attributes

    def holds_anyway(name, value):
        if name in ("strides", "dilations", "output_padding") or (
                name == "pads" and op != "Pad"):
            return set(value) == {OPTIONAL[name]}
        if name == "kernel_shape":
            return op.startswith("Conv")
        if name == "perm":
            return value == sorted(value, reverse=True)
        default = known[name].default_value
        return default.name and helper.get_attribute_value(default) in (
            value, str(value).encode())

    return {name: value for name, value in given.items()
            if not holds_anyway(name, value)}


def node(b, op, inputs, **attributes):
    """A node of constants: its result is no tensor to draw."""
    b.aside += 1
    return b.hidden(op, inputs, (), **attributes)


def constant(b, array):
    """An initializer or a Constant node."""
    if b.chance(0.85):
        return b.initializer(array)
    if b.opset >= 12 and array.ndim < 2 and array.dtype in (np.int64, np.float32):
        kind = "int" if array.dtype == np.int64 else "float"
        if array.ndim == 0:
            return node(b, "Constant", [], **{f"value_{kind}": array.item()})
        if array.size:
            return node(b, "Constant", [], **{f"value_{kind}s": array.tolist()})
    return node(b, "Constant", [], value=numpy_helper.from_array(array))


def computed(b, numbers):
    """A vector of these integers, by arithmetic that the importer folds."""
    array = np.array(numbers, dtype=np.int64)
    same = [name for name, shape in b.shapes.items()
            if shape and list(shape) == numbers]
    if same and b.chance(0.7):
        return node(b, "Shape", [b.rng.choice(same)])
    small = array.size > 0 and np.abs(array).max() < 1000
    steps = np.diff(array)
    follow = small and array.size > 1 and steps[0] and (steps == steps[0]).all()
    if follow and b.opset >= 11:
        ends = array[0], array[-1] + steps[0], steps[0]
        return node(b, "Range", [b.initializer(np.asarray(end)) for end in ends])
    kind = b.rng.choice(["add", "cast", "concat", "gather", "mod", "sizes"])
    if kind == "add" and small:
        part = np.array([b.rng.randint(-5, 5) for _ in numbers], dtype=np.int64)
        op = b.rng.choice(["Add", "Sub"])
        rest = array - part if op == "Add" else array + part
        return node(b, op, [b.initializer(rest), b.initializer(part)])
    if kind == "cast" and small:
        return node(b, "Cast", [b.initializer(array.astype(np.int32))], to=7)
    if kind == "concat" and array.size > 1:
        at = b.rng.randrange(1, array.size)
        return node(b, "Concat", [b.initializer(array[:at]), b.initializer(array[at:])],
                    axis=0)
    if kind == "gather" and array.size:
        order = b.rng.sample(range(array.size), array.size)
        rows = np.array([order.index(i) for i in range(array.size)], dtype=np.int64)
        return node(b, "Gather", [b.initializer(array[order]), b.initializer(rows)],
                    axis=0)
    if kind == "mod" and small and b.opset >= 10 and array.min() >= 0:
        modulus = np.array([int(array.max()) + b.rng.randint(1, 5)], dtype=np.int64)
        return node(b, "Mod", [b.initializer(array + 2 * modulus),
                               b.initializer(modulus)])
    if kind == "sizes":
        return from_sizes(b, numbers)
    return constant(b, array)


def from_sizes(b, numbers):
    """As exporters write it: dimensions of tensors, one by one, joined."""
    pieces = []
    for number in numbers:
        places = [(name, axis) for name, shape in b.shapes.items()
                  for axis, size in enumerate(shape) if size == number]
        whole = [name for name, shape in b.shapes.items() if math.prod(shape) == number]
        if whole and b.chance(0.3):
            size = node(b, "Size", [b.rng.choice(whole)])
            pieces.append(view(b, "Unsqueeze", size, [0]))
            continue
        if not places:
            pieces.append(b.initializer(np.array([number], dtype=np.int64)))
            continue
        name, axis = b.rng.choice(places)
        size = node(b, "Gather", [node(b, "Shape", [name]),
                                  b.initializer(np.array(axis, dtype=np.int64))], axis=0)
        pieces.append(view(b, "Unsqueeze", size, [0]))
    if not pieces:
        return constant(b, np.array([], dtype=np.int64))
    return node(b, "Concat", pieces, axis=0)


def view(b, op, x, axes):
    """Squeeze or Unsqueeze."""
    if b.opset >= 13:
        return node(b, op, [x, b.initializer(np.array(axes, dtype=np.int64))])
    return node(b, op, [x], axes=axes)


# -- Parameters


def stored(b, array):
    """A parameter with these elements: often an initializer, sometimes what only
    parameters are computed into."""
    forms = [transposed, reshaped, inserted, sliced, joined, scaled, splat, as_node]
    if b.chance(0.7) or array.ndim == 0:
        return b.initializer(array)
    return b.rng.choice(forms)(b, array) or b.initializer(array)


def transposed(b, array):
    order = b.rng.sample(range(array.ndim), array.ndim)
    inverse = [order.index(i) for i in range(array.ndim)]
    return node(b, "Transpose", [b.initializer(array.transpose(inverse))], perm=order)


def reshaped(b, array):
    shape = b.initializer(np.array(array.shape, dtype=np.int64))
    return node(b, "Reshape", [b.initializer(array.ravel()), shape])


def inserted(b, array):
    if array.ndim == 8:  # A parameter that is trained has no more dims.
        return b.initializer(array)
    axis = b.rng.randint(0, array.ndim)
    return view(b, "Squeeze", b.initializer(np.expand_dims(array, axis)), [axis])


def sliced(b, array):
    """A part of a larger one."""
    axis = b.rng.randrange(array.ndim)
    n, before = array.shape[axis], b.rng.randint(0, 2)
    more = b.values.standard_normal(array.shape, dtype=np.float32)
    whole = np.concatenate([more.take(range(min(before, n)), axis), array,
                            more.take(range(min(2, n)), axis)], axis)
    bounds = [[min(before, n)], [min(before, n) + n], [axis]]
    if b.opset < 10:
        starts, ends, axes = bounds
        return node(b, "Slice", [b.initializer(whole)], starts=starts, ends=ends,
                    axes=axes)
    return node(b, "Slice", [b.initializer(whole)] + [
        b.initializer(np.array(bound, dtype=np.int64)) for bound in bounds])


def joined(b, array):
    axis = b.rng.randrange(array.ndim)
    if array.shape[axis] < 2:
        return None
    at = b.rng.randrange(1, array.shape[axis])
    parts = np.split(array, [at], axis)
    return node(b, "Concat", list(map(b.initializer, parts)), axis=axis)


def scaled(b, array):
    """A product of two, one of which broadcasts."""
    shape = [n if b.chance(0.5) else 1 for n in array.shape]
    factor = b.values.uniform(0.5, 2, shape).astype(np.float32)
    return node(b, "Mul", [b.initializer(array / factor), b.initializer(factor)])


def splat(b, array):
    if b.opset < 9:
        return None
    shape = b.initializer(np.array(array.shape, dtype=np.int64))
    value = numpy_helper.from_array(array.ravel()[:1])
    return node(b, "ConstantOfShape", [shape], value=value)


def as_node(b, array):
    return node(b, "Constant", [], value=numpy_helper.from_array(array))
