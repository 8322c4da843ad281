"""Transformer (base): Vaswani et al., 2017, "Attention is all you need", sections 3 and
5.1 and table 3: encoder and decoder of six layers, d 512, d_ff 2048, 8 heads.

Choices: one vocabulary of exactly 37,000 (the paper: about 37000), shared with the linear
layer in front of the softmax (section 3.4), which has no bias; projections of attention
have none, as in section 3.2.2. 64 steps, so that 64 sentences are the 4096 tokens of a batch
in the FastT paper. The sinusoids of section 3.5 are a constant table. No padding mask.
Dropout is left out.
"""

import math

import numpy as np

from ..attention import attention, causal_mask, feed_forward
from ..graph import add, matmul, mul, transpose
from ..layers import embedding_table, gather, layer_norm, relu, tokens


def sinusoids(seq, features):
    """Section 3.5, with sines and cosines in turn."""
    if features % 2:
        raise ValueError(f"expected an even number of features, got: {features}")
    angles = np.arange(seq)[:, None] / 10000 ** (
        np.arange(0, features, 2)[None, :] / features)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(
        seq, features).astype(np.float32)


def post_norm(g, name, x, y):
    return layer_norm(g, f"{name}.norm", add(g, f"{name}.residual", x, y))


def words(g, side, name, seq, table):
    features = table.shape[1]
    x = gather(g, f"{side}.embedding", table, tokens(g, name, seq))
    x = mul(g, f"{side}.embedding.scale", x, math.sqrt(features))
    return add(g, f"{side}.positions", x,
               g.constant("sinusoids", sinusoids(seq, features)))


def sublayers(g, layer, x, heads, inner, memory=None, mask=None):
    name = f"{layer}.attention"
    x = post_norm(g, name, x, attention(g, name, x, heads, mask=mask, bias=False))
    if memory:
        name = f"{layer}.cross"
        x = post_norm(g, name, x, attention(g, name, x, heads, memory, bias=False))
    name = f"{layer}.feed_forward"
    return post_norm(g, name, x, feed_forward(g, name, x, inner, relu, gain=2.0))


def build(g, seq, layers=6, features=512, inner=2048, heads=8, vocabulary=37000):
    table = embedding_table(g, "embedding", vocabulary, features, features)
    memory = words(g, "encoder", "source", seq, table)
    for number in range(1, layers + 1):
        memory = sublayers(g, f"encoder.layer{number}", memory, heads, inner)
    x = words(g, "decoder", "target", seq, table)
    mask = causal_mask(g, seq)
    for number in range(1, layers + 1):
        x = sublayers(g, f"decoder.layer{number}", x, heads, inner, memory, mask)
    return matmul(g, "softmax.linear", x, transpose(g, "embedding.transpose", table,
                                                    (1, 0)))
