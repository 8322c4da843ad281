"""Inception-v3: Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, 2016, "Rethinking the
Inception architecture for computer vision", table 1 and figures 5 to 7 and 10.

Choices: the widths inside the modules and which 3x3 convolutions are padded, which
the paper leaves open, are those of the authors' code (TensorFlow slim,
inception_v3.py); normalisation has a trainable scale and epsilon 0.001. Average
pools do not count pads. The auxiliary head (section 4) reads the last 17x17 module.
"""

from ..graph import concat
from ..layers import (average_pool, batch_norm, conv, fully_connected,
                      global_average_pool, max_pool, relu)


def unit(g, name, x, channels, kernel, stride=1, pad=0):
    x = conv(g, f"{name}.conv", x, channels, kernel, stride, pad, bias=False)
    return relu(g, f"{name}.relu", batch_norm(g, f"{name}.bn", x, 1e-3))


def chain(g, name, x, *units):
    """Units of (channels, kernel) that keep the size, named name.1, name.2, …."""
    for number, (channels, kernel) in enumerate(units, 1):
        pad = tuple(k // 2 for k in kernel) if isinstance(kernel, tuple) else kernel // 2
        x = unit(g, f"{name}.{number}", x, channels, kernel, pad=pad)
    return x


def pooled(g, name, x, channels):
    x = average_pool(g, f"{name}.pool", x, 3, 1, 1)
    return unit(g, f"{name}.1", x, channels, 1)


def module_35(g, name, x, pool_channels):
    """Figure 5."""
    return concat(g, name, [
        chain(g, f"{name}.branch1x1", x, (64, 1)),
        chain(g, f"{name}.branch5x5", x, (48, 1), (64, 5)),
        chain(g, f"{name}.branch3x3", x, (64, 1), (96, 3), (96, 3)),
        pooled(g, f"{name}.branchpool", x, pool_channels)], 1)


def reduce_35(g, name, x):
    """Figure 10, to 17x17."""
    deep = chain(g, f"{name}.branch3x3double", x, (64, 1), (96, 3))
    return concat(g, name, [
        unit(g, f"{name}.branch3x3.1", x, 384, 3, 2),
        unit(g, f"{name}.branch3x3double.3", deep, 96, 3, 2),
        max_pool(g, f"{name}.pool", x, 3, 2)], 1)


def module_17(g, name, x, c):
    """Figure 6, with n = 7."""
    row, column = (1, 7), (7, 1)
    return concat(g, name, [
        chain(g, f"{name}.branch1x1", x, (192, 1)),
        chain(g, f"{name}.branch7x7", x, (c, 1), (c, row), (192, column)),
        chain(g, f"{name}.branch7x7double", x, (c, 1), (c, column), (c, row),
              (c, column), (192, row)),
        pooled(g, f"{name}.branchpool", x, 192)], 1)


def reduce_17(g, name, x):
    """Figure 10, to 8x8."""
    narrow = chain(g, f"{name}.branch3x3", x, (192, 1))
    deep = chain(g, f"{name}.branch7x7", x, (192, 1), (192, (1, 7)), (192, (7, 1)))
    return concat(g, name, [
        unit(g, f"{name}.branch3x3.2", narrow, 320, 3, 2),
        unit(g, f"{name}.branch7x7.4", deep, 192, 3, 2),
        max_pool(g, f"{name}.pool", x, 3, 2)], 1)


def fork(g, name, x):
    """1x3 and 3x1 side by side."""
    return concat(g, name, [
        unit(g, f"{name}.row", x, 384, (1, 3), pad=(0, 1)),
        unit(g, f"{name}.column", x, 384, (3, 1), pad=(1, 0))], 1)


def module_8(g, name, x):
    """Figure 7."""
    narrow = chain(g, f"{name}.branch3x3", x, (384, 1))
    deep = chain(g, f"{name}.branch3x3double", x, (448, 1), (384, 3))
    return concat(g, name, [
        chain(g, f"{name}.branch1x1", x, (320, 1)),
        fork(g, f"{name}.branch3x3.fork", narrow),
        fork(g, f"{name}.branch3x3double.fork", deep),
        pooled(g, f"{name}.branchpool", x, 192)], 1)


def auxiliary(g, x):
    x = average_pool(g, "aux.pool", x, 5, 3)
    x = unit(g, "aux.conv1", x, 128, 1)
    x = unit(g, "aux.conv2", x, 768, 5)
    return fully_connected(g, "aux.fc", global_average_pool(g, "aux.pool2", x), 1000)


def build(g, auxiliary_head=False):
    x = g.input("image", (g.batch, 3, 299, 299))
    x = unit(g, "stem.1", x, 32, 3, 2)
    x = unit(g, "stem.2", x, 32, 3)
    x = unit(g, "stem.3", x, 64, 3, pad=1)
    x = max_pool(g, "stem.pool1", x, 3, 2)
    x = unit(g, "stem.4", x, 80, 1)
    x = unit(g, "stem.5", x, 192, 3)
    x = max_pool(g, "stem.pool2", x, 3, 2)
    for number, channels in enumerate((32, 64, 64), 1):
        x = module_35(g, f"inception35.{number}", x, channels)
    x = reduce_35(g, "reduction35", x)
    for number, channels in enumerate((128, 160, 160, 192), 1):
        x = module_17(g, f"inception17.{number}", x, channels)
    heads = [auxiliary(g, x)] if auxiliary_head else []
    x = reduce_17(g, "reduction17", x)
    for number in (1, 2):
        x = module_8(g, f"inception8.{number}", x)
    logits = fully_connected(g, "fc", global_average_pool(g, "pool", x), 1000)
    return [logits, *heads] if heads else logits
