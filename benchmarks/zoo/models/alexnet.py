"""AlexNet: Krizhevsky, Sutskever, Hinton, 2012, "ImageNet classification with deep
convolutional neural networks", section 3.

Choices: images of 227 x 227 (224, as the text has it, does not fit the layer sizes),
and pads of 2, 1, 1, 1 from conv2 on, as in the authors' code. The two GPUs of
section 3.2 are groups of conv2, conv4 and conv5. The paper's normalisation sums
without dividing by n (section 3.3: k 2, n 5, alpha 1e-4, beta 0.75), ONNX divides:
alpha is 5e-4. Dropout is left out.
"""

from ..graph import unary
from ..layers import conv, flatten, fully_connected, max_pool, relu


def build(g):
    x = g.input("image", (g.batch, 3, 227, 227))
    for number, channels, kernel, stride, pad, group in (
            (1, 96, 11, 4, 0, 1), (2, 256, 5, 1, 2, 2), (3, 384, 3, 1, 1, 1),
            (4, 384, 3, 1, 1, 2), (5, 256, 3, 1, 1, 2)):
        x = conv(g, f"conv{number}", x, channels, kernel, stride, pad, group)
        x = relu(g, f"relu{number}", x)
        if number <= 2:
            x = unary(g, "LRN", f"norm{number}", x, size=5, alpha=5e-4, beta=0.75,
                      bias=2.0)
        if number in (1, 2, 5):
            x = max_pool(g, f"pool{number}", x, 3, 2)
    x = flatten(g, "flatten", x)
    for number in (6, 7):
        x = relu(g, f"relu{number}",
                 fully_connected(g, f"fc{number}", x, 4096, gain=2.0))
    return fully_connected(g, "fc8", x, 1000)
