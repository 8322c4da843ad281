"""ResNet-50 and ResNet-101: He, Zhang, Ren, Sun, 2016, "Deep residual learning for
image recognition", table 1 and section 4.1. ResNet-200: the same authors, 2016,
"Identity mappings in deep residual networks", figure 4e and appendix.

Choices: in ResNet-50 and -101 the first 1x1 convolution of a block has the stride,
as in the paper (many later implementations give it to the 3x3 one: 4.1 instead of
3.8 billion multiply-adds for ResNet-50). Shortcuts are projections where the size
changes (option B). ResNet-200 has pre-activation blocks, [3, 24, 36, 3] of them (table 5: 16 more than ResNet-152 has, at
28 x 28); the first has no activation of its own, as conv1 has one; the 3x3 convolution
has the stride and projections have neither bias nor normalisation, as in the authors' code.
"""

from ..graph import add
from ..layers import (batch_norm, conv, fully_connected, global_average_pool, max_pool,
                      relu)

# Random scales at the end of a branch keep sums of many branches bounded.
BRANCH_GAIN = 0.25


def convolution(g, name, x, channels, kernel, stride=1):
    return conv(g, name, x, channels, kernel, stride, kernel // 2, bias=False)


def norm_relu(g, block, number, x):
    return relu(g, f"{block}.relu{number}", batch_norm(g, f"{block}.bn{number}", x))


def bottleneck(g, block, x, width, stride):
    shortcut = x
    if x.shape[1] != 4 * width:
        shortcut = convolution(g, f"{block}.shortcut.conv", x, 4 * width, 1, stride)
        shortcut = batch_norm(g, f"{block}.shortcut.bn", shortcut)
    y = norm_relu(g, block, 1, convolution(g, f"{block}.conv1", x, width, 1, stride))
    y = norm_relu(g, block, 2, convolution(g, f"{block}.conv2", y, width, 3))
    y = convolution(g, f"{block}.conv3", y, 4 * width, 1)
    y = batch_norm(g, f"{block}.bn3", y, gain=BRANCH_GAIN)
    return relu(g, f"{block}.relu3", add(g, f"{block}.add", y, shortcut))


def pre_activation(g, block, x, width, stride, first):
    y = x if first else norm_relu(g, block, 1, x)
    shortcut = x
    if x.shape[1] != 4 * width:
        shortcut = convolution(g, f"{block}.shortcut.conv", y, 4 * width, 1, stride)
    y = norm_relu(g, block, 2, convolution(g, f"{block}.conv1", y, width, 1))
    y = convolution(g, f"{block}.conv2", y, width, 3, stride)
    y = relu(g, f"{block}.relu3",
             batch_norm(g, f"{block}.bn3", y, gain=BRANCH_GAIN))
    y = convolution(g, f"{block}.conv3", y, 4 * width, 1)
    return add(g, f"{block}.add", y, shortcut)


def build(g, blocks, identity_mappings=False):
    x = g.input("image", (g.batch, 3, 224, 224))
    x = convolution(g, "conv1", x, 64, 7, 2)
    x = relu(g, "relu1", batch_norm(g, "bn1", x))
    x = max_pool(g, "pool1", x, 3, 2, 1)
    for layer, count in enumerate(blocks, 1):
        width = 64 << (layer - 1)
        for number in range(1, count + 1):
            block = f"layer{layer}.block{number}"
            stride = 2 if layer > 1 and number == 1 else 1
            if identity_mappings:
                first = layer == 1 and number == 1
                x = pre_activation(g, block, x, width, stride, first)
            else:
                x = bottleneck(g, block, x, width, stride)
    if identity_mappings:
        x = relu(g, "relu5", batch_norm(g, "bn5", x))
    return fully_connected(g, "fc", global_average_pool(g, "pool5", x), 1000)
