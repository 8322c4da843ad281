"""Random convolutions and poolings, as operators.py."""

from operators import MAX_ELEMENTS, combination, operator, size, spatial


def windows(b, shape, dilates=True, pools=False, kernel_limit=5):
    """Kernel, strides, dilations, pads and result of a spatial operator; None if
    the drawn window does not fit."""
    kernel, strides, dilations, lo, hi, result = [], [], [], [], [], []
    # Windows that reach over the whole input.
    wide = b.chance(0.5 if min(shape[2:]) < 3 or (pools and dilates) else 0.2)
    for n in shape[2:]:
        k = b.rng.choice([1, 2, 3, 3, 3, 4, kernel_limit])
        s = b.rng.choice([1, 1, 1, 2, 2, 3, 4])
        d = b.rng.choice([1, 1, 1, 2, 3]) if dilates else 1
        if dilates and wide and pools and b.chance(0.4):
            k, d = 2, n + 1  # It may step over the whole input.
        elif dilates and wide and k > 1:
            d = max(d, -(-n // (k - 1)) + b.rng.randint(0, 1))
        reach = (k - 1) * d + 1
        # Mostly what keeps the size, sometimes anything. onnxruntime wants less than
        # the kernel of a pooling.
        most = k - 1 if pools else min(reach - 1, 4)
        if wide:
            most = k - 1 if pools else reach + 1
        p = q = (reach - 1) // 2
        if b.chance(0.5) and not (pools and wide):
            p, q = b.rng.randint(0, most), b.rng.randint(0, most)
        if pools or not wide:
            p, q = min(p, most), min(q, most)
        if n + p + q < reach:
            return None
        kernel.append(k), strides.append(s), dilations.append(d)
        lo.append(p), hi.append(q)
        result.append((n + p + q - reach) // s + 1)
    return kernel, strides, dilations, lo, hi, result


def auto_pads(b, shape, kernel, strides, dilations):
    """The name of a rule that makes the pads, and the result's sizes; None if there
    is none. onnxruntime refuses dilations with SAME, and crops where strides are
    larger than windows."""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    rule = b.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if rule == "VALID":
        result = [(n - r) // s + 1 for n, r, s in zip(shape[2:], reach, strides)]
        return (rule, result) if min(result) > 0 else None
    result = [-(-n // s) for n, s in zip(shape[2:], strides)]
    if max(dilations) > 1 or any((count - 1) * s + k < n for count, s, k, n in
                                 zip(result, strides, kernel, shape[2:])):
        return None
    return rule, result


@operator("Conv", of=spatial)
def conv(b, op, x, shape):
    window = windows(b, shape)
    if not window:
        return False
    kernel, strides, dilations, lo, hi, result = window
    batch, channels = shape[:2]
    groups = b.rng.choice([1, 1, 1] + [g for g in (2, 3, 4, channels)
                                       if channels % g == 0])
    filters = groups * b.rng.randint(1, max(1, 8 // groups))
    fan_in = channels // groups * size(kernel)
    weight = b.operand((filters, channels // groups, *kernel), fan_in**-0.5)
    bias = [b.operand((filters,), 0.5)] if b.chance(0.6) else []
    attributes = {"group": groups, "strides": strides, "dilations": dilations,
                  "kernel_shape": kernel, "pads": lo + hi}
    rule = auto_pads(b, shape, kernel, strides, dilations) if b.chance(0.2) else None
    if rule:
        attributes["auto_pad"], result = rule
        del attributes["pads"]
    if size(result) * batch * filters > MAX_ELEMENTS:
        return False
    b.node(op, [x, weight, *bias], (batch, filters, *result), **attributes)
    return True


@combination
def shuffled(b):
    """A pointwise convolution by groups, whose channels are shuffled for the one behind
    it, as in a ShuffleNet."""
    x = b.pick(spatial)
    if not x:
        return False
    batch, channels, *pixels = b.shapes[x]
    groups = b.rng.choice([g for g in (1, 2, 3, 4) if channels % g == 0])
    filters = groups * b.rng.randint(2, 9)
    parts = b.rng.choice([n for n in range(2, filters + 1) if filters % n == 0])
    if size(pixels) * batch * filters > MAX_ELEMENTS:
        return False

    def conv(y, weight, groups, kernel):
        return b.node("Conv", [y, b.operand(weight, size(weight[1:])**-0.5)],
                      (batch, filters, *pixels), group=groups, kernel_shape=kernel,
                      pads=[k // 2 for k in kernel] * 2)

    def between(*node, **attributes):
        # Mostly nobody else reads it.
        return (b.hidden if b.chance(0.9) else b.node)(*node, **attributes)

    ones, threes = [1] * len(pixels), [3] * len(pixels)
    y = conv(x, (filters, channels // groups, *ones), groups, ones)
    if b.chance(0.5):
        y = b.node("Relu", [y], (batch, filters, *pixels))
    split = (batch, parts, filters // parts, *pixels)
    y = between("Reshape", [y, b.integers(split)], split)
    exchanged = (batch, filters // parts, parts, *pixels)
    y = between("Transpose", [y], exchanged, perm=[0, 2, 1, *range(3, len(split))])
    joined = (batch, filters, *pixels)
    y = between("Reshape", [y, b.integers(joined)], joined)
    conv(y, (filters, 1, *threes), filters, threes)
    return True


@combination
def upsampled(b):
    """A transposed convolution whose windows lie side by side between a convolution and
    a pool, as in a U-Net."""
    x = b.pick(spatial)
    if not x:
        return False
    batch, channels, *pixels = b.shapes[x]
    window = [b.rng.choice([1, 2, 2, 3]) for _ in pixels]
    larger = [n * k for n, k in zip(pixels, window)]
    filters, outputs = b.rng.randint(2, 12), b.rng.randint(2, 12)
    if size(larger) * batch * max(filters, outputs) > MAX_ELEMENTS or min(larger) < 2:
        return False
    threes = [3] * len(pixels)
    weight = b.operand((filters, channels, *threes), size([channels, *threes])**-0.5)
    y = b.node("Conv", [x, weight], (batch, filters, *pixels), kernel_shape=threes,
               pads=[1, 1] * len(pixels))
    weight = b.operand((filters, outputs, *window), filters**-0.5)
    bias = [b.operand((outputs,), 0.5)] if b.chance(0.6) else []
    y = b.node("ConvTranspose", [y, weight, *bias], (batch, outputs, *larger),
               kernel_shape=window, strides=window)
    twos = [2] * len(pixels)
    b.node(b.rng.choice(["MaxPool", "AveragePool"]), [y],
           (batch, outputs, *(n // 2 for n in larger)), kernel_shape=twos, strides=twos)
    return True


def ceil_sizes(shape, kernel, strides, dilations, lo, hi):
    """What ceil_mode makes; None where onnx and onnxruntime disagree: a window
    that starts in the padding behind."""
    result = []
    for n, k, s, d, p, q in zip(shape[2:], kernel, strides, dilations, lo, hi):
        count = -(-(n + p + q - (k - 1) * d - 1) // s) + 1
        if (count - 1) * s >= n + p:
            return None
        result.append(count)
    return result


@operator("MaxPool", "AveragePool", of=spatial)
def pool(b, op, x, shape):
    average = op == "AveragePool"
    dilates = b.opset >= (19 if average else 10) and b.chance(0.7 if average else 0.4)
    window = windows(b, shape, dilates, pools=True, kernel_limit=b.rng.choice([4, 7]))
    if not window:
        return False
    kernel, strides, dilations, lo, hi, result = window
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": lo + hi}
    if dilates or (not average and b.opset >= 10):
        attributes["dilations"] = dilations
    if average:
        attributes["count_include_pad"] = b.rng.choice([0, 1])
    elif b.opset >= 8:
        attributes["storage_order"] = b.rng.choice([0, 0, 1])
    rule = auto_pads(b, shape, kernel, strides, dilations) if b.chance(0.2) else None
    if rule:
        attributes["auto_pad"], result = rule
        del attributes["pads"]
    elif b.opset >= 10 and b.chance(0.3):
        attributes["ceil_mode"] = 1
        result = ceil_sizes(shape, kernel, strides, dilations, lo, hi)
    if result is None:
        return False
    b.node(op, [x], (*shape[:2], *result), **attributes)
    return True


@operator("GlobalAveragePool", "GlobalMaxPool", of=spatial)
def global_pool(b, op, x, shape):
    b.node(op, [x], (*shape[:2], *(1 for _ in shape[2:])))
    return True


@operator("ConvTranspose", of=spatial)
def conv_transpose(b, op, x, shape):
    batch, channels, *image = shape
    groups = b.rng.choice([g for g in (1, 1, 2, 3, channels) if channels % g == 0])
    outputs = b.rng.randint(1, 3)
    kernel, strides, dilations, extra, lo, hi, full = ([] for _ in range(7))
    # Not output_shape: onnx infers a result of spatial dimensions only.
    kind = b.rng.choice(["pads", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"])
    for n in image:
        kernel.append(b.rng.choice([1, 2, 3, 3, 4]))
        strides.append(b.rng.randint(1, 3))
        dilations.append(b.rng.choice([1, 1, 2]))
        # Rules for pads have no agreed meaning together with it.
        extra.append(b.rng.randrange(strides[-1]) if kind == "pads" else 0)
        reach = (kernel[-1] - 1) * dilations[-1]
        lo.append(b.rng.randint(0, reach))
        hi.append(b.rng.randint(0, reach))
        full.append(strides[-1] * (n - 1) + extra[-1] + reach + 1)
    attributes = {"strides": strides, "dilations": dilations, "group": groups,
                  "kernel_shape": kernel, "output_padding": extra}
    result = [n - p - q for n, p, q in zip(full, lo, hi)]
    if kind == "pads":
        attributes["pads"] = lo + hi
    else:
        attributes["auto_pad"] = kind
        result = full if kind == "VALID" else [n * s for n, s in zip(image, strides)]
        if any(n < r for n, r in zip(full, result)):
            return False
    shape = (batch, outputs * groups, *result)
    if min(result) < 1 or size(shape) > MAX_ELEMENTS:
        return False
    operands = [x, b.operand((channels, outputs, *kernel),
                             (channels / groups * size(kernel)) ** -0.5)]
    if b.chance(0.5):
        operands.append(b.operand((outputs * groups,)))
    b.node(op, operands, shape, **attributes)
    return True
