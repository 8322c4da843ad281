"""Multi-head attention (Vaswani et al., 2017, section 3.2) as matrix products and
a softmax."""

import math

import numpy as np

from .graph import add, binary, matmul, reshape, softmax, split, transpose, unsqueeze
from .layers import linear


def heads_of(g, name, x, heads, perm=(0, 2, 1, 3)):
    """(b, s, d) as (b, heads, s, d / heads), or another order of these."""
    if x.shape[-1] % heads:
        raise ValueError(f"expected a number of heads that divides {x.shape[-1]} features, "
                         f"got: {heads}")
    parts = reshape(g, f"{name}.heads", x, (0, 0, heads, x.shape[-1] // heads))
    return transpose(g, f"{name}.transpose", parts, perm)


def causal_mask(g, length):
    """What hides the later steps from each step, for `mask` below."""
    positions = g.constant("positions", np.arange(length, dtype=np.int64))
    columns = unsqueeze(g, "causal_mask.columns", positions, [0])
    rows = unsqueeze(g, "causal_mask.rows", positions, [1])
    hidden = binary(g, "Greater", "causal_mask", columns, rows)
    low = g.scalar(-1e4)
    return lambda name, scores: g.op("Where", name, [hidden, low, scores],
                                     scores.shape)


def scaled_dot_product(g, name, query, key, value, mask=None):
    """From query (b, h, t, d), transposed key (b, h, d, s) and value (b, h, s, d) to
    (b, t, h d). `mask`, a function of a name and the scores, changes these."""
    _, heads, _, d = query.shape
    scores = matmul(g, f"{name}.scores", query, key)
    scores = binary(g, "Div", f"{name}.scale", scores, math.sqrt(d))
    if mask:
        scores = mask(f"{name}.mask", scores)
    weights = softmax(g, f"{name}.softmax", scores)
    context = matmul(g, f"{name}.context", weights, value)
    merged = transpose(g, f"{name}.context.transpose", context, (0, 2, 1, 3))
    return reshape(g, f"{name}.context.merge", merged, (0, 0, heads * d))


def attention(g, name, x, heads, memory=None, mask=None, bias=True, fused=False):
    """Of `x` (b, t, c) over `memory` (b, s, c), itself if not given. Fused: one
    product for query, key and value, then a split."""
    features = x.shape[-1]
    if fused:
        joint = linear(g, f"{name}.qkv", x, 3 * features, bias)
        query, key, value = split(g, f"{name}.split", joint, 2, 3)
    else:
        memory = memory or x
        query = linear(g, f"{name}.query", x, features, bias)
        key = linear(g, f"{name}.key", memory, features, bias)
        value = linear(g, f"{name}.value", memory, features, bias)
    context = scaled_dot_product(
        g, name, heads_of(g, f"{name}.query", query, heads),
        heads_of(g, f"{name}.key", key, heads, (0, 2, 3, 1)),
        heads_of(g, f"{name}.value", value, heads), mask)
    return linear(g, f"{name}.output", context, features, bias)


def feed_forward(g, name, x, features, activation, bias=True, gain=1.0):
    hidden = linear(g, f"{name}.linear1", x, features, bias, gain)
    hidden = activation(g, f"{name}.activation", hidden)
    return linear(g, f"{name}.linear2", hidden, x.shape[-1], bias)
