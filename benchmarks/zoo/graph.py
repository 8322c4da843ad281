"""Builds ONNX graphs: values with shapes, stable names, parameters that are made
at the end, and what the operator sets changed."""

import dataclasses
import math
import typing

import numpy as np
from onnx import TensorProto, helper

BATCH = "batch"  # The symbol of the batch dimension.


class Value(typing.NamedTuple):
    """A tensor of the graph. Dimensions are integers or BATCH."""

    name: str
    shape: tuple


@dataclasses.dataclass
class Parameter:
    """A tensor that weights.py makes. `role` is weight, bias, scale, mean or
    variance; weights have the variance gain / fan_in. Running statistics are not
    trainable."""

    name: str
    shape: tuple
    role: str
    fan_in: int = 1
    gain: float = 1.0

    @property
    def elements(self):
        return math.prod(self.shape)

    @property
    def trainable(self):
        return self.role not in ("mean", "variance")


class Graph:
    """A network under construction. A node, its first output, and a parameter's
    node have the same name, as `layer3.block5.conv2` and
    `layer3.block5.conv2.weight`."""

    def __init__(self, name, opset, batch=None):
        self.name = name
        self.opset = opset
        self.batch = batch or BATCH
        self.nodes = []
        self.inputs = []
        self.outputs = []
        self.parameters = {}
        self.constants = {}  # Name to array: tables and shapes, not trained.
        self.hints = []  # Shapes that not all operator sets infer.
        self.taken = set()

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.take(name)
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return Value(name, tuple(shape))

    def output(self, value, name):
        """Gives a value the name of an output of the graph."""
        producer = next(n for n in reversed(self.nodes) if value.name in n.output)
        for node in self.nodes:
            for names in (node.input, node.output):
                for k, other in enumerate(names):
                    if other == value.name:
                        names[k] = name
        assert producer.output[0] == name
        self.outputs.append(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
        )
        return Value(name, value.shape)

    def op(self, kind, name, inputs, shape, **attributes):
        """A node with one output."""
        return self.multi_op(kind, name, inputs, [name], [shape], **attributes)[0]

    def multi_op(self, kind, name, inputs, outputs, shapes, **attributes):
        """A node with several outputs. Inputs that are None are left out."""
        for output in outputs:
            self.take(output)
        names = [value.name if value else "" for value in inputs]
        self.nodes.append(
            helper.make_node(kind, names, outputs, name=name, **attributes)
        )
        return [Value(*pair) for pair in zip(outputs, map(tuple, shapes))]

    def hint(self, value):
        """Writes the shape of a value of floats into the model."""
        self.hints.append(helper.make_tensor_value_info(value.name, TensorProto.FLOAT,
                                                        value.shape))
        return value

    def parameter(self, name, shape, role="weight", fan_in=1, gain=1.0):
        self.take(name)
        self.parameters[name] = Parameter(name, tuple(shape), role, fan_in, gain)
        return Value(name, tuple(shape))

    def constant(self, name, array):
        """A tensor that is not trained. The same name means the same values."""
        array = np.asarray(array)
        if name in self.constants:
            assert np.array_equal(self.constants[name], array)
        else:
            self.take(name)
            self.constants[name] = array
        return Value(name, array.shape)

    def scalar(self, number):
        return self.constant(f"scalar.{number:.9g}", np.float32(number))

    def integers(self, numbers):
        text = "x".join(map(str, numbers))
        return self.constant(f"integers.{text}", np.array(numbers, np.int64))

    def take(self, name):
        assert name not in self.taken, f"{name} is taken"
        self.taken.add(name)



def broadcast(a, b):
    """The shape of an element-wise result."""
    size = max(len(a), len(b))
    a, b = ((1,) * (size - len(s)) + tuple(s) for s in (a, b))
    assert all(x == y or 1 in (x, y) for x, y in zip(a, b)), (a, b)
    return tuple(y if x == 1 else x for x, y in zip(a, b))


def unary(g, kind, name, x, **attributes):
    return g.op(kind, name, [x], x.shape, **attributes)


def binary(g, kind, name, a, b):
    """Numbers are scalars of the graph."""
    a, b = (v if isinstance(v, Value) else g.scalar(v) for v in (a, b))
    return g.op(kind, name, [a, b], broadcast(a.shape, b.shape))


def add(g, name, a, b):
    return binary(g, "Add", name, a, b)


def mul(g, name, a, b):
    return binary(g, "Mul", name, a, b)


def matmul(g, name, a, b):
    assert a.shape[-1] == b.shape[-2], (a.shape, b.shape)
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    return g.op("MatMul", name, [a, b], (*batch, a.shape[-2], b.shape[-1]))


def transpose(g, name, x, perm):
    return g.op("Transpose", name, [x], [x.shape[k] for k in perm], perm=perm)


def reshape(g, name, x, shape):
    """0 keeps a dimension and -1 takes the rest, as in ONNX."""
    result = [x.shape[k] if n == 0 else n for k, n in enumerate(shape)]
    if -1 in result:
        symbols = [n for n in x.shape if not isinstance(n, int) and n not in result]
        sizes = [n for n in x.shape if isinstance(n, int)]
        kept = [n for n in result if isinstance(n, int) and n != -1]
        rest = math.prod(sizes) // math.prod(kept)
        result[result.index(-1)] = "rest" if symbols else rest
    return g.op("Reshape", name, [x, g.integers(shape)], result)


def concat(g, name, values, axis):
    shape = list(values[0].shape)
    shape[axis] = sum(value.shape[axis] for value in values)
    return g.op("Concat", name, values, shape, axis=axis)


def cut(g, name, x, axis, start, end):
    """Elements start to end of one dimension."""
    shape = list(x.shape)
    shape[axis] = end - start
    if g.opset < 10:
        return g.op("Slice", name, [x], shape, axes=[axis], starts=[start], ends=[end])
    numbers = [g.integers([n]) for n in (start, end, axis)]
    return g.op("Slice", name, [x, *numbers], shape)


def split(g, name, x, axis, parts):
    """Equal parts, named name.1, name.2, …."""
    shape = list(x.shape)
    shape[axis] //= parts
    sizes = [shape[axis]] * parts
    names = [f"{name}.{k + 1}" for k in range(parts)]
    if g.opset < 13:
        return g.multi_op("Split", name, [x], names, [shape] * parts, axis=axis,
                          split=sizes)
    return g.multi_op("Split", name, [x, g.integers(sizes)], names, [shape] * parts,
                      axis=axis)


def unsqueeze(g, name, x, axes):
    shape = list(x.shape)
    for axis in axes:
        shape.insert(axis, 1)
    if g.opset < 13:
        return g.op("Unsqueeze", name, [x], shape, axes=axes)
    return g.op("Unsqueeze", name, [x, g.integers(axes)], shape)


def squeeze(g, name, x, axis):
    shape = [n for k, n in enumerate(x.shape) if k != axis]
    if g.opset < 13:
        return g.op("Squeeze", name, [x], shape, axes=[axis])
    return g.op("Squeeze", name, [x, g.integers([axis])], shape)


def reduce_mean(g, name, x, axis=-1):
    """The mean over one dimension, which stays as 1."""
    axis %= len(x.shape)
    shape = [1 if k == axis else n for k, n in enumerate(x.shape)]
    if g.opset < 18:
        return g.op("ReduceMean", name, [x], shape, axes=[axis], keepdims=1)
    return g.op("ReduceMean", name, [x, g.integers([axis])], shape, keepdims=1)


def softmax(g, name, x):
    """Over the last dimension, where all operator sets agree."""
    return unary(g, "Softmax", name, x, axis=len(x.shape) - 1)
