"""Recurrent layers, look-ups, attention."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .build import ints, model, node, weight


def lstm():
    return model(
        [
            node("LSTM", "x w r b", "y", hidden_size=4, name="forward"),
            helper.make_node("LSTM", ["x", "w", "r", "", "", "h", "c"],
                             ["", "z", "zc"], hidden_size=4, name="backward",
                             direction="reverse"),
            node("LSTM", "x w2 r2 b2", "v vh vc", hidden_size=4, name="both",
                 direction="bidirectional"),
        ],
        {"x": [3, 2, 5], "h": [1, 2, 4], "c": [1, 2, 4]},
        {k: None for k in ["y", "z", "zc", "v", "vh", "vc"]},
        [
            weight("w", 1, 16, 5), weight("r", 1, 16, 4), weight("b", 1, 32),
            weight("w2", 2, 16, 5), weight("r2", 2, 16, 4), weight("b2", 2, 32),
        ],
        opset=14,
    )


def lstm_forms():
    """What is refused, and why."""
    def layer(name, inputs="x w r", **attributes):
        return helper.make_node("LSTM", inputs.split(" "), [name], name=name,
                                hidden_size=4, **attributes)

    return model(
        [
            layer("layout", layout=1),
            layer("peepholes", "x w r     p"),
            layer("clipped", clip=1.0),
            layer("activated", activations=["Relu", "Tanh", "Tanh"]),
            layer("short", "x w r  lengths"),
        ],
        {"x": [3, 2, 5]},
        {k: None for k in ["layout", "peepholes", "clipped", "activated", "short"]},
        [
            weight("w", 1, 16, 5), weight("r", 1, 16, 4), weight("p", 1, 12),
            numpy_helper.from_array(np.array([3, 2], np.int32), "lengths"),
        ],
        opset=14,
    )


def causal_mask():
    """A mask of too many elements for a constant."""
    steps = np.arange(512, dtype=np.int64)
    return model(
        [
            node("Greater", "columns rows", "mask", name="mask"),
            node("Where", "mask minus x", "y", name="masked"),
        ],
        {"x": [512, 512]}, {"y": [512, 512]},
        [
            numpy_helper.from_array(steps[None, :], "columns"),
            numpy_helper.from_array(steps[:, None], "rows"),
            numpy_helper.from_array(np.float32(-1e4), "minus"),
        ],
    )


def lookups():
    return model(
        [
            node("Gather", "table ids", "a", name="embedding"),
            node("Gather", "x rows", "b", axis=1, name="rows"),
            node("Gather", "x last", "c", axis=1, name="last"),
            node("Gather", "x mixed", "d", axis=1, name="mixed"),
            node("Equal", "ids zero", "m", name="padding"),
            node("Cast", "m", "mf", to=TensorProto.FLOAT, name="mask"),
            node("Unsqueeze", "mf axis", "e", name="column"),
            node("Where", "m x0 x1", "f", name="choice"),
            node("Expand", "x1 shape", "g", name="expand"),
            node("Tile", "x1 repeats", "h", name="tile"),
        ],
        {"ids": (TensorProto.INT64, [2, 3]), "x": [2, 4, 3], "x0": [3],
         "x1": [2, 1]},
        {k: None for k in "abcdefgh"},
        [
            weight("table", 10, 6), ints("rows", 0, 2),
            numpy_helper.from_array(np.array(-1, np.int64), "last"),
            ints("mixed", 2, 0, 1), ints("zero", 0), ints("axis", 2),
            ints("shape", 2, 1, 4), ints("repeats", 3, 2),
        ],
    )
