"""Random operators of integers and truth values, as operators.py. Integers come from
inputs of the graph only, and so does what jumps (comparisons, rounding): these are
equal in every strategy to the bit."""

import numpy as np

from onnx import TensorProto

from operators import (MAX_ELEMENTS, broadcast_operand, combination, operator, size)

TYPES = {np.int32: TensorProto.INT32, np.int64: TensorProto.INT64,
         np.bool_: TensorProto.BOOL}
COMPARISONS = ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"]
SINCE = {"GreaterOrEqual": 12, "LessOrEqual": 12, "Where": 9}


def pick_input(b):
    """One of floats, without those that hold NaN or infinities for one operator."""
    return b.rng.choice([name for name, value in b.inputs.items()
                         if value.dtype == np.float32 and name in b.shapes])


@operator("Ceil", "Floor")
@operator("Round", since=11)
def rounded(b, op):
    x = pick_input(b)
    shape = b.shapes[x]
    if b.chance(0.4):  # Halves, which Round makes even.
        x = b.hidden("Mul", [b.hidden("Floor", [x], shape), b.scalar(1.5)], shape)
    b.node(op, [x], shape)
    return True


def some_integers(b, shape, dtype):
    """Of this shape, or one that broadcasts to it."""
    shape = tuple(1 if b.chance(0.2) else n for n in shape)[b.rng.choice(
        [0, 0, 0, b.rng.randint(0, len(shape))]):]
    if b.chance(0.5):
        return b.add_integer_input(shape, -4, 5, dtype)
    return b.initializer(b.values.integers(-4, 5, shape).astype(dtype))


def float_mask(b, op, shape, x):
    limit = b.scalar(b.rng.uniform(-0.5, 0.5)) if b.chance(0.5) else b.parameter(
        tuple(1 if b.chance(0.3) else n for n in shape), 0.3)
    return b.hidden(op, [x, limit], shape)


@operator("And", "Not", "Or", "Xor", "Greater", "Less")
@operator("Where", since=9)
@operator("Equal", since=11)
@operator("GreaterOrEqual", "LessOrEqual", since=12)
def choice(b, op):
    """A mask from comparisons, then a choice between two values."""
    x = pick_input(b)
    shape = b.shapes[x]
    compared = op if op in COMPARISONS else b.rng.choice(COMPARISONS[1:3])
    mask = float_mask(b, compared, shape, x)
    if op in ("And", "Or", "Xor"):
        mask = b.hidden(op, [mask, other_mask(b, shape)], shape)
    elif op == "Not":
        mask = b.hidden(op, [mask], shape)
    if b.opset < 9 or (op in ("Equal", "Not") and b.chance(0.5)):
        b.node("Cast", [mask], shape, to=1)
        return True
    same = b.pick(lambda other: other == shape)
    branches = [same, broadcast_operand(b, shape)]
    b.rng.shuffle(branches)
    b.node("Where", [mask, *branches], shape)
    return True


def other_mask(b, shape):
    """Truth values that broadcast to `shape`."""
    part = tuple(1 if b.chance(0.3) else n for n in shape)
    part = part[b.rng.choice([0, 0, b.rng.randint(0, len(part))]):]
    values = b.values.integers(0, 2, part).astype(np.bool_)
    if b.chance(0.4):
        name = b.name("in")
        b.inputs[name] = np.asarray(values)
        return name
    return b.initializer(np.asarray(values))


@combination
def masked(b):
    """A choice whose mask is a constant or an input and broadcasts."""
    x = b.pick()
    if not x or b.opset < 9:
        return False
    shape = b.shapes[x]
    branches = [x, broadcast_operand(b, shape)]
    b.rng.shuffle(branches)
    b.node("Where", [other_mask(b, shape), *branches], shape)
    return True


class Integers:
    """A tensor of integers that grows by random operators."""

    def __init__(self, b):
        self.b, self.shape = b, b.shapes[pick_input(b)]
        self.dtype = b.rng.choice([np.int32, np.int64])
        if b.chance(0.5):
            self.name = b.add_integer_input(self.shape, -4, 5, self.dtype)
        else:
            floats = next(x for x, shape in b.shapes.items()
                          if x in b.inputs and shape == self.shape)
            scaled = b.hidden("Mul", [floats, b.scalar(2.5)], self.shape)
            self.name = self.add("Cast", [scaled], to=TYPES[self.dtype])

    def add(self, op, operands, shape=None, **attributes):
        self.shape = tuple(self.shape if shape is None else shape)
        self.name = self.b.hidden(op, operands, self.shape, **attributes)
        return self.name

    # -- Per element

    def arithmetic(self):
        b = self.b
        op = b.rng.choice(["Add", "Sub", "Mul", "Max", "Min"][:5 if b.opset >= 12 else 3])
        operands = [self.name, some_integers(b, self.shape, self.dtype)]
        b.rng.shuffle(operands)
        self.add(op, operands)

    def divide(self):
        """Towards zero."""
        divisors = self.b.rng.choices([-3, -2, -1, 1, 2, 3], k=(self.shape or (1,))[-1])
        divisors = np.array(divisors if self.shape else divisors[0], self.dtype)
        self.add("Div", [self.name, self.b.initializer(divisors)])

    def sign(self):
        self.add(self.b.rng.choice(["Abs", "Neg"]), [self.name])

    def choose(self):
        b = self.b
        if b.opset >= 9:
            self.add("Where", [other_mask(b, self.shape), self.name,
                               some_integers(b, self.shape, self.dtype)])

    def cast(self):
        self.dtype = np.int64 if self.dtype == np.int32 else np.int32
        self.add("Cast", [self.name], to=TYPES[self.dtype])

    def narrow(self):
        """Through another type, in which elements are moved. Integers wrap around."""
        by_way = self.b.rng.choice([TensorProto.INT8, TensorProto.UINT8,
                                    TensorProto.INT16, TensorProto.UINT16,
                                    TensorProto.UINT32, TensorProto.UINT64,
                                    TensorProto.DOUBLE])
        if self.b.opset < 13:
            return
        self.add("Cast", [self.name], to=by_way)
        self.b.rng.choice([self.transpose, self.reshape])()
        self.add("Cast", [self.name], to=TYPES[self.dtype])

    # -- Shapes

    def transpose(self):
        order = self.b.rng.sample(range(len(self.shape)), len(self.shape))
        self.add("Transpose", [self.name], [self.shape[i] for i in order],
                 perm=order or None)

    def reshape(self):
        self.add("Reshape", [self.name, self.b.integers([-1])], [size(self.shape)])

    def tile(self):
        if self.shape and size(self.shape) < MAX_ELEMENTS // 2:
            repeats = [2] + [1] * (len(self.shape) - 1)
            self.add("Tile", [self.name, self.b.integers(repeats)],
                     [n * r for n, r in zip(self.shape, repeats)])

    def slice(self):
        if self.shape and self.b.opset >= 10:
            n = -(-self.shape[0] // 2)
            bounds = [[-1], [-self.shape[0] - 1], [0], [-2]]
            self.add("Slice", [self.name, *map(self.b.integers, bounds)],
                     [n, *self.shape[1:]])

    def concat(self):
        if self.shape and size(self.shape) < MAX_ELEMENTS // 2:
            shape = [n + (i == 0) for i, n in enumerate(self.shape)]
            row = self.b.values.integers(-4, 5, (1, *self.shape[1:])).astype(self.dtype)
            self.add("Concat", [self.b.initializer(row), self.name], shape, axis=0)

    def gather(self):
        if self.shape:
            rows = self.b.values.integers(0, self.shape[-1], 3)
            self.add("Gather", [self.name, self.b.initializer(rows)],
                     [*self.shape[:-1], 3], axis=len(self.shape) - 1)

    def reduce(self):
        b = self.b
        if not self.shape:
            return
        op = b.rng.choice(["ReduceSum", "ReduceMax", "ReduceMin"])
        axis, keep = b.rng.randrange(len(self.shape)), b.rng.choice([0, 1])
        shape = [1 if i == axis else n for i, n in enumerate(self.shape)
                 if keep or i != axis]
        if b.opset >= (13 if op == "ReduceSum" else 18):
            self.add(op, [self.name, b.integers([axis])], shape, keepdims=keep)
        else:
            self.add(op, [self.name], shape, axes=[axis], keepdims=keep)


STEPS = [Integers.arithmetic, Integers.arithmetic, Integers.divide, Integers.sign,
         Integers.choose, Integers.cast, Integers.narrow, Integers.transpose, Integers.reshape,
         Integers.tile, Integers.slice, Integers.concat, Integers.gather,
         Integers.reduce]


@combination
def integers(b):
    """A chain of operators; its end becomes an output, a mask or floats."""
    chain = Integers(b)
    for _ in range(b.rng.randint(1, 4)):
        b.rng.choice(STEPS)(chain)
    kind = b.rng.choice(["float", "bool", "compare", "output"])
    if kind == "output":
        b.typed[chain.name] = chain.shape, TYPES[chain.dtype]
        return True
    if kind == "bool":
        chain.add("Cast", [chain.name], to=TensorProto.BOOL)
    elif kind == "compare":
        op = b.rng.choice([op for op in COMPARISONS
                           if b.opset >= max(9, SINCE.get(op, 7))] or ["Equal"])
        chain.add(op, [chain.name, some_integers(b, chain.shape, chain.dtype)])
    if kind != "float" and b.chance(0.3):
        b.typed[chain.name] = chain.shape, TensorProto.BOOL
        return True
    b.node("Cast", [chain.name], chain.shape, to=TensorProto.FLOAT)
    return True
