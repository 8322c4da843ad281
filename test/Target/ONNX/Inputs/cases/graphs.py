"""Parameters, names and the batch."""

import os
import sys

import numpy as np
from onnx import TensorProto, helper

from .build import ints, model, node, weight


def parameters():
    """Weights in every place: raw, float_data, as graph inputs (IR 3), made by
    ConstantOfShape and by Constant, through Unsqueeze."""
    floats = helper.make_tensor("f", TensorProto.FLOAT, [3], [1.5, -2.0, 3.25])
    result = model(
        [
            node("ConstantOfShape", "dims", "k",
                 value=helper.make_tensor("v", TensorProto.FLOAT, [1], [0.5])),
            node("Unsqueeze", "k", "k1", axes=[0]),
            node("Constant", "", "q", value=weight("ignored", 3)),
            node("Add", "x w", "a"),
            node("Add", "a f", "b"),
            node("Mul", "b k1", "c"),
            node("Mul", "c q", "y"),
        ],
        {"x": [2, 3], "w": [2, 3], "f": [3], "dims": [1]},
        {"y": [2, 3]},
        [weight("w", 2, 3), floats, ints("dims", 3)],
        opset=11, ir_version=3,
    )
    result.graph.input[3].type.tensor_type.elem_type = TensorProto.INT64
    return result


def external(location="w.bin", **entries):
    result = model(
        [node("Add", "x w", "y")], {"x": [2, 3]}, {"y": [2, 3]}, [weight("w", 2, 3)]
    )
    tensor = result.graph.initializer[0]
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(value)
    return result, b"\0" * 8 + data


def external_data(**arguments):
    result, data = external(offset=8, length=24, **arguments)
    with open(os.path.join(os.path.dirname(sys.argv[2]), "w.bin"), "wb") as file:
        file.write(data)
    return result


def external_climbs():
    return external(location="../w.bin")[0]


def external_absolute():
    return external(location="/etc/passwd")[0]


def external_short():
    external_data()
    return external(offset=16, length=24)[0]


def identity():
    """An output that is an input."""
    return model(
        [node("Identity", "x", "y"), node("Relu", "x", "z")],
        {"x": [2, 3]}, {"y": [2, 3], "z": [2, 3]},
    )


def names():
    """Two nodes of one name, nodes without a name, a node called as a tensor."""
    return model(
        [
            node("Relu", "x", "a", name="n"),
            node("Relu", "a", "b", name="n"),
            node("Relu", "b", "w"),
            node("Relu", "w", "y", name="x"),
        ],
        {"x": [2]}, {"y": [2]},
    )


def batch():
    """The file fixes a batch of 2, in a Reshape too."""
    return model(
        [
            node("Reshape", "x shape", "a", name="r1"),
            node("Reshape", "a infer", "y", name="r2"),
        ],
        {"x": [2, 3, 4]}, {"y": [2, 12]},
        [ints("shape", 2, 12), ints("infer", 2, -1)],
    )


def batch_stuck():
    return model(
        [node("Reshape", "x shape", "y", name="stuck")],
        {"x": [2, 3]}, {"y": [6]}, [ints("shape", 6)],
    )


def batch_symbol():
    """The batch is a symbol; what is added to it has one row for all samples."""
    return model([node("Add", "x mean", "y")], {"x": ["N", 3], "mean": [1, 3]}, {"y": None})


def other_symbol():
    """A batch that the file fixes, beside a vector of any length."""
    return model([node("Relu", "x", "y"), node("Relu", "v", "z")],
                 {"x": [2, 3], "v": ["n"]}, {"y": None, "z": None})


def symbols():
    return model(
        [node("Relu", "x", "y")], {"x": ["N", "T", None, 3]}, {"y": None}
    )


def bind():
    graph = model(
        [node("Reshape", "x shape", "y")], {"x": [2, 3]}, {"y": None}
    )
    graph.graph.input.append(
        helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    )
    np.save(sys.argv[2] + ".npy", np.array([3, 2], dtype=np.int64))
    return graph
