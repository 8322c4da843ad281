"""Random ONNX graphs of 1 to 12 operators: every operator that the importer
computes, with random attributes and small shapes, branches, parameters that
several nodes share, several inputs and outputs."""

import dataclasses
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import body_operators  # noqa: F401 (registers its functions)
import constants
import composed_operators  # noqa: F401
import function_operators  # noqa: F401
import index_operators  # noqa: F401
import integer_operators  # noqa: F401
import operators
import product_operators  # noqa: F401
import quantized_operators  # noqa: F401
import rare_operators  # noqa: F401
import rare_operators  # noqa: F401
import resize_operators  # noqa: F401
import sequence_operators  # noqa: F401
import shape_operators  # noqa: F401
import type_operators  # noqa: F401
import window_operators  # noqa: F401


# 9 is the only one with Upsample, 20 has Gelu, 23 RMSNormalization, 26 CumProd; what
# else sets change is in the functions.
OPSETS = [7, 8, 9, 9, 10, 11, 11, 12, 13, 13, 18, 18, 20, 23, 23, 25, 26]


@dataclasses.dataclass
class Graph:
    """A model with one value per input."""

    model: onnx.ModelProto
    inputs: dict  # Name to array.
    unroll: int = 0  # Steps per part of recurrent layers; 0: they stay whole.
    fuse: bool = True  # One operation of several per element.
    precision: str = "f32"  # What products multiply.
    round_bias: bool = True  # Of products of 16 bits.

    def save(self, path):
        onnx.save(self.model, path)


class Builder:
    """Collects nodes. Tensors are known by name with their shapes."""

    def __init__(self, seed, only=None):
        self.only = only  # The operators that there may be; None: all.
        self.rng = random.Random(f"graph {seed}")
        self.values = np.random.default_rng(abs(hash_of(seed)))
        self.opset = self.rng.choice(OPSETS)
        self.nodes, self.initializers, self.inputs = [], [], {}
        self.shapes = {}  # Tensors that an operator may read.
        self.typed = {}  # Others that may be outputs: (shape, element type).
        self.parameters = []  # (name, shape, role), to be shared.
        self.names = 0
        self.aside = 0  # Nodes of constants only.

    # -- Names and tensors

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, probability):
        return self.rng.random() < probability

    def add_input(self, shape, scale=1.0):
        name = self.name("in")
        values = self.values.standard_normal(shape, dtype=np.float32)
        self.inputs[name] = np.asarray(values * np.float32(scale), np.float32)
        self.shapes[name] = tuple(shape)
        return name

    def add_integer_input(self, shape, low, high, dtype):
        """An input that only who asks for it reads: numbers in [low, high)."""
        name = self.name("in")
        self.inputs[name] = np.asarray(self.values.integers(low, high, shape), dtype)
        return name

    def pick(self, accept=lambda shape: len(shape) > 0):
        """A tensor, a recent one more likely; None if none fits. By default
        none of rank 0."""
        fitting = [name for name, shape in self.shapes.items() if accept(shape)]
        if not fitting:
            return None
        if self.rng.random() < 0.6:
            fitting = fitting[-2:]
        return self.rng.choice(fitting)

    def integers(self, numbers, dtype=np.int64):
        """A constant operand: axes, shapes."""
        if self.chance(0.15) and dtype == np.int64:
            return constants.computed(self, list(numbers))
        return constants.constant(self, np.array(numbers, dtype=dtype))

    def scalar(self, number):
        return constants.constant(self, np.array(number, dtype=np.float32))

    def parameter(self, shape, scale=1.0, role="", positive=False):
        """A parameter, perhaps one that is there already, perhaps computed from
        others."""
        shape, role = tuple(shape), f"{role} {scale} {positive}"
        same = [name for name, *key in self.parameters if key == [shape, role]]
        if same and self.chance(0.5):
            return self.rng.choice(same)
        array = self.values.standard_normal(shape, dtype=np.float32) * scale
        if positive:
            array = np.abs(array) + np.float32(0.5)
        name = constants.stored(self, array)
        self.parameters.append((name, shape, role))
        return name

    def operand(self, shape, scale=1.0):
        """Mostly a parameter; sometimes what is computed, or an input."""
        if self.chance(0.15):
            same = self.pick(lambda other: other == tuple(shape))
            if same and self.chance(0.7):
                return same
            return self.add_input(shape, scale)
        return self.parameter(shape, scale)

    def initializer(self, array):
        name = self.name("w")
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array)
                                                         if array.ndim else array, name))
        return name

    def shape_of(self, name):
        """Of a tensor or a parameter."""
        return self.shapes[name] if name in self.shapes else next(
            shape for other, shape, _ in self.parameters if other == name)

    def axis(self, axis, rank, since=11):
        """The same axis, counted from the front or, where that may be, the back."""
        return axis - rank if self.opset >= since and self.chance(0.3) else axis

    def axes(self, axes, rank, since=11):
        return [self.axis(axis, rank, since) for axis in axes]

    def node(self, op, inputs, shape, output=None, **attributes):
        """Adds a node with one result; returns its name."""
        return self.multi_node(op, inputs, [shape],
                               [output or self.name("t")], **attributes)[0]

    def multi_node(self, op, inputs, shapes, outputs=None, **attributes):
        outputs = outputs or [self.name("t") for _ in shapes]
        attributes = constants.without_defaults(self, op, attributes)
        self.nodes.append(helper.make_node(op, inputs, outputs,
                                           name=self.name(op.lower() + "_"),
                                           **attributes))
        self.shapes.update((name, tuple(shape)) for name, shape in zip(outputs, shapes)
                           if name)
        return outputs

    def hidden(self, op, inputs, shape, **attributes):
        """A node whose result no random operator reads: not floats, or not tame."""
        name = self.node(op, inputs, shape, **attributes)
        del self.shapes[name]
        return name

    # -- The graph

    def finish(self):
        read = {name for node in self.nodes for name in node.input}
        tensors = {**{name: (shape, TensorProto.FLOAT)
                      for name, shape in self.shapes.items()}, **self.typed}
        made = [name for node in self.nodes for name in node.output if name in tensors]
        outputs = [name for name in made
                   if name not in read or self.rng.random() < 0.15]
        used = {name: value for name, value in self.inputs.items() if name in read}
        inputs = [info_of(*item) for item in used.items()]
        if self.chance(0.1):  # As the oldest models: defaults of inputs.
            inputs += [info_of(tensor.name, numpy_helper.to_array(tensor))
                       for tensor in self.initializers if tensor.dims]
        graph = helper.make_graph(
            self.nodes, "random", inputs,
            [helper.make_tensor_value_info(name, tensors[name][1], tensors[name][0])
             for name in outputs], self.initializers)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(
            graph, opset_imports=opsets,
            ir_version=max(8, helper.find_min_ir_version_for(opsets)))
        recurrent = any(node.op_type in ("GRU", "LSTM", "RNN") for node in self.nodes)
        return Graph(model, used, self.rng.choice([0, 0, 1, 2, 3]) if recurrent else 0,
                     self.rng.random() < 0.5)


def info_of(name, array):
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def hash_of(text):
    """Stable between runs, unlike hash()."""
    return int.from_bytes(random.Random(str(text)).randbytes(6), "little")


def draw_shape(rng):
    """Mostly images."""
    kind = rng.random()
    batch, channels = rng.randint(1, 5), rng.choice([1, 2, 3, 4, 6, 8, 9, 12])

    def sizes(count, most):
        thin = rng.random() < 0.2  # Fewer rows than a window.
        return [rng.randint(1, 2) if thin and rng.random() < 0.6
                else rng.randint(3, most) for _ in range(count)]

    if kind < 0.5:
        return batch, channels, *sizes(2, 11)
    if kind < 0.65:
        return batch, channels, *sizes(1, 16)
    if kind < 0.8:  # Volumes.
        return batch, channels, *sizes(3, 6)
    if kind < 0.93:
        return rng.randint(1, 9), rng.randint(2, 24)
    if kind < 0.95:  # The highest ranks.
        return tuple(rng.choice([1, 2, 2, 3]) for _ in range(rng.randint(6, 8)))
    if kind < 0.96:
        return ()
    return (rng.randint(4, 40),)


def draw(seed, only=None):
    """One graph, of all operators or of some; nothing says yet that its values are
    tame."""
    builder = Builder(seed, only)
    builder.add_input(draw_shape(builder.rng))
    for _ in range(builder.rng.choice([0, 0, 1, 2])):
        shape = builder.rng.choice(list(builder.shapes.values()))
        builder.add_input(shape if builder.rng.random() < 0.5
                          else draw_shape(builder.rng))
    wanted = builder.rng.randint(1, 12)
    rounds = 0
    while len(builder.nodes) - builder.aside < wanted and rounds < 60:
        rounds += 1
        operators.add_any(builder)
    return builder.finish()
