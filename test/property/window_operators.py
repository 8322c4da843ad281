"""Random convolutions and poolings, as operators.py."""

from operators import operator, size, spatial


def windows(b, shape, dilates=True, pad_limit=None, kernel_limit=5):
    """Kernel, strides, dilations, pads and result of a spatial operator; None if
    the drawn window does not fit."""
    kernel, strides, dilations, lo, hi, result = [], [], [], [], [], []
    for n in shape[2:]:
        k = b.rng.choice([1, 2, 3, 3, 3, 4, kernel_limit])
        s = b.rng.choice([1, 1, 1, 2, 2, 3, 4])
        d = b.rng.choice([1, 1, 1, 2]) if dilates else 1
        reach = (k - 1) * d + 1
        # Mostly what keeps the size, sometimes anything.
        most = min(reach - 1, 4) if pad_limit is None else min(pad_limit(k, d), 4)
        p, q = ((reach - 1) // 2, (reach - 1) // 2) if b.rng.random() < 0.5 else (
            b.rng.randint(0, max(0, most)), b.rng.randint(0, max(0, most)))
        if n + p + q < reach:
            return None
        kernel.append(k), strides.append(s), dilations.append(d)
        lo.append(min(p, max(0, most))), hi.append(min(q, max(0, most)))
        if n + lo[-1] + hi[-1] < reach:
            return None
        result.append((n + lo[-1] + hi[-1] - reach) // s + 1)
    return kernel, strides, dilations, lo, hi, result


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
    weight = b.parameter((filters, channels // groups, *kernel), fan_in**-0.5)
    bias = [b.parameter((filters,), 0.5)] if b.rng.random() < 0.6 else []
    attributes = {"group": groups, "strides": strides, "dilations": dilations,
                  "kernel_shape": kernel}
    if b.rng.random() < 0.15 and all(d == 1 for d in dilations):
        attributes["auto_pad"] = b.rng.choice(["SAME_UPPER", "SAME_LOWER"])
        result = [-(-n // s) for n, s in zip(shape[2:], strides)]
        if any((r - 1) * s + k < n for r, s, k, n in
               zip(result, strides, kernel, shape[2:])):
            return False
    else:
        attributes["pads"] = lo + hi
    b.node(op, [x, weight, *bias], (batch, filters, *result), **attributes)
    return True


@operator("MaxPool", "AveragePool", since=10, of=spatial)
def pool(b, op, x, shape):
    average = op == "AveragePool"
    dilates = (not average or b.opset >= 19) and b.rng.random() < 0.3
    window = windows(b, shape, dilates,
                           lambda k, d: k - 1, kernel_limit=4)
    if not window:
        return False
    kernel, strides, dilations, lo, hi, result = window
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": lo + hi}
    if dilates or not average:
        attributes["dilations"] = dilations
    if average and b.rng.random() < 0.5:
        attributes["count_include_pad"] = 1
    if b.rng.random() < 0.3:
        attributes["ceil_mode"] = 1
        result = []
        for n, k, s, d, p, q in zip(shape[2:], kernel, strides, dilations, lo, hi):
            reach = (k - 1) * d + 1
            count = -(-(n + p + q - reach) // s) + 1
            # onnx and onnxruntime disagree about a window that starts in the
            # padding behind.
            if (count - 1) * s >= n + p:
                return False
            result.append(count)
    b.node(op, [x], (*shape[:2], *result), **attributes)
    return True


@operator("GlobalAveragePool", "GlobalMaxPool", of=spatial)
def global_pool(b, op, x, shape):
    b.node(op, [x], (*shape[:2], *(1 for _ in shape[2:])))
    return True
