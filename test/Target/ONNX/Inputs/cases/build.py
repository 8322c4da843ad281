"""Short forms: tensors, nodes and models."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(0)


def weight(name, *shape):
    values = RNG.standard_normal(shape, dtype=np.float32)
    return numpy_helper.from_array(values, name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def model(nodes, inputs, outputs, initializers=(), opset=17, ir_version=8):
    """`inputs` and `outputs`: name -> shape, or (element type, shape)."""

    def infos(values):
        return [
            helper.make_tensor_value_info(
                name, *(shape if isinstance(shape, tuple)
                        else (TensorProto.FLOAT, shape)))
            for name, shape in values.items()
        ]

    graph = helper.make_graph(
        list(nodes), "g", infos(inputs), infos(outputs), list(initializers)
    )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=ir_version,
    )
