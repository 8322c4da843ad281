"""Random Resize and Upsample nodes, as operators.py."""

import numpy as np

from constants import constant
from operators import MAX_ELEMENTS, of_rank, operator, size

# Scales by which positions are computed without rounding, so that it is clear which
# element is the nearest.
EXACT = [0.25, 0.5, 0.75, 1.25, 1.5, 2, 2, 2.5, 3]


def scaled(b, shape, linear, choices):
    """Scales and sizes; None if onnxruntime has no such thing: linear over other
    dimensions than the last one to three. Where no size changes it copies, whatever
    the scales."""
    scales = [1.0] * len(shape)
    images = {2: 0, 3: 0, 4: 2, 5: 2}.get(len(shape)) if linear else 0
    if images is None:
        return None
    for axis in range(images, len(shape)):
        if linear or axis > 1 or b.chance(0.2):
            scales[axis] = float(b.rng.choice([1, *choices]))
    result = [int(n * s) for n, s in zip(shape, scales)]
    if min(result) < 1 or size(result) > MAX_ELEMENTS or result == list(shape):
        return None
    return scales, result


def floats(b, numbers):
    return constant(b, np.array(numbers, dtype=np.float32))


@operator("Upsample", since=9, until=9, of=of_rank(1, 5))
@operator("Resize", since=10, of=of_rank(1, 5))
def resize(b, op, x, shape):
    linear = b.chance(0.5)
    mode = "linear" if linear else "nearest"
    if b.opset < 11:
        drawn = scaled(b, shape, linear, [1.5, 2, 2.5, 3] if op == "Upsample" else EXACT)
        if not drawn:
            return False
        scales, result = drawn
        b.node(op, [x, floats(b, scales)], result, mode=mode)
        return True
    coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
    if b.opset < 13 and not linear:
        coordinates.append("tf_half_pixel_for_nn")
    drawn = scaled(b, shape, linear, EXACT)
    if not drawn:
        return False
    scales, result = drawn
    exact = all(n * s == r for n, s, r in zip(shape, scales, result))
    if b.opset >= 19 and (linear or exact):  # Else positions are rounded.
        coordinates.append("half_pixel_symmetric")
    by_size = b.chance(0.5)
    if by_size and linear:  # Any size, as nothing jumps.
        result = [n if s == 1 else b.rng.randint(1, 2 * n) for n, s in zip(shape, scales)]
    elif not exact:
        by_size = False
    axes = None
    numbers = result if by_size else scales
    if b.opset >= 18 and b.chance(0.5):
        axes = [i for i, (n, s, r) in enumerate(zip(shape, scales, result))
                if s != 1 or n != r]
        b.rng.shuffle(axes)
        numbers = [numbers[axis] for axis in axes]
        axes = b.axes(axes, len(shape))
        if not axes:
            return False
    region = "" if b.opset >= 13 and b.chance(0.8) else floats(b, [])
    operands = [x, region, floats(b, numbers)]
    if by_size:
        nothing = "" if b.opset >= 13 else floats(b, [])
        operands = [x, region, nothing, b.integers(numbers)]
    b.node(op, operands, result, mode=mode, axes=axes,
           coordinate_transformation_mode=b.rng.choice(coordinates),
           nearest_mode=None if linear else b.rng.choice(
               ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]))
    return True
