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


def lstm_weights(name, size, directions=1):
    return [weight(f"{name}_w", directions, 16, size),
            weight(f"{name}_r", directions, 16, 4),
            weight(f"{name}_b", directions, 32)]


def lstm_node(name, x, outputs, states="", **attributes):
    inputs = [x, f"{name}_w", f"{name}_r", f"{name}_b"]
    if states:
        inputs += ["", *states.split()]  # No sequence lengths.
    return helper.make_node("LSTM", inputs, outputs.split(), hidden_size=4,
                            name=name, **attributes)


def lstm_stacks():
    """Layers whose steps flow into other layers: as they are, transposed, joined, added
    and projected, in all directions, with the final states of others. Seven steps."""
    return model(
        [
            lstm_node("f1", "x", "f1y f1h f1c"),
            node("Squeeze", "f1y one", "f1s", name="f1s"),
            lstm_node("f2", "f1s", "f2y f2h f2c", "h c"),
            lstm_node("r1", "x", "r1y r1h", "f1h f1c", direction="reverse"),
            node("Squeeze", "r1y one", "r1s", name="r1s"),
            lstm_node("r2", "r1s", "r2y r2h r2c", direction="reverse"),
            lstm_node("b1", "x", "b1y b1h b1c", direction="bidirectional"),
            node("Transpose", "b1y", "b1t", perm=[0, 2, 1, 3], name="b1t"),
            node("Reshape", "b1t joint", "b1s", name="b1s"),
            lstm_node("b2", "b1s", "b2y b2h b2c", "b1h b1c", direction="bidirectional"),
            # What stands between layers in translation.
            node("Squeeze", "f2y one", "f2s", name="f2s"),
            node("Add", "f1s f2s", "residual", name="residual"),
            node("Concat", "residual x", "context", axis=2, name="context"),
            lstm_node("f3", "context", "f3y"),
            node("MatMul", "f2s p", "projected", name="projected"),
            lstm_node("f4", "projected", "f4y"),
            # Every second step; the last one.
            node("Slice", "f4y zero seven zero two", "even", name="even"),
            node("Slice", "f3y six seven zero one", "last", name="last"),
        ],
        {"x": [7, 3, 5], "h": [1, 3, 4], "c": [1, 3, 4]},
        {k: None for k in ["f2y", "f2h", "f2c", "r1h", "r2y", "r2h", "r2c", "b2y", "b2h",
                           "b2c", "even", "last"]},
        [
            *lstm_weights("f1", 5), *lstm_weights("f2", 4), *lstm_weights("r1", 5), *lstm_weights("r2", 4),
            *lstm_weights("b1", 5, 2), *lstm_weights("b2", 8, 2), *lstm_weights("f3", 9),
            *lstm_weights("f4", 6), weight("p", 4, 6), ints("joint", 0, 0, 8),
            *(ints(name, value) for name, value in
              [("zero", 0), ("one", 1), ("two", 2), ("six", 6), ("seven", 7)]),
        ],
    )


def lstm_readers():
    """Layers between which other nodes read, too: all steps, some, other parts than the
    next layer."""
    return model(
        [
            lstm_node("a", "x", "ay"),
            node("Squeeze", "ay one", "as", name="as"),
            node("Tanh", "as", "at", name="at"),
            lstm_node("b", "at", "by"),
            node("Slice", "at four seven zero one", "tail", name="tail"),
            node("Slice", "as zero seven zero three", "some", name="some"),
            # All but the first step: other parts.
            node("Squeeze", "by one", "bs", name="bs"),
            node("Slice", "bs one seven zero one", "later", name="later"),
            lstm_node("c", "later", "cy"),
            # All but the last step, and a layer of all.
            lstm_node("d", "x", "dy dh", direction="bidirectional"),
            node("Slice", "dy zero six zero one", "earlier", name="earlier"),
            node("Transpose", "earlier", "et", perm=[0, 2, 1, 3], name="et"),
            node("Reshape", "et joint", "es", name="es"),
            lstm_node("e", "es", "ey eh ec", direction="reverse"),
            node("Slice", "dy six seven zero one", "end", name="end"),
        ],
        {"x": [7, 3, 5]},
        {k: None for k in ["at", "by", "tail", "some", "cy", "dh", "ey", "ec", "end"]},
        [
            *lstm_weights("a", 5), *lstm_weights("b", 4), *lstm_weights("c", 4),
            *lstm_weights("d", 5, 2), *lstm_weights("e", 8), ints("joint", 0, 0, 8),
            *(ints(name, value) for name, value in
              [("zero", 0), ("one", 1), ("three", 3), ("four", 4), ("six", 6),
               ("seven", 7)]),
        ],
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
