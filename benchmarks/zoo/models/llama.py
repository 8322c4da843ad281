"""Llama-style blocks: Touvron et al., 2023, "LLaMA: open and efficient foundation language
models", section 2.2 and table 2 (7B: 32 layers, 4096, 32 heads): RMSNorm in front of each
part (Zhang and Sennrich, 2019), rotary embedding (Su et al., 2021, section 3.2), SwiGLU
(Shazeer, 2020). No biases.

Choices: inner layers of 11,008 (2/3 of 4 x 4096, rounded up to 256), 32,000 word pieces
and epsilon 1e-6 as in the authors' code; a last layer of its own. Rotation pairs element
k with element k + 64 of a head, not neighbours: another order of the columns of the query
and key weights. Cosines and sines are constant tables.
"""

import numpy as np

from ..attention import causal_mask, heads_of, scaled_dot_product
from ..graph import add, binary, concat, cut, mul, transpose, unary
from ..layers import embedding, linear, rms_norm, tokens

EPSILON = 1e-6


def rotation(g, seq, features):
    """Cosines and sines (seq, features / 2) of the angles of every position."""
    if features % 2:
        raise ValueError(f"expected heads of an even size, got: {features}")
    frequencies = 10000.0 ** (-np.arange(0, features, 2) / features)
    angles = np.arange(seq)[:, None] * frequencies
    return (g.constant("rotary.cos", np.cos(angles).astype(np.float32)),
            g.constant("rotary.sin", np.sin(angles).astype(np.float32)))


def rotate(g, name, x, tables):
    cos, sin = tables
    half = x.shape[-1] // 2
    a = cut(g, f"{name}.first", x, 3, 0, half)
    b = cut(g, f"{name}.second", x, 3, half, 2 * half)
    products = [mul(g, f"{name}.{label}", value, table) for label, value, table in (
        ("first_cos", a, cos), ("second_sin", b, sin), ("second_cos", b, cos),
        ("first_sin", a, sin))]
    return concat(g, name, [binary(g, "Sub", f"{name}.sub", *products[:2]),
                            add(g, f"{name}.add", *products[2:])], 3)


def self_attention(g, name, x, heads, tables, mask):
    parts = {}
    for role in ("query", "key", "value"):
        y = linear(g, f"{name}.{role}", x, x.shape[-1], bias=False)
        parts[role] = heads_of(g, f"{name}.{role}", y, heads)
    query = rotate(g, f"{name}.query.rotary", parts["query"], tables)
    key = rotate(g, f"{name}.key.rotary", parts["key"], tables)
    key = transpose(g, f"{name}.key.rotary.transpose", key, (0, 1, 3, 2))
    context = scaled_dot_product(g, name, query, key, parts["value"], mask)
    return linear(g, f"{name}.output", context, x.shape[-1], bias=False)


def swiglu(g, name, x, inner):
    gate = linear(g, f"{name}.gate", x, inner, bias=False)
    silu = mul(g, f"{name}.silu", gate,
               unary(g, "Sigmoid", f"{name}.sigmoid", gate))
    up = linear(g, f"{name}.up", x, inner, bias=False)
    return linear(g, f"{name}.down", mul(g, f"{name}.mul", silu, up), x.shape[-1],
                  bias=False)


def build(g, seq, layers=32, features=4096, heads=32, inner=11008, vocabulary=32000):
    x = embedding(g, "embedding", tokens(g, "tokens", seq), vocabulary, features)
    tables = rotation(g, seq, features // heads)
    mask = causal_mask(g, seq)
    for number in range(1, layers + 1):
        name = f"layer{number}.attention"
        y = self_attention(g, name, rms_norm(g, f"{name}.norm", x, EPSILON), heads,
                           tables, mask)
        x = add(g, f"{name}.residual", x, y)
        name = f"layer{number}.feed_forward"
        y = swiglu(g, name, rms_norm(g, f"{name}.norm", x, EPSILON), inner)
        x = add(g, f"{name}.residual", x, y)
    return linear(g, "softmax.linear", rms_norm(g, "norm", x, EPSILON), vocabulary,
                  bias=False)
