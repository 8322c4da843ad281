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


def by_matrices(b, op, x, shape):
    """Forms that become products with matrices, of images: antialiasing, a region;
    and sizes that keep the aspect ratio."""
    kind = b.rng.choice(["region"] if b.opset < 18 else ["region", "antialias", "policy"])
    image = [b.rng.randint(1, 2 * n) for n in shape[2:]]
    attributes = {"mode": b.rng.choice(["linear", "cubic"])}
    region = "" if b.opset >= 13 else floats(b, [])
    if kind == "antialias":
        attributes["antialias"] = 1
        attributes["coordinate_transformation_mode"] = b.rng.choice(
            ["half_pixel", "align_corners", "asymmetric"])
    elif kind == "policy":
        policy = b.rng.choice(["not_larger", "not_smaller"])
        choose = min if policy == "not_larger" else max
        scale = choose(r / n for r, n in zip(image, shape[2:]))
        attributes["keep_aspect_ratio_policy"] = policy
        attributes["axes"] = [2, 3]
    else:  # Cubic regions are in onnxruntime others than in ONNX's reference.
        attributes["mode"] = "linear"
        starts = [b.rng.uniform(-0.2, 0.4) for _ in range(2)]
        ends = [b.rng.uniform(0.6, 1.2) for _ in range(2)]
        region = floats(b, [0, 0, *starts, 1, 1, *ends])
        attributes["coordinate_transformation_mode"] = "tf_crop_and_resize"
        attributes["extrapolation_value"] = b.rng.choice([0.0, 1.5])
    sizes = image if kind == "policy" else [*shape[:2], *image]
    if kind == "policy":
        image = [int(scale * n + 0.5) for n in shape[2:]]
    result = (*shape[:2], *image)
    if min(image) < 1 or size(result) > MAX_ELEMENTS or result == tuple(shape):
        return False
    nothing = "" if b.opset >= 13 else floats(b, [])
    b.node(op, [x, region, nothing, b.integers(sizes)], result, **attributes)
    return True


@operator("Upsample", since=9, until=9, of=of_rank(1, 5))
@operator("Resize", since=10, of=of_rank(1, 5))
def resize(b, op, x, shape):
    if b.opset >= 11 and len(shape) == 4 and b.chance(0.4):
        return by_matrices(b, op, x, shape)
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

