"""Random operators that the importer writes as ONNX nodes of its own: sampling,
transforms, unpooling, places and selections, as operators.py. What jumps reads
inputs of the graph only."""

import numpy as np

from constants import constant
from index_operators import operand_of
from integer_operators import pick_input
from operators import (MAX_ELEMENTS, WEIGHTS, of_rank, operator, ranked, size, spatial)
from window_operators import auto_pads, ceil_sizes, windows

WEIGHTS.update({"GridSample": 2, "LpPool": 2, "CumProd": 8, "TensorScatter": 2,
                "DeformConv": 2, "RoiAlign": 2})


def integer(b, number):
    return constant(b, np.array(number, np.int64))


@operator("Hardmax")
def hardmax(b, op):
    x = pick_input(b)
    shape = b.shapes[x]
    if not shape or len(shape) > 7:
        return False
    axis = b.rng.randrange(len(shape))
    marks = b.hidden(op, [x], shape, axis=b.axis(axis, len(shape)))
    b.node("Sub", [marks, x], shape)
    return True


@operator("LpPool", of=spatial)
def lp_pool(b, op, x, shape):
    window = windows(b, shape, b.opset >= 18, pools=True)
    if not window:
        return False
    kernel, strides, dilations, lo, hi, result = window
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": lo + hi,
                  "p": b.rng.choice([1, 2, 2, 3])}
    if b.opset >= 18:
        attributes["dilations"] = dilations
    rule = auto_pads(b, shape, kernel, strides, dilations) if b.chance(0.2) else None
    if rule:
        attributes["auto_pad"], result = rule
        del attributes["pads"]
    elif b.opset >= 18 and b.chance(0.3):
        attributes["ceil_mode"] = 1
        result = ceil_sizes(shape, kernel, strides, dilations, lo, hi)
    if result is None:
        return False
    b.node(op, [x], (*shape[:2], *result), **attributes)
    return True


def max_pool_with_indices(b, x, shape, kernel, strides, pads, result, **attributes):
    values, places = b.multi_node(
        "MaxPool", [x], [(*shape[:2], *result)] * 2, kernel_shape=kernel,
        strides=strides, pads=pads, **attributes)
    del b.shapes[places]
    return values, places


@operator("MaxUnpool", since=11)
def max_unpool(b, op):
    """Behind a MaxPool, whose indices are read as numbers, too."""
    x = pick_input(b)
    shape = b.shapes[x]
    if not 3 <= len(shape) <= 5:
        return False
    if b.chance(0.4):  # Indices of any pooling.
        window = windows(b, shape, dilates=True, pools=True)
        if not window:
            return False
        kernel, strides, dilations, lo, hi, result = window
        _, places = max_pool_with_indices(b, x, shape, kernel, strides, lo + hi, result,
                                          dilations=dilations,
                                          storage_order=b.rng.choice([0, 1]))
        places = b.hidden("Cast", [places], (*shape[:2], *result), to=1)
        b.node("Mul", [places, b.scalar(0.01)], (*shape[:2], *result))
    kernel = [b.rng.randint(1, 3) for _ in shape[2:]]
    if any(k > n for k, n in zip(kernel, shape[2:])):
        return False
    result = [n // k for n, k in zip(shape[2:], kernel)]
    inferred = (*shape[:2], *(r * k for r, k in zip(result, kernel)))
    if inferred != tuple(shape):  # Indices count the elements of the operand.
        x = b.node("Slice", [x, b.integers([0] * len(shape)), b.integers(inferred)],
                   inferred)
    values, places = max_pool_with_indices(b, x, shape, kernel, kernel,
                                           [0] * 2 * len(kernel), result)
    b.node(op, [values, places], inferred, kernel_shape=kernel, strides=kernel)
    return True


@operator("Col2Im", since=18)
def col2im(b, op):
    # Of one dimension (with several channels) and of three, onnxruntime 1.31 differs
    # from ONNX's reference, which is followed here.
    dims = 2
    image = [b.rng.randint(3, 7) for _ in range(dims)]
    block = [b.rng.randint(1, 3) for _ in range(dims)]
    strides = [b.rng.randint(1, 3) for _ in range(dims)]
    dilations = [b.rng.randint(1, 2) for _ in range(dims)]
    pads = [b.rng.randint(0, 1) for _ in range(2 * dims)]
    counts = []
    for d in range(dims):
        slack = (image[d] + pads[d] + pads[dims + d]
                 - dilations[d] * (block[d] - 1) - 1)
        if slack < 0:
            return False
        counts.append(slack // strides[d] + 1)
    n, c = b.rng.randint(1, 4), b.rng.randint(1, 4)
    x = b.add_input((n, c * size(block), size(counts)))
    b.node(op, [x, b.integers(image), b.integers(block)], (n, c, *image),
           strides=strides, dilations=dilations, pads=pads)
    return True


@operator("ReverseSequence", since=10, of=of_rank(2, 5))
def reverse_sequence(b, op, x, shape):
    batch = b.rng.choice([0, 1])
    lengths = b.values.integers(1, shape[1 - batch] + 1, shape[batch])
    b.node(op, [x, operand_of(b, lengths, np.int64)], shape, batch_axis=batch,
           time_axis=1 - batch)
    return True


@operator("TensorScatter", since=24, of=of_rank(3, 5))
def tensor_scatter(b, op, x, shape):
    axis = b.rng.randrange(1, len(shape))
    update = list(shape)
    update[axis] = b.rng.randint(1, shape[axis])
    circular = b.chance(0.5)
    last = shape[axis] if circular else shape[axis] - update[axis] + 1
    operands = [x, b.operand(update)]
    if b.chance(0.8):
        operands.append(operand_of(b, b.values.integers(0, last, shape[0]), np.int64))
    b.node(op, operands, shape, axis=axis - len(shape),
           mode="circular" if circular else "linear")
    return True


@operator("CumProd", since=26, of=ranked)
def cum_prod(b, op, x, shape):
    """Of numbers near 1, so that products neither vanish nor explode."""
    small = b.hidden("Mul", [b.hidden("Tanh", [x], shape), b.scalar(0.3)], shape)
    factors = b.hidden("Add", [small, b.scalar(1.1)], shape)
    axis = b.rng.randrange(len(shape))
    b.node(op, [factors, integer(b, b.axis(axis, len(shape)))], shape,
           exclusive=b.rng.choice([0, 1]), reverse=b.rng.choice([0, 1]))
    return True


@operator("Det", since=11)
def determinant(b, op):
    n = b.rng.randint(1, 4)
    shape = [b.rng.randint(1, 4) for _ in range(b.rng.randint(0, 2))]
    b.node(op, [b.add_input((*shape, n, n))], shape)
    return True


@operator("DFT", since=17, of=of_rank(2, 4))
def dft(b, op, x, shape):
    complex_ = shape[-1] % 2 == 0 and b.chance(0.5)
    if complex_:  # Pairs of the last dimension.
        parts = (*shape[:-1], shape[-1] // 2, 2)
    else:
        parts = (*shape, 1)
    axis = b.rng.randrange(len(parts) - 1)
    n = parts[axis]
    length = b.rng.randint(max(1, n - 1), n + 2) if b.chance(0.4) else n
    one_sided = not complex_ and b.chance(0.5)
    result = [*parts[:-1], 2]
    result[axis] = length // 2 + 1 if one_sided else length
    if size(result) > MAX_ELEMENTS or length > 64:
        return False
    x = b.node("Reshape", [x, b.integers(parts)], parts)
    attributes = {"inverse": 0 if one_sided else b.rng.choice([0, 1]),
                  "onesided": int(one_sided)}
    operands = [x, integer(b, length) if length != n or b.chance(0.3) else ""]
    if b.opset < 20:
        attributes["axis"] = axis
    else:
        operands.append(integer(b, b.axis(axis, len(parts))))
    b.node(op, operands, result, **attributes)
    return True


@operator("STFT", since=17)
def stft(b, op):
    n, samples = b.rng.randint(1, 3), b.rng.randint(12, 40)
    length, step = b.rng.randint(4, 10), b.rng.randint(1, 6)
    one_sided = b.rng.choice([0, 1])
    frames = (samples - length) // step + 1
    bins = length // 2 + 1 if one_sided else length
    operands = [b.add_input((n, samples, 1)), integer(b, step)]
    if b.chance(0.6):
        window = b.values.uniform(0.5, 1.5, length).astype(np.float32)
        operands.append(constant(b, window))
        operands += [integer(b, length)] * b.rng.choice([0, 1])
    else:
        operands += ["", integer(b, length)]
    b.node(op, operands, (n, frames, bins, 2), onesided=one_sided)
    return True


@operator("MelWeightMatrix", since=17, of=of_rank(2))
def mel(b, op, x, shape):
    if shape[1] < 5:
        return False
    bins = b.rng.randint(2, 5)
    rate = 2000
    operands = [integer(b, n) for n in (bins, 2 * (shape[1] - 1), rate)]
    operands += [b.scalar(number) for number in (0.0, rate / 2.5)]
    matrix = b.hidden(op, operands, (shape[1], bins))
    b.node("MatMul", [x, matrix], (shape[0], bins))
    return True


@operator("GridSample", since=16)
def grid_sample(b, op):
    """At points inside and outside; volumes are not cubic in onnxruntime."""
    dims = 3 if b.opset >= 20 and b.chance(0.3) else 2
    new = b.opset >= 20
    mode = b.rng.choice(["linear" if new else "bilinear", "nearest"] +
                        (["cubic" if new else "bicubic"] if dims == 2 else []))
    n, c = b.rng.randint(1, 3), b.rng.randint(1, 4)
    image = [b.rng.randint(2, 6) for _ in range(dims)]
    points = [b.rng.randint(1, 5) for _ in range(dims)]
    grid = b.add_input((n, *points, dims), 0.8)
    b.node(op, [b.add_input((n, c, *image)), grid], (n, c, *points), mode=mode,
           padding_mode=b.rng.choice(["zeros", "border", "reflection"]),
           align_corners=b.rng.choice([0, 1]))
    return True


@operator("RoiAlign", since=10, until=21, of=of_rank(4))
def roi_align(b, op, x, shape):
    """Not since operator set 22, of which onnxruntime has no kernel."""
    n, c, h, w = shape
    count, samples = b.rng.randint(1, 5), b.rng.randint(1, 3)
    height, width = b.rng.randint(1, 4), b.rng.randint(1, 4)
    starts = b.values.uniform(-2, [w, h], (count, 2))
    regions = np.concatenate([starts, starts + b.values.uniform(0.2, 5, (count, 2))], 1)
    name = b.name("in")
    b.inputs[name] = regions.astype(np.float32)
    operands = [x, name, operand_of(b, b.values.integers(0, n, count), np.int64)]
    mode = None
    if b.opset >= 16:
        mode = b.rng.choice(["half_pixel", "output_half_pixel"])
    b.node(op, operands, (count, c, height, width), output_height=height,
           output_width=width, sampling_ratio=samples, mode=b.rng.choice(["avg", "max"]),
           spatial_scale=b.rng.choice([1.0, 0.5]), coordinate_transformation_mode=mode)
    return True


@operator("DeformConv", since=19, of=of_rank(4))
def deform_conv(b, op, x, shape):
    window = windows(b, shape)
    if not window:
        return False
    kernel, strides, dilations, lo, hi, result = window
    n, channels = shape[:2]
    groups, offset_groups = (b.rng.choice([d for d in range(1, channels + 1)
                                           if channels % d == 0]) for _ in range(2))
    filters = groups * b.rng.randint(1, 2)
    places = size(kernel)
    if n * channels * places * size(result) > MAX_ELEMENTS:
        return False
    fan_in = channels // groups * places
    weight = b.operand((filters, channels // groups, *kernel), fan_in**-0.5)
    operands = [x, weight, b.add_input((n, offset_groups * places * 2, *result))]
    mask = b.chance(0.5)
    if mask or b.chance(0.3):
        operands.append(b.operand((filters,)) if b.chance(0.5) or not mask else "")
    if mask:
        operands.append(b.operand((n, offset_groups * places, *result)))
    b.node(op, operands, (n, filters, *result), group=groups,
           offset_group=offset_groups, strides=strides, dilations=dilations,
           pads=lo + hi, kernel_shape=kernel)
    return True


@operator("Compress", since=9, of=ranked)
def compress(b, op, x, shape):
    axis = b.rng.choice([None, b.rng.randrange(len(shape))])
    whole = size(shape) if axis is None else shape[axis]
    if whole > 500:
        return False
    condition = b.values.integers(0, 2, b.rng.randint(1, whole)).astype(bool)
    condition[b.rng.randrange(len(condition))] = True
    result = [int(condition.sum())]
    if axis is not None:
        result = [*shape[:axis], *result, *shape[axis + 1:]]
        axis = b.axis(axis, len(shape))
    b.node(op, [x, constant(b, condition)], result, axis=axis)
    return True


@operator("NonZero", since=9, of=ranked)
def non_zero(b, op, x, shape):
    """Rows that are chosen by a mask which is known."""
    mask = b.values.integers(0, 2, shape[0])
    mask[b.rng.randrange(shape[0])] = 1
    count = int(mask.sum())
    places = b.hidden(op, [constant(b, mask)], (1, count))
    rows = b.hidden("Squeeze", [places] + ([b.integers([0])] if b.opset >= 13 else []),
                    (count,), axes=None if b.opset >= 13 else [0])
    b.node("Gather", [x, rows], (count, *shape[1:]))
    return True


@operator("Unique", since=11, of=ranked)
def unique(b, op, x, shape):
    """Rows by their numbers, each once and as they were."""
    rows = b.values.integers(0, shape[0], b.rng.randint(1, 6))
    known, inverse = np.unique(rows, return_inverse=True)
    outputs = [b.name("t") for _ in range(3)]
    b.multi_node(op, [constant(b, rows)], [known.shape, known.shape, inverse.shape],
                 outputs, sorted=b.rng.choice([0, 1]))
    for name in outputs:
        del b.shapes[name]
    chosen = b.node("Gather", [x, outputs[0]], (len(known), *shape[1:]))
    b.node("Gather", [chosen, outputs[2]], (len(rows), *shape[1:]))
    return True
