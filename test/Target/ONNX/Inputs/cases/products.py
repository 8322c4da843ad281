"""Matrix products."""

import numpy as np
from onnx import numpy_helper

from .build import ints, model, node, weight


def linear():
    return model(
        [
            node("Gemm", "x w b", "a", transB=1, name="g1"),
            node("Gemm", "x v c", "b2", alpha=0.5, beta=2.0, name="g2"),
            node("Gemm", "x v r", "c2", name="g3"),
            node("MatMul", "x v", "d", name="m1"),
            node("MatMul", "v1 x3", "e", name="m2"),
            node("MatMul", "x3 v2", "f", name="m3"),
            # Bounds in the wrong order: all elements are the upper one.
            node("MatMul", "x v", "dense", name="m4"),
            node("Clip", "dense high low", "g", name="clip"),
        ],
        {"x": [2, 3], "x3": [5, 3, 4]},
        {k: None for k in ["a", "b2", "c2", "d", "e", "f", "g"]},
        [
            weight("w", 4, 3),
            weight("b", 4),
            weight("v", 3, 4),
            weight("c", 1, 4),
            weight("r", 2, 1),
            weight("v1", 3),
            weight("v2", 4),
            numpy_helper.from_array(np.float32(0.5), "high"),
            numpy_helper.from_array(np.float32(-0.5), "low"),
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


def einsum():
    equations = {
        "a": ("x y", "bij,bjk->bik"), "b": ("x y", "bij,bjk->kb"),
        "c": ("x z", "bij,kj->bki"), "d": ("x", "bij->jb"), "e": ("x", "bij->i"),
        "f": ("x y z", "bij,bjk,lj->ilk"), "g": ("x z", "...ij,kj->...ik"),
        "h": ("v v", "i,j"), "i": ("v v", "i,i"), "j": ("x", "bij"),
        "k": ("s", "ii"), "l": ("t", "iij"), "m": ("t z", "iij,kj"),
        "n": ("u", "...ii"), "o": ("x w", "bij,j->bi"), "p": ("w v", "i,i->"),
        "q": ("x w v", "bij,j,i->b"),
    }
    return model(
        [node("Einsum", inputs, name, equation=equation, name=f"e_{name}")
         for name, (inputs, equation) in equations.items()],
        {"x": [2, 3, 4], "y": [2, 4, 5], "z": [6, 4], "v": [3], "s": [3, 3],
         "t": [3, 3, 4], "u": [2, 3, 3], "w": [1]},
        {k: None for k in equations},
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
