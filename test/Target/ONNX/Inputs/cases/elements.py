"""Element by element, normalization."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .build import RNG, model, node, weight


def clip6():
    return model(
        [node("Clip", "x", "y", min=0.0, max=6.0, name="c")],
        {"x": [2]}, {"y": [2]}, opset=10,
    )


def elementwise():
    return model(
        [
            node("Sum", "x w s", "a", name="sum"),
            helper.make_node("Clip", ["a", "", "hi"], ["b2"], name="clip2"),
            node("Max", "b2 x", "c", name="max"),
            node("Dropout", "c ratio", "d mask", name="drop"),
            node("Identity", "d", "e", name="id"),
            node("Cast", "e", "f", to=TensorProto.FLOAT, name="cast"),
            node("Div", "f two", "g", name="div"),
        ],
        {"x": [2, 3]},
        {"g": [2, 3]},
        [
            weight("w", 3),
            weight("s", 2, 1),
            numpy_helper.from_array(np.float32(6), "hi"),
            numpy_helper.from_array(np.float32(0.5), "ratio"),
            numpy_helper.from_array(np.float32(2), "two"),
        ],
    )


def dropout():
    """Ratios by attribute (0.5 where there is none), operand and in training mode;
    none is 0."""
    return model(
        [
            node("Dropout", "x", "a", name="half"),
            node("Dropout", "a ratio", "b", name="quarter"),
            node("Dropout", "b ratio on", "c", name="trained"),
            node("Dropout", "c zero on", "d", name="nothing"),
            node("Relu", "d", "y", name="relu"),
        ],
        {"x": [2, 3]}, {"y": [2, 3]},
        [
            numpy_helper.from_array(np.float32(0.25), "ratio"),
            numpy_helper.from_array(np.float32(0), "zero"),
            numpy_helper.from_array(np.array(True), "on"),
        ],
    )


def dropout_mask():
    return model(
        [
            node("Dropout", "x", "a mask", name="masked"),
            node("Dropout", "x all", "b", name="all"),
            node("Where", "mask b x", "y", name="where"),
        ],
        {"x": [2, 3]}, {"y": [2, 3]},
        [numpy_helper.from_array(np.float32(1), "all")],
    )


def softmax(opset):
    return model(
        [
            node("Softmax", "x", "a", name="s1"),
            node("Softmax", "x", "b", axis=1, name="s2"),
            node("Softmax", "y", "c", axis=1, name="s3"),
        ],
        {"x": [2, 3, 4], "y": [2, 10, 1, 1]},
        {k: None for k in "abc"},
        opset=opset,
    )


def softmax12():
    return softmax(12)


def softmax13():
    return softmax(13)


def batchnorm(**attributes):
    return model(
        [node("BatchNormalization", "x s b m v", "y", name="bn", **attributes)],
        {"x": [1, 3, 4, 4]}, {"y": [1, 3, 4, 4]},
        [weight(k, 3) for k in "sbm"]
        + [numpy_helper.from_array(np.array([0.5, 1, 2], np.float32), "v")],
        opset=15,
    )


def trained_batchnorm():
    """As it is exported for training; and over weights, which has no running
    statistics."""
    nodes = [
        node("BatchNormalization", "x s b m v", "y", name="bn", training_mode=1),
        node("BatchNormalization", "w s b m v", "n", name="standard", training_mode=1),
        node("Mul", "y n", "z", name="z"),
    ]
    return model(
        nodes, {"x": [4, 3, 4, 4]}, {"z": [4, 3, 4, 4]},
        [weight(k, 3) for k in "sbm"] + [weight("w", 1, 3, 4, 4)]
        + [numpy_helper.from_array(np.array([0.5, 1, 2], np.float32), "v")],
        opset=15,
    )


def training():
    """Statistics of the input need those that are given for the running ones."""
    made = batchnorm(training_mode=1)
    for weights in made.graph.initializer:
        if weights.name in "mv":
            values = numpy_helper.to_array(weights).astype(np.float64)
            weights.CopyFrom(numpy_helper.from_array(values, weights.name))
    return made


def mean_variance():
    """A mean that is large beside the deviation, over several sets of axes."""
    return model(
        [
            node("Mul", "x small", "a", name="mul"),
            node("Add", "a one", "b", name="add"),
            node("MeanVarianceNormalization", "b", "c", name="c"),
            node("MeanVarianceNormalization", "b", "d", name="d", axes=[-1, 1]),
        ],
        {"x": [3, 4, 5, 6]}, {name: [3, 4, 5, 6] for name in "cd"},
        [numpy_helper.from_array(np.float32(value), name)
         for name, value in (("small", 0.02), ("one", 1))],
        opset=13,
    )


def folding():
    """Batch norms and scales behind convolutions and matrix products."""
    variance = numpy_helper.from_array(
        RNG.uniform(0.5, 1.5, 4).astype(np.float32), "v"
    )
    return model(
        [
            node("Conv", "x w b", "a", pads=[1, 1, 1, 1], name="c1"),
            node("BatchNormalization", "a s t m v", "b1", name="bn1"),
            node("Relu", "b1", "r"),
            node("Conv", "r w2", "c", group=2, name="c2"),
            node("BatchNormalization", "c s t m v", "d", name="bn2"),
            node("Mul", "d k", "e", name="mul"),
            node("Add", "k e", "f", name="add"),
            node("BatchNormalization", "f2 s t m v", "g", name="bn3"),
            node("Mul", "g k", "h", name="mul2"),
            node("Gemm", "i w3", "j", transB=1, name="fc"),
            node("BatchNormalization", "j s t m v", "l", name="bn4"),
        ],
        {"x": [2, 3, 5, 5], "f2": [2, 4, 3, 3], "i": [2, 3]},
        {k: None for k in "fhl"},
        [
            weight("w", 4, 3, 3, 3), weight("b", 4), weight("w2", 4, 2, 3, 3),
            weight("w3", 4, 3), weight("k", 4, 1, 1), weight("s", 4),
            weight("t", 4), weight("m", 4), variance,
        ],
        opset=13,
    )


def powers():
    return model(
        [
            node("Pow", "x two", "a", name="square"),
            node("Pow", "x three", "b", name="cube"),
            node("Exp", "x", "p"),
            node("Pow", "p half", "c", name="root"),
            node("Pow", "p minus", "d", name="inverse"),
            node("Pow", "p other", "e", name="other"),
            node("Pow", "p x", "f", name="general"),
            node("Erf", "x", "g", name="erf"),
            node("Neg", "x", "h", name="neg"),
            node("Log", "p", "i", name="log"),
            node("LogSoftmax", "x", "j", axis=1, name="log_softmax"),
            node("LayerNormalization", "x s t", "k", name="norm", axis=-1),
            node("LayerNormalization", "x one", "l", name="norm2", axis=0),
            node("ReduceL2", "x", "m", axes=[1], name="l2"),
            node("ReduceL1", "x", "n", axes=[0], keepdims=0, name="l1"),
        ],
        {"x": [3, 4]},
        {k: None for k in "abcdefghijklmn"},
        [
            numpy_helper.from_array(np.array(v, t), n)
            for n, v, t in [("two", 2, np.float32), ("three", 3, np.int64),
                            ("half", 0.5, np.float32), ("minus", -1, np.float32),
                            ("other", [1.7], np.float32)]
        ] + [weight("s", 4), weight("t", 4), weight("one", 1, 4)],
    )
