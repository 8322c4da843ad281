"""Convolution, pooling and resizing."""

import numpy as np
from onnx import helper, numpy_helper

from .build import ints, model, node, weight


def conv():
    return model(
        [
            node("Conv", "x w b", "y", pads=[1, 2, 3, 4], strides=[2, 1], name="c1"),
            node("Conv", "y w2", "z", group=2, dilations=[2, 2], name="c2"),
            node("Conv", "x w", "s", auto_pad="SAME_UPPER", strides=[2, 2], name="c3"),
            node("Conv", "x w", "t", auto_pad="SAME_LOWER", strides=[2, 2], name="c4"),
            node("Conv", "x w", "v", auto_pad="VALID", name="c5"),
            node("Conv", "l w3", "m", pads=[1, 1], name="c6"),
        ],
        {"x": [1, 3, 8, 9], "l": [1, 2, 7]},
        {k: None for k in "zstvm"},
        [
            weight("w", 4, 3, 2, 2),
            weight("b", 4),
            weight("w2", 6, 2, 2, 2),
            weight("w3", 5, 2, 3),
        ],
    )


def pool():
    return model(
        [
            node("MaxPool", "x", "a", kernel_shape=[3, 3], strides=[2, 2], name="p1"),
            node("MaxPool", "x", "b", kernel_shape=[3, 3], strides=[2, 2],
                 ceil_mode=1, name="p2"),
            node("AveragePool", "x", "c", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                 strides=[2, 2], ceil_mode=1, count_include_pad=1, name="p3"),
            node("AveragePool", "x", "d", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                 name="p4"),
            node("GlobalAveragePool", "x", "e", name="p5"),
            node("GlobalMaxPool", "x", "f", name="p6"),
            # The last window of ceil_mode would start in the padding: dropped.
            node("MaxPool", "l", "g", kernel_shape=[2], strides=[4], ceil_mode=1,
                 pads=[0, 1], name="p7"),
        ],
        {"x": [1, 2, 8, 8], "l": [1, 1, 8]},
        {k: None for k in "abcdefg"},
    )


def resize():
    def layer(name, scales, **attributes):
        return helper.make_node("Resize", ["x", "", scales], [name], name=name,
                                **attributes)

    return model(
        [
            layer("a", "double", coordinate_transformation_mode="asymmetric",
                  nearest_mode="floor"),
            layer("b", "double", mode="linear"),
            layer("c", "half", mode="linear",
                  coordinate_transformation_mode="align_corners"),
            layer("d", "fifths", mode="linear"),
            layer("e", "fifths"),
            layer("j", "rounded", mode="linear"),
            helper.make_node("Resize", ["x", "", "", "sizes"], ["f"], name="f",
                             mode="linear",
                             coordinate_transformation_mode="pytorch_half_pixel"),
            node("ConvTranspose", "x w b2", "g", strides=[2, 2], name="up"),
            node("ConvTranspose", "x w3", "h", strides=[2, 1], pads=[1, 0, 0, 1],
                 output_padding=[1, 0], dilations=[1, 2], name="odd"),
            node("ConvTranspose", "x w4", "i", group=2, name="grouped"),
        ],
        {"x": [1, 2, 5, 4]},
        {k: None for k in "abcdefghij"},
        [
            numpy_helper.from_array(np.array(v, np.float32), n)
            for n, v in [("double", [1, 1, 2, 2]), ("half", [1, 1, 0.8, 0.5]),
                         ("fifths", [1, 1, 1.2, 1.5]),
                         # Five times the float next to 7 / 5 is 7 of floats alone.
                         ("rounded", [1, 1, 7 / 5, 1])]
        ] + [ints("sizes", 1, 2, 8, 3), weight("w", 2, 3, 2, 2), weight("b2", 3),
             weight("w3", 2, 3, 3, 2), weight("w4", 2, 2, 3, 3)],
    )


def resize_opset11():
    """Coordinates that later operator sets do not have."""
    scales = {"double": [1, 1, 2, 2], "mixed": [1, 1, 1.5, 0.5]}
    roundings = ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]
    nodes = [
        helper.make_node("Resize", ["x", "region", name], [f"{name}_{rounding}"],
                         mode="nearest", nearest_mode=rounding,
                         coordinate_transformation_mode="tf_half_pixel_for_nn")
        for name in scales for rounding in roundings]
    return model(
        nodes, {"x": [1, 2, 6, 4]}, {n.output[0]: None for n in nodes},
        [numpy_helper.from_array(np.array(v, np.float32), n)
         for n, v in [("region", []), *scales.items()]], opset=11)


def upsample_opset7():
    return model(
        [node("Upsample", "x", mode, mode=mode, scales=[1.0, 1.0, 2.0, 3.0])
         for mode in ("nearest", "linear")],
        {"x": [1, 2, 6, 4]}, {"nearest": None, "linear": None}, opset=7)


def resize_opset10():
    """Rounds up where it makes smaller, down where it makes larger."""
    scales = {"smaller": [1, 1, 0.75, 0.6], "mixed": [1, 1, 1.5, 0.5]}
    nodes = [node("Resize", f"x {name}", f"{name}_{mode}", mode=mode)
             for name in scales for mode in ("nearest", "linear")]
    return model(
        nodes, {"x": [1, 2, 6, 4]}, {n.output[0]: None for n in nodes},
        [numpy_helper.from_array(np.array(v, np.float32), n)
         for n, v in scales.items()], opset=10)
