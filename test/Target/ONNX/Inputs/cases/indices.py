"""Functions of one number, look-ups and stores by element, places and orders."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .build import ints, model, node, weight


def number(name, value, dtype=np.int64):
    return numpy_helper.from_array(np.array(value, dtype), name)


def functions():
    """Of x in [-2, 2], of what lies in (-1, 1), and of what is 1.1 or more."""
    nodes = [
        node("Tanh", "x", "within"), node("Abs", "x", "size"),
        node("Add", "size more", "above"),
        *(node(op, "x", op.lower(), name=op.lower())
          for op in ["Atan", "Asinh", "Sinh", "Cosh", "Tan", "Sign"]),
        *(node(op, "within", op.lower(), name=op.lower())
          for op in ["Asin", "Acos", "Atanh"]),
        node("Acosh", "above", "acosh", name="acosh"),
        node("Mod", "x divisors", "fmod", fmod=1, name="fmod"),
        # The square root of what is negative is no number.
        node("Sqrt", "x", "root"), node("IsNaN", "root", "nan", name="nan"),
        node("Cast", "nan", "nans", to=TensorProto.FLOAT),
        # Infinite where x is in [0, 1), and where it is negative.
        node("Floor", "x", "whole"), node("Reciprocal", "whole", "high"),
        node("Relu", "x", "positive"), node("Log", "positive", "low"),
        node("IsInf", "high", "inf0", name="inf0"),
        node("IsInf", "high", "inf1", name="inf1", detect_negative=0),
        node("IsInf", "low", "inf2", name="inf2", detect_positive=0),
        *(node("Cast", f"inf{i}", f"infs{i}", to=TensorProto.FLOAT) for i in range(3)),
        # -8 to 8.
        node("Mul", "x four", "larger"),
        node("Cast", "larger", "i", to=TensorProto.INT64),
        node("Mod", "i integers", "mod", name="mod"),
        node("Mod", "i integers", "rest", fmod=1, name="rest"),
        node("BitwiseAnd", "i integers", "and", name="and"),
        node("BitwiseOr", "i integers", "or", name="or"),
        node("BitwiseXor", "i integers", "xor", name="xor"),
        node("BitwiseNot", "i", "not", name="not"),
    ]
    floats = ["atan", "asinh", "sinh", "cosh", "tan", "sign", "asin", "acos", "atanh",
              "acosh", "fmod", "nans", "infs0", "infs1", "infs2"]
    integers = ["mod", "rest", "and", "or", "xor", "not"]
    return model(
        nodes, {"x": [6, 5]},
        {**{name: [6, 5] for name in floats},
         **{name: (TensorProto.INT64, [6, 5]) for name in integers}},
        [
            number("more", 1.1, np.float32), number("four", 4, np.float32),
            number("divisors", [0.3, -0.7, 1.5, -1.1, 2], np.float32),
            ints("integers", 3, -2, 5, 7, -4),
        ],
        opset=18,
    )


def lookups_by_element():
    """Indices in [-1, 1] from an input, and known ones."""
    return model(
        [
            node("Cast", "j", "i", to=TensorProto.INT64),
            node("GatherElements", "x i", "a", axis=1, name="elements"),
            node("GatherElements", "x known", "b", axis=-2, name="known"),
            node("GatherND", "x pairs", "c", name="points"),
            node("GatherND", "x batched", "d", batch_dims=1, name="batched"),
            node("GatherND", "x i", "e", name="computed"),
        ],
        {"x": [2, 4, 3], "j": [2, 3, 3]},
        {k: None for k in "abcde"},
        [
            number("known", [[[3, 0, -1]], [[1, 1, -4]]]),
            number("pairs", [[0, 3], [1, -2], [-1, 0]]),
            number("batched", [[[3, 2]], [[-1, 0]]]),
        ],
        opset=18,
    )


def stores(opset=18):
    """Onto an input and onto zeros; updates that meet if there is a reduction."""
    reductions = ["none", "add", "mul", "max", "min"][:5 if opset >= 18 else 3]
    nodes = [node("Cast", "j", "i", to=TensorProto.INT64)]
    for name in reductions:
        nodes += [
            node("ScatterElements", "x " + ("once" if name == "none" else "i") + " u",
                 f"elements_{name}", axis=1, reduction=name, name=f"elements_{name}"),
            node("ScatterND", "x " + ("pairs" if name == "none" else "twice") + " v",
                 f"slices_{name}", reduction=name, name=f"slices_{name}"),
        ]
    nodes += [
        node("ScatterElements", "zeros i u", "onto_zeros", axis=1, reduction="add",
             name="onto_zeros"),
        node("ScatterND", "zeros points w", "marked", name="marked"),
        node("ScatterND", "x nowhere nothing", "unchanged", name="unchanged"),
    ]
    outputs = [n.output[0] for n in nodes[1:]]
    return model(
        nodes, {"x": [2, 5, 3], "j": [2, 4, 2], "u": [2, 4, 2], "v": [3, 3]},
        {name: None for name in outputs},
        [
            number("once", [[[0, 4], [1, 3], [-1, 0], [2, 1]],
                            [[4, 4], [3, 0], [0, 1], [1, -2]]]),
            number("pairs", [[0, 4], [1, -5], [-1, 1]]),
            number("twice", [[0, 4], [1, -5], [-2, 4]]),
            number("points", [[0, 4, 2], [1, 0, 0]]),
            number("nowhere", np.zeros((0, 2))),
            numpy_helper.from_array(np.zeros((0, 3), np.float32), "nothing"),
            numpy_helper.from_array(np.zeros((2, 5, 3), np.float32), "zeros"),
            weight("w", 2),
        ],
        opset=opset,
    )


def stores_opset16():
    return stores(16)


def scatter_opset10():
    return model(
        [node("Scatter", "x i u", "y", axis=1, name="scatter")],
        {"x": [2, 5], "u": [2, 2]}, {"y": [2, 5]},
        [number("i", [[0, 4], [1, 3]])],
        opset=10,
    )


def narrow_stores():
    """Sums of FLOAT16, and values of BFLOAT16 that are chosen."""
    half, brain = TensorProto.FLOAT16, TensorProto.BFLOAT16
    return model(
        [node("ScatterElements", "x i u", "elements", axis=1, reduction="add",
              name="elements"),
         node("ScatterND", "x pairs v", "slices", reduction="mul", name="slices"),
         node("OneHot", "j depth marks", "hot", name="hot")],
        {"x": (half, [2, 5]), "u": (half, [2, 2]), "v": (half, [1, 5]),
         "j": (TensorProto.INT64, [3])},
        {"elements": (half, [2, 5]), "slices": (half, [2, 5]),
         "hot": (brain, [3, 4])},
        [number("i", [[0, 4], [1, 1]]), number("pairs", [[1]]), number("depth", 4),
         helper.make_tensor("marks", brain, [2], [0.0, 1.0])],
        opset=18,
    )


def long_orders():
    """Lists that are taken from a heap, lists of rows that are looked at in
    groups; also of elements that are equal."""
    nodes = [
        node("Floor", "x", "f"),
        node("TopK", "x all", "sorted places", axis=1, name="sorted"),
        node("TopK", "f half", "smallest firsts", axis=1, largest=0, name="smallest"),
        node("TopK", "t all", "columns rows", axis=0, name="columns"),
        node("TopK", "f three", "largest few", axis=1, name="largest"),
    ]
    outputs = [name for n in nodes[1:] for name in n.output]
    return model(
        nodes, {"x": [3, 301], "t": [301, 2]},
        {name: (TensorProto.INT64 if name in ("places", "firsts", "rows", "few")
                else TensorProto.FLOAT, None) for name in outputs},
        [ints("all", 301), ints("half", 150), ints("three", 3)],
    )


def orders():
    """Also of elements that are equal, and of integers."""
    nodes = [
        node("Floor", "x", "f"), node("Cast", "f", "i", to=TensorProto.INT32),
        *(node(op, x, f"{op}_{x}_{last}", axis=axis, keepdims=keep,
               select_last_index=last, name=f"{op}_{x}_{last}")
          for op in ("ArgMax", "ArgMin")
          for x, last, axis, keep in (("x", 0, 0, 1), ("x", 1, -1, 0), ("f", 0, 1, 0),
                                      ("f", 1, 1, 1))),
        node("TopK", "x three", "largest places", axis=1, name="largest"),
        node("TopK", "f three", "smallest firsts", axis=0, largest=0, name="smallest"),
        node("CumSum", "x first", "sums", name="sums"),
        node("CumSum", "x second", "before", exclusive=1, name="before"),
        node("CumSum", "i second", "from_end", reverse=1, name="from_end"),
        node("CumSum", "x second", "both", reverse=1, exclusive=1, name="both"),
        node("Trilu", "x", "upper", name="upper"),
        node("Trilu", "x first", "lower", upper=0, name="lower"),
        node("Trilu", "x below", "above", name="above"),
        node("Cast", "f", "k", to=TensorProto.INT64),
        node("OneHot", "k depth marks", "hot", name="hot"),
        node("OneHot", "k depth marks", "hot_first", axis=0, name="hot_first"),
    ]
    types = {"from_end": TensorProto.INT32, "places": TensorProto.INT64,
             "firsts": TensorProto.INT64}
    outputs = [name for n in nodes for name in n.output if name not in ("f", "i", "k")]
    return model(
        nodes, {"x": [4, 5]},
        {name: (types.get(name, TensorProto.INT64 if name.startswith("Arg")
                          else TensorProto.FLOAT), None) for name in outputs},
        [
            ints("three", 3), number("first", 0), number("second", -1),
            number("below", -2), number("depth", 2),
            numpy_helper.from_array(np.array([-0.5, 1.5], np.float32), "marks"),
        ],
        opset=18,
    )


def pads():
    """In all modes, further than there are elements."""
    return model(
        [
            *(node("Pad", "x some", mode, mode=mode, name=mode)
              for mode in ("reflect", "edge", "wrap")),
            helper.make_node("Pad", ["x", "one", "", "axis"], ["last"], mode="edge",
                             name="last"),
        ],
        {"x": [2, 4, 3]},
        {k: None for k in ("reflect", "edge", "wrap", "last")},
        [ints("some", 0, 2, 1, 1, 3, 2), ints("one", 4, 2), ints("axis", -1)],
        opset=19,
    )


def resize_cubic():
    def layer(name, scales, **attributes):
        return helper.make_node("Resize", ["x", "", scales], [name], name=name,
                                mode="cubic", **attributes)

    return model(
        [
            layer("a", "double"), layer("b", "half"),
            layer("c", "fifths", cubic_coeff_a=-0.5),
            layer("d", "double", exclude_outside=1),
            layer("e", "half", coordinate_transformation_mode="align_corners"),
            layer("f", "fifths", coordinate_transformation_mode="asymmetric",
                  exclude_outside=1, cubic_coeff_a=-0.5),
        ],
        {"x": [1, 2, 5, 4]},
        {k: None for k in "abcdef"},
        [
            numpy_helper.from_array(np.array(v, np.float32), n)
            for n, v in [("double", [1, 1, 2, 2]), ("half", [1, 1, 0.8, 0.5]),
                         ("fifths", [1, 1, 1.2, 1.5])]
        ],
    )
