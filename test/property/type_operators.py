"""Chains of operators in other types of floats than FLOAT, as operators.py: a tensor
is cast to one, and the result back."""

import numpy as np

from onnx import TensorProto

from operators import MAX_ELEMENTS, combination, size

TYPES = {np.float16: TensorProto.FLOAT16, np.float64: TensorProto.DOUBLE}


class Floats:
    """A tensor of one of TYPES that grows by random operators."""

    def __init__(self, b, x):
        self.b, self.shape = b, b.shapes[x]
        self.dtype = b.rng.choice(list(TYPES))
        self.name = x
        self.add("Cast", [x], to=TYPES[self.dtype])

    def add(self, op, operands, shape=None, **attributes):
        self.shape = tuple(self.shape if shape is None else shape)
        self.name = self.b.hidden(op, operands, self.shape, **attributes)
        return self.name

    def weight(self, shape, scale=1.0):
        values = self.b.values.standard_normal(shape) * scale
        return self.b.initializer(np.asarray(values, self.dtype))

    def function(self):
        self.add(self.b.rng.choice(["Tanh", "Sigmoid", "Relu", "Neg", "Abs"]),
                 [self.name])

    def binary(self):
        b = self.b
        shape = tuple(1 if b.chance(0.3) else n for n in self.shape)
        operands = [self.name, self.weight(shape[b.rng.randint(0, len(shape)):])]
        b.rng.shuffle(operands)
        self.add(b.rng.choice(["Add", "Sub", "Mul"]), operands)

    def product(self):
        """Sums that strategies split. Of FLOAT16, onnxruntime rounds some more than
        once (of tensors of rank 3, for one)."""
        columns = self.b.rng.randint(1, 12)
        if self.dtype == np.float16 or len(self.shape) < 2 or \
                size(self.shape[:-1]) * columns > MAX_ELEMENTS:
            return
        weight = self.weight((self.shape[-1], columns), self.shape[-1] ** -0.5)
        self.add("MatMul", [self.name, weight], [*self.shape[:-1], columns])

    def reduce(self):
        b = self.b
        if not self.shape:
            return
        op = b.rng.choice(["ReduceMean", "ReduceMax", "ReduceSum"])
        axis, keep = b.rng.randrange(len(self.shape)), b.rng.choice([0, 1])
        shape = [1 if i == axis else n for i, n in enumerate(self.shape)
                 if keep or i != axis]
        if b.opset >= (13 if op == "ReduceSum" else 18):
            self.add(op, [self.name, b.integers([axis])], shape, keepdims=keep)
        else:
            self.add(op, [self.name], shape, axes=[axis], keepdims=keep)

    def softmax(self):
        if self.shape and self.b.opset >= 13:
            self.add("Softmax", [self.name], axis=len(self.shape) - 1)

    def transpose(self):
        order = self.b.rng.sample(range(len(self.shape)), len(self.shape))
        self.add("Transpose", [self.name], [self.shape[i] for i in order],
                 perm=order or None)


STEPS = [Floats.function, Floats.binary, Floats.product, Floats.product, Floats.reduce,
         Floats.softmax, Floats.transpose]


@combination
def other_floats(b):
    x = b.pick()
    if not x or b.opset < 13:
        return False
    chain = Floats(b, x)
    for _ in range(b.rng.randint(1, 4)):
        b.rng.choice(STEPS)(chain)
    b.node("Cast", [chain.name], chain.shape, to=TensorProto.FLOAT)
    return True
