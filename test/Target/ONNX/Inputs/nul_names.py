"""Writes models in which names have a NUL: nul_names.py FOLDER."""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])


def write(file, node="n", tensor="h", x="x", y="y", w="w", dim=4):
    graph = helper.make_graph(
        [helper.make_node("Add", [x, w], [tensor], name=node), helper.make_node("Relu", [tensor], [y], name="r")],
        "g",
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [dim, 2])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [dim, 2])],
        [numpy_helper.from_array(np.ones(2, "float32"), w)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    (folder / file).write_bytes(model.SerializeToString())


write("node.onnx", node="a\0b")
write("tensor.onnx", tensor="a\0b")
write("ports.onnx", x="x\0", y="\0y", w="w\0w", dim="N\0")
