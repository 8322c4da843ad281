"""Makes the parameters of a graph, and the ONNX model with them.

Light parameters are ConstantOfShape nodes: a file of kilobytes for any network.
Weights are 1 / fan_in and scales their gain, so that activations stay finite. Random ones are
initializers: weights normal with variance gain / fan_in (He et al., 2015,
"Delving deep into rectifiers", section 2.2: gain 2 in front of a ReLU, else 1),
biases and running means normal with standard deviation 0.1, running variances
uniform in [0.5, 1.5], scales their gain. Every tensor has its own generator,
seeded with SEED and its name, so that its values do not depend on the others.
"""

import math
import os
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EXTERNAL_BYTES = 100 * 10**6  # Models with more parameters have a data file.
ALIGNMENT = 4096


def parse(text):
    """The seed of random:SEED, or None for light."""
    kind, _, seed = text.partition(":")
    if text == "light":
        return None
    if kind != "random" or not seed.isdecimal():
        raise ValueError(f"expected light or random:SEED, got: {text}")
    return int(seed)


def light_value(parameter):
    if parameter.role == "weight":
        return 1.0 / parameter.fan_in
    return {"scale": parameter.gain, "variance": 1.0}.get(parameter.role, 0.0)


def random_values(parameter, seed):
    generator = np.random.default_rng([seed, zlib.crc32(parameter.name.encode())])
    if parameter.role == "scale":
        return np.full(parameter.shape, parameter.gain, np.float32)
    if parameter.role == "variance":
        return generator.random(parameter.shape, np.float32) + np.float32(0.5)
    spread = 0.1
    if parameter.role == "weight":
        spread = math.sqrt(parameter.gain / parameter.fan_in)
    values = generator.standard_normal(parameter.shape, np.float32)
    values *= np.float32(spread)
    return values


def light_nodes(graph):
    """A node per parameter; equal shapes share their initializer."""
    nodes = []
    for p in graph.parameters.values():
        shape = graph.integers(p.shape)
        value = helper.make_tensor("value", TensorProto.FLOAT, [1], [light_value(p)])
        nodes.append(helper.make_node("ConstantOfShape", [shape.name], [p.name],
                                      name=p.name, value=value))
    return nodes


def make_model(graph, nodes, initializers, doc):
    constants = [numpy_helper.from_array(array, name)
                 for name, array in graph.constants.items()]
    proto = helper.make_graph(nodes + graph.nodes, graph.name, graph.inputs,
                              graph.outputs, constants + initializers,
                              value_info=graph.hints)
    opsets = [helper.make_opsetid("", graph.opset)]
    return helper.make_model(
        proto, producer_name="soap-zoo", doc_string=doc, opset_imports=opsets,
        ir_version=max(8, helper.find_min_ir_version_for(opsets)))


def to_model(graph, weights, doc):
    """The model in memory, random values included."""
    seed = parse(weights)
    if seed is None:
        return make_model(graph, light_nodes(graph), [], doc)
    tensors = [numpy_helper.from_array(random_values(p, seed), p.name)
               for p in graph.parameters.values()]
    return make_model(graph, [], tensors, doc)


def save(graph, weights, doc, path):
    """Writes the model; parameters of more than 100 MB to `path`.data, one tensor
    after the other, so that none but one is in memory."""
    size = 4 * sum(p.elements for p in graph.parameters.values())
    data_path = f"{path}.data"
    if parse(weights) is None or size <= EXTERNAL_BYTES:
        if os.path.exists(data_path):
            os.remove(data_path)
        onnx.save(to_model(graph, weights, doc), path)
        return
    tensors = []
    with open(data_path, "wb") as data:
        for p in graph.parameters.values():
            data.seek(-data.tell() % ALIGNMENT, os.SEEK_CUR)
            tensor = TensorProto(name=p.name, dims=p.shape, data_type=TensorProto.FLOAT,
                                 data_location=TensorProto.EXTERNAL)
            for key, value in (("location", os.path.basename(data_path)),
                               ("offset", data.tell()), ("length", 4 * p.elements)):
                tensor.external_data.add(key=key, value=str(value))
            data.write(random_values(p, parse(weights)).astype("<f4").data)
            tensors.append(tensor)
    onnx.save(make_model(graph, [], tensors, doc), path)
