"""VGG-19: Simonyan and Zisserman, 2015, "Very deep convolutional networks for
large-scale image recognition", table 1, configuration E.

Dropout is left out.
"""

from ..layers import conv, flatten, fully_connected, max_pool, relu

STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))  # Channels, layers.


def build(g):
    x = g.input("image", (g.batch, 3, 224, 224))
    for stage, (channels, layers) in enumerate(STAGES, 1):
        for layer in range(1, layers + 1):
            x = conv(g, f"conv{stage}_{layer}", x, channels, 3, pad=1)
            x = relu(g, f"relu{stage}_{layer}", x)
        x = max_pool(g, f"pool{stage}", x, 2, 2)
    x = flatten(g, "flatten", x)
    for number in (6, 7):
        x = relu(g, f"relu{number}",
                 fully_connected(g, f"fc{number}", x, 4096, gain=2.0))
    return fully_connected(g, "fc8", x, 1000)
