"""BERT: Devlin, Chang, Lee, Toutanova, 2019, "BERT: pre-training of deep bidirectional
transformers for language understanding", section 3: base (12 layers, 768, 12 heads) and
large (24, 1024, 16); inner layers are four times as wide, with GELU.

Choices: a vocabulary of 30,522 word pieces, 512 positions, two segments, epsilon 1e-12
and masking by -10000 as in the authors' code; the head classifies a sentence into two
classes from the pooled first token (section 4.1). 128 steps (section A.2: 90% of
pre-training), for large 64, as in the FastT paper (Yi et al., 2020, evaluation, "Support
larger batch size"). Dropout is left out.
"""

from onnx import TensorProto

from ..attention import attention, feed_forward
from ..graph import add, binary, cut, mul, squeeze, unary, unsqueeze
from ..layers import (embedding, fully_connected, gelu, layer_norm, position_table,
                      tokens)

EPSILON = 1e-12


def padding_mask(g, seq):
    """Hides the tokens where attention_mask is 0."""
    ones = tokens(g, "attention_mask", seq)
    shown = g.op("Cast", "mask.cast", [ones], ones.shape, to=TensorProto.FLOAT)
    shown = unsqueeze(g, "mask.unsqueeze", shown, [1, 2])
    bias = mul(g, "mask.scale", binary(g, "Sub", "mask.sub", 1.0, shown), -1e4)
    return lambda name, scores: add(g, name, scores, bias)


def embed(g, seq, features, vocabulary, positions):
    words = embedding(g, "embedding.word", tokens(g, "input_ids", seq), vocabulary,
                      features)
    types = embedding(g, "embedding.type", tokens(g, "token_type_ids", seq), 2, features)
    table = position_table(g, "embedding.position", positions, features, seq)
    x = add(g, "embedding.add1", add(g, "embedding.add2", words, types), table)
    return layer_norm(g, "embedding.norm", x, EPSILON)


def build(g, seq, layers=12, features=768, heads=12, vocabulary=30522, positions=512,
          classes=2):
    x = embed(g, seq, features, vocabulary, positions)
    mask = padding_mask(g, seq)
    for number in range(1, layers + 1):
        layer = f"layer{number}"
        y = attention(g, f"{layer}.attention", x, heads, mask=mask)
        x = layer_norm(g, f"{layer}.attention.norm",
                       add(g, f"{layer}.attention.residual", x, y), EPSILON)
        y = feed_forward(g, f"{layer}.feed_forward", x, 4 * features, gelu)
        x = layer_norm(g, f"{layer}.feed_forward.norm",
                       add(g, f"{layer}.feed_forward.residual", x, y), EPSILON)
    first = squeeze(g, "pooler.squeeze", cut(g, "pooler.first", x, 1, 0, 1), 1)
    pooled = fully_connected(g, "pooler", first, features)
    return fully_connected(g, "classifier", unary(g, "Tanh", "pooler.tanh", pooled),
                           classes)
