"""Counts of an ONNX model of this package, from its shapes: parameters and flops.

Flops are those of convolutions, matrix products and recurrent layers, two per
multiply-add; publications mostly count multiply-adds, and of these operators only.
"""

import dataclasses
import math

from onnx import TensorProto, numpy_helper, shape_inference

from .graph import BATCH

# Constant float tensors that are not trained.
TABLES = {"sinusoids", "rotary.cos", "rotary.sin", "scales", "region"}


@dataclasses.dataclass
class Parameters:
    trainable: int
    statistics: int  # Running means and variances.
    second_biases: int  # ONNX's LSTM has two biases per gate; one is superfluous.


def parameter_shapes(model):
    """Shapes of float initializers of rank 1 and more and of ConstantOfShape nodes."""
    initializers = {t.name: t for t in model.graph.initializer}
    shapes = {t.name: tuple(t.dims) for t in model.graph.initializer
              if t.data_type == TensorProto.FLOAT and t.dims and t.name not in TABLES}
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape":
            shape = numpy_helper.to_array(initializers[node.input[0]])
            shapes[node.output[0]] = tuple(map(int, shape))
    return shapes


def parameters(model):
    shapes = parameter_shapes(model)
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    statistics, second = set(), 0
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            statistics.update(node.input[3:5])
        elif node.op_type == "LSTM":
            second += sizes[node.input[3]] // 2
    running = sum(sizes[name] for name in statistics)
    return Parameters(sum(sizes.values()) - running - second, running, second)


def tensor_shapes(model, batch=1):
    """Shapes of all tensors that ONNX infers, with the batch symbol bound."""
    bound = type(model)()
    bound.CopyFrom(model)
    values = [*bound.graph.input, *bound.graph.output, *bound.graph.value_info]
    for value in values:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == BATCH:
                dim.dim_value = batch
    inferred = shape_inference.infer_shapes(bound, strict_mode=True, data_prop=True)
    shapes = {t.name: tuple(t.dims) for t in model.graph.initializer}
    graph = inferred.graph
    for value in [*graph.input, *graph.output, *graph.value_info]:
        tensor = value.type.tensor_type
        if tensor.HasField("shape"):
            shapes[value.name] = tuple(d.dim_value if d.HasField("dim_value") else None
                                       for d in tensor.shape.dim)
    return shapes


def multiply_adds(node, shapes):
    ins = [shapes.get(name) for name in node.input]
    out = shapes.get(node.output[0])
    if node.op_type == "Conv":  # Weights (f, c / group, kernel).
        return math.prod(out) * math.prod(ins[1][1:])
    if node.op_type == "ConvTranspose":  # Weights (c, f / group, kernel).
        return math.prod(ins[0]) * math.prod(ins[1][1:])
    if node.op_type == "MatMul":
        return math.prod(out) * ins[0][-1]
    if node.op_type == "Gemm":
        transposed = any(a.name == "transA" and a.i for a in node.attribute)
        return math.prod(out) * ins[0][0 if transposed else 1]
    if node.op_type == "LSTM":  # W (directions, 4h, c), R (directions, 4h, h).
        steps, batch, _ = ins[0]
        return steps * batch * (math.prod(ins[1]) + math.prod(ins[2]))
    return 0


def flops(model, batch=1):
    """Of a step of `batch` samples, or of the batch that the model fixes."""
    shapes = tensor_shapes(model, batch)
    return 2 * sum(multiply_adds(node, shapes) for node in model.graph.node)


def nodes(model):
    """Without those that only make parameters."""
    return sum(node.op_type != "ConstantOfShape" for node in model.graph.node)
