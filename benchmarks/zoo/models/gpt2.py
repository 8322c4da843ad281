"""GPT-2: Radford et al., 2019, "Language models are unsupervised multitask learners",
section 2.3 and table 2: small (12 layers, 768, 12 heads), medium (24, 1024, 16).

Choices from the authors' code: one product for query, key and value, the tanh form of
GELU, layer normalisation in front of each part and at the end, later steps hidden by
-10000, the word vectors as the last layer, without a bias. 50,257 byte pairs and 1024
positions are the paper's; fewer steps read the first positions. Dropout is left out.
"""

from ..attention import attention, causal_mask, feed_forward
from ..graph import add, matmul, transpose
from ..layers import (embedding_table, gather, gelu_tanh, layer_norm, position_table,
                      tokens)


def build(g, seq, layers=12, features=768, heads=12, vocabulary=50257, positions=1024):
    words = embedding_table(g, "embedding.word", vocabulary, features, features)
    table = position_table(g, "embedding.position", positions, features, seq, features)
    x = gather(g, "embedding.word", words, tokens(g, "tokens", seq))
    x = add(g, "embedding.add", x, table)
    mask = causal_mask(g, seq)
    for number in range(1, layers + 1):
        name = f"layer{number}.attention"
        y = attention(g, name, layer_norm(g, f"{name}.norm", x), heads, mask=mask,
                      fused=True)
        x = add(g, f"{name}.residual", x, y)
        name = f"layer{number}.feed_forward"
        y = feed_forward(g, name, layer_norm(g, f"{name}.norm", x), 4 * features,
                         gelu_tanh)
        x = add(g, f"{name}.residual", x, y)
    x = layer_norm(g, "norm", x)
    return matmul(g, "softmax.linear", x, transpose(g, "embedding.word.transpose", words,
                                                    (1, 0)))
