"""ViT-B/16: Dosovitskiy et al., 2021, "An image is worth 16x16 words: transformers for
image recognition at scale", section 3.1 and table 1 (12 layers, 768, 12 heads, MLP 3072).

Images of 224 x 224 give 196 patches and the class token. Choices from the authors' code:
epsilon 1e-6, biases everywhere, one linear layer as the head (section 3.2), a final
normalisation; query, key and value are one product. Dropout is left out.
"""

from ..attention import attention, feed_forward
from ..graph import add, concat, cut, reshape, squeeze, transpose
from ..layers import conv, fully_connected, gelu, layer_norm

EPSILON = 1e-6


def class_token(g, x):
    """The parameter, for every image: (b, 1, c)."""
    token = g.parameter("class_token", (1, 1, x.shape[2]))
    shape = g.op("Shape", "class_token.shape", [x], (3,))
    batch = cut(g, "class_token.batch", shape, 0, 0, 1)
    target = concat(g, "class_token.target", [batch, g.integers([1, x.shape[2]])], 0)
    # Inferred from operator set 13 on.
    return g.hint(g.op("Expand", "class_token.expand", [token, target],
                       (x.shape[0], 1, x.shape[2])))


def build(g, layers=12, features=768, heads=12, inner=3072, patch=16, size=224,
          classes=1000):
    x = g.input("image", (g.batch, 3, size, size))
    x = conv(g, "patches", x, features, patch, patch, gain=1.0)
    x = reshape(g, "patches.reshape", x, (0, features, -1))
    x = transpose(g, "patches.transpose", x, (0, 2, 1))
    x = concat(g, "tokens", [class_token(g, x), x], 1)
    x = add(g, "positions.add", x,
            g.parameter("positions", (1, *x.shape[1:]), fan_in=features))
    for number in range(1, layers + 1):
        name = f"layer{number}.attention"
        y = attention(g, name, layer_norm(g, f"{name}.norm", x, EPSILON), heads,
                      fused=True)
        x = add(g, f"{name}.residual", x, y)
        name = f"layer{number}.feed_forward"
        y = feed_forward(g, name, layer_norm(g, f"{name}.norm", x, EPSILON), inner, gelu)
        x = add(g, f"{name}.residual", x, y)
    x = cut(g, "first", layer_norm(g, "norm", x, EPSILON), 1, 0, 1)
    return fully_connected(g, "head", squeeze(g, "first.squeeze", x, 1), classes)
