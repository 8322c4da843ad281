"""Writes a small ONNX model: models.py CASE OUT.onnx. `light_*` copies a light
model of the onnx package. Each case is a function of that name."""

import os
import shutil
import sys

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


# --- Convolution and pooling -------------------------------------------------


def conv():
    return model(
        [
            node("Conv", "x w b", "y", pads=[1, 2, 3, 4], strides=[2, 1], name="c1"),
            node("Conv", "y w2", "z", group=2, dilations=[2, 2], name="c2"),
            node("Conv", "x w", "s", auto_pad="SAME_UPPER", strides=[2, 2], name="c3"),
            node("Conv", "x w", "t", auto_pad="SAME_LOWER", strides=[2, 2], name="c4"),
            node("Conv", "x w", "v", auto_pad="VALID", name="c5"),
            node("Conv", "l w3", "m", pads=[1, 1], name="c6"),
        ],
        {"x": [1, 3, 8, 9], "l": [1, 2, 7]},
        {k: None for k in "zstvm"},
        [
            weight("w", 4, 3, 2, 2),
            weight("b", 4),
            weight("w2", 6, 2, 2, 2),
            weight("w3", 5, 2, 3),
        ],
    )


def pool():
    return model(
        [
            node("MaxPool", "x", "a", kernel_shape=[3, 3], strides=[2, 2], name="p1"),
            node("MaxPool", "x", "b", kernel_shape=[3, 3], strides=[2, 2],
                 ceil_mode=1, name="p2"),
            node("AveragePool", "x", "c", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                 strides=[2, 2], ceil_mode=1, count_include_pad=1, name="p3"),
            node("AveragePool", "x", "d", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                 name="p4"),
            node("GlobalAveragePool", "x", "e", name="p5"),
            node("GlobalMaxPool", "x", "f", name="p6"),
            # The last window of ceil_mode would start in the padding: dropped.
            node("MaxPool", "l", "g", kernel_shape=[2], strides=[4], ceil_mode=1,
                 pads=[0, 1], name="p7"),
        ],
        {"x": [1, 2, 8, 8], "l": [1, 1, 8]},
        {k: None for k in "abcdefg"},
    )


# --- Matrix products ---------------------------------------------------------


def linear():
    return model(
        [
            node("Gemm", "x w b", "a", transB=1, name="g1"),
            node("Gemm", "x v c", "b2", alpha=0.5, beta=2.0, name="g2"),
            node("Gemm", "x v r", "c2", name="g3"),
            node("MatMul", "x v", "d", name="m1"),
            node("MatMul", "v1 x3", "e", name="m2"),
            node("MatMul", "x3 v2", "f", name="m3"),
        ],
        {"x": [2, 3], "x3": [5, 3, 4]},
        {k: None for k in ["a", "b2", "c2", "d", "e", "f"]},
        [
            weight("w", 4, 3),
            weight("b", 4),
            weight("v", 3, 4),
            weight("c", 1, 4),
            weight("r", 2, 1),
            weight("v1", 3),
            weight("v2", 4),
        ],
    )


def fused():
    """Products that are split afterwards: query, key and value of attention."""
    return model(
        [
            node("MatMul", "x w", "m", name="product"),
            node("Add", "m b", "j", name="joint"),
            node("Split", "j sizes", "q k v", axis=-1, name="split"),
            node("Gemm", "y t b", "g", transB=1, name="gemm"),
            node("Split", "g halves", "c d", axis=1, name="parts"),
            # Another reader needs the whole.
            node("MatMul", "x u", "n", name="kept"),
            node("Split", "n halves", "e f", axis=2, name="slices"),
            node("Relu", "n", "r", name="reader"),
            # The bias makes six columns of one.
            node("MatMul", "x column", "o", name="narrow"),
            node("Add", "o b", "p", name="wide"),
            node("Split", "p halves", "s a", axis=2, name="columns"),
        ],
        {"x": [2, 3, 4], "y": [5, 4]},
        {k: None for k in "qkvcdefrsa"},
        [weight("w", 4, 6), weight("b", 6), weight("t", 6, 4), weight("u", 4, 6),
         weight("column", 4, 1), ints("sizes", 2, 2, 2), ints("halves", 2, 4)],
    )


# --- Elements ----------------------------------------------------------------


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


def training():
    return batchnorm(training_mode=1)


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


# --- Sequences ---------------------------------------------------------------


def lstm():
    return model(
        [
            node("LSTM", "x w r b", "y", hidden_size=4, name="forward"),
            helper.make_node("LSTM", ["x", "w", "r", "", "", "h", "c"],
                             ["", "z", "zc"], hidden_size=4, name="backward",
                             direction="reverse"),
            node("LSTM", "x w2 r2 b2", "v vh vc", hidden_size=4, name="both",
                 direction="bidirectional"),
        ],
        {"x": [3, 2, 5], "h": [1, 2, 4], "c": [1, 2, 4]},
        {k: None for k in ["y", "z", "zc", "v", "vh", "vc"]},
        [
            weight("w", 1, 16, 5), weight("r", 1, 16, 4), weight("b", 1, 32),
            weight("w2", 2, 16, 5), weight("r2", 2, 16, 4), weight("b2", 2, 32),
        ],
        opset=14,
    )


def lstm_forms():
    """What is refused, and why."""
    def layer(name, inputs="x w r", **attributes):
        return helper.make_node("LSTM", inputs.split(" "), [name], name=name,
                                hidden_size=4, **attributes)

    return model(
        [
            layer("layout", layout=1),
            layer("peepholes", "x w r     p"),
            layer("clipped", clip=1.0),
            layer("activated", activations=["Relu", "Tanh", "Tanh"]),
            layer("short", "x w r  lengths"),
        ],
        {"x": [3, 2, 5]},
        {k: None for k in ["layout", "peepholes", "clipped", "activated", "short"]},
        [
            weight("w", 1, 16, 5), weight("r", 1, 16, 4), weight("p", 1, 12),
            numpy_helper.from_array(np.array([3, 2], np.int32), "lengths"),
        ],
        opset=14,
    )


def lookups():
    return model(
        [
            node("Gather", "table ids", "a", name="embedding"),
            node("Gather", "x rows", "b", axis=1, name="rows"),
            node("Gather", "x last", "c", axis=1, name="last"),
            node("Gather", "x mixed", "d", axis=1, name="mixed"),
            node("Equal", "ids zero", "m", name="padding"),
            node("Cast", "m", "mf", to=TensorProto.FLOAT, name="mask"),
            node("Unsqueeze", "mf axis", "e", name="column"),
            node("Where", "m x0 x1", "f", name="choice"),
            node("Expand", "x1 shape", "g", name="expand"),
            node("Tile", "x1 repeats", "h", name="tile"),
        ],
        {"ids": (TensorProto.INT64, [2, 3]), "x": [2, 4, 3], "x0": [3],
         "x1": [2, 1]},
        {k: None for k in "abcdefgh"},
        [
            weight("table", 10, 6), ints("rows", 0, 2),
            numpy_helper.from_array(np.array(-1, np.int64), "last"),
            ints("mixed", 2, 0, 1), ints("zero", 0), ints("axis", 2),
            ints("shape", 2, 1, 4), ints("repeats", 3, 2),
        ],
    )


def causal_mask():
    """A mask of too many elements for a constant."""
    steps = np.arange(512, dtype=np.int64)
    return model(
        [
            node("Greater", "columns rows", "mask", name="mask"),
            node("Where", "mask minus x", "y", name="masked"),
        ],
        {"x": [512, 512]}, {"y": [512, 512]},
        [
            numpy_helper.from_array(steps[None, :], "columns"),
            numpy_helper.from_array(steps[:, None], "rows"),
            numpy_helper.from_array(np.float32(-1e4), "minus"),
        ],
    )


def einsum():
    equations = {
        "a": ("x y", "bij,bjk->bik"), "b": ("x y", "bij,bjk->kb"),
        "c": ("x z", "bij,kj->bki"), "d": ("x", "bij->jb"), "e": ("x", "bij->i"),
        "f": ("x y z", "bij,bjk,lj->ilk"), "g": ("x z", "...ij,kj->...ik"),
        "h": ("v v", "i,j"), "i": ("v v", "i,i"), "j": ("x", "bij"),
    }
    return model(
        [node("Einsum", inputs, name, equation=equation, name=f"e_{name}")
         for name, (inputs, equation) in equations.items()],
        {"x": [2, 3, 4], "y": [2, 4, 5], "z": [6, 4], "v": [3]},
        {k: None for k in equations},
    )


def resize():
    def layer(name, scales, **attributes):
        return helper.make_node("Resize", ["x", "", scales], [name], name=name,
                                **attributes)

    return model(
        [
            layer("a", "double", coordinate_transformation_mode="asymmetric",
                  nearest_mode="floor"),
            layer("b", "double", mode="linear"),
            layer("c", "half", mode="linear",
                  coordinate_transformation_mode="align_corners"),
            layer("d", "fifths", mode="linear"),
            layer("e", "fifths"),
            helper.make_node("Resize", ["x", "", "", "sizes"], ["f"], name="f",
                             mode="linear",
                             coordinate_transformation_mode="pytorch_half_pixel"),
            node("ConvTranspose", "x w b2", "g", strides=[2, 2], name="up"),
            node("ConvTranspose", "x w3", "h", strides=[2, 1], pads=[1, 0, 0, 1],
                 output_padding=[1, 0], dilations=[1, 2], name="odd"),
            node("ConvTranspose", "x w4", "i", group=2, name="grouped"),
        ],
        {"x": [1, 2, 5, 4]},
        {k: None for k in "abcdefghi"},
        [
            numpy_helper.from_array(np.array(v, np.float32), n)
            for n, v in [("double", [1, 1, 2, 2]), ("half", [1, 1, 0.8, 0.5]),
                         ("fifths", [1, 1, 1.2, 1.5])]
        ] + [ints("sizes", 1, 2, 8, 3), weight("w", 2, 3, 2, 2), weight("b2", 3),
             weight("w3", 2, 3, 3, 2), weight("w4", 2, 2, 3, 3)],
    )


# --- Moving elements ---------------------------------------------------------


def layout():
    return model(
        [
            node("Reshape", "x shape", "a", name="reshape"),
            node("Flatten", "x", "b", axis=2, name="flatten"),
            node("Unsqueeze", "x axes", "c", name="unsqueeze"),
            node("Squeeze", "c axes", "d", name="squeeze"),
            node("Transpose", "x", "e", perm=[0, 2, 1], name="transpose"),
            node("Slice", "x starts ends axes1 steps", "f", name="slice"),
            node("Split", "x sizes", "g h", axis=2, name="split"),
            node("Concat", "g h", "i", axis=-1, name="concat"),
            node("Pad", "x pads", "j", name="pad"),
            node("Pad", "x crop", "k", name="crop"),
        ],
        {"x": [2, 3, 4]},
        {k: None for k in "abdefijk"},
        [
            ints("shape", 0, -1, 2),
            ints("axes", 1),
            ints("axes1", 2),
            ints("starts", -1),
            ints("ends", -100),
            ints("steps", -2),
            ints("sizes", 1, 3),
            ints("pads", 0, 1, 0, 0, 0, 2),
            ints("crop", 0, -1, 0, 0, 1, -2),
        ],
    )


def shapes():
    """Reshape to [batch, -1] by the usual chain of shape arithmetic."""
    return model(
        [
            node("Shape", "x", "sh"),
            node("Gather", "sh zero", "n", axis=0),
            node("Unsqueeze", "n ax", "n1"),
            node("Cast", "n1", "nf", to=TensorProto.FLOAT),
            node("Cast", "nf", "ni", to=TensorProto.INT64),
            node("Mul", "ni one", "nm"),
            node("Concat", "nm minus", "target", axis=0),
            node("Reshape", "x target", "y", name="flat"),
        ],
        {"x": ["N", 3, 4]},
        {"y": ["N", 12]},
        [
            numpy_helper.from_array(np.array(0, dtype=np.int64), "zero"),
            ints("ax", 0), ints("one", 1), ints("minus", -1),
        ],
    )


def old_forms():
    """Operator set 9: axes, bounds and pads are attributes."""
    return model(
        [
            node("Unsqueeze", "x", "u", axes=[1]),
            node("Squeeze", "u", "a", axes=[1], name="squeeze"),
            node("Slice", "x", "b", starts=[1, -3], ends=[100, -1], axes=[1, 2],
                 name="slice"),
            node("Pad", "x", "c", pads=[0, 1, 0, 0, 0, 2], value=1.5, name="pad"),
            node("Split", "x", "d e", axis=2, split=[1, 3], name="split"),
            node("Split", "x", "f g", axis=0, name="halves"),
            node("ReduceMean", "x", "h", axes=[-1], keepdims=0, name="mean"),
            node("ReduceSum", "x", "i", axes=[0, 2], name="sum"),
            node("ReduceMax", "x", "j", name="max"),
            node("Dropout", "x", "k mask", ratio=0.5, name="drop"),
            node("Add", "k x", "l", name="add"),
            node("Clip", "x", "m", max=0.5, name="clip"),
            node("Gemm", "y w bias", "n", beta=0.5, transA=1, name="gemm"),
        ],
        {"x": [2, 3, 4], "y": [4, 3]},
        {k: None for k in "abcdefghijlmn"},
        [weight("w", 4, 5), weight("bias", 3, 5)],
        opset=9,
    )


def new_forms():
    """Operator set 21: they are operands."""
    return model(
        [
            node("ReduceMean", "x last", "a", keepdims=0, name="mean"),
            node("ReduceSum", "x", "b", noop_with_empty_axes=1, name="noop"),
            node("ReduceMin", "x last", "c", name="min"),
            node("ReduceProd", "x last", "d", name="prod"),
            node("Split", "x", "e f", axis=2, num_outputs=2, name="split"),
            node("Pad", "x pads value ax", "g", name="pad"),
            node("Squeeze", "one", "h", name="squeeze"),
            node("Sigmoid", "x", "i", name="sigmoid"),
            node("Tanh", "x", "j", name="tanh"),
            node("Sqrt", "four", "root"),
            node("Mul", "x root", "k", name="mul"),
            node("AveragePool", "p", "l", kernel_shape=[3], dilations=[2], name="avg",
                 pads=[1, 1], count_include_pad=1),
            node("Softmax", "x", "m", axis=0, name="softmax"),
            node("Reshape", "x flat", "n", name="reshape"),
            node("Flatten", "x", "o", axis=-1, name="flatten"),
        ],
        {"x": [2, 3, 5], "one": [1, 4, 1], "p": [1, 2, 9]},
        {k: None for k in "abcdefghijklmno"},
        [
            ints("last", -1), ints("pads", 1, 2), ints("ax", 1), ints("flat", -1),
            numpy_helper.from_array(np.float32(0.5), "value"),
            numpy_helper.from_array(np.float32(4), "four"),
        ],
        opset=21, ir_version=10,
    )


# --- Parameters --------------------------------------------------------------


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


# --- Batch -------------------------------------------------------------------


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


# --- Mistakes ----------------------------------------------------------------


def unsupported():
    return model(
        [
            node("Foo", "x", "a", name="first"),
            node("Relu", "x", "b", name="second", beta=1.0),
            node("Conv", "x w", "c", name="third"),
            node("Relu", "a", "e", name="after"),
            node("Reshape", "x x", "f", name="dynamic"),
            helper.make_node("Relu", ["x"], ["g"], name="custom", domain="com.acme"),
            node("Bar", "x", "unused", name="dead"),
        ],
        {"x": [2, 3]},
        {k: None for k in "abcefg"},
        [weight("w", 4, 3, 2, 2)],
    )


def cycle():
    return model(
        [node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "z", "c"),
         node("Relu", "x", "c")],
        {"x": [2]}, {"c": [2]},
    )


def opset6():
    return model([node("Relu", "x", "y")], {"x": [2]}, {"y": [2]}, opset=6)


def huge():
    return model(
        [node("ConstantOfShape", "dims", "w"), node("Add", "x w", "y", name="add")],
        {"x": [2]}, {"y": None},
        [ints("dims", 2**31 - 1, 2**31 - 1, 2**31 - 1)],
    )


def mlp():
    """Four layers with weights that are not constant."""
    sizes = [16, 32, 32, 10]
    nodes, weights, x = [], [], "x"
    for i, (k, f) in enumerate(zip(sizes, sizes[1:])):
        weights += [weight(f"w{i}", k, f), weight(f"b{i}", f)]
        nodes.append(node("Gemm", f"{x} w{i} b{i}", f"h{i}"))
        x = f"h{i}"
        if f != 10:
            nodes.append(node("Relu", x, f"r{i}"))
            x = f"r{i}"
    return model(nodes, {"x": ["N", 16]}, {x: None}, weights)


def main():
    case, out = sys.argv[1:]
    if case.startswith("light_"):
        folder = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light")
        shutil.copyfile(os.path.join(folder, case + ".onnx"), out)
        return
    with open(out, "wb") as file:
        file.write(globals()[case]().SerializeToString())


if __name__ == "__main__":
    main()
