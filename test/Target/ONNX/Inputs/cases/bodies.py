"""Operators that the importer writes as ONNX nodes of its own."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .build import ints, model, node, weight


def scalar(name, value, dtype=np.int64):
    return numpy_helper.from_array(np.array(value, dtype), name)


def samplers():
    """Points that are computed, in opset 20."""
    return model(
        [node("GridSample", "x g", "a", name="grid", mode="linear",
              padding_mode="border"),
         node("GridSample", "x g", "b", name="cubic", mode="cubic",
              padding_mode="reflection", align_corners=1),
         node("RoiAlign", "x r i", "c", name="regions", output_height=3,
              output_width=2, sampling_ratio=2),
         node("DeformConv", "x w o", "d", name="deformed", pads=[1, 1, 1, 1])],
        {"x": [2, 3, 5, 6], "g": [2, 4, 3, 2], "r": [4, 4], "o": [2, 18, 5, 6]},
        {k: None for k in "abcd"},
        [ints("i", 0, 1, 1, 0), weight("w", 4, 3, 3, 3)], opset=20)


def places():
    return model(
        [node("Hardmax", "x", "a", name="hard"),
         node("LpPool", "x", "b", name="norms", kernel_shape=[3, 2], p=3,
              pads=[1, 0, 1, 1]),
         node("MaxPool", "x", "c p", name="pool", kernel_shape=[2, 2],
              strides=[2, 2]),
         node("MaxUnpool", "c p", "d", name="unpool", kernel_shape=[2, 2],
              strides=[2, 2]),
         node("ReverseSequence", "x n", "e", name="reverse", batch_axis=1,
              time_axis=0),
         node("Col2Im", "y image block", "f", name="fold", strides=[2, 1]),
         node("Compress", "x keep", "g", name="compress", axis=2),
         node("Det", "m", "h", name="det")],
        {"x": [3, 4, 4, 6], "y": [2, 12, 12], "m": [5, 3, 3]},
        {**{k: None for k in "abcdefgh"}, "p": (TensorProto.INT64, None)},
        [ints("n", 3, 1, 2, 3), ints("image", 6, 5), ints("block", 2, 2),
         numpy_helper.from_array(np.array([True, False, True]), "keep")], opset=18)


def spectra():
    return model(
        [node("DFT", "x length axis", "a", name="spectrum", onesided=1),
         helper.make_node("DFT", ["c", "", "axis"], ["b"], name="back", inverse=1),
         node("STFT", "s step window", "d", name="frames"),
         node("MelWeightMatrix", "bins size rate low high", "mel", name="mel"),
         node("MatMul", "m mel", "e", name="product")],
        {"x": [2, 7, 3, 1], "c": [2, 5, 2], "s": [2, 20, 1], "m": [4, 17]},
        {k: None for k in "abde"},
        [scalar("length", 8), scalar("axis", 1), scalar("step", 3),
         weight("window", 6), scalar("bins", 4), scalar("size", 32),
         scalar("rate", 8000), scalar("low", 0, np.float32),
         scalar("high", 4000, np.float32)], opset=20)


def resize_by_matrices():
    def layer(name, sizes, region="", **attributes):
        return helper.make_node("Resize", ["x", region, "", sizes], [name], name=name,
                                **attributes)

    return model(
        [layer("a", "small", mode="linear", antialias=1),
         layer("b", "small", mode="cubic", antialias=1),
         layer("c", "wide", mode="nearest", axes=[2, 3],
               keep_aspect_ratio_policy="not_larger"),
         layer("d", "small", "crop", mode="linear", extrapolation_value=2.0,
               coordinate_transformation_mode="tf_crop_and_resize")],
        {"x": [2, 3, 8, 9]}, {k: None for k in "abcd"},
        [ints("small", 2, 3, 4, 5), ints("wide", 10, 20),
         numpy_helper.from_array(
             np.array([0, 0, -0.1, 0.2, 1, 1, 0.9, 1.3], np.float32), "crop")], opset=19)


def computed_shapes():
    """Shapes and bounds that follow from constants through any operators."""
    return model(
        [node("Shape", "x", "s"),
         node("ScatterND", "base places s", "moved"),
         node("GatherElements", "moved order", "shape"),
         node("Reshape", "x shape", "a", name="reshaped"),
         node("TopK", "shape one", "largest places_of_it"),
         node("Squeeze", "largest", "end"),
         node("Range", "zero end step", "numbers"),
         node("Cast", "numbers", "b", to=1),
         node("Greater", "end zero", "any"),
         helper.make_node(
             "If", ["any"], ["c"], name="if",
             then_branch=helper.make_graph(
                 [node("Neg", "x", "then")], "then", [],
                 [helper.make_tensor_value_info("then", TensorProto.FLOAT, None)]),
             else_branch=helper.make_graph(
                 [node("Abs", "x", "else")], "else", [],
                 [helper.make_tensor_value_info("else", TensorProto.FLOAT, None)]))],
        {"x": [2, 3, 4]}, {k: None for k in "abc"},
        [ints("base", 0, 0, 0), numpy_helper.from_array(np.array([[2], [0], [1]]),
                                                        "places"),
         ints("order", 0, 1, 2), ints("one", 1), scalar("zero", 0), scalar("step", 1)])


def lists():
    """Sequences and optionals that vanish."""
    return model(
        [node("SplitToSequence", "x two", "parts", name="split"),
         node("SequenceAt", "parts last", "a", name="at"),
         node("SequenceInsert", "parts a zero", "more"),
         node("SequenceErase", "more one", "fewer"),
         node("ConcatFromSequence", "fewer", "b", name="joined", axis=0),
         node("SequenceLength", "more", "count"),
         node("Cast", "count", "c", to=1),
         node("Optional", "a", "held"),
         node("OptionalHasElement", "held", "there"),
         helper.make_node(
             "If", ["there"], ["d"], name="if",
             then_branch=helper.make_graph(
                 [node("OptionalGetElement", "held", "value"),
                  node("Neg", "value", "then")], "then", [],
                 [helper.make_tensor_value_info("then", TensorProto.FLOAT, None)]),
             else_branch=helper.make_graph(
                 [node("Abs", "x", "else")], "else", [],
                 [helper.make_tensor_value_info("else", TensorProto.FLOAT, None)]))],
        {"x": [5, 3]}, {k: None for k in "abcd"},
        [scalar("two", 2), scalar("last", -1), scalar("zero", 0), scalar("one", 1)],
        opset=18)


def empty():
    """Keys of no step, in front of new ones; sums of nothing."""
    return model(
        [node("Concat", "past x", "a", axis=1, name="keys"),
         node("Transpose", "past", "turned", perm=[0, 2, 1]),
         node("MatMul", "turned past", "b", name="square"),
         node("ReduceSum", "past axis", "c", name="sum"),
         node("ReduceMax", "past axis", "d", name="max", keepdims=0),
         node("Slice", "x zero zero axis", "none"),
         node("Concat", "none x none", "e", axis=1, name="same")],
        {"past": [2, 0, 4], "x": [2, 3, 4]}, {k: None for k in "abcde"},
        [ints("axis", 1), ints("zero", 0)], opset=18)


def wrong_lists():
    return model(
        [node("SplitToSequence", "x n", "parts", name="split"),
         node("SequenceConstruct", "x x", "two"),
         node("SequenceAt", "two third", "b", name="at"),
         node("SequenceAt", "two n", "c", name="unknown"),
         node("SequenceErase", "x", "d", name="tensor"),
         node("SequenceAt", "parts third", "a", name="follows"),
         node("Add", "two two", "e", name="sum"),
         node("SequenceAt", "d third", "f")],
        {"x": [5, 3], "n": (TensorProto.INT64, [])}, {k: None for k in "abcef"},
        [scalar("third", 2)], opset=18)


def unsupported_bodies():
    """What depends on data, or is too large."""
    return model(
        [node("NonZero", "x", "a", name="where"),
         node("Compress", "x keep", "b", name="compress"),
         node("RoiAlign", "x r i", "c", name="adaptive"),
         node("RoiAlign", "x r i", "f", name="fine", sampling_ratio=2,
              output_height=2 ** 31 - 1),
         node("DFT", "s", "d", name="long"),
         node("Unique", "x", "e", name="unique")],
        {"x": [2, 3, 5, 6], "r": [1, 4], "s": [1, 5000, 1],
         "keep": (TensorProto.BOOL, [4])},
        {"a": (TensorProto.INT64, None), **{k: None for k in "bcdef"}}, [ints("i", 0)], opset=18)


def wide_integers():
    """Constants of UINT64, the largest of which are negative as INT64."""
    def wide(name, *values):
        return numpy_helper.from_array(np.array(values, dtype=np.uint64), name)

    return model(
        [node("Max", "big zero", "a"), node("Greater", "big zero", "more"),
         node("Cast", "more", "b", to=1), node("Div", "big two", "c"),
         node("Min", "big two", "d")],
        {"x": [1]}, {**{k: (TensorProto.UINT64, [2]) for k in "acd"}, "b": [2]},
        [wide("big", 2**63 + 4, 1), wide("zero", 0), wide("two", 2)])
