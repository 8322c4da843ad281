"""onnxruntime as the judge: what a model computes, and whether its values can
be compared at all."""

import functools

import numpy as np
import onnx
import onnxruntime

TOLERANCE = 1e-4  # Of the norm.
# Of graphs with FLOAT16, some units in its last place: onnxruntime leaves out a
# rounding between a cast and an operator, and a sum in another order may be rounded to
# the neighbor.
HALF_TOLERANCE = 4e-3
# Of graphs whose products are of bf16, and what noise of half a unit in the last place
# of bf16 may change in an output of theirs.
NARROW_TOLERANCE = 1e-2
NARROW_NOISE = 2.0**-9
LARGEST_NARROW_ECHO = NARROW_TOLERANCE / 4
# Products, and operators that change an output little where operands change little.
PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
SMOOTH = PRODUCTS | {
    "Constant", "Add", "AveragePool", "BatchNormalization", "Concat", "Elu", "Expand", "Flatten", "Gelu",
    "GlobalAveragePool", "HardSigmoid", "Identity", "LayerNormalization", "LeakyRelu", "MaxPool",
    "Mean", "Mul", "Neg", "Pad", "PRelu", "ReduceMean", "ReduceSum", "Relu", "Reshape", "Selu",
    "Sigmoid", "Slice", "Softmax", "Softplus", "Softsign", "Split", "Squeeze", "Sub", "Sum",
    "Tanh", "Transpose", "Unsqueeze"}
LARGEST = 30.0  # Root mean square of any tensor.
SMALLEST = 0.02  # Root mean square of an output.
MIN_SPREAD = 0.01  # Standard deviation over root mean square of an output.
NOISE = 1e-6  # Relative, of inputs: some units in their last places.
LARGEST_ECHO = TOLERANCE / 4  # What noise may change in an output, of its norm.


def tolerance(graph):
    """How much an output may differ, of its norm."""
    if graph.precision == "bf16":
        return NARROW_TOLERANCE
    half = onnx.TensorProto.FLOAT16
    casts = (attribute.i for node in graph.model.graph.node if node.op_type == "Cast"
             for attribute in node.attribute if attribute.name == "to")
    return HALF_TOLERANCE if half in casts else TOLERANCE


def evaluate(model, inputs, names=None):
    """Output name to array."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    names = names or [output.name for output in session.get_outputs()]
    return {name: np.asarray(value)
            for name, value in zip(names, session.run(names, inputs))
            if not isinstance(value, list)}  # A sequence.


# Types of elements that numpy does not have.
STORED = {onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT8E4M3FN,
          onnx.TensorProto.FLOAT8E4M3FNUZ, onnx.TensorProto.FLOAT8E5M2,
          onnx.TensorProto.FLOAT8E5M2FNUZ}


def is_readable(node):
    """False for what is cast to a type that numpy does not have."""
    return not any(attribute.name == "to" and attribute.i in STORED
                   for attribute in node.attribute)


def rms(array):
    return float(np.sqrt(np.mean(np.square(array.astype(np.float64)))))


# With the places of their operands.
INTEGER_PRODUCTS = {"MatMulInteger": (0, 1), "ConvInteger": (0, 1),
                    "QLinearMatMul": (0, 3), "QLinearConv": (0, 3)}


@functools.lru_cache(maxsize=None)
def saturates():
    """True where onnxruntime adds products of uint8 and int8 in 16 bits: on
    processors with AVX2 or AVX-512 and without VNNI."""
    typed, types = onnx.helper.make_tensor_value_info, onnx.TensorProto
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "largest",
        [typed("a", types.UINT8, [1, 2]), typed("b", types.INT8, [2, 1])],
        [typed("y", types.INT32, [1, 1])])
    opset = onnx.helper.make_opsetid("", 17)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8)
    largest = {"a": np.full((1, 2), 255, np.uint8), "b": np.full((2, 1), 127, np.int8)}
    return evaluate(model, largest)["y"].item() != 2 * 255 * 127


def may_saturate(model, values):
    """True if a product of uint8 and int8 may be judged wrongly."""
    known = {**{tensor.name: onnx.numpy_helper.to_array(tensor)
                for tensor in model.graph.initializer}, **values}
    return any(known[node.input[a]].dtype == np.uint8 and
               known[node.input[b]].dtype == np.int8
               for node in model.graph.node if node.op_type in INTEGER_PRODUCTS
               for a, b in [INTEGER_PRODUCTS[node.op_type]]) and saturates()


def reference(graph):
    """The outputs of a graph, or None if values vanish, explode, are all the
    same or what is left of larger ones that cancel: such graphs compare rounding
    errors. None, too, where onnxruntime makes errors itself."""
    everything = onnx.ModelProto()
    everything.CopyFrom(graph.model)
    known = {output.name for output in everything.graph.output}
    for node in filter(is_readable, everything.graph.node):
        for name in node.output:
            if name and name not in known:
                everything.graph.output.append(onnx.ValueInfoProto(name=name))
    values = evaluate(everything, graph.inputs)
    if may_saturate(graph.model, {**graph.inputs, **values}):
        return None
    if not values or not all(np.isfinite(value).all() and rms(value) < LARGEST
                             for value in values.values()
                             if value.size and value.dtype.kind == "f"):
        return None
    outputs = {}
    selections = {node.output[0] for node in graph.model.graph.node
                  if node.op_type == "NonMaxSuppression"}
    for output in graph.model.graph.output:
        declared = tuple(dim.dim_value for dim in output.type.tensor_type.shape.dim)
        value = values[output.name]
        if output.name in selections:
            value = padded(value, declared[0])
        outputs[output.name] = value
        assert value.shape == declared, f"{output.name}: {value.shape}, not {declared}"
    for value in outputs.values():
        if rms(value) < SMALLEST or (value.size > 1 and
                                     value.std() < MIN_SPREAD * rms(value)):
            return None
    noisy = evaluate(graph.model, with_noise(graph.inputs), list(outputs))
    for name in selections & set(noisy):
        noisy[name] = padded(noisy[name], len(outputs[name]))
    if any(error(noisy[name], value) > LARGEST_ECHO for name, value in outputs.items()):
        return None
    return outputs


def padded(value, rows):
    """As --pad-selections: with rows of -1 behind those whose number is data."""
    missing = np.full((rows - len(value), *value.shape[1:]), -1, value.dtype)
    return np.concatenate([value, missing])


def bears_bf16(graph, outputs):
    """Whether products of bf16 may be compared with those of f32: there are some, all
    operators are smooth, and rounding inputs and weights changes little."""
    kinds = {node.op_type for node in graph.model.graph.node}
    floats = all(value.dtype == np.float32 for value in graph.inputs.values())
    if not floats or not kinds & PRODUCTS or not kinds <= SMOOTH:
        return False
    # Tensors of one element are not all changed by little in each of some draws.
    return all(echoes_little(graph, outputs, seed) for seed in range(1, 5))


def echoes_little(graph, outputs, seed):
    noisy = onnx.ModelProto()
    noisy.CopyFrom(graph.model)
    for number, tensor in enumerate(noisy.graph.initializer):
        if tensor.data_type == onnx.TensorProto.FLOAT:
            value = onnx.numpy_helper.to_array(tensor)
            moved = with_noise({tensor.name: value}, NARROW_NOISE, (seed, number))[tensor.name]
            tensor.CopyFrom(onnx.numpy_helper.from_array(moved, tensor.name))
    moved = evaluate(noisy, with_noise(graph.inputs, NARROW_NOISE, seed), list(outputs))
    return all(error(moved[name], value) <= LARGEST_NARROW_ECHO
               for name, value in outputs.items())


def with_noise(inputs, noise=NOISE, seed=0):
    """Floating-point inputs, each element changed by about `noise` of itself."""
    generator = np.random.default_rng(seed)
    return {name: np.asarray(value * (1 + noise * generator.standard_normal(value.shape)),
                             value.dtype) if value.dtype.kind == "f" else value
            for name, value in inputs.items()}


def error(got, wanted):
    """The distance over the norm of what is wanted; NaN counts as infinite."""
    if got.shape != wanted.shape:
        return float("inf")
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    norm = np.linalg.norm(wanted)
    distance = np.linalg.norm(got - wanted)
    ratio = distance / norm if norm else float("inf" if distance else 0)
    return ratio if np.isfinite(ratio) else float("inf")
