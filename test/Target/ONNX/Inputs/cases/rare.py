"""Operators on bits and boxes, tensors without elements, integers of 4 bits."""

import numpy as np
from onnx import TensorProto, numpy_helper

from .build import RNG, model, node


def graph(nodes, inputs, outputs, weights=(), opset=23):
    return model(nodes, inputs, outputs, weights, opset, ir_version=13)


def bits():
    return graph(
        [node("BitShift", "x places", "left", direction="LEFT", name="left"),
         node("BitShift", "left x", "y", direction="RIGHT", name="right"),
         node("BitCast", "f", "b", to=TensorProto.INT32, name="bits"),
         node("BitCast", "b", "same", to=TensorProto.INT32, name="same")],
        {"x": (TensorProto.UINT16, [2, 3]), "f": (TensorProto.FLOAT, [4])},
        {"y": (TensorProto.UINT16, [2, 3]), "same": (TensorProto.INT32, [4])},
        [numpy_helper.from_array(np.array([1, 2, 3], np.uint16), "places")], opset=26)


def shift_of_signed():
    return graph(
        [node("BitShift", "x x", "y", direction="LEFT", name="shift"),
         node("BitCast", "x", "z", to=TensorProto.INT64, name="cast")],
        {"x": (TensorProto.INT32, [2])},
        {"y": (TensorProto.INT32, [2]), "z": (TensorProto.INT64, [2])}, opset=26)


def diagonal():
    return graph(
        [node("Einsum", "x", "y", equation="...ii->...i", name="diagonal"),
         node("Einsum", "x w", "z", equation="bii,ij->bj", name="product")],
        {"x": (TensorProto.FLOAT, [2, 3, 3])},
        {"y": (TensorProto.FLOAT, [2, 3]), "z": (TensorProto.FLOAT, [2, 4])},
        [numpy_helper.from_array(RNG.standard_normal((3, 4)).astype(np.float32), "w")])


def half_bytes():
    """More weights of 4 bits than take part in shape arithmetic, an odd number."""
    values = RNG.integers(0, 256, (257 * 257 + 1) // 2, np.uint8)
    weight = TensorProto(name="w", data_type=TensorProto.INT4, dims=[257, 257],
                         raw_data=values.tobytes())
    return graph(
        [node("DequantizeLinear", "w scale", "floats", name="floats"),
         node("MatMul", "x floats", "y", name="product")],
        {"x": (TensorProto.FLOAT, [2, 257])}, {"y": (TensorProto.FLOAT, [2, 257])},
        [weight, numpy_helper.from_array(np.float32(0.1), "scale")])


def listed_half_bytes():
    """The same as a list of numbers in the model, not as raw data."""
    listed = half_bytes()
    weight = listed.graph.initializer[0]
    weight.int32_data.extend(weight.raw_data)
    weight.ClearField("raw_data")
    return listed


def nothing():
    """Outputs without elements, beside one with some."""
    return graph(
        [node("Neg", "x", "z", name="negated"),
         node("Slice", "x ends ends", "none", name="part"),
         node("Shape", "x", "shape", start=1, end=0, name="shape")],
        {"x": (TensorProto.FLOAT, [2, 3])},
        {"none": (TensorProto.FLOAT, [0, 3]), "z": (TensorProto.FLOAT, [2, 3]),
         "shape": (TensorProto.INT64, [0])},
        [numpy_helper.from_array(np.array([1]), "ends")])


def nothing_else():
    """A model that computes nothing."""
    return graph(
        [node("Shape", "x", "shape", start=1, end=0, name="shape")],
        {"x": (TensorProto.FLOAT, [2, 3])}, {"shape": (TensorProto.INT64, [0])})


def suppression(known=False):
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]]], np.float32)
    scores = np.array([[[0.9, 0.8, 0.7], [0.2, 0.3, 0.1]]], np.float32)
    weights = [numpy_helper.from_array(np.array([2]), "most"),
               numpy_helper.from_array(np.float32([0.5]), "overlap"),
               numpy_helper.from_array(np.float32([0.15]), "score")]
    inputs = {"boxes": (TensorProto.FLOAT, [1, 3, 4]),
              "scores": (TensorProto.FLOAT, [1, 2, 3])}
    if known:
        weights += [numpy_helper.from_array(boxes, "boxes"),
                    numpy_helper.from_array(scores, "scores")]
        inputs = {"x": (TensorProto.FLOAT, [5])}
    nodes = [node("NonMaxSuppression", "boxes scores most overlap score", "rows",
                  name="nms")]
    outputs = {"rows": (TensorProto.INT64, ["n", 3])}
    if known:  # A slice of as many elements as boxes are selected.
        nodes += [node("Shape", "rows", "count", start=0, end=1, name="count"),
                  node("Slice", "x zero count", "y", name="part")]
        weights.append(numpy_helper.from_array(np.array([0]), "zero"))
        outputs = {"y": (TensorProto.FLOAT, ["n"])}
    return graph(nodes, inputs, outputs, weights)


def suppression_known():
    return suppression(known=True)


def ngrams():
    return graph(
        [node("TfIdfVectorizer", "x", "y", mode="TFIDF", min_gram_length=1,
              max_gram_length=2, max_skip_count=1, ngram_counts=[0, 2],
              ngram_indexes=[2, 0, 1], pool_int64s=[1, 2, 1, 2],
              weights=[0.5, 2.0, 1.0], name="grams")],
        {"x": (TensorProto.INT32, [2, 4])}, {"y": (TensorProto.FLOAT, [2, 3])})
