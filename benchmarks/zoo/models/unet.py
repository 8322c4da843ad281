"""U-Net: Ronneberger, Fischer, Brox, 2015, "U-Net: convolutional networks for
biomedical image segmentation", section 2 and figure 1.

Convolutions have no pads, so maps of the contracting path are cropped; an image of
572 x 572 gives a map of 388 x 388. Up-convolutions are transposed ones of 2 x 2 with
stride 2, as in the authors' code; with resize they are what the text says, an
upsampling (to the nearest) and a 2 x 2 convolution.
"""

import numpy as np

from ..graph import concat, cut
from ..layers import conv, max_pool, relu

WIDTHS = (64, 128, 256, 512, 1024)
CLASSES = 2


def double(g, name, x, channels):
    for number in (1, 2):
        x = relu(g, f"{name}.relu{number}",
                 conv(g, f"{name}.conv{number}", x, channels, 3))
    return x


def upsample(g, name, x):
    """Twice the height and width, each pixel four times."""
    n, c, h, w = x.shape
    shape = (n, c, 2 * h, 2 * w)
    scales = g.constant("scales", np.array([1, 1, 2, 2], np.float32))
    if g.opset < 11:
        return g.op("Upsample" if g.opset < 10 else "Resize", name, [x, scales], shape)
    # An empty region, which operator set 13 made optional.
    region = None if g.opset >= 13 else g.constant("region", np.empty(0, np.float32))
    return g.op("Resize", name, [x, region, scales], shape, mode="nearest",
                nearest_mode="floor", coordinate_transformation_mode="asymmetric")


def up_convolution(g, name, x, channels, resize):
    n, c, h, w = x.shape
    shape = (n, channels, 2 * h, 2 * w)
    if not resize:
        weight = g.parameter(f"{name}.weight", (c, channels, 2, 2), "weight", c)
        bias = g.parameter(f"{name}.bias", (channels,), "bias")
        return g.op("ConvTranspose", name, [x, weight, bias], shape,
                    kernel_shape=[2, 2], strides=[2, 2])
    x = upsample(g, f"{name}.resize", x)
    weight = g.parameter(f"{name}.weight", (channels, c, 2, 2), "weight", 4 * c)
    bias = g.parameter(f"{name}.bias", (channels,), "bias")
    return g.op("Conv", name, [x, weight, bias], shape, kernel_shape=[2, 2],
                pads=[0, 0, 1, 1])


def crop(g, name, x, size):
    for axis, label in ((2, "rows"), (3, "columns")):
        start = (x.shape[axis] - size) // 2
        x = cut(g, f"{name}.{label}", x, axis, start, start + size)
    return x


def build(g, resize=False, size=572):
    if size < 188 or size % 16 != 12:  # Else a pool or a crop does not fit.
        raise ValueError(f"expected a size of 188 plus a multiple of 16, got: {size}")
    x = g.input("image", (g.batch, 1, size, size))
    skipped = []
    for level, channels in enumerate(WIDTHS, 1):
        x = double(g, f"down{level}", x, channels)
        if channels != WIDTHS[-1]:
            skipped.append(x)
            x = max_pool(g, f"down{level}.pool", x, 2, 2)
    for level in range(len(skipped), 0, -1):
        x = up_convolution(g, f"up{level}.upconv", x, WIDTHS[level - 1], resize)
        skip = crop(g, f"up{level}.crop", skipped.pop(), x.shape[2])
        x = concat(g, f"up{level}.concat", [skip, x], 1)
        x = double(g, f"up{level}", x, WIDTHS[level - 1])
    return conv(g, "output", x, CLASSES, 1, gain=1.0)
