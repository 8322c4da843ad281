"""Layers that several networks share: convolutions, pools, normalisations, fully
connected layers, activations, embeddings."""

import math

from onnx import TensorProto

from .graph import add, binary, cut, mul, reduce_mean, unary


def relu(g, name, x):
    return unary(g, "Relu", name, x)


def pair(value):
    return list(value) if isinstance(value, tuple) else [value, value]


def conv(g, name, x, channels, kernel, stride=1, pad=0, group=1, bias=True, gain=2.0):
    """A 2-D convolution of `x` (n, c, h, w). `pad` is (h, w), on both sides."""
    kernel, strides, pads = pair(kernel), pair(stride), pair(pad)
    c = x.shape[1] // group
    fan_in = c * math.prod(kernel)
    inputs = [x, g.parameter(f"{name}.weight", (channels, c, *kernel), "weight",
                             fan_in, gain)]
    if bias:
        inputs.append(g.parameter(f"{name}.bias", (channels,), "bias"))
    sizes = window_sizes(x, kernel, strides, pads)
    return g.op("Conv", name, inputs, (x.shape[0], channels, *sizes),
                kernel_shape=kernel, strides=strides, pads=pads + pads, group=group)


def window_sizes(x, kernel, strides, pads):
    return [(n + 2 * p - k) // s + 1
            for n, k, s, p in zip(x.shape[2:], kernel, strides, pads)]


def pool(g, kind, name, x, kernel, stride, pad=0):
    """MaxPool or AveragePool; an average does not count pads."""
    kernel, strides, pads = pair(kernel), pair(stride), pair(pad)
    sizes = window_sizes(x, kernel, strides, pads)
    return g.op(kind, name, [x], (*x.shape[:2], *sizes), kernel_shape=kernel,
                strides=strides, pads=pads + pads)


def max_pool(g, name, x, kernel, stride, pad=0):
    return pool(g, "MaxPool", name, x, kernel, stride, pad)


def average_pool(g, name, x, kernel, stride, pad=0):
    return pool(g, "AveragePool", name, x, kernel, stride, pad)


def global_average_pool(g, name, x):
    """From (n, c, h, w) to (n, c)."""
    pooled = g.op("GlobalAveragePool", name, [x], (*x.shape[:2], 1, 1))
    return flatten(g, f"{name}.flatten", pooled)


def flatten(g, name, x):
    return g.op("Flatten", name, [x], (x.shape[0], math.prod(x.shape[1:])), axis=1)


def batch_norm(g, name, x, epsilon=1e-5, gain=1.0):
    shape = (x.shape[1],)
    inputs = [x, g.parameter(f"{name}.scale", shape, "scale", gain=gain)]
    for role in ("bias", "mean", "variance"):
        inputs.append(g.parameter(f"{name}.{role}", shape, role))
    return g.op("BatchNormalization", name, inputs, x.shape, epsilon=epsilon)


def fully_connected(g, name, x, features, gain=1.0):
    """Of `x` (n, c), with a bias."""
    c = x.shape[1]
    weight = g.parameter(f"{name}.weight", (features, c), "weight", c, gain)
    bias = g.parameter(f"{name}.bias", (features,), "bias")
    return g.op("Gemm", name, [x, weight, bias], (x.shape[0], features), transB=1)


def linear(g, name, x, features, bias=True, gain=1.0):
    """Over the last dimension of `x`, of any rank."""
    c = x.shape[-1]
    weight = g.parameter(f"{name}.weight", (c, features), "weight", c, gain)
    y = g.op("MatMul", name, [x, weight], (*x.shape[:-1], features))
    if not bias:
        return y
    return add(g, f"{name}.add", y, g.parameter(f"{name}.bias", (features,), "bias"))


def embedding(g, name, ids, rows, features, fan_in=1):
    """Rows of a table by `ids` (int64, any shape). Values have variance
    1 / fan_in."""
    table = embedding_table(g, name, rows, features, fan_in)
    return gather(g, name, table, ids)


def embedding_table(g, name, rows, features, fan_in=1):
    return g.parameter(f"{name}.weight", (rows, features), "weight", fan_in)


def gather(g, name, table, ids, axis=0):
    shape = (*table.shape[:axis], *ids.shape, *table.shape[axis + 1:])
    return g.op("Gather", name, [table, ids], shape, axis=axis)


def position_table(g, name, positions, features, length, fan_in=1):
    """The first rows of a trained table, one per step."""
    if length > positions:
        raise ValueError(f"expected at most {positions} steps, got: {length}")
    table = embedding_table(g, name, positions, features, fan_in)
    return table if length == positions else cut(g, name, table, 0, 0, length)


def tokens(g, name, length):
    """An input of token numbers (batch, length)."""
    return g.input(name, (g.batch, length), TensorProto.INT64)


def layer_norm(g, name, x, epsilon=1e-5):
    """Over the last dimension; decomposed before operator set 17."""
    shape = (x.shape[-1],)
    scale = g.parameter(f"{name}.scale", shape, "scale")
    bias = g.parameter(f"{name}.bias", shape, "bias")
    if g.opset >= 17:
        return g.op("LayerNormalization", name, [x, scale, bias], x.shape, axis=-1,
                    epsilon=epsilon)
    mean = reduce_mean(g, f"{name}.mean", x)
    centred = binary(g, "Sub", f"{name}.sub", x, mean)
    squares = binary(g, "Pow", f"{name}.pow", centred, 2.0)
    variance = reduce_mean(g, f"{name}.variance", squares)
    root = unary(g, "Sqrt", f"{name}.sqrt", add(g, f"{name}.epsilon", variance, epsilon))
    y = mul(g, f"{name}.mul", binary(g, "Div", f"{name}.div", centred, root), scale)
    return add(g, name, y, bias)


def rms_norm(g, name, x, epsilon):
    """x / sqrt(mean(x^2) + epsilon) * scale (Zhang and Sennrich, 2019, equation 4)."""
    squares = binary(g, "Pow", f"{name}.pow", x, 2.0)
    mean = reduce_mean(g, f"{name}.mean", squares)
    root = unary(g, "Sqrt", f"{name}.sqrt", add(g, f"{name}.epsilon", mean, epsilon))
    y = mul(g, f"{name}.mul", x, unary(g, "Reciprocal", f"{name}.reciprocal", root))
    return mul(g, name, y, g.parameter(f"{name}.scale", (x.shape[-1],), "scale"))


def gelu(g, name, x):
    """x / 2 (1 + erf(x / sqrt(2))) (Hendrycks and Gimpel, 2016, section 2); one node
    from operator set 20 on."""
    if g.opset >= 20:
        return unary(g, "Gelu", name, x)
    erf = unary(g, "Erf", f"{name}.erf",
                binary(g, "Div", f"{name}.div", x, math.sqrt(2)))
    gate = mul(g, f"{name}.mul", x, add(g, f"{name}.add", erf, 1.0))
    return mul(g, name, gate, 0.5)


def gelu_tanh(g, name, x):
    """The approximation with tanh of the same section."""
    if g.opset >= 20:
        return unary(g, "Gelu", name, x, approximate="tanh")
    cube = mul(g, f"{name}.cube", binary(g, "Pow", f"{name}.pow", x, 3.0), 0.044715)
    inner = mul(g, f"{name}.inner", add(g, f"{name}.sum", x, cube),
                math.sqrt(2 / math.pi))
    tanh = add(g, f"{name}.add", unary(g, "Tanh", f"{name}.tanh", inner), 1.0)
    return mul(g, name, mul(g, f"{name}.half", x, 0.5), tanh)
