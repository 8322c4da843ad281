"""LeNet-5: LeCun, Bottou, Bengio, Haffner, 1998, "Gradient-based learning applied
to document recognition", section II.B and figure 2.

Choices: C3 is connected to all maps of S2 (table I connects 60 of 96 pairs); the
sub-sampling layers average without a trainable scale and bias; the activation is
tanh without the scale 1.7159; the output is a linear layer, not distances to
codes. All four are what later implementations do.
"""

from ..graph import unary
from ..layers import average_pool, conv, flatten, fully_connected


def build(g):
    x = g.input("image", (g.batch, 1, 32, 32))
    for number, channels in ((1, 6), (3, 16)):
        x = conv(g, f"c{number}", x, channels, 5, gain=1.0)
        x = unary(g, "Tanh", f"c{number}.tanh", x)
        x = average_pool(g, f"s{number + 1}", x, 2, 2)
    x = unary(g, "Tanh", "c5.tanh", conv(g, "c5", x, 120, 5, gain=1.0))
    x = fully_connected(g, "f6", flatten(g, "flatten", x), 84)
    return fully_connected(g, "output", unary(g, "Tanh", "f6.tanh", x), 10)
