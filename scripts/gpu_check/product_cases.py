"""Graphs of one product each, or of few with what is between them, as cases of an
archive: what cuBLASLt and cuDNN compute in f32 and in lower precisions, compared with
the CPU in f32. Inputs are recipes."""

import math

import onnx
from onnx import TensorProto, helper

# Of the norm. Factors of TF32 have 11 bits, of f16 as many, of bf16 8.
TOLERANCES = {"f32": 1e-5, "tf32": 1e-3, "bf16": 1e-2, "f16": 2e-3}


def model_of(nodes, inputs, result, constants):
    """A checked model of these nodes, whose only output, of shape `result`, is y."""
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, result)
    model = helper.make_model(
        helper.make_graph(nodes, "products", inputs, [output], constants),
        opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    onnx.checker.check_model(model, full_check=True)
    return model


def graph(op, shapes, result, scale=None, **attributes):
    """A model of one operator, on inputs of these shapes, all but the first times
    `scale`; `result` is the shape of its first output."""
    names = [f"x{i}" for i in range(len(shapes))]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
              for name, shape in zip(names, shapes)]
    nodes, constants = [], []
    if scale is not None:
        constants = [helper.make_tensor("scale", TensorProto.FLOAT, (), [scale])]
        nodes = [helper.make_node("Mul", [name, "scale"], [f"{name}.scaled"])
                 for name in names[1:]]
        names[1:] = [f"{name}.scaled" for name in names[1:]]
    nodes.append(helper.make_node(op, names, ["y"], **attributes))
    return model_of(nodes, inputs, result, constants)


def layer(op, gates, directions=1, steps=3, batch=16, inputs=64, hidden=128, **attributes):
    """A recurrent layer whose products are large enough for the library, and whose
    weights are so small that gates do not turn roundings into large differences."""
    return graph(op, [(steps, batch, inputs), (directions, gates * hidden, inputs),
                      (directions, gates * hidden, hidden), (directions, 2 * gates * hidden)],
                 (steps, directions, batch, hidden), scale=0.1, hidden_size=hidden,
                 direction="forward" if directions == 1 else "bidirectional", **attributes)


def chain(inputs, result, *nodes):
    """A model of several operators: each of `nodes` is (operator, operands, attributes),
    and its output is called by its number. Inputs are name: shape; a weight, whose name
    has an underscore in front, is divided by the root of what is summed with it."""
    constants, built = [], []
    for name, shape in inputs.items():
        if name.startswith("_"):
            summed = math.prod(shape[1:]) if len(shape) > 2 else shape[0]
            constants.append(helper.make_tensor(f"{name}.factor", TensorProto.FLOAT, (),
                                                [summed ** -0.5]))
            built.append(helper.make_node("Mul", [f"{name}.given", f"{name}.factor"],
                                          [name]))
    for i, (op, operands, attributes) in enumerate(nodes):
        output = "y" if i + 1 == len(nodes) else str(i)
        built.append(helper.make_node(op, operands.split(), [output], **attributes))
    given = [helper.make_tensor_value_info(
        f"{name}.given" if name.startswith("_") else name, TensorProto.FLOAT, shape)
        for name, shape in inputs.items()]
    return model_of(built, given, result, constants)


def residual():
    """A block of convolutions, as ResNet has it, and a pool."""
    pads = {"pads": [1, 1, 1, 1]}
    return chain({"x": (2, 32, 14, 14), "_v": (32, 32, 3, 3), "b": (32,),
                  "_w": (32, 32, 3, 3)}, (2, 32, 7, 7),
                 ("Conv", "x _v b", pads), ("Relu", "0", {}),
                 ("Conv", "1 _w", pads), ("Add", "2 1", {}), ("Relu", "3", {}),
                 ("MaxPool", "4", {"kernel_shape": [2, 2], "strides": [2, 2]}))


def feed_forward():
    """Two layers, whose second one has rows of no multiple of 16 bytes."""
    return chain({"x": (64, 128), "s": (128,), "_v": (128, 256), "b": (256,),
                  "_w": (256, 77)}, (64, 77),
                 ("LayerNormalization", "x s", {}), ("MatMul", "0 _v", {}),
                 ("Add", "1 b", {}), ("Gelu", "2", {}), ("MatMul", "3 _w", {}),
                 ("Softmax", "4", {"axis": 1}))


def attention():
    """Two heads of 32 features over 48 tokens; queries are keys and values, too."""
    heads = {"perm": [0, 2, 1, 3]}
    return chain({"x": (2, 48, 2, 32), "_w": (32, 32)}, (2, 48, 2, 32),
                 ("MatMul", "x _w", {}), ("Transpose", "0", heads),
                 ("Transpose", "0", {"perm": [0, 2, 3, 1]}), ("MatMul", "1 2", {}),
                 ("Softmax", "3", {"axis": 3}), ("MatMul", "4 1", {}),
                 ("Transpose", "5", heads))


# With extents that suit tensor cores, and with some that do not.
GRAPHS = {
    "MatMul": lambda: graph("MatMul", [(128, 256), (256, 192)], (128, 192)),
    "MatMulOdd": lambda: graph("MatMul", [(50, 77), (77, 33)], (50, 33)),
    "MatMulRow": lambda: graph("MatMul", [(1, 512), (512, 1000)], (1, 1000)),
    "MatMulStack": lambda: graph("MatMul", [(2, 3, 64, 48), (2, 3, 48, 40)], (2, 3, 64, 40)),
    "Gemm": lambda: graph("Gemm", [(64, 128), (96, 128), (96,)], (64, 96), transB=1),
    "Conv1x1": lambda: graph("Conv", [(2, 64, 14, 14), (48, 64, 1, 1)], (2, 48, 14, 14)),
    "Conv3x3": lambda: graph("Conv", [(2, 32, 14, 14), (32, 32, 3, 3), (32,)],
                             (2, 32, 14, 14), pads=[1, 1, 1, 1]),
    "Conv7x7": lambda: graph("Conv", [(1, 3, 32, 32), (16, 3, 7, 7)], (1, 16, 16, 16),
                             pads=[3, 3, 3, 3], strides=[2, 2]),
    "ConvOdd": lambda: graph("Conv", [(3, 5, 11, 13), (7, 5, 3, 3)], (3, 7, 9, 11)),
    "ConvGroups": lambda: graph("Conv", [(2, 32, 14, 14), (32, 8, 3, 3)], (2, 32, 14, 14),
                                pads=[1, 1, 1, 1], group=4),
    "ConvDepthwise": lambda: graph("Conv", [(2, 32, 14, 14), (32, 1, 3, 3)],
                                   (2, 32, 14, 14), pads=[1, 1, 1, 1], group=32),
    "ConvEdge": lambda: graph("Conv", [(1, 16, 14, 14), (16, 16, 3, 3)], (1, 16, 13, 13),
                              pads=[1, 1, 0, 0]),
    "Conv1D": lambda: graph("Conv", [(4, 16, 50), (32, 16, 5)], (4, 32, 46)),
    "Conv3D": lambda: graph("Conv", [(1, 8, 6, 8, 8), (16, 8, 3, 3, 3)], (1, 16, 4, 6, 6)),
    "ConvTranspose": lambda: graph("ConvTranspose", [(2, 16, 8, 8), (16, 24, 4, 4)],
                                   (2, 24, 18, 18), strides=[2, 2]),
    "Residual": residual,
    "FeedForward": feed_forward,
    "Attention": attention,
    "LSTM": lambda: layer("LSTM", 4),
    "LSTMBoth": lambda: layer("LSTM", 4, directions=2),
    "GRU": lambda: layer("GRU", 3),
    "GRULate": lambda: layer("GRU", 3, linear_before_reset=1),
    "RNN": lambda: layer("RNN", 1, batch=32),
}


def product_cases(compiler, name, make):
    model = compiler.scratch / f"product-{name}.onnx"
    built = make()
    onnx.save(built, model)
    inputs = {value.name: f"random:{i + 1}" for i, value in enumerate(built.graph.input)}
    expected = compiler.by_cpu(f"product-{name}", model, [], inputs)
    return [{"name": f"{name}-{precision}", "inputs": inputs, "expected": expected,
             "devices": 1, "rtol": tolerance,
             "model": compiler.for_gpus(f"product-{name}-{precision}", model,
                                        ["--strategy=single", f"--precision={precision}"])}
            for precision, tolerance in TOLERANCES.items()]


def product_jobs(compiler, count):
    return [lambda name=name, make=make: product_cases(compiler, name, make)
            for name, make in list(GRAPHS.items())[:count]]
