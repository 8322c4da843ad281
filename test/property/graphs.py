"""Random ONNX graphs of 1 to 12 operators: every operator that the importer
computes, with random attributes and small shapes, branches, parameters that
several nodes share, several inputs and outputs."""

import dataclasses
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import operators
import sequence_operators  # noqa: F401 (registers its functions)
import shape_operators  # noqa: F401
import window_operators  # noqa: F401


# The oldest has Upsample, 20 Gelu, 23 RMSNormalization; what else sets change is in the
# functions.
OPSETS = [9, 11, 11, 13, 13, 18, 18, 20, 23, 25]


@dataclasses.dataclass
class Graph:
    """A model with one value per input."""

    model: onnx.ModelProto
    inputs: dict  # Name to array.

    def save(self, path):
        onnx.save(self.model, path)


class Builder:
    """Collects nodes. Tensors are known by name with their shapes."""

    def __init__(self, seed):
        self.rng = random.Random(f"graph {seed}")
        self.values = np.random.default_rng(abs(hash_of(seed)))
        self.opset = self.rng.choice(OPSETS)
        self.nodes, self.initializers, self.inputs = [], [], {}
        self.shapes = {}  # Tensors that an operator may read.
        self.parameters = []  # (name, shape, role), to be shared.
        self.names = 0

    # -- Names and tensors

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def add_input(self, shape):
        name = self.name("in")
        self.inputs[name] = self.values.standard_normal(shape, dtype=np.float32)
        self.shapes[name] = tuple(shape)
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

    def integers(self, numbers):
        """A constant operand: axes, shapes."""
        name = self.name("c")
        self.initializers.append(
            numpy_helper.from_array(np.array(numbers, dtype=np.int64), name))
        return name

    def add_constant(self, name, numbers):
        """A constant operand of floats."""
        self.initializers.append(
            numpy_helper.from_array(np.array(numbers, dtype=np.float32), name))

    def scalar(self, number):
        name = self.name("s")
        self.initializers.append(
            numpy_helper.from_array(np.array(number, dtype=np.float32), name))
        return name

    def parameter(self, shape, scale=1.0, role="", positive=False):
        """A parameter, perhaps one that is there already, perhaps through a
        Transpose or Reshape that only parameters go through."""
        shape, role = tuple(shape), f"{role} {scale} {positive}"
        same = [name for name, *key in self.parameters if key == [shape, role]]
        if same and self.rng.random() < 0.5:
            return self.rng.choice(same)
        array = self.values.standard_normal(shape, dtype=np.float32) * scale
        if positive:
            array = np.abs(array) + np.float32(0.5)
        name = self.name("w")
        view = self.rng.random()
        if view < 0.08 and len(shape) > 1:
            order = list(range(len(shape)))
            self.rng.shuffle(order)
            inverse = [order.index(i) for i in range(len(order))]
            self.initializers.append(
                numpy_helper.from_array(array.transpose(inverse).copy(), name + "t"))
            self.node("Transpose", [name + "t"], shape, perm=order, output=name)
        elif view < 0.16:
            self.initializers.append(numpy_helper.from_array(array.ravel(), name + "r"))
            self.node("Reshape", [name + "r", self.integers(shape)], shape, output=name)
        else:
            self.initializers.append(numpy_helper.from_array(array, name))
        self.shapes.pop(name, None)
        self.parameters.append((name, shape, role))
        return name

    def node(self, op, inputs, shape, output=None, **attributes):
        """Adds a node with one result; returns its name."""
        return self.multi_node(op, inputs, [shape],
                               [output or self.name("t")], **attributes)[0]

    def multi_node(self, op, inputs, shapes, outputs=None, **attributes):
        outputs = outputs or [self.name("t") for _ in shapes]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, inputs, outputs,
                                           name=self.name(op.lower() + "_"),
                                           **attributes))
        self.shapes.update(zip(outputs, map(tuple, shapes)))
        return outputs

    # -- The graph

    def finish(self):
        read = {name for node in self.nodes for name in node.input}
        made = [name for node in self.nodes for name in node.output
                if name in self.shapes]
        outputs = [name for name in made
                   if name not in read or self.rng.random() < 0.15]
        used = {name: value for name, value in self.inputs.items() if name in read}
        info = lambda name: helper.make_tensor_value_info(
            name, TensorProto.FLOAT, self.shapes[name])
        graph = helper.make_graph(self.nodes, "random", [info(n) for n in used],
                                  [info(n) for n in outputs], self.initializers)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(
            graph, opset_imports=opsets,
            ir_version=max(8, helper.find_min_ir_version_for(opsets)))
        return Graph(model, used)


def hash_of(text):
    """Stable between runs, unlike hash()."""
    return int.from_bytes(random.Random(str(text)).randbytes(6), "little")


def draw_shape(rng):
    """Mostly images."""
    kind = rng.random()
    batch, channels = rng.randint(1, 5), rng.choice([1, 2, 3, 4, 6, 8, 9, 12])
    if kind < 0.5:
        return batch, channels, rng.randint(3, 11), rng.randint(3, 11)
    if kind < 0.65:
        return batch, channels, rng.randint(3, 16)
    if kind < 0.8:  # Volumes.
        return (batch, channels, *(rng.randint(3, 6) for _ in range(3)))
    if kind < 0.95:
        return rng.randint(1, 9), rng.randint(2, 24)
    return (rng.randint(4, 40),)


def draw(seed):
    """One graph; nothing says yet that its values are tame."""
    builder = Builder(seed)
    builder.add_input(draw_shape(builder.rng))
    for _ in range(builder.rng.choice([0, 0, 1, 2])):
        shape = builder.rng.choice(list(builder.shapes.values()))
        builder.add_input(shape if builder.rng.random() < 0.5
                          else draw_shape(builder.rng))
    wanted = builder.rng.randint(1, 12)
    rounds = 0
    while len(builder.nodes) < wanted and rounds < 60:
        rounds += 1
        operators.add_any(builder)
    return builder.finish()
