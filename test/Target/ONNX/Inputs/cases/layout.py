"""Operators that move elements; forms of old and new operator sets."""

import numpy as np
from onnx import TensorProto, numpy_helper

from .build import ints, model, node, weight


def layout():
    return model(
        [
            node("Reshape", "x shape", "a", name="reshape"),
            node("Flatten", "x", "b", axis=2, name="flatten"),
            node("Unsqueeze", "x axes", "c", name="unsqueeze"),
            node("Squeeze", "c axes", "d", name="squeeze"),
            node("Transpose", "x", "e", perm=[0, 2, 1], name="transpose"),
            node("Slice", "x starts ends axes1 steps", "f", name="slice"),
            node("Split", "x sizes", "g h", axis=2, name="split"),
            node("Concat", "g h", "i", axis=-1, name="concat"),
            node("Pad", "x pads", "j", name="pad"),
            node("Pad", "x crop", "k", name="crop"),
        ],
        {"x": [2, 3, 4]},
        {k: None for k in "abdefijk"},
        [
            ints("shape", 0, -1, 2),
            ints("axes", 1),
            ints("axes1", 2),
            ints("starts", -1),
            ints("ends", -100),
            ints("steps", -2),
            ints("sizes", 1, 3),
            ints("pads", 0, 1, 0, 0, 0, 2),
            ints("crop", 0, -1, 0, 0, 1, -2),
        ],
    )


def shapes():
    """Reshape to [batch, -1] by the usual chain of shape arithmetic."""
    return model(
        [
            node("Shape", "x", "sh"),
            node("Gather", "sh zero", "n", axis=0),
            node("Unsqueeze", "n ax", "n1"),
            node("Cast", "n1", "nf", to=TensorProto.FLOAT),
            node("Cast", "nf", "ni", to=TensorProto.INT64),
            node("Mul", "ni one", "nm"),
            node("Concat", "nm minus", "target", axis=0),
            node("Reshape", "x target", "y", name="flat"),
        ],
        {"x": ["N", 3, 4]},
        {"y": ["N", 12]},
        [
            numpy_helper.from_array(np.array(0, dtype=np.int64), "zero"),
            ints("ax", 0), ints("one", 1), ints("minus", -1),
        ],
    )


def old_forms():
    """Operator set 9: axes, bounds and pads are attributes."""
    return model(
        [
            node("Unsqueeze", "x", "u", axes=[1]),
            node("Squeeze", "u", "a", axes=[1], name="squeeze"),
            node("Slice", "x", "b", starts=[1, -3], ends=[100, -1], axes=[1, 2],
                 name="slice"),
            node("Pad", "x", "c", pads=[0, 1, 0, 0, 0, 2], value=1.5, name="pad"),
            node("Split", "x", "d e", axis=2, split=[1, 3], name="split"),
            node("Split", "x", "f g", axis=0, name="halves"),
            node("ReduceMean", "x", "h", axes=[-1], keepdims=0, name="mean"),
            node("ReduceSum", "x", "i", axes=[0, 2], name="sum"),
            node("ReduceMax", "x", "j", name="max"),
            node("Dropout", "x", "k mask", ratio=0.5, name="drop"),
            node("Add", "k x", "l", name="add"),
            node("Clip", "x", "m", max=0.5, name="clip"),
            node("Gemm", "y w bias", "n", beta=0.5, transA=1, name="gemm"),
        ],
        {"x": [2, 3, 4], "y": [4, 3]},
        {k: None for k in "abcdefghijlmn"},
        [weight("w", 4, 5), weight("bias", 3, 5)],
        opset=9,
    )


def new_forms():
    """Operator set 21: they are operands."""
    return model(
        [
            node("ReduceMean", "x last", "a", keepdims=0, name="mean"),
            node("ReduceSum", "x", "b", noop_with_empty_axes=1, name="noop"),
            node("ReduceMin", "x last", "c", name="min"),
            node("ReduceProd", "x last", "d", name="prod"),
            node("Split", "x", "e f", axis=2, num_outputs=2, name="split"),
            node("Pad", "x pads value ax", "g", name="pad"),
            node("Squeeze", "one", "h", name="squeeze"),
            node("Sigmoid", "x", "i", name="sigmoid"),
            node("Tanh", "x", "j", name="tanh"),
            node("Sqrt", "four", "root"),
            node("Mul", "x root", "k", name="mul"),
            node("AveragePool", "p", "l", kernel_shape=[3], dilations=[2], name="avg",
                 pads=[1, 1], count_include_pad=1),
            node("Softmax", "x", "m", axis=0, name="softmax"),
            node("Reshape", "x flat", "n", name="reshape"),
            node("Flatten", "x", "o", axis=-1, name="flatten"),
        ],
        {"x": [2, 3, 5], "one": [1, 4, 1], "p": [1, 2, 9]},
        {k: None for k in "abcdefghijklmno"},
        [
            ints("last", -1), ints("pads", 1, 2), ints("ax", 1), ints("flat", -1),
            numpy_helper.from_array(np.float32(0.5), "value"),
            numpy_helper.from_array(np.float32(4), "four"),
        ],
        opset=21, ir_version=10,
    )
