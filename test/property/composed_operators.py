"""Random operators that become several ops, by the importer's compositions or by
their function bodies in ONNX, as operators.py."""

import numpy as np
from onnx import TensorProto, helper

import constants
from integer_operators import pick_input
from operators import (MAX_ELEMENTS, anything, broadcast_operand, of_rank, operator,
                       ranked, size)


@operator("Elu", "Softplus", "Softsign", of=anything)
@operator("Celu", since=12, of=anything)
@operator("HardSwish", since=14, of=anything)
@operator("Mish", since=18, of=anything)
def activation(b, op, x, shape):
    alpha = b.rng.uniform(0.3, 2) if op in ("Elu", "Celu") else None
    b.node(op, [x], shape, alpha=alpha)
    return True


@operator("LeakyRelu", of=anything)
def leaky_relu(b, op, x, shape):
    b.node(op, [x], shape, alpha=b.rng.choice([0.01, b.rng.uniform(-1, 2)]))
    return True


@operator("ThresholdedRelu", since=10, of=anything)
def thresholded_relu(b, op, x, shape):
    b.node(op, [x], shape, alpha=b.rng.uniform(3, 4))  # Far from what is drawn.
    return True


@operator("HardSigmoid", of=anything)
def hard_sigmoid(b, op, x, shape):
    b.node(op, [x], shape, alpha=b.rng.uniform(0.1, 0.5), beta=b.rng.uniform(0, 1))
    return True


@operator("Selu", of=anything)
def selu(b, op, x, shape):
    b.node(op, [x], shape, alpha=b.rng.uniform(1, 2), gamma=b.rng.uniform(0.5, 1.5))
    return True


@operator("Shrink", since=9, of=anything)
def shrink(b, op, x, shape):
    # A jump: far from what is drawn, so that rounding does not decide.
    b.node(op, [x], shape, lambd=b.rng.uniform(50, 60), bias=b.rng.uniform(0, 1))
    return True


@operator("PRelu", of=ranked)
def prelu(b, op, x, shape):
    dims = [1 if b.chance(0.3) else n for n in shape]
    b.node(op, [x, b.operand(dims[b.rng.choice([0, len(dims) - 1]):])], shape)
    return True


@operator("CastLike", since=15, of=anything)
def cast_like(b, op, x, shape):
    b.node(op, [x, b.scalar(1)], shape)
    return True


@operator("LpNormalization")
def lp_normalization(b, op):
    x = pick_input(b)  # It jumps at 0: the sign of a rounding error would become 1 or -1.
    shape = b.shapes[x]
    if not shape:
        return False
    b.node(op, [x], shape, p=b.rng.choice([1, 2]),
           axis=b.axis(b.rng.randrange(len(shape)), len(shape), since=1))
    return True


@operator("MeanVarianceNormalization", since=9, of=of_rank(4))
def mean_variance_normalization(b, op, x, shape):
    if size([shape[axis] for axis in (0, 2, 3)]) < 8:
        return False  # A variance close to 0 is a difference of rounded numbers.
    b.node(op, [x], shape, axes=[0, 2, 3])
    return True


@operator("InstanceNormalization", of=of_rank(3, 5))
@operator("GroupNormalization", since=18, of=of_rank(3, 5))
def group_normalization(b, op, x, shape):
    channels, groups = shape[1], None
    scaled = channels
    if op == "GroupNormalization":
        groups = b.rng.choice([d for d in range(1, channels + 1) if channels % d == 0])
        scaled = groups if b.opset < 21 else channels
    if size(shape[2:]) * channels // (groups or channels) < 2:
        return False
    b.node(op, [x, b.parameter((scaled,), 0.3, "norm", True), b.operand((scaled,))],
           shape, num_groups=groups, epsilon=b.rng.choice([1e-5, 1e-2]))
    return True


@operator("DepthToSpace", "SpaceToDepth", of=of_rank(4))
def blocks(b, op, x, shape):
    n, c, h, w = shape
    block = b.rng.choice([2, 3])
    if op == "SpaceToDepth":
        x = b.node("Tile", [x, b.integers([1, 1, block, block])],
                   (n, c, h * block, w * block))
        result = (n, c * block * block, h, w)
    else:
        x = b.node("Tile", [x, b.integers([1, block * block, 1, 1])],
                   (n, c * block * block, h, w))
        result = (n, c, h * block, w * block)
    if size(result) > MAX_ELEMENTS:
        return True
    mode = b.rng.choice(["DCR", "CRD"]) if op == "DepthToSpace" and b.opset >= 11 \
        else None
    b.node(op, [x], result, blocksize=block, mode=mode)
    return True


@operator("CenterCropPad", since=18, of=ranked)
def center_crop_pad(b, op, x, shape):
    axes = b.rng.sample(range(len(shape)), b.rng.randint(1, len(shape)))
    sizes = [max(1, shape[axis] + b.rng.randint(-2, 3)) for axis in axes]
    result = list(shape)
    for axis, n in zip(axes, sizes):
        result[axis] = n
    if size(result) > MAX_ELEMENTS:
        return False
    b.node(op, [x, b.integers(sizes)], result, axes=b.axes(axes, len(shape)))
    return True


@operator("HannWindow", "HammingWindow", "BlackmanWindow", since=17, of=ranked)
def window(b, op, x, shape):
    if shape[-1] < 2:
        return False  # A symmetric window of one element is 0 / 0.
    length = constants.constant(b, np.array(shape[-1], np.int64))
    weights = b.hidden(op, [length], (shape[-1],), periodic=b.rng.choice([0, 1]))
    b.node("Mul", [x, weights], shape)
    return True


@operator("AffineGrid", since=20)
def affine_grid(b, op):
    n, h, w = b.rng.randint(1, 3), b.rng.randint(2, 5), b.rng.randint(2, 5)
    b.node(op, [b.add_input((n, 2, 3)), b.integers([n, 2, h, w])], (n, h, w, 2),
           align_corners=b.rng.choice([0, 1]))
    return True


def graph_of(b, nodes, inputs, outputs):
    """A subgraph; `inputs` are names with element types and shapes."""
    return helper.make_graph(
        nodes, b.name("body"),
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
         if name != "go" else helper.make_tensor_value_info(name, TensorProto.BOOL, [])
         for name in outputs])


@operator("If", of=anything)
def branch(b, op, x, shape):
    """Branches that read what is outside; the other one may have another shape."""
    x = b.node("Neg", [x], shape)  # Read by no branch alone.
    names = [b.name("branch") for _ in range(2)]
    factor = b.scalar(b.rng.uniform(0.5, 2))
    kinds = [helper.make_node("Mul", [x, factor], names[:1]),
             helper.make_node("Neg", [x], names[1:])]
    graphs = [graph_of(b, [node], [], [name]) for node, name in zip(kinds, names)]
    condition = constants.constant(b, np.array(b.chance(0.5)))
    b.node(op, [condition], shape, then_branch=graphs[0], else_branch=graphs[1])
    return True


@operator("Loop", of=ranked)
def loop(b, op, x, shape):
    """A state, and rows of every iteration."""
    trips = b.rng.randint(1, 3)
    if size(shape) * trips > MAX_ELEMENTS or len(shape) > 5:
        return False
    state, following, row = (b.name("loop") for _ in range(3))
    body = graph_of(
        b, [helper.make_node("Identity", ["going"], ["go"]),
            helper.make_node("Mul", [state, b.scalar(0.7)], [following]),
            helper.make_node("Add", [following, x], [row])],
        [("i", TensorProto.INT64, []), ("going", TensorProto.BOOL, []),
         (state, TensorProto.FLOAT, shape)], ["go", following, row])
    count = constants.constant(b, np.array(trips, np.int64))
    b.multi_node(op, [count, constants.constant(b, np.array(True)), x],
                 [shape, (trips, *shape)], body=body)
    return True


@operator("Scan", since=9, of=of_rank(2, 4))
def scan(b, op, x, shape):
    """Sums along an axis, and the scaled rows."""
    axis = b.rng.randrange(len(shape))
    row = shape[:axis] + shape[axis + 1:]
    if shape[axis] > 6:
        return False
    names = [b.name("scan") for _ in range(4)]
    body = graph_of(
        b, [helper.make_node("Add", names[:2], names[2:3]),
            helper.make_node("Mul", [names[2], b.scalar(0.5)], names[3:])],
        [(name, TensorProto.FLOAT, row) for name in names[:2]], names[2:])
    b.multi_node(op, [b.operand(row), x], [row, (shape[axis], *row)], body=body,
                 num_scan_inputs=1, scan_input_axes=[axis],
                 scan_input_directions=[b.rng.choice([0, 1])],
                 scan_output_directions=[b.rng.choice([0, 1])])
    return True


@operator("EyeLike", since=9, of=of_rank(2))
def eye_like(b, op, x, shape):
    diagonal = b.hidden(op, [x], shape, k=b.rng.randint(-2, 2), dtype=1)
    b.node("Add", [x, diagonal], shape)
    return True


@operator("Mean", since=8, of=ranked)
def mean(b, op, x, shape):
    b.node(op, [x] + [broadcast_operand(b, shape) for _ in range(b.rng.randint(0, 2))],
           shape)
    return True


@operator("Attention", since=23, of=of_rank(4))
def attention(b, op, x, shape):
    n, heads, queries, width = shape
    if queries > 64 or width > 64:
        return False
    keys, depth = b.rng.randint(queries, queries + 3), b.rng.randint(1, 6)
    operands = [x, b.operand((n, heads, keys, width)), b.operand((n, heads, keys, depth))]
    causal = b.rng.choice([0, 1])
    if b.chance(0.4):
        operands.append(b.operand((queries, keys)))
    b.node(op, operands, (n, heads, queries, depth), is_causal=causal,
           softcap=b.rng.choice([0.0, 2.0]))
    return True


@operator("RotaryEmbedding", since=23, of=of_rank(4))
def rotary_embedding(b, op, x, shape):
    n, _, steps, width = shape
    if width % 2:
        return False
    tables = [b.parameter((n, steps, width // 2), role="rotary") for _ in range(2)]
    b.node(op, [x, *tables], shape, interleaved=b.rng.choice([0, 1]))
    return True


@operator("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase",
          "SequenceAt", "SequenceLength", "ConcatFromSequence", since=11, of=ranked)
def sequence(b, op, x, shape):
    """A list that is built, changed and read."""
    def hidden(kind, *operands, **attributes):
        return b.hidden(kind, list(operands), (), **attributes)

    def place(number):
        return constants.constant(b, np.array(number, np.int64))

    y = b.node("Neg", [x], shape)
    if op == "SequenceEmpty" or b.chance(0.3):
        items = hidden("SequenceInsert", hidden("SequenceEmpty"), x)
        items = hidden("SequenceInsert", items, y, place(b.rng.choice([0, 1, -1])))
    else:
        items = hidden("SequenceConstruct", x, y)
    if op == "SequenceInsert":
        items = hidden(op, items, b.node("Abs", [x], shape))
    elif op == "SequenceErase":
        items = hidden(op, items, place(b.rng.choice([0, 1, -2])))
    elif op == "SequenceLength":
        count = hidden("Cast", hidden(op, items), to=1)
        b.node("Mul", [x, count], shape)
    if op == "ConcatFromSequence":
        axis, new = b.rng.randrange(len(shape)), b.rng.choice([0, 1])
        if 2 * size(shape) > MAX_ELEMENTS or len(shape) > 7:
            return True
        result = [2 * n if i == axis else n for i, n in enumerate(shape)]
        if new:
            result = [*shape[:axis], 2, *shape[axis:]]
        b.node(op, [items], result, axis=axis, new_axis=new)
    else:
        b.node("SequenceAt", [items, place(b.rng.choice([0, -1]))], shape)
    return True


@operator("SplitToSequence", since=11, of=ranked)
def split_to_sequence(b, op, x, shape):
    axis = b.rng.randrange(len(shape))
    n = shape[axis]
    keep = b.rng.choice([0, 1])
    operands, part = [x], 1
    if b.chance(0.6):
        keep = 1  # onnxruntime heeds it, which ONNX says is ignored here.
        part = b.rng.randint(1, n)
        operands.append(constants.constant(b, np.array(part, np.int64)))
    parts = b.hidden(op, operands, (), axis=axis, keepdims=keep)
    result = [part if i == axis else m for i, m in enumerate(shape)]
    if len(operands) == 1 and not keep:
        del result[axis]
    first = constants.constant(b, np.array(0, np.int64))
    b.node("SequenceAt", [parts, first], result)
    return True


@operator("Optional", "OptionalGetElement", "OptionalHasElement", since=18, of=ranked)
def optional(b, op, x, shape):
    held = b.hidden("Optional", [b.node("Abs", [x], shape)], ())
    if op == "OptionalHasElement":
        there = b.hidden("Cast", [b.hidden(op, [held], ())], (), to=1)
        b.node("Mul", [x, there], shape)
    b.node("OptionalGetElement", [held], shape)
    return True
