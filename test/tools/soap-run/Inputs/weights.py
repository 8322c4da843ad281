"""Writes a model with 600 KB of weights, more than the blocks of a weights file
whose hashes are always compared.

weights.py MODEL.onnx SEED
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

path, seed = sys.argv[1:]
weights = np.random.default_rng(int(seed)).standard_normal((300, 500)).astype("float32")
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])],
    "weights",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 300])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 500])],
    [numpy_helper.from_array(weights, "w")],
)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
